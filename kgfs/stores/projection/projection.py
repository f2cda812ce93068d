"""The projection of one home's graph: where it is, bringing it up to the graph, making it anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from kgfs.errors import BadInputError, LostLeaseError
from kgfs.failpoints import border
from kgfs.stores.batched import batched
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.touched import Touched, touched
from kgfs.stores.projection.comparing import Difference, compare
from kgfs.stores.projection.connection import Connection, Statement
from kgfs.stores.projection.endpoint import Endpoint
from kgfs.stores.projection.schema import make_schema
from kgfs.stores.projection.source import (
    Catalog,
    State,
    changes_told,
    concepts,
    counts,
    mentioned_in,
    newest_commit,
    relationships,
    shown_document,
    state_of,
)
from kgfs.stores.projection.spaces import fresh_space, remove_discarded
from kgfs.stores.projection.writing import ROWS, Writer

FORMAT = 4
"""The format of the published model. Those up to 3 had no number on the ``Graph`` node."""
FOLLOWED_BATCH = 10_000
"""Rows of the change feed that are followed before the position is written; all of one commit in any case."""
OWNERS_BATCH = 500
CHANGES_KEPT = 1000
"""Commits of which ``Change`` nodes are kept."""

NOT_KNOWN = -1
"""Stands on the ``Graph`` node for what is known of another home's graph alone."""

Progress = Callable[[int, int], None]

_ROOT = "MATCH (g:Graph {name: $graph}) RETURN properties(g) AS root"


@dataclass(frozen=True, slots=True)
class Position:
    """How far the server is, as a home knows it."""

    epoch: int
    """The epoch of the home's own graph that is wholly there."""
    redactions: int
    """The purges of the home's own graph that are carried out there."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What was found on a server that had a projection of another format, before it was made anew."""

    counts: dict[str, int]
    """By label and kind of difference, as ``Document missing``."""
    some: tuple[Difference, ...]
    """The first of them."""


class Projection:
    """One thread at a time. Nothing is asked before the first call. Every call may raise UnavailableError, TimedOutError or StoreError as the server
    has it, and LostLeaseError where another home took over or ``stopping`` says so; whatever was done is gone on from by the next call."""

    def __init__(
        self,
        endpoint: Endpoint,
        graph: Graph,
        home: str,
        catalog: Catalog | None = None,
        stopping: Callable[[], bool] = lambda: False,
        origin: str = "",
    ) -> None:
        """``home`` is the id of the home whose graph it is; ``origin`` says which garage that is derived from, and is the same for all
        homes that share one."""
        self.connection = Connection(endpoint)
        self._graph = graph
        self._home = home
        self._name = endpoint.namespace
        self._catalog = catalog or Catalog()
        self._stopping = stopping
        self._origin = origin
        self._has_schema = False
        self._names: dict[str, str] | None = None
        """Of ontologies, as they were written last."""

    # ----------------------------------------------------------------------------------------- position

    def position(self) -> Position | None:
        """Ask the server how far it is. None where this home does not know the commit that it is at, or where the server has no
        projection of this format."""
        root = self._root()
        return self._position(root) if root and root.get("format") == FORMAT else None

    def _root(self) -> dict[str, Any] | None:
        found = self.connection.read_one(_ROOT, graph=self._name)
        return dict(found["root"]) if found else None

    def _position(self, root: dict[str, Any]) -> Position | None:
        state = self._state()
        if root.get("home") == self._home and root.get("clears", NOT_KNOWN) != NOT_KNOWN:
            if root["clears"] != state.clears or root["home_epoch"] > state.epoch:
                return None
            return Position(root["home_epoch"], root["redactions"])
        epoch = self._graph.published(root["commit_id"]) if root.get("commit_id") else None
        if epoch is None:
            return None
        # A purge is called by its commit, which has one id in all homes.
        return Position(epoch, state.redactions if root.get("purged", "") == self._last_purge() else NOT_KNOWN)

    def _last_purge(self) -> str:
        with self._graph.whole() as sql:
            return newest_commit(sql, state_of(sql).redacted_at)

    def _state(self) -> State:
        with self._graph.whole() as sql:
            return state_of(sql)

    # -------------------------------------------------------------------------------------------- following

    def follow(
        self, report: Callable[[Compared], None] = lambda compared: None, progress: Progress = lambda done, total: None
    ) -> Position:
        """Bring the server up to the graph, and return where it is then. A server without a projection gets one; of another
        format it is compared first, which is reported by ``report``, and then made anew. ``progress`` is told rows, of about how many, while
        everything is written. BadInputError where the server's is that of another garage."""
        self._make_schema()
        root = self._root()
        if root is not None and root.get("origin", self._origin) != self._origin:
            raise BadInputError(
                f"{self.connection.endpoint.uri}: the graph '{self._name}' there is another home's. Set graph.namespace to another"
                " name; or kgfs rebuild --neo4j puts this home's in its place."
            )
        if root is None or root.get("format") != FORMAT or root.get("building"):
            if root is not None and root.get("format") is None and root.get("space") and not root.get("building"):
                report(self._compared(root["space"]))
            return self._build(progress)
        remove_discarded(self.connection)
        position = self._position(root)
        if root.get("home") != self._home:
            self._take_over()
        if position is None:
            return self._mend(root["space"], root["epoch"], progress)
        while True:
            with self._graph.whole() as sql:
                state, found = state_of(sql), touched(sql, position.epoch, FOLLOWED_BATCH)
            if found is None:
                return self._mend(root["space"], root["epoch"], progress)
            if position == Position(state.epoch, state.redactions) and self._names == dict(self._catalog.ontologies()):
                return position
            root["epoch"] = self._follow_some(root["space"], root["epoch"], position, found, state)
            position = Position(found.epoch, state.redactions)

    def _follow_some(self, space: str, number: int, position: Position, found: Touched, state: State) -> int:
        """Write what was touched. The new number of the projection's epoch."""
        writer = self._writer(space)
        with self._graph.whole() as sql:
            owners = found.owners | mentioned_in(sql, found.documents)
        for some in batched(sorted(found.documents), OWNERS_BATCH):
            owners |= self._mentioned_there(space, some)
        for some in batched(sorted(owners), OWNERS_BATCH):
            self._go_on()
            self._put_owners(writer, space, some)
        for some in batched(sorted(found.documents), OWNERS_BATCH):
            known = self._digests_there("Edition", "doc_id", space, some)
            for doc_id in some:
                self._go_on()
                self._put_document(writer, doc_id, known.get(doc_id))
        if position.redactions != state.redactions:
            self._carry_out_purges(writer, space)
        self._put_counts(writer)
        self._put_changes(space, number - position.epoch, position.epoch, found.epoch)
        return self._conclude(space, number + found.epoch - position.epoch, found.epoch, state)

    def _put_owners(self, writer: Writer, space: str, ids: Sequence[str]) -> None:
        known = self._digests_there("Owner", "id", space, ids)
        with self._graph.whole() as sql:
            living = {owner.id: owner for owner in (*concepts(sql, ids), *relationships(sql, ids))}
        for id_ in ids:
            if id_ in living:
                if known.get(id_) != living[id_].properties["digest"]:
                    writer.put_owner(living[id_])
            elif id_ in known:
                writer.remove_owner(id_)

    def _put_document(self, writer: Writer, doc_id: str, known: str | None) -> None:
        """Write a document unless the server has it. ``known`` is the digest there; None where it has nothing of the document."""
        with self._graph.whole() as sql:
            document = shown_document(sql, doc_id)
            if document is not None:
                digest = document.digest()
                if digest != known:
                    writer.put_document(document, digest)
            elif known is not None:
                writer.remove_document(doc_id)

    def _mentioned_there(self, space: str, doc_ids: Sequence[str]) -> set[str]:
        found = self.connection.read(
            "UNWIND $keys AS key MATCH (:Edition {key: key})<-[:MENTIONED_IN]-(o:Owner) RETURN DISTINCT o.id AS id",
            keys=[f"{space}/{doc_id}" for doc_id in doc_ids],
        )
        return {row["id"] for row in found}

    def _digests_there(self, label: str, name: str, space: str, ids: Sequence[str]) -> dict[str, str]:
        """Return the digests on the server by id; '' for what is half written, or has no digest."""
        found = self.connection.read(
            f"UNWIND $ids AS id MATCH (n:{label} {{space: $space, {name}: id}}) RETURN id, n.digest AS digest",
            space=space,
            ids=list(ids),
        )
        return {row["id"]: row["digest"] or "" for row in found}

    def _carry_out_purges(self, writer: Writer, space: str) -> None:
        """Remove what may still tell of a purged document: names in the feed, and earlier versions that nobody has any more."""
        writer.flush()
        gone = "MATCH (c:Change {space: $space}) WHERE c.epoch IS NOT NULL WITH c LIMIT $limit DELETE c RETURN count(*) AS gone"
        while self.connection.write([(gone, {"space": space, "limit": ROWS})], self._home)[0]["gone"] == ROWS:
            pass
        linked = (
            "MATCH (d:Document {space: $space}) WHERE d.doc_id > $after AND EXISTS { (d)-[:SUPERSEDES]->() }"
            " RETURN d.doc_id AS doc_id ORDER BY doc_id LIMIT $limit"
        )
        after = ""
        while page := self.connection.read(linked, space=space, after=after, limit=ROWS):
            for row in page:
                writer.put_versions(row["doc_id"])
            after = page[-1]["doc_id"]
            writer.flush()

    def _put_counts(self, writer: Writer) -> None:
        names = dict(self._catalog.ontologies())
        with self._graph.whole() as sql:
            rows = counts(sql, names)
        writer.put_counts(rows)
        if names != self._names:
            writer.rename_projects()
        self._names = names

    def _put_changes(self, space: str, shift: int, after: int, upto: int) -> None:
        """Write the feed of these epochs, each under its own number moved by ``shift``, and remove the oldest."""
        put = (
            "MERGE (c:Change {space: $space, epoch: $epoch, part: $part})"
            " SET c.size = size($what), c.what = $what, c.kind = $kind, c.ontology = $ontology, c.owner = $owner, c.name = $name"
        )
        with self._graph.whole() as sql:
            for epoch, rows in groupby(changes_told(sql, after, upto), key=lambda row: int(row[0])):
                for part, some in enumerate(batched(rows, ROWS)):
                    columns = zip(*(row[1:] for row in some), strict=True)
                    lists = dict(zip(("what", "kind", "ontology", "owner", "name"), map(list, columns), strict=True))
                    words = {"space": space, "epoch": epoch + shift, "part": part, **lists}
                    self.connection.write([(put, words)], self._home)
        old = "MATCH (c:Change) WHERE c.space = $space AND c.epoch < $epoch AND c.part >= 0 DELETE c"
        self.connection.write([(old, {"space": space, "epoch": upto + shift - CHANGES_KEPT})], self._home)

    # ------------------------------------------------------------------------------------------ making anew

    def rebuild(self, progress: Progress = lambda done, total: None) -> Position:
        """Make the projection anew beside the present one, and show it in its place."""
        self._make_schema()
        begun = "MATCH (g:Graph {name: $graph}) WHERE g.building IS NOT NULL MERGE (:Discarded {space: g.building}) REMOVE g.building"
        self.connection.write([(begun, {"graph": self._name})])
        return self._build(progress)

    def differences(self, *, ids_alone: bool = False) -> Iterator[Difference]:
        """Compare the server with the graph. Nothing is changed. Where nobody follows meanwhile, and the position is that of the
        graph, there are none."""
        root = self._root()
        if root is None:
            return
        yield from compare(
            self.connection, self._graph, root["space"], ids_alone=ids_alone or root.get("format") != FORMAT
        )

    def _compared(self, space: str) -> Compared:
        found: dict[str, int] = {}
        some: list[Difference] = []
        for difference in compare(self.connection, self._graph, space, ids_alone=True):
            kind = f"{difference.label} {difference.what}"
            found[kind] = found.get(kind, 0) + 1
            some += [difference] if len(some) < 20 else []
        return Compared(found, tuple(some))

    def _build(self, progress: Progress) -> Position:
        """Go on with the one that was begun, if one was."""
        begin = """
MERGE (g:Graph {name: $graph}) ON CREATE SET g.space = $empty, g.epoch = 0
SET g.home = $home, g.origin = $origin, g.building = coalesce(g.building, $fresh)
RETURN g.building AS space, g.space AS shown, g.epoch AS epoch"""
        words = {
            "graph": self._name,
            "home": self._home,
            "origin": self._origin,
            "empty": fresh_space(self._name),
            "fresh": fresh_space(self._name),
        }
        root = self.connection.write([(begin, words)])[0]
        state = self._mend_space(root["space"], progress)
        shown = """
MATCH (g:Graph {name: $graph}) WHERE g.building = $space
MERGE (:Discarded {space: g.space})
SET g = {name: g.name, space: g.building, home: g.home, origin: g.origin, format: $format}"""
        swap = (shown, {"graph": self._name, "space": root["space"], "format": FORMAT})
        self._conclude_all(root["space"], root["epoch"], state, swap)
        border("projection-shown")
        remove_discarded(self.connection)
        return Position(state.epoch, state.redactions)

    def _mend(self, space: str, number: int, progress: Progress) -> Position:
        """Compare everything, and write what differs."""
        state = self._mend_space(space, progress)
        self._carry_out_purges(self._writer(space), space)
        self._conclude_all(space, number, state)
        return Position(state.epoch, state.redactions)

    def _conclude_all(self, space: str, number: int, state: State, *before: Statement) -> None:
        """Write the newest of the feed, and the position, after everything was written."""
        number = max(number + 1, state.epoch)
        self._put_changes(space, number - state.epoch, state.epoch - CHANGES_KEPT, state.epoch)
        self._conclude(space, number, state.epoch, state, *before)

    def _mend_space(self, space: str, progress: Progress) -> State:
        """Make what is in the space what the graph had when this began, or more. How far the graph was."""
        state, writer = self._state(), self._writer(space)
        total = sum(self._graph.counts().values())
        done = 0
        progress(done, total)
        found = compare(self.connection, self._graph, space)
        for label, some in groupby(found, key=lambda difference: difference.label):
            for page in batched(some, OWNERS_BATCH):
                self._go_on()
                if label != "Document":
                    self._put_owners(writer, space, [difference.id for difference in page])
                    done += len(page)
                    progress(done, total)
                    continue
                for difference in page:
                    self._go_on()
                    self._put_document(writer, difference.id, None if difference.what == "missing" else "")
                    done += self._rows_of(difference.id)
                    progress(min(done, total), total)
            writer.flush()
        self._put_counts(writer)
        progress(total, total)
        return state

    def _rows_of(self, doc_id: str) -> int:
        with self._graph.whole() as sql:
            document = shown_document(sql, doc_id)
        return 1 + document.row[-2] + document.row[-1] if document else 1

    # ---------------------------------------------------------------------------------------------- the rest

    def _take_over(self) -> None:
        """Take the graph over: from now on no other home's write is carried out. Nothing is known of how far this home's epochs are there, until the
        position is written."""
        taken = "MATCH (g:Graph {name: $graph}) SET g.home = $home, g.clears = $not_known"
        words = {"graph": self._name, "home": self._home, "not_known": NOT_KNOWN}
        self.connection.write([(taken, words)])

    def _conclude(self, space: str, number: int, epoch: int, state: State, *before: Statement) -> int:
        """Write the position, in one transaction with what is to be done ``before``. The ``number`` of the projection's epoch."""
        with self._graph.whole() as sql:
            commit_id, purged = newest_commit(sql, epoch), newest_commit(sql, state.redacted_at)
        concluded = """
MATCH (g:Graph {name: $graph, space: $space})
SET g.epoch = $number, g.commit_id = $commit_id, g.purged = $purged, g.home_epoch = $epoch, g.clears = $clears,
    g.redactions = $redactions, g.at = $at"""
        words = {"number": number, "commit_id": commit_id, "purged": purged, "epoch": epoch, "at": time.time_ns()}
        known = {"graph": self._name, "space": space, "clears": state.clears, "redactions": state.redactions}
        self.connection.write([*before, (concluded, words | known)], self._home)
        border("projection-followed")
        return number

    def _make_schema(self) -> None:
        if not self._has_schema:
            make_schema(self.connection)
            self._has_schema = True

    def _writer(self, space: str) -> Writer:
        return Writer(self.connection, space, self._home, self._catalog)

    def _go_on(self) -> None:
        if self._stopping():
            raise LostLeaseError("The projection is stopping.")

    def close(self) -> None:
        self.connection.close()
