"""Vectors that a home keeps for itself follow what was published elsewhere: they equal those of who published it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgfs.app import api
from kgfs.app.home import open_stores
from kgfs.app.turns import replay, taking_turns
from kgfs.compute.engine import LocalEngine
from kgfs.compute.local import LocalCompute
from kgfs.config import Config
from kgfs.ingest.lifecycle import rebuild
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.turns import Alone, Turns
from kgfs.ingest.working.worker import Worker
from kgfs.settings import Models
from kgfs.settings import Vectors as VectorSettings
from kgfs.sharing import follow_graph as following_graph
from kgfs.sharing import follow_vectors as following
from kgfs.sharing import shared_commits
from kgfs.sharing.follow_vectors import follow_vectors
from kgfs.sharing.turns import PUBLISH, Together
from kgfs.sharing.vector_positions import position_of
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage.embedded import FileGarage
from kgfs.stores.leases.bucket import BucketLeases
from kgfs.stores.leases.holding import Holding
from kgfs.stores.positions import POSITIONS
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter, Row, Vectors
from kgfs.stores.vectors.sqlite import SqliteVectors
from tests.fakes.garage import MemoryGarage, MemoryObjects
from tests.fakes.vectors import MemoryVectors
from tests.support.hosts import Host, host
from tests.support.working import ingest

TEXT = "A {0} is a form of {1}. The {0} uses a {1}."
pytestmark = pytest.mark.models


def rows(vectors: Vectors) -> list[tuple[object, ...]]:
    return [(row.kind, row.item, row.window, row.doc_id, row.vector.tobytes()) for row in vectors.fetch(Filter())]


def forget(config: Config, words: str) -> None:
    assert api.forget(config, [words], "orphans", purge=False, agree=lambda proposal: True) is not None


def test_they_follow_and_are_the_same(home: Path, tmp_path: Path) -> None:
    config = Config(home=home, models=Models(extractor="statistics"))
    other = Config(home=tmp_path / "other")
    other.run.mkdir(parents=True)

    def followed() -> tuple[object, object]:
        with open_stores(config, vectors_of=model) as stores:
            assert stores.vectors is not None
            with closing(SqliteVectors(other.vectors_db, model)) as mine:
                there: Stores = replace(stores, vectors=mine)
                there.graph.note_followed(there.catalog.confirmed())
                for _ in range(2):
                    follow_vectors(there, replay(), position_of(other, there))
                return rows(mine), rows(stores.vectors)

    ingest(config, tmp_path, a=TEXT.format("garbage collector", "tracing algorithm"))
    with open_stores(config) as stores:
        from kgfs.app.home import model_in_use

        model = model_in_use(config, stores)
    mine, theirs = followed()
    assert mine == theirs != []
    ingest(config, tmp_path, b=TEXT.format("weak reference", "root set"), c=TEXT.format("root set", "memory cell"))
    grown, theirs = followed()
    assert grown == theirs != mine
    forget(config, "Memory/b.txt")
    left, theirs = followed()
    assert left == theirs != grown


@dataclass
class Two:
    """Homes of one graph with vectors of their own. The worker of ``here`` publishes, and never passes on."""

    here: Host
    there: Host
    compute: LocalCompute
    holding: Holding

    def work(self, one: Host) -> None:
        pipeline = Pipeline(
            one.config, one.stores, self.compute, StageClock(), LocalEngine(self.compute, one.stores.garage.objects)
        )
        turns: Turns = Alone(pipeline)
        if one is self.there:
            turns = Together(
                one.config,
                one.stores,
                lambda those: replace(pipeline, stores=those),
                self.holding,
                lambda _: one.exchange(),
                replay(),
            )
        Worker(pipeline, ErrorLog(one.config.errors_log), one.exchange, turns).run(until_idle=True)

    def publish(self, stem: str, *things: str) -> None:
        self.here.file(f"{stem}.txt", TEXT.format(*things).encode())
        self.here.settle()
        self.work(self.here)
        self.here.exchange()
        self.there.exchange()

    def same(self) -> bool:
        mine, theirs = self.there.stores.vectors, self.here.stores.vectors
        assert mine is not None and theirs is not None
        return rows(mine) == rows(theirs) != []


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    garage, leases = FileGarage(tmp_path / "garage"), BucketLeases(MemoryObjects())
    compute = LocalCompute(Models(extractor="statistics"))
    with ExitStack() as stack:
        homes: list[Host] = []
        for name in ("here", "there"):
            made = host(tmp_path / name, garage)
            stack.callback(made.close)
            vectors = stack.enter_context(closing(SqliteVectors(made.config.vectors_db, compute.embedding_model)))
            made.stores = replace(made.stores, vectors=vectors)
            homes.append(made)
        assert leases.take(PUBLISH, "here", 1000) is not None
        homes[0].ontology()
        yield Two(*homes, compute, stack.enter_context(closing(Holding(leases, 1000))))
        assert leases.take(PUBLISH, "there", 1000) is None


def test_they_follow_also_where_this_home_never_has_its_turn(two: Two) -> None:
    for stem, things in (("a", ("garbage collector", "root set")), ("b", ("memory cell", "weak reference"))):
        two.publish(stem, *things)
        assert not two.same()
        two.work(two.there)
        assert two.same()


def test_what_the_journal_does_not_keep_any_more_is_followed_from_the_ledger(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgfs.stores.catalog.sqlite.KEPT_ENTRIES", 5)
    two.publish("a", "garbage collector", "root set")
    two.work(two.there)
    two.publish("b", "memory cell", "weak reference")
    for n in range(20):
        two.here.file(f"{n}.txt", b"")
    two.publish("c", "reference counting", "tracing algorithm")
    monkeypatch.setattr(following, "BATCH", 3)
    monkeypatch.setattr(rebuild, "rebuild_vectors", lambda stores: pytest.fail("made anew"))
    two.work(two.there)
    assert two.same()


def test_they_do_not_run_ahead_of_a_graph_of_the_homes_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process of the home learns what was published when the graph was looked at already."""
    garage, compute = MemoryGarage(), LocalCompute(Models(extractor="statistics"))
    with ExitStack() as stack:
        homes: list[Host] = []
        for name in ("here", "there"):
            made = host(tmp_path / name, garage)
            vectors = SqliteVectors(made.config.vectors_db, compute.embedding_model)
            made.stores = replace(made.stores, vectors=vectors)
            stack.enter_context(closing(made.stores))
            stack.callback(made.session.close)
            homes.append(made)
        here, there = homes

        def work(one: Host) -> None:
            pipeline = Pipeline(one.config, one.stores, compute, StageClock(), LocalEngine(compute, garage.objects))
            with taking_turns(pipeline, lambda _: one.exchange.meet()) as turns:
                Worker(pipeline, ErrorLog(one.config.errors_log), one.exchange, turns).run(until_idle=True)

        def publish(stem: str, *things: str) -> None:
            here.file(f"{stem}.txt", TEXT.format(*things).encode())
            here.settle()
            work(here)

        here.ontology()
        publish("a", "garbage collector", "root set")
        work(there)
        publish("b", "memory cell", "weak reference")
        there.exchange()
        real, left = following_graph.follow_graph, ["c"]

        def followed(*words: Any, **named: Any) -> int:
            upto = real(*words, **named)
            if left:
                publish(left.pop(), "reference counting", "tracing algorithm")
                there.exchange()
            return upto

        with (
            monkeypatch.context() as patched,
            taking_turns(
                Pipeline(there.config, there.stores, compute, StageClock(), LocalEngine(compute, garage.objects)),
                lambda _: there.exchange.meet(),
            ) as turns,
        ):
            patched.setattr(following_graph, "follow_graph", followed)
            turns.keep_up(now=True)
        assert left == []
        work(there)
        assert here.stores.vectors is not None and there.stores.vectors is not None
        assert rows(here.stores.vectors) == rows(there.stores.vectors) != []


def test_homes_share_vectors_on_a_server_which_the_one_that_has_its_turn_writes(tmp_path: Path) -> None:
    """Killed before it had written there: the next one does, from the position that the bucket knows."""
    garage, compute = MemoryGarage(), LocalCompute(Models(extractor="statistics"))
    server = MemoryVectors(compute.embedding_model)
    with ExitStack() as stack:
        homes: list[Host] = []
        for name in ("here", "there"):
            made = host(tmp_path / name, garage)
            stack.callback(made.session.close)
            made.config = replace(made.config, vectors=VectorSettings(store="qdrant", url="http://127.0.0.1:1"))
            made.stores = replace(made.stores, vectors=server)
            stack.enter_context(closing(made.stores.graph))
            stack.enter_context(closing(made.stores.catalog))
            homes.append(made)
        here, there = homes

        def work(one: Host) -> None:
            pipeline = Pipeline(one.config, one.stores, compute, StageClock(), LocalEngine(compute, garage.objects))
            with taking_turns(pipeline, lambda _: one.exchange.meet()) as turns:
                Worker(pipeline, ErrorLog(one.config.errors_log), one.exchange, turns).run(until_idle=True)

        def written(one: Host, stem: str, *things: str) -> int:
            name = one.file(f"{stem}.txt", TEXT.format(*things).encode())
            one.settle()
            one.exchange()
            return name.id

        def held(one: Host) -> bool:
            """Whether the server has the documents and concepts of the graph, and no others."""
            graph = one.stores.graph
            (ontology,) = one.stores.catalog.names.ontologies()
            shown = {row.doc_id for row in graph.documents(ontology.id)}
            concepts = {concept.concept_id for concept in graph.concepts(ontology.id)}
            kept = server.fetch(Filter())
            found = {row.doc_id for row in kept if row.kind == "source"}, {r.item for r in kept if r.kind == "concept"}
            return found == (shown, concepts) != (set(), set())

        here.ontology()
        first = written(here, "a", "garbage collector", "root set")
        work(here)
        assert held(here)
        there.exchange()
        written(there, "b", "memory cell", "weak reference")
        work(there)
        assert held(there)
        here.exchange()
        written(here, "c", "reference counting", "tracing algorithm")
        with pytest.MonkeyPatch.context() as patched, pytest.raises(ZeroDivisionError):
            patched.setattr(shared_commits, "follow_vectors", lambda *_: 1 / 0)
            pipeline = Pipeline(here.config, here.stores, compute, StageClock(), LocalEngine(compute, garage.objects))
            with taking_turns(pipeline, lambda _: here.exchange.meet()) as turns:
                turns.publisher()
        there.exchange()
        work(there)
        here.exchange()
        work(here)
        assert held(there) and held(here)
        assert len(list(garage.objects.keys(POSITIONS))) == 1
        here.deposits.remove(first)
        here.exchange()
        work(here)
        assert held(here)
        server.clear()
        assert not server.complete()
        there.exchange()
        written(there, "d", "root set", "memory cell")
        work(there)
        assert held(there), "what the server lost is put there again"


def test_rows_of_documents_that_left_are_removed_in_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "ROWS_BATCH", 2)
    told: list[int] = []

    class Listening(MemoryVectors):
        def delete(self, where: Filter) -> int:
            told.append(len(where.doc_ids or ()))
            return super().delete(where)

    documents = [f"{n:016x}" for n in range(6)]
    vectors = Listening("model")
    vectors.upsert([Row("source", doc_id, 0, np.ones(3, np.float32), "o" * 12, doc_id, 0) for doc_id in documents])
    with open_stores(Config(home=tmp_path / "home")) as stores:
        replayed = rebuild.ReplayedVectors(stores, vectors)
        replayed.leave(*documents[:2], documents[2])
        replayed.leave(*documents[2:5])
        replayed.carry_out()
    assert told == [2, 2, 1]
    assert vectors.count() == 1
