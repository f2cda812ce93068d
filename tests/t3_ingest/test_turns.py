"""Workers of several homes on one graph: each document is read once, published in order, by who holds the lease."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgfs.app.home import open_deposits, open_stores
from kgfs.compute.engine import LocalEngine
from kgfs.compute.local import LocalCompute
from kgfs.config import Config
from kgfs.domain.documents import Document
from kgfs.errors import AwayError, LostLeaseError
from kgfs.ingest.life import forget
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working import worker as worker_module
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.turns import Together, only_changer, taking_turns
from kgfs.ingest.working.worker import Worker
from kgfs.models.contract import Passage
from kgfs.settings import Models
from kgfs.settings import Pipeline as Settings
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.journal.contract_jobs import Job
from kgfs.stores.journal.facts import DocumentFailed, DocumentForgotten, DocumentRead
from kgfs.stores.naming import find_document
from kgfs.stores.readings import Reading
from kgfs.stores.stores import Stores
from tests.support.graph_building import Doc, Told, publish
from tests.support.graph_stores import own
from tests.support.knowledge_of import knowledge_in
from tests.support.running import until

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.place import Place

THINGS = ("garbage collector", "reference counting", "tracing algorithm", "memory cell", "weak reference", "root set")
TEXTS = {
    f"{n:02}": f"A {THINGS[n % 6]} is a form of {THINGS[(n + 1) % 6]}. The {THINGS[n % 6]} uses a {THINGS[(n + 2) % 6]} number {n}."
    for n in range(10)
}


TERM = 6.0
"""Seconds in which a worker has its say also where much else is done."""


def read_first(publisher: Pipeline) -> tuple[Document, Reading, Job]:
    """What is owed first, read and not published yet."""
    job = publisher.stores.journal.jobs.claim("slow", 600)
    assert job is not None
    document = publisher.stores.journal.names.document(job.doc_id)
    assert document is not None
    return document, publisher.read(document, job, lambda stage, share: None), job


@dataclass
class Slow(LocalCompute):
    """The statistics extractor, which takes its time, with a note of what it was asked. Some day it is away."""

    answers: int = 1_000_000
    asked: list[str] = field(default_factory=list)
    may_go_on: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        super().__init__(Models(embedder="none", extractor="statistics"))
        self.may_go_on.set()

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        if len(self.asked) >= self.answers:
            raise AwayError("only here")
        self.asked.extend(passage.text for passage in passages)
        time.sleep(0.1)
        self.may_go_on.wait()
        return super().extract(passages, known)


@dataclass
class Machine:
    """A home of its own; what others have done it is told by :meth:`learn`, as by a ledger that all share."""

    config: Config
    stores: Stores
    compute: Slow = field(default_factory=Slow)
    others: list[Machine] = field(default_factory=list)
    told: dict[int, int] = field(default_factory=dict)
    namespace: str = ""
    """Of a graph on a server."""

    def pipeline(self) -> Pipeline:
        engine = LocalEngine(self.compute, self.stores.garage.objects)
        return Pipeline(self.config, self.stores, self.compute, StageClock(), engine)

    def learn(self) -> None:
        ended = (DocumentRead, DocumentForgotten, DocumentFailed)
        for other in self.others:
            after = self.told.setdefault(id(other), other.stores.journal.seq())
            for number, fact in other.stores.journal.facts(after) or []:
                if isinstance(fact, ended) and self.stores.journal.jobs.of(fact.doc_id):
                    self.stores.journal.record(fact)
                self.told[id(other)] = number

    def work(self, watch: Callable[[], None] = lambda: None) -> int:
        pipeline = self.pipeline()
        with taking_turns(pipeline, lambda _: self.learn()) as turns:
            worker = Worker(pipeline, ErrorLog(self.config.errors_log), self.learn, turns)
            worker.run(until_idle=True, watch=watch)
            return worker.finished

    def epochs(self) -> list[int]:
        """Of the documents in order of deposit."""
        names = self.stores.journal.names
        rows = sorted((d.deposit, d.commit_id) for d in names.documents(names.ontologies()[0].id))
        return [self.stores.graph.published(commit_id) or 0 for _, commit_id in rows]


def hanging() -> Callable[[], None]:
    """To watch by who would else work without end."""
    end = time.monotonic() + 120

    def watch() -> None:
        assert time.monotonic() < end, "it never has its turn"

    return watch


def _with_lease(machine: Machine, seconds: float) -> Pipeline:
    return replace(machine.pipeline(), config=replace(machine.config, pipeline=Settings(lease=seconds)))


def deposit(config: Config, stores: Stores, folder: Path) -> None:
    with open_deposits(config, stores) as (deposits, _):
        for stem, text in TEXTS.items():
            path = folder / f"{stem}.txt"
            path.write_text(text)
            deposits.ingest_file(path, "Test")


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def machines(neo4j_place: Place, tmp_path: Path, opened: ExitStack) -> list[Machine]:
    """Two, with one garage and one graph, that owe the same."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    place = own(neo4j_place)
    found: list[Machine] = []
    (tmp_path / "garage").mkdir()
    for name in ("a", "b"):
        config = Config(home=tmp_path / name, pipeline=Settings(lease=12.0))
        config.home.mkdir()
        config.garage.symlink_to(tmp_path / "garage")
        stores = opened.enter_context(open_stores(config))
        if not found:
            deposit(config, stores, tmp_path)
        graph = opened.enter_context(closing(Neo4jGraph(place)))
        found.append(Machine(config, replace(stores, graph=graph), namespace=place.namespace))
    for machine in found:
        machine.others = [other for other in found if other is not machine]
        machine.learn()
    assert [machine.stores.journal.jobs.owed() for machine in found] == [len(TEXTS)] * 2
    return found


@pytest.fixture
def undisturbed(tmp_path: Path, opened: ExitStack) -> Machine:
    """One that has a graph of its own, and has read the same."""
    config = Config(home=tmp_path / "undisturbed")
    machine = Machine(config, opened.enter_context(open_stores(config)))
    deposit(config, machine.stores, tmp_path)
    assert machine.work() == len(TEXTS)
    return machine


@pytest.mark.claim("MACH-1")
def test_two_machines_read_each_document_once_and_publish_in_order(
    machines: list[Machine], undisturbed: Machine
) -> None:
    for machine in machines:
        machine.compute.may_go_on.clear()
    with ThreadPoolExecutor(2) as pool:
        working = [pool.submit(machine.work) for machine in machines]
        try:
            until(lambda: all(machine.compute.asked for machine in machines))
        finally:
            for machine in machines:
                machine.compute.may_go_on.set()
    assert sum(done.result() for done in working) == len(TEXTS)
    asked = [text for machine in machines for text in machine.compute.asked]
    assert sorted(asked) == sorted(undisturbed.compute.asked)
    assert len(list(machines[0].stores.garage.objects.keys("readings/"))) == len(TEXTS)
    for machine in machines:
        assert machine.epochs() == list(range(1, len(TEXTS) + 1))
        assert knowledge_in(machine.stores) == knowledge_in(undisturbed.stores)


@pytest.mark.claim("MACH-2")
def test_who_lost_its_lease_publishes_nothing_and_the_other_all(
    machines: list[Machine], undisturbed: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that stands still between its last look and the commit, as SIGSTOP would have it."""
    slow, quick = machines
    with taking_turns(slow.pipeline(), lambda _: slow.learn()) as turns:
        assert isinstance(turns, Together)
        publisher = turns.publisher()
        assert publisher is not None
        document, reading, job = read_first(publisher)

        def stand_still() -> None:
            monkeypatch.setattr(turns._holding._leases, "renew", lambda *_: False)  # no sign of life any more
            assert quick.work() == len(TEXTS)

        with pytest.raises(LostLeaseError):
            publisher.publish(document, reading, stand_still, job)
        with pytest.raises(LostLeaseError):
            publisher.forget(document, "forget")
    slow.learn()
    assert slow.stores.journal.jobs.owed() == 0
    assert slow.epochs() == list(range(1, len(TEXTS) + 1))
    assert slow.stores.graph.epoch() == len(TEXTS)
    assert slow.stores.graph.staged() == []
    assert knowledge_in(slow.stores) == knowledge_in(undisturbed.stores)


@pytest.mark.claim("MACH-1")
def test_what_takes_longer_than_its_lease_is_published_once(machines: list[Machine], neo4j_place: Place) -> None:
    """In one transaction of a server that is slow: nobody else can renew the lease meanwhile, nor take it."""
    from neo4j import GraphDatabase

    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    slow, other = machines
    assert isinstance(slow.stores.graph, Neo4jGraph)
    hold = "MATCH (g:Graph {name: $graph}) SET g.locked = true REMOVE g.locked"
    with (
        taking_turns(_with_lease(slow, TERM), lambda _: None) as turns,
        taking_turns(_with_lease(other, TERM), lambda _: None) as other_turns,
        GraphDatabase.driver(neo4j_place.uri, auth=(neo4j_place.user, neo4j_place.password)) as driver,
        driver.session() as session,
        ThreadPoolExecutor(1) as pool,
    ):
        assert isinstance(turns, Together)
        publisher = turns.publisher()
        assert publisher is not None
        document, reading, job = read_first(publisher)
        with session.begin_transaction() as busy:
            busy.run(hold, graph=slow.stores.graph._graph).consume()
            publishing = pool.submit(publisher.publish, document, reading, lambda: None, job)
            time.sleep(1.5 * TERM)
            assert not publishing.done()
            busy.rollback()
        publishing.result()
        assert turns.publisher() is publisher, "it still has its turn"
        assert other_turns.publisher() is None
        assert (slow.stores.graph.epoch(), slow.stores.graph.staged()) == (1, [])
        assert slow.epochs()[:2] == [1, 0]


@pytest.mark.claim("MACH-3")
@pytest.mark.logs("worker AwayError: only here")
def test_one_that_cannot_read_any_more_lets_the_other(machines: list[Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    """It lives, and has its turn: no lease of its would ever run out."""
    first, second = machines
    monkeypatch.setattr(worker_module, "RETRY", 2.0)
    first.compute.answers = 1
    with taking_turns(pipeline := first.pipeline(), lambda _: first.learn()) as turns, ThreadPoolExecutor(1) as pool:
        worker = Worker(pipeline, ErrorLog(first.config.errors_log), first.learn, turns)
        working = pool.submit(worker.run)
        try:
            until(first.config.errors_log.exists)
            second.work(hanging())
        finally:
            worker.stop()
        working.result()
    assert second.epochs() == list(range(1, len(TEXTS) + 1))
    assert first.compute.asked


@pytest.mark.logs("recover MissingError: .*readings/")
def test_a_machine_that_ends_in_the_middle_is_made_up_for(machines: list[Machine], undisturbed: Machine) -> None:
    """It had published some, and told nobody; and what it had read last is lost."""
    first, second = machines
    first.others = []
    pipeline = first.pipeline()
    with taking_turns(pipeline, lambda _: None) as turns:
        worker = Worker(pipeline, ErrorLog(first.config.errors_log), lambda: None, turns)
        worker.run(until_idle=True, watch=lambda: worker.stop() if worker.finished == 3 else None)
    assert second.stores.graph.epoch() == 3
    last = second.stores.journal.jobs.all()[2].doc_id
    ((key, _),) = second.stores.garage.objects.keys(f"readings/{last}/")
    second.stores.garage.objects.delete(key)
    second.others = []
    second.work(hanging())
    asked = [text for machine in machines for text in machine.compute.asked]
    assert sorted(set(asked)) == sorted(undisturbed.compute.asked)
    assert second.epochs() == list(range(1, len(TEXTS) + 1))
    assert knowledge_in(second.stores) == knowledge_in(undisturbed.stores)


@pytest.mark.claim("GONE-3")
@pytest.mark.logs(r"recover TooMuchError: .* takes more memory than Neo4j gives a transaction")
def test_what_a_server_has_not_the_memory_to_forget_keeps_nobody_from_publishing(
    machines: list[Machine], neo4j_place: Place, tmp_path: Path, opened: ExitStack
) -> None:
    """One document, with a concept that another gives more evidence for than leaves in a transaction of that server."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    known, config = machines[0].stores, machines[0].config
    [ontology] = known.journal.names.ontologies()
    place = replace(neo4j_place, namespace=machines[0].namespace, timeout=3.0)
    graph = opened.enter_context(closing(Neo4jGraph(place)))
    machine = replace(machines[0], stores=replace(known, graph=graph), others=[])
    target = find_document(machine.stores, config.run, "Test/00.txt")
    with closing(graph.aside()) as built:
        publish(built, Doc(target.doc_id, [Told("Zen")], ontology=ontology.id))
        publish(built, Doc("f" * 16, [Told("Zen", 16_000)], ontology=ontology.id))
        graph.adopt(built)
    before = graph.epoch()
    with open_deposits(config, machine.stores) as (deposits, _):
        forget.order(deposits, machine.stores, forget.plan(machine.stores, [target], "all", purge=False))

    def still_owed(published: int) -> None:
        assert [owed.doc_ids for owed in known.journal.names.forgettings()] == [(target.doc_id,)]
        assert graph.document(target.doc_id) is not None
        assert (graph.epoch(), graph.counts()["instances"] > 16_000) == (before + published, True)
        said = config.errors_log.read_text()
        assert said.count("to forget so much (1 documents) at once takes more memory") == 1

    assert machine.work() == len(TEXTS) - 1
    still_owed(len(TEXTS) - 1)
    config.errors_log.unlink()
    (tmp_path / "more.txt").write_text("A mutator is a form of program. The mutator uses a program.\n")
    with open_deposits(config, machine.stores) as (deposits, _):
        deposits.ingest_file(tmp_path / "more.txt", "Test")
    alone = Worker(machine.pipeline(), ErrorLog(config.errors_log), lambda: None)
    alone.run(until_idle=True)
    assert alone.finished == 1
    still_owed(len(TEXTS))


@pytest.mark.claim("GONE-3")
def test_who_begins_reads_while_another_publishes_though_something_ordered_is_owed(
    machines: list[Machine],
) -> None:
    """Whoever has the turn has looked at it when it began."""
    publishing, beginning = machines
    target = find_document(beginning.stores, beginning.config.run, "Test/09.txt")
    with open_deposits(beginning.config, beginning.stores) as (deposits, _):
        forget.order(deposits, beginning.stores, forget.plan(beginning.stores, [target], "orphans", purge=False))
    with (
        taking_turns(publishing.pipeline(), lambda _: publishing.learn()) as turns,
        taking_turns(pipeline := beginning.pipeline(), lambda _: beginning.learn()) as its,
        ThreadPoolExecutor(1) as pool,
    ):
        assert turns.publisher() is not None
        worker = Worker(pipeline, ErrorLog(beginning.config.errors_log), beginning.learn, its)
        working = pool.submit(worker.run, until_idle=True)
        try:
            until(lambda: beginning.compute.asked, 30)
            assert beginning.stores.graph.epoch() == 0
            turns.pass_on()
            working.result(120)
        finally:
            worker.stop()
    assert beginning.stores.journal.names.forgettings() == []
    assert beginning.stores.graph.counts()["documents"] == len(TEXTS) - 1


def test_a_verb_changes_the_graph_while_nobody_publishes(machines: list[Machine]) -> None:
    worker_machine, verb_machine = machines
    worker_machine.compute.may_go_on.clear()
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(worker_machine.work)
        until(lambda: worker_machine.compute.asked, 60)
        with only_changer(verb_machine.config, verb_machine.stores, lambda _: verb_machine.learn()) as stores:
            worker_machine.compute.may_go_on.set()
            time.sleep(1.0)
            assert stores.graph.epoch() == 0
            stores.graph.forget("by a verb", ["f" * 16], 1000)
        assert working.result() == len(TEXTS)
    assert worker_machine.epochs() == list(range(2, len(TEXTS) + 2))
