"""The projection of one home's graph: follow the change feed, write it anew, compare it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from itertools import groupby
from typing import Any

from kgfs.errors import BadInputError, LostLeaseError
from kgfs.failpoints import border
from kgfs.stores.batched import batched
from kgfs.stores.graph.rows import COUNTED
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.touched import touched
from kgfs.stores.projection.connection import Connection, Row, Statement
from kgfs.stores.projection.endpoint import Endpoint
from kgfs.stores.projection.schema import FORMAT, make_schema
from kgfs.stores.projection.source import (
    LIVING,
    Catalog,
    State,
    changes_told,
    concepts,
    newest_commit,
    relationships,
    shown_document,
    state_of,
)
from kgfs.stores.projection.writing import ROWS, Writer

FOLLOWED_BATCH = 10_000
"""Rows of the change feed that are followed before the position is written; all of one commit in any case."""
IDS_BATCH = 200
CHANGES_KEPT = 1000
"""Commits of which ``Change`` nodes are kept."""
SAMPLE = 100
"""Nodes of each kind that a comparison looks at."""

Progress = Callable[[int, int], None]


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
        """``home`` is the id of the home whose graph it is; ``origin`` names the garage that the graph is derived from, which another
        home may have taken over."""
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

    def position(self) -> State | None:
        """Ask the server how far it is. None where it has no projection of this graph in this format."""
        root = self._root()
        return None if "building" in root else self._position(root)

    def follow(self, progress: Progress = lambda done, total: None) -> State:
        """Bring the server up to the graph, and return where it is then. Where the feed does not lead there from what the server has,
        all is written anew beside it, of which ``progress`` is told. BadInputError where the server has another garage's graph."""
        if not self._has_schema:
            make_schema(self.connection)
            self._has_schema = True
        root = self._root()
        if root.get("origin", self._origin) != self._origin:
            raise BadInputError(
                f"{self.connection.endpoint.uri}: the graph '{self._name}' there is another home's. Set graph.namespace to another"
                " name; or kgfs rebuild --neo4j puts this home's in its place."
            )
        while True:
            self._assert_wanted()
            position = self._position(root)
            with self._graph.whole() as sql:
                state = state_of(sql)
                found = touched(sql, position.epoch, FOLLOWED_BATCH) if position else None
            if position is None or found is None:
                root = self._begin()
            elif "building" in root:
                self._build(root, position, progress)
                root = self._root()
            elif position == state and self._names == dict(self._catalog.ontologies()):
                self._remove_discarded()
                return position
            else:
                self._follow_some(root["space"], found.owners, found.documents, position, state)
                root |= self._conclude(
                    root["space"], position.epoch, State(found.epoch, state.clears, state.redactions)
                )

    def rebuild(self, progress: Progress = lambda done, total: None) -> State:
        """Write the projection anew beside what is there, whosever it is, and show it in its place."""
        make_schema(self.connection)
        self._begin()
        return self.follow(progress)

    def differences(self, sample: int = SAMPLE) -> Iterator[tuple[str, str]]:
        """Compare the numbers of nodes, and a sample of concepts, relationships and documents. Yield (what, how it differs). Nothing
        is changed."""
        space = self._root()["space"]
        pattern = "MATCH (:Document {space: $space})-[:HAS_CHUNK]->(s:Source)"
        questions = {
            "documents": "MATCH (n:Document {space: $space}) WHERE n.status <> 'superseded' RETURN count(n) AS n",
            "sources": f"{pattern} RETURN count(s) AS n",
            "concepts": "MATCH (n:Concept {space: $space}) RETURN count(n) AS n",
            "relationships": "MATCH (n:Relationship {space: $space}) RETURN count(n) AS n",
            "instances": f"{pattern}<-[:DERIVED_FROM]-(n:Instance) RETURN count(n) AS n",
        }
        here = self._graph.counts()
        for name in COUNTED:
            there = self.connection.read(questions[name], space=space)[0]["n"]
            if there != here[name]:
                yield name, f"{there} there, {here[name]} in the home"
        for label, ids in self._sampled(sample).items():
            key = "doc_id" if label == "Document" else "id"
            question = f"UNWIND $ids AS id MATCH (n:{label} {{space: $space, {key}: id}}) RETURN id, n.digest AS digest"
            found = self.connection.read(question, space=space, ids=list(ids))
            known = {row["id"]: row["digest"] for row in found}
            for id_, digest in ids.items():
                if known.get(id_) != digest:
                    yield f"{label} {id_}", "other" if id_ in known else "missing"

    def _sampled(self, sample: int) -> dict[str, dict[str, str]]:
        """Return digests of so many concepts, relationships and documents, by id."""
        found: dict[str, dict[str, str]] = {label: {} for label in LIVING}
        with self._graph.whole() as sql:
            for label, living in LIVING.items():
                after = f"{time.time_ns() % 16:x}"  # ids are hexadecimal
                ids = [one for start in (after, "") for (one,) in sql.execute(living, (start, sample))][:sample]
                if label == "Concept":
                    found[label] = {row["id"]: row["digest"] for row, _ in concepts(sql, ids)}
                elif label == "Relationship":
                    found[label] = {row["id"]: row["digest"] for row in relationships(sql, ids)}
                else:
                    documents = filter(None, (shown_document(sql, doc_id) for doc_id in ids))
                    found[label] = {one.known["doc_id"]: one.read_through() for one in documents}
        return found

    def close(self) -> None:
        self.connection.close()

    # ----------------------------------------------------------------------------------------- following

    def _root(self) -> Row:
        found = self.connection.read("MATCH (g:Graph {name: $graph}) RETURN properties(g) AS root", graph=self._name)
        return dict(found[0]["root"]) if found else {}

    def _position(self, root: Row) -> State | None:
        """Return how far what the server has, or what is being built there, is; None where that is of another home or format, or not
        of what the graph is now."""
        if root.get("home") != self._home or root.get("format") != FORMAT:
            return None
        position = State(*root["begun" if "building" in root else "shown"])
        with self._graph.whole() as sql:
            state = state_of(sql)
        return position if position.clears == state.clears and position.epoch <= state.epoch else None

    def _follow_some(self, space: str, owners: set[str], documents: set[str], position: State, state: State) -> None:
        """Write what was touched."""
        writer = self._writer(space)
        owners = owners | self._mentioned(space, documents)
        for some in batched(sorted(owners), IDS_BATCH):
            self._assert_wanted()
            writer.put_owners(some)
        for some in batched(sorted(documents), IDS_BATCH):
            self._assert_wanted()
            writer.put_documents(some)
        writer.flush()
        if position.redactions != state.redactions:
            writer.carry_out_purges()
        writer.put_counts()
        self._names = dict(self._catalog.ontologies())

    def _mentioned(self, space: str, doc_ids: set[str]) -> set[str]:
        """Return the concepts that these documents mention, here or there."""
        found: set[str] = set()
        with self._graph.whole() as sql:
            for doc_id in doc_ids:
                document = shown_document(sql, doc_id)
                found |= {concept for concept, _ in document.mentions()} if document else set()
        question = (
            "UNWIND $keys AS key MATCH (:Edition {key: key})<-[:MENTIONED_IN]-(o:Owner) RETURN DISTINCT o.id AS id"
        )
        for some in batched(sorted(doc_ids), IDS_BATCH):
            rows = self.connection.read(question, keys=[f"{space}/{doc_id}" for doc_id in some])
            found |= {row["id"] for row in rows}
        return found

    def _conclude(self, space: str, after: int, position: State, *before: Statement) -> Row:
        """Write the feed since the epoch ``after``, and the position, in one transaction with what is to be done ``before``. Return
        what the ``Graph`` node says of it."""
        self._put_changes(space, after, position.epoch)
        with self._graph.whole() as sql:
            commit_id = newest_commit(sql, position.epoch)
        shown = {
            "shown": list(astuple(position)),
            "epoch": position.epoch,
            "commit_id": commit_id,
            "at": time.time_ns(),
        }
        concluded = "MATCH (g:Graph {name: $graph, space: $space}) SET g += $shown"
        words = {"graph": self._name, "space": space, "shown": shown}
        self.connection.write([*before, (concluded, words)], self._home)
        border("projection-followed")
        return shown

    def _put_changes(self, space: str, after: int, upto: int) -> None:
        """Write the feed of these epochs, and remove the oldest."""
        put = (
            "MERGE (c:Change {space: $space, epoch: $epoch, part: $part})"
            " SET c.size = size($what), c.what = $what, c.kind = $kind, c.ontology = $ontology, c.owner = $owner, c.name = $name"
        )
        with self._graph.whole() as sql:
            for epoch, rows in groupby(changes_told(sql, after, upto), key=lambda row: int(row[0])):
                for part, some in enumerate(batched(rows, ROWS)):
                    columns = map(list, list(zip(*some, strict=True))[1:])
                    lists = dict(zip(("what", "kind", "ontology", "owner", "name"), columns, strict=True))
                    words: dict[str, Any] = {"space": space, "epoch": epoch, "part": part, **lists}
                    self.connection.write([(put, words)], self._home)
        old = "MATCH (c:Change) WHERE c.space = $space AND c.epoch < $epoch AND c.part >= 0 DELETE c"
        self.connection.write([(old, {"space": space, "epoch": upto - CHANGES_KEPT})], self._home)

    # -------------------------------------------------------------------------------------- writing anew

    def _begin(self) -> Row:
        """Begin to write all into a space beside the shown one. From now on no other home's write is carried out."""
        with self._graph.whole() as sql:
            state = state_of(sql)
        fresh = f"{self._name}/{time.time_ns():x}"
        begun = """
MERGE (g:Graph {name: $graph}) ON CREATE SET g.space = $empty, g.epoch = 0
FOREACH (space IN CASE WHEN g.building IS NULL THEN [] ELSE [g.building] END | MERGE (:Discarded {space: space}))
SET g += $root REMOVE g.built
RETURN properties(g) AS root"""
        root = {
            "home": self._home,
            "origin": self._origin,
            "format": FORMAT,
            "building": fresh,
            "begun": list(astuple(state)),
        }
        words = {"graph": self._name, "empty": f"{fresh}-", "root": root}
        return dict(self.connection.write([(begun, words)])[0]["root"])

    def _build(self, root: Row, begun: State, progress: Progress) -> None:
        """Go on writing all, page by page, and show it in place of what is shown."""
        space, done, total = root["building"], 0, sum(self._graph.counts().values())
        writer = self._writer(space)
        reached: list[str] = root.get("built") or [next(iter(LIVING)), ""]
        labels = list(LIVING)
        for label in labels[labels.index(reached[0]) :]:
            after = reached[1] if label == reached[0] else ""
            while page := self._living(label, after):
                self._assert_wanted()
                (writer.put_documents if label == "Document" else writer.put_owners)(page)
                writer.flush()
                after = page[-1]
                words = {"graph": self._name, "built": [label, after]}
                self.connection.write([("MATCH (g:Graph {name: $graph}) SET g.built = $built", words)], self._home)
                done += self._graph.extent(page)[1] + len(page) if label == "Document" else len(page)
                progress(min(done, total), total)
        progress(total, total)
        writer.put_counts()
        swap = """
MATCH (g:Graph {name: $graph}) WHERE g.building = $space
MERGE (:Discarded {space: g.space})
SET g.space = g.building REMOVE g.building, g.built, g.begun"""
        self._conclude(space, begun.epoch - CHANGES_KEPT, begun, (swap, {"graph": self._name, "space": space}))
        border("projection-shown")

    def _living(self, label: str, after: str) -> Sequence[str]:
        with self._graph.whole() as sql:
            return [id_ for (id_,) in sql.execute(LIVING[label], (after, IDS_BATCH))]

    def _remove_discarded(self) -> None:
        """Remove what lies in spaces that are not shown any more. A kill in between is made up for by the next call."""
        question = "MATCH (d:Discarded) WHERE d.space STARTS WITH $beginning RETURN d.space AS space"
        for row in self.connection.read(question, beginning=f"{self._name}/"):
            self._writer(row["space"]).remove_space()
            self.connection.write([("MATCH (d:Discarded {space: $space}) DELETE d", row)], self._home)

    def _writer(self, space: str) -> Writer:
        return Writer(self.connection, self._graph, space, self._home, self._catalog)

    def _assert_wanted(self) -> None:
        if self._stopping():
            raise LostLeaseError("The projection is stopping.")
