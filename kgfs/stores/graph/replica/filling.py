"""Making a replica: pages by key into a file beside, then all of it is shown at once.

Where it stands is noted with each page in the page's own transaction, so that one that was killed goes on there. What is
committed meanwhile is followed between the pages: the feed is kept for so many changes only, and others may commit more of
them than that while a large graph is copied. What a page brings of what was followed is the same again; what it does not
bring yet, and others change, comes with its page. Memory is that of a page, whatever the size of the graph.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgfs.failpoints import border
from kgfs.stores.database import Database, remove_database
from kgfs.stores.graph.replica.copying import Copy
from kgfs.stores.graph.replica.file import Notes, is_usable, note, note_standing, open_file
from kgfs.stores.graph.replica.following import OutdatedError, Source, follow, gone, put_documents
from kgfs.stores.graph.replica.standing import Standing
from kgfs.stores.graph.rows import inverse
from kgfs.stores.spare import leave_spare

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.origin import Look

OWNERS_AT_ONCE = 2000
DOCUMENTS_AT_ONCE = 200
ROWS_AT_ONCE = 20_000
"""Concepts and relationships, or documents, of one page; it ends earlier after so many Sources and quotes. A larger
document is a page of its own."""
KEEP_UP_EVERY = 10.0
"""Seconds between looks, between pages, at what was committed meanwhile."""

Progress = Callable[[int, int], None]
"""Is told (rows that are copied, of about how many)."""

_OWNERS, _DOCUMENTS, _JOINED, _WHOLE = "owners", "documents", "joined", "whole"

_JOIN = """
INSERT OR IGNORE INTO neighbour (concept, type, name, relationship_id, other, incoming)
SELECT relationship.{one}, {seen_as}, concept.name, relationship_id, concept.concept_id, {incoming}
FROM relationship CROSS JOIN concept ON concept.concept_id = relationship.{other}
WHERE relationship.evidence > 0 ORDER BY 1, 2, 3"""
_FROM_SUBJECT = _JOIN.format(one="subject", seen_as="relationship.type", other="object", incoming=0)
_FROM_OBJECT = _JOIN.format(one="object", seen_as="inverse(relationship.type)", other="subject", incoming=1)


def fill(origin: Source, path: Path, progress: Progress = lambda done, total: None) -> None:
    """A whole and current replica at ``path``, a file beside the one that is read, with nothing of it in a log beside. Goes on
    with one that was begun, if it is of the same graph. One process at a time. FullError where it would take what a disk has
    spare; what was copied stays."""
    while True:
        standing = origin.standing()
        begun = _begun(path)
        if standing is None:
            raise gone()
        if begun is None or begun.identity != standing.identity or begun.epoch > standing.epoch:
            remove_database(path)
        database = open_file(path)
        try:
            _Filling(origin, database, path, progress).carry_out()
            follow(origin, database)
            database.empty_log()  # whoever renames the file does not rename that; closing it hides that a full disk kept it
            return
        except OutdatedError:
            database.close()
            remove_database(path)
        finally:
            database.close()


def _begun(path: Path) -> Standing | None:
    if not is_usable(path):
        return None
    database = open_file(path)
    try:
        return Notes(database).standing()
    finally:
        database.close()


class _Filling:
    def __init__(self, origin: Source, database: Database, path: Path, progress: Progress) -> None:
        self._origin = origin
        self._database = database
        self._path = path
        self._progress = progress
        self._total = 0

    def carry_out(self) -> None:
        if Notes(self._database).standing() is None:
            self._origin.look(self._begin)
        notes = Notes(self._database).all()
        done, self._total = notes["done"], notes["total"]
        stage, cursor = notes["stage"], notes["cursor"]
        self._progress(done, self._total)
        keep_up_at = 0.0
        while stage != _WHOLE:
            size, log = self._database.sizes()
            leave_spare(self._path, "copying the graph", size + log, log)
            if time.monotonic() >= keep_up_at:  # one that was begun long ago first: is it worth being gone on with?
                follow(self._origin, self._database)
                keep_up_at = time.monotonic() + KEEP_UP_EVERY
            stage, cursor, done = self._origin.look(lambda look: self._step(look, stage, cursor, done))  # noqa: B023
            border("replica-page")
            self._progress(min(done, self._total), self._total)

    def _begin(self, look: Look) -> None:
        if look.standing is None:
            raise gone()
        total = sum(sum(counts) for _, *counts, _ in look.counts())
        with self._database.write(durable=False) as connection:
            note_standing(connection, look.standing)
            note(connection, stage=_OWNERS, cursor="", done=0, total=total)
            # What the last commit did is asked for by a worker that was killed in it.
            above = max(look.standing.epoch - 1, look.standing.changes_above)
            copy = Copy(connection)
            copy.changes(look.changes(above, look.standing.epoch))
            copy.follow_up_to(look.standing.epoch, above)

    def _step(self, look: Look, stage: str, cursor: str, done: int) -> tuple[str, str, int]:
        """One page, and what comes next: (stage, cursor, rows that are copied)."""
        with self._database.write(durable=False) as connection:
            copy = Copy(connection)
            if stage == _OWNERS:
                count, last, _ = copy.owners(look.owners_after(cursor, OWNERS_AT_ONCE))
                following = (stage, last, done + count) if count == OWNERS_AT_ONCE else (_DOCUMENTS, "", done + count)
            elif stage == _DOCUMENTS:
                following = self._documents(look, copy, cursor, done)
            elif stage == _JOINED:
                connection.create_function("inverse", 1, inverse, deterministic=True)
                connection.execute(_FROM_SUBJECT)
                connection.execute(_FROM_OBJECT)
                copy.counts(look.counts())
                copy.marks(look.marks())
                following = (_WHOLE, "", done)
            note(connection, stage=following[0], cursor=following[1], done=following[2])
        return following

    def _documents(self, look: Look, copy: Copy, cursor: str, done: int) -> tuple[str, str, int]:
        page = list(look.documents_after(cursor, DOCUMENTS_AT_ONCE))
        some, rows = page[:1], sum(map(_rows_of, page[:1]))
        for row in page[1:]:
            if rows + _rows_of(row) > ROWS_AT_ONCE:
                break
            some.append(row)
            rows += _rows_of(row)
        put_documents(copy, look, some)
        if len(some) == len(page) < DOCUMENTS_AT_ONCE:
            return _JOINED, "", done + rows
        return _DOCUMENTS, str(some[-1][3]), done + rows


def _rows_of(document: Sequence[Any]) -> int:
    """With its Sources and its quotes."""
    return 1 + int(document[1]) + int(document[2])
