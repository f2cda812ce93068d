"""The :class:`~kgfs.stores.graph.contract.Graph` in a Neo4j server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any

from neo4j import ManagedTransaction

from kgfs.domain.documents import INGEST_VERSIONS
from kgfs.errors import TimedOutError, TooMuchError
from kgfs.failpoints import border
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.neo4j import editions, feed, loading, purging, schema, spaces
from kgfs.stores.graph.neo4j.commit import Commit
from kgfs.stores.graph.neo4j.faults import QUESTIONS, faults
from kgfs.stores.graph.neo4j.locking import lock_for
from kgfs.stores.graph.neo4j.matching import Neo4jMatching
from kgfs.stores.graph.neo4j.merging import Cascade, Reassignment, set_marks
from kgfs.stores.graph.neo4j.place import Place
from kgfs.stores.graph.neo4j.refusals import is_out_of_memory
from kgfs.stores.graph.neo4j.speaking import ROOT, Speaking
from kgfs.stores.graph.sqlite import SqliteGraph, build_aside
from kgfs.stores.graph.vocabulary import Batch, Fault, Mark, Publication, Redaction, RelationshipRow, Said
from kgfs.stores.leases.contract import Lease
from kgfs.stores.leases.neo4j import Neo4jLeases, held

_ASIDE = " aside"
_LEFT = """
MATCH (g:Graph {name: $graph})
RETURN g.space AS space, g.told AS told, EXISTS { MATCH (e:Leaving) WHERE e.space = g.space } AS left,
       EXISTS { MATCH (d:Discarded) WHERE d.space STARTS WITH $beginning } AS discarded"""

Root = dict[str, Any]


class Neo4jGraph(Neo4jMatching):
    """The graph of one namespace. Any number of threads, processes and machines. What a call returned for is durable as
    far as the server's own disk is; a commit whose acknowledgement was lost is found again by its id."""

    def __init__(self, place: Place) -> None:
        speaking = Speaking(place)
        try:
            schema.make(speaking)
            speaking.write(lambda tx: _keep_history(tx))
            super().__init__(speaking, place.namespace)
            self._is_fenced = False
            self._asked = threading.Lock()
            space = spaces.fresh_space(place.namespace)
            speaking.write(lambda tx: spaces.make(tx, place.namespace, space))
            self._seen = self._state()
            self._tidy()
        except BaseException:
            speaking.close()
            raise

    # ------------------------------------------------------------------------------------------- writing

    def stage(self, commit_id: str, document: str, batch: Batch) -> None:
        editions.stage(self._speaking, self._graph, commit_id, document, batch)

    def publish(self, publication: Publication) -> int:
        doc_id, commit_id = publication.document.doc_id, publication.commit_id

        def work(tx: ManagedTransaction, root: Root) -> int:
            opened = editions.open_edition(tx, self._graph, doc_id, commit_id)
            assert opened is not None  # the commit is not known, and nobody else commits meanwhile
            commit = Commit(tx, self._graph, root, publication.at)
            commit.leave([doc_id, *publication.supersedes])
            commit.enter(opened[1], publication)
            return commit.settle(commit_id, "publish")

        return self._commit(commit_id, work)

    def abandon(self, commit_id: str) -> None:
        self._speaking.write(lambda tx: editions.abandon(tx, self._graph, commit_id))
        self._tidy()

    def forget(self, commit_id: str, doc_ids: Sequence[str], at: int, concepts: Sequence[str] = ()) -> int:
        def work(tx: ManagedTransaction, root: Root) -> int:
            commit = Cascade(tx, self._graph, root, at)
            commit.leave(doc_ids)
            commit.strike(concepts)
            return commit.settle(commit_id, "forget")

        with self._at_once(f"to forget so much ({len(doc_ids)} documents)"):
            return self._commit(commit_id, work, len(doc_ids) + len(concepts))

    def reassign(
        self, commit_id: str, said: Sequence[Said], at: int, marks: Sequence[Mark] = (), unmarked: Sequence[Mark] = ()
    ) -> int:
        def work(tx: ManagedTransaction, root: Root) -> int:
            commit = Reassignment(tx, self._graph, root, at)
            for one in said:
                commit.say(one)
            set_marks(tx, root["space"], marks, unmarked)
            return commit.settle(commit_id, "reassign")

        with self._at_once(f"to have so much said anew ({len(said)} documents)"):
            return self._commit(commit_id, work, len(said))

    def _commit(self, commit_id: str, work: Callable[[ManagedTransaction, Root], int], changed: int = 1) -> int:
        """Carry out what raises the epoch, unless it was carried out before. ``changed``: how many documents, say."""

        def once(tx: ManagedTransaction) -> int:
            root, known = self._locked(tx, commit_id)
            if known is not None:
                return known
            epoch = work(tx, root)
            border("graph-committing")
            return epoch

        epoch = self._speaking.write(once, self._speaking.place.seconds_for(changed))
        border("graph-committed")
        self._note_whole()
        self._tidy()
        return epoch

    @contextmanager
    def _at_once(self, what: str) -> Iterator[None]:
        """Around one transaction of any size: TooMuchError where the server has not the memory for it, so that it is not taken for a
        server that will soon be less busy, for which everything waits."""
        try:
            yield
        except TimedOutError as error:
            if not is_out_of_memory(error):
                raise
            raise TooMuchError(
                f"{self._speaking.place.uri}: {what} at once takes more memory than Neo4j gives a transaction."
                " Give it more (server.memory.heap.max_size, db.memory.transaction.total.max): docs/graph.md says how much."
            ) from error.__cause__

    def _note_whole(self) -> None:
        """That what was committed here is there, for those who follow: else each of them is to wait for the lock itself."""
        self._speaking.note_whole(self._graph)

    def _locked(self, tx: ManagedTransaction, commit_id: str = "") -> tuple[Root, int | None]:
        """The graph's node, and the epoch of that commit if it was done."""
        found = lock_for(tx, self._graph, commit_id)
        if found is None:
            raise self._speaking.gone(self._graph)
        return found

    def redact(self, concepts: Sequence[str], relationships: Sequence[RelationshipRow]) -> Redaction:
        """What the server still holds in logs and copies of its own is its operator's affair: see ``docs/graph.md``."""
        with self._at_once(f"to purge so much (of {len(concepts)} concepts)"):
            redaction = self._speaking.write(
                lambda tx: purging.redact(tx, self._graph, self._locked(tx)[0], concepts, relationships),
                self._speaking.place.seconds_for(len(concepts)),
            )
        self._note_whole()
        self._drop_aside()
        return redaction

    def impose(self, redaction: Redaction) -> None:
        self._speaking.write(
            lambda tx: purging.impose(tx, self._locked(tx)[0]["space"], redaction),
            self._speaking.place.seconds_for(len(redaction.names)),
        )
        self._note_whole()

    def clear(self) -> None:
        space = spaces.fresh_space(self._speaking.place.namespace)
        self._speaking.write(lambda tx: spaces.begin_anew(tx, self._graph, space))
        self._note_whole()
        self._tidy()

    def aside(self) -> SqliteGraph:
        """In a file of this machine: the server is sent the outcome when it is adopted, not the way to it."""
        self._drop_aside()
        return build_aside(self._speaking.place.aside)

    def adopt(self, built: Graph, ontology: str = "") -> int:
        assert isinstance(built, SqliteGraph)
        aside, space = f"{self._graph}{_ASIDE}", spaces.fresh_space(self._speaking.place.namespace)
        try:
            self._speaking.write(lambda tx: spaces.make_aside(tx, aside, space, built.epoch()))
            loading.load(self._speaking, aside, space, built)
            border("graph-loaded")
            epoch = self._speaking.write(lambda tx: spaces.adopt(tx, self._graph, aside, space, ontology))
            self._note_whole()
        finally:
            self._drop_aside()
        return epoch

    def _drop_aside(self) -> None:
        """What is left on the server of one that was not adopted, and of all else that nobody is shown."""
        self._speaking.write(lambda tx: spaces.drop(tx, f"{self._graph}{_ASIDE}"))
        self._tidy()

    # -------------------------------------------------------------------------------- several machines

    def leases(self, patience: float) -> Neo4jLeases:
        return Neo4jLeases(self._speaking.place, patience)

    def fenced(self, lease: Lease) -> Neo4jGraph:
        graph = copy(self)
        namespace = self._speaking.place.namespace
        graph._speaking = self._speaking.fenced(lambda tx: held(tx, namespace, lease), lease.seconds)
        graph._is_fenced = True
        return graph

    def _tidy(self) -> None:
        """Remove what nobody sees any more, little by little. One question where there is nothing."""
        beginning = f"{self._speaking.place.namespace}/"
        found = self._speaking.one(_LEFT, graph=self._graph, beginning=beginning)
        if found is None:
            raise self._speaking.gone(self._graph)
        if found["told"] > feed.MOST_CHANGES:
            feed.prune(self._speaking, self._graph)
            self._note_whole()
        if found["left"]:
            editions.remove_left(self._speaking, found["space"])
        if found["discarded"]:
            spaces.remove_discarded(self._speaking)

    # ------------------------------------------------------------------------------------------- asking

    def faults(self) -> list[Fault]:
        # Each in a transaction of its own, which may take long. All of one epoch they could not be on a graph that others work
        # on: a walk takes longer than the time between two commits.
        def walk(what: str, question: str, tx: ManagedTransaction) -> list[Fault]:
            return faults(tx, self._speaking.root(tx, self._graph)["space"], what, question)

        found: list[Fault] = []
        for asked in QUESTIONS:
            self._speaking.glance(ROOT, graph=self._graph)  # a walk would wait for minutes for a server that is silent
            found += self._speaking.once(partial(walk, *asked))
        return found

    def changed(self) -> bool:
        with self._asked:
            state = self._state()
            moved, self._seen = state != self._seen, state
            return moved

    def _state(self) -> tuple[int, int]:
        found = self._speaking.one(ROOT, graph=self._graph)
        if found is None:
            raise self._speaking.gone(self._graph)
        return found["root"]["epoch"], found["root"]["clears"]

    def close(self) -> None:
        if not self._is_fenced:
            self._speaking.close()


def _keep_history(tx: ManagedTransaction) -> None:
    """The written history of the ingest logic, for people who ask the server."""
    tx.run(
        "UNWIND $rows AS row MERGE (v:IngestVersion {version: row.version}) SET v += row",
        rows=[
            {"version": number, "description": version.description, "breaking": version.breaking}
            for number, version in INGEST_VERSIONS.items()
        ],
    ).consume()
