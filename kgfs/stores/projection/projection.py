"""The projection of one home's graph: follow the change feed, write all of it, compare it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import astuple
from itertools import groupby
from typing import Any

from kgfs.errors import BadInputError, LostLeaseError
from kgfs.failpoints import border
from kgfs.stores.batched import batched
from kgfs.stores.graph.feed import touched
from kgfs.stores.graph.rows import COUNTED
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.projection.connection import Connection, Row
from kgfs.stores.projection.endpoint import Endpoint
from kgfs.stores.projection.source import (
    LIVING,
    Catalog,
    State,
    changes_told,
    claims,
    concepts,
    newest_commit,
    relationships,
    shown_document,
    state_of,
)
from kgfs.stores.projection.writing import FORMAT, ROWS, Writer, make_schema

FOLLOWED_BATCH = 10_000
"""Rows of the change feed that are followed before the position is written; all of one commit in any case."""
IDS_BATCH = 200
CHANGES_KEPT = 1000
"""Commits of which ``Change`` nodes are kept."""
SAMPLE = 100
"""Nodes of each kind that a comparison looks at."""

Progress = Callable[[int, int], None]


class Projection:
    """Follows one home's graph on a Neo4j server. Use it from one thread at a time. The first call connects.

    Every call may raise UnavailableError, TimedOutError or StoreError, as the server answers, and LostLeaseError if
    another home took over or ``stopping`` returns True. The next call goes on from what was written.
    """

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
        """Ask the server how far it is. None where it has no projection of this graph in this format, or not all of it."""
        root = self._root()
        return None if "begun" in root else self._position(root)

    def follow(self, progress: Progress = lambda done, total: None) -> State:
        """Bring the server up to the graph, and return where it is then. Where the feed does not lead there from what the server has,
        all is written, of which ``progress`` is told. BadInputError where the server has another garage's graph."""
        if not self._has_schema:
            make_schema(self.connection)
            self._has_schema = True
        while True:
            self._assert_wanted()
            root = self._root()
            if root.get("origin", self._origin) != self._origin:
                raise BadInputError(
                    f"{self.connection.endpoint.uri}: the graph '{self._name}' there is another home's. Set graph.namespace to"
                    " another name; or kgfs rebuild --neo4j puts this home's in its place."
                )
            position = self._position(root)
            with self._graph.whole() as sql:
                state = state_of(sql)
                found = touched(sql, position.epoch, FOLLOWED_BATCH) if position else None
            if position is None or found is None:
                self._begin()
            elif "begun" in root:
                self._write_all(root.get("built"), position, progress)
            elif position == state and self._names == dict(self._catalog.ontologies()):
                return position
            else:
                self._follow_some(found.owners, found.documents, position, state)
                self._conclude(position.epoch, State(found.epoch, state.clears, state.redactions))

    def rebuild(self, progress: Progress = lambda done, total: None) -> State:
        """Write all of the projection over what is there, whosever it is."""
        make_schema(self.connection)
        self._begin()
        return self.follow(progress)

    def differences(self, sample: int = SAMPLE) -> Iterator[tuple[str, str]]:
        """Compare the numbers of nodes, and a sample of concepts, relationships, claims and documents. Yield (what, how it differs). Nothing
        is changed."""
        space = self._name
        pattern = "MATCH (:Document {space: $space})-[:HAS_CHUNK]->(s:Source)"
        questions = {
            "documents": "MATCH (n:Document {space: $space}) WHERE n.status <> 'superseded' RETURN count(n) AS n",
            "sources": f"{pattern} RETURN count(s) AS n",
            "concepts": "MATCH (n:Concept {space: $space}) RETURN count(n) AS n",
            "relationships": "MATCH (n:Relationship {space: $space}) RETURN count(n) AS n",
            "instances": f"{pattern}<-[:DERIVED_FROM]-(n:Instance) WHERE n.owner_kind <> 'claim' RETURN count(n) AS n",
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
        """Return digests of so many concepts, relationships, claims and documents, by id."""
        found: dict[str, dict[str, str]] = {label: {} for label in LIVING}
        with self._graph.whole() as sql:
            for label, living in LIVING.items():
                after = f"{time.time_ns() % 16:x}"  # ids are hexadecimal
                ids = [one for start in (after, "") for (one,) in sql.execute(living, (start, sample))][:sample]
                if label == "Concept":
                    found[label] = {row["id"]: row["digest"] for row, _ in concepts(sql, ids)}
                elif label in ("Relationship", "Claim"):
                    rows = (relationships if label == "Relationship" else claims)(sql, ids)
                    found[label] = {row["id"]: row["digest"] for row in rows}
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
        """Return how far what the server has, or what is being written there, is; None where that is of another home or format, or
        not of what the graph is now."""
        if root.get("home") != self._home or root.get("format") != FORMAT:
            return None
        position = State(*root["begun" if "begun" in root else "shown"])
        with self._graph.whole() as sql:
            state = state_of(sql)
        return position if position.clears == state.clears and position.epoch <= state.epoch else None

    def _follow_some(self, owners: set[str], documents: set[str], position: State, state: State) -> None:
        """Write what was touched."""
        writer = self._writer()
        owners = owners | self._mentioned(documents)
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

    def _mentioned(self, doc_ids: set[str]) -> set[str]:
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
            rows = self.connection.read(question, keys=[f"{self._name}/{doc_id}" for doc_id in some])
            found |= {row["id"] for row in rows}
        return found

    def _conclude(self, after: int, position: State) -> None:
        """Write the feed since the epoch ``after``, and the position."""
        self._put_changes(after, position.epoch)
        with self._graph.whole() as sql:
            commit_id = newest_commit(sql, position.epoch)
        shown = {
            "shown": list(astuple(position)),
            "epoch": position.epoch,
            "commit_id": commit_id,
            "at": time.time_ns(),
        }
        self._set(shown, "REMOVE g.begun, g.built")
        border("projection-followed")

    def _set(self, properties: Row, removing: str = "") -> None:
        """Set properties of the ``Graph`` node."""
        words = {"graph": self._name, "properties": properties}
        self.connection.write(
            [(f"MATCH (g:Graph {{name: $graph}}) SET g += $properties {removing}", words)], self._home
        )

    def _put_changes(self, after: int, upto: int) -> None:
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
                    words: dict[str, Any] = {"space": self._name, "epoch": epoch, "part": part, **lists}
                    self.connection.write([(put, words)], self._home)
        old = "MATCH (c:Change) WHERE c.space = $space AND c.epoch < $epoch AND c.part >= 0 DELETE c"
        self.connection.write([(old, {"space": self._name, "epoch": upto - CHANGES_KEPT})], self._home)

    # -------------------------------------------------------------------------------------- writing all

    def _begin(self) -> None:
        """Begin to write all. From now on no other home's write is carried out."""
        with self._graph.whole() as sql:
            begun = list(astuple(state_of(sql)))
        root = {"space": self._name, "home": self._home, "origin": self._origin, "format": FORMAT, "begun": begun}
        begin = "MERGE (g:Graph {name: $graph}) ON CREATE SET g.epoch = 0 SET g += $root REMOVE g.built"
        self.connection.write([(begin, {"graph": self._name, "root": root})])

    def _write_all(self, built: list[str] | None, begun: State, progress: Progress) -> None:
        """Go on writing all, page by page, and removing what the graph has not."""
        writer, labels = self._writer(), list(LIVING)
        done, total = 0, sum(self._graph.counts().values())
        reached, after = built or [labels[0], ""]
        for label in labels[labels.index(reached) :]:
            after = after if label == reached else ""
            while page := self._page(label, after):
                self._assert_wanted()
                (writer.put_documents if label == "Document" else writer.put_owners)(page)
                writer.flush()
                after = page[-1]
                self._set({"built": [label, after]})
                done += len(page) + (self._graph.extent(page)[1] if label == "Document" else 0)
                progress(min(done, total), total)
        progress(total, total)
        writer.carry_out_purges()
        writer.put_counts()
        self._conclude(begun.epoch - CHANGES_KEPT, begun)

    def _page(self, label: str, after: str) -> list[str]:
        """Return the next ids of those that are in the graph or on the server."""
        with self._graph.whole() as sql:
            living = [id_ for (id_,) in sql.execute(LIVING[label], (after, IDS_BATCH))]
        node, key = ("Edition", "doc_id") if label == "Document" else (label, "id")
        question = (
            f"MATCH (n:{node} {{space: $space}}) WHERE n.{key} > $after RETURN n.{key} AS id ORDER BY id LIMIT $limit"
        )
        there = self.connection.read(question, space=self._name, after=after, limit=IDS_BATCH)
        return sorted({*living, *(row["id"] for row in there)})[:IDS_BATCH]

    def _writer(self) -> Writer:
        return Writer(self.connection, self._graph, self._home, self._catalog)

    def _assert_wanted(self) -> None:
        if self._stopping():
            raise LostLeaseError("The projection is stopping.")
