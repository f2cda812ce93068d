"""Bringing a replica up to its server, by the feed: what the changes speak of is read again as it stands by now.

All of it is one transaction of the file, so readers see the epoch before or the one after and nothing between. What is
read stands in the server by itself, not as of one moment; so it is asked again for what was committed meanwhile, until
nothing was: then each row is of the last epoch.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from kgfs.errors import GraphLostError
from kgfs.stores.database import Database
from kgfs.stores.graph.cascade import scrub
from kgfs.stores.graph.feed import prune
from kgfs.stores.graph.replica.copying import Copy
from kgfs.stores.graph.replica.file import SCRUB_OWED, Notes, note, note_standing
from kgfs.stores.graph.replica.standing import Standing
from kgfs.stores.portions import portions

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.origin import Look

Answer = TypeVar("Answer")

AT_ONCE = 500
"""Keys of one question."""
UNALONE = 8
"""After so many rounds without a pause between commits the last one keeps others from committing."""


class Source(Protocol):
    """``kgfs.stores.graph.neo4j.origin.Origin``."""

    def standing(self) -> Standing | None: ...

    def look(self, work: Callable[[Look], Answer], *, alone: bool = False) -> Answer: ...

    def close(self) -> None: ...


class OutdatedError(Exception):
    """The replica is one of another graph, or the feed does not reach back to it: it is made anew."""


def gone() -> GraphLostError:
    return GraphLostError(
        "The graph's server has not the graph that it had (another data folder, a database made anew?). What was known last is"
        " shown, until a worker of the home or 'kgfs rebuild' has derived it anew from what the garage keeps."
    )


class _GivenUpError(Exception):
    """The feed that a round was to read was given up meanwhile, and it may have found nothing."""


def follow(origin: Source, database: Database) -> Standing:
    """What the server stood at in the end. OutdatedError, with nothing done, where the feed does not lead there."""
    while True:
        try:
            return _follow(origin, database)
        except _GivenUpError:
            continue  # from where the replica stands, and by what is left of the feed


def _follow(origin: Source, database: Database) -> Standing:
    known = Notes(database).standing()
    if known is None:
        raise OutdatedError
    now = origin.standing()
    if now is None:
        raise gone()
    if known == now:
        return known
    with database.write(durable=False) as connection:
        for round_ in range(UNALONE + 1):
            alone, begun = round_ == UNALONE, known
            known = origin.look(_Round(connection, known).carry_out, alone=alone)
            if alone or known == (now := origin.standing()):
                break
            if now is None:
                raise gone()
            if begun.epoch < now.changes_above != known.changes_above:
                raise _GivenUpError
        note_standing(connection, known)
        Copy(connection).follow_up_to(known.epoch)
        prune(connection)
    return known


class _Round:
    """What happened on the server above what is known."""

    def __init__(self, connection: sqlite3.Connection, known: Standing) -> None:
        self._sql = connection
        self._known = known
        self._copy = Copy(connection)

    def carry_out(self, look: Look) -> Standing:
        known, now = self._known, look.standing
        if now is None:
            raise gone()
        if now == known:
            return known
        if now.identity != known.identity or now.epoch < known.epoch:
            raise OutdatedError
        if now.epoch == known.epoch and now.newest != known.newest:
            raise OutdatedError
        if now.epoch > known.epoch:
            if known.newest and look.epoch_of(known.newest) != known.epoch:
                raise OutdatedError
            if (
                now.changes_above > known.epoch
                and not now.ids_above <= known.epoch < now.changes_above == now.ids_up_to
            ):
                raise OutdatedError
            self._catch_up(look, now)
        if now.redacted != known.redacted:
            self._redact(look, now)
        if now.marked != known.marked:
            self._copy.marks(look.marks())
        self._copy.counts(look.counts())
        return now

    def _redact(self, look: Look, now: Standing) -> None:
        """Names that were hidden are hidden here too, and the feed that told of them is given up. After what left has."""
        dead = self._sql.execute("SELECT concept_id FROM concept WHERE live = 0 ORDER BY concept_id").fetchall()
        for some in portions((id_ for (id_,) in dead), AT_ONCE):
            self._owners(look, some)
        self._copy.follow_up_to(now.epoch, now.changes_above)
        scrub(self._sql)
        note(self._sql, **{SCRUB_OWED: 1})

    def _catch_up(self, look: Look, now: Standing) -> None:
        since = self._known.epoch
        self._copy.changes(look.changes(since, now.epoch))
        doc_ids = self._told("name", since, now.epoch, "kind = 'document'")
        owners = self._told("owner", since, now.epoch, "kind IN ('evidence', 'related')")
        names = self._sql.execute(
            "SELECT DISTINCT ontology, name FROM change WHERE epoch > ? AND epoch <= ? AND kind = 'concept'",
            (since, now.epoch),
        ).fetchall()
        if now.changes_above > since:
            for kind, id_ in look.untold(since, now.changes_above):
                (doc_ids if kind == "document" else owners).append(id_)
        concerned = {*owners, *self._copy.mentioned(doc_ids)}
        for some in portions(names, AT_ONCE):
            concerned.update(look.ids_of_names(some))
        for some in portions(doc_ids, AT_ONCE):
            concerned.update(look.ids_of_documents(some))
        joined = []
        for some in portions(sorted(concerned), AT_ONCE):
            joined += self._owners(look, some)
        self._copy.join(joined)
        for some in portions(sorted({*doc_ids}), AT_ONCE):
            self._documents(look, some)

    def _told(self, column: str, since: int, up_to: int, which: str) -> list[str]:
        rows = self._sql.execute(
            f"SELECT DISTINCT {column} FROM change WHERE epoch > ? AND epoch <= ? AND {which}", (since, up_to)
        )
        return [value for (value,) in rows]

    def _owners(self, look: Look, ids: Sequence[str]) -> list[tuple[str, str, str, str, bool]]:
        return self._copy.owners(look.owners(ids))[2]

    def _documents(self, look: Look, doc_ids: Sequence[str]) -> None:
        shown = list(look.documents(doc_ids))
        for doc_id in sorted({*doc_ids} - {row[3] for row in shown}):
            self._copy.leave(doc_id)
        put_documents(self._copy, look, shown)


def put_documents(copy: Copy, look: Look, rows: Iterable[Sequence[object]]) -> None:
    """Documents with all that is of their editions."""
    keys, new = {}, {}
    for row in rows:
        edition = str(row[0])
        keys[edition], has_sources = copy.open_edition(row)
        if not has_sources:
            new[edition] = keys[edition]
    if new:
        copy.sources(new, look.sources([*new]))
    copy.instances(keys, look.instances([*keys]))
    copy.mentions(keys, look.mentions([*keys]))
