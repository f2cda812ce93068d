"""A worker that dies between what the graph shows and what the catalog says of it, while names go on changing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.compute.contract import LocalEngine
from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.ingest import timing as ingest_timing
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.matching import publication as publication_module
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working import worker as worker_module
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.worker import Worker
from kgfs.models.contract import Passage
from kgfs.settings import Pipeline as Settings
from kgfs.stores import timing as stores_timing
from kgfs.stores.catalog.facts import DocumentForgotten, DocumentRead
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.stores import Stores
from tests.support.knowledge_of import knowledge_in
from tests.support.working import (
    OTHER,
    TEXT,
    Counting,
    KilledError,
    deposit,
    documents,
    remove,
    states,
    throw,
    work,
    work_until,
)


@pytest.fixture
def config(home: Path) -> Config:
    return Config(home=home, pipeline=Settings(max_attempts=2))


@pytest.fixture
def stores(config: Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
    monkeypatch.setattr(stores_timing, "FORGET_AFTER_NS", 0)
    with open_home(config) as stores:
        yield stores


def shown(stores: Stores) -> set[str]:
    """Hashes of the documents that the graph shows."""
    [ontology] = stores.catalog.names.ontologies()
    return {row.content_hash for row in stores.graph.documents(ontology.id)}


def named(stores: Stores) -> set[str]:
    return {d.sha256 for d in documents(stores) if stores.catalog.names.names_of(d.doc_id)}


def test_the_decisions_noted_after_a_revival_are_those_that_the_graph_shows(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, Counting())
    remove(config, stores, "a.txt")
    work(config, stores, Counting())
    deposit(config, stores, tmp_path, a=TEXT)
    work_until("published", config, stores)
    work(config, stores, Counting())
    before = knowledge_in(stores)
    notes = [fact for _, fact in stores.catalog.facts(0) or [] if isinstance(fact, DocumentRead)]
    assert len({note.commit_id for note in notes}) == 2
    rebuild(stores)
    assert knowledge_in(stores) == before


def test_a_document_shown_already_takes_its_new_predecessor_out(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, a=TEXT, b=OTHER)
    work(config, stores, Counting())
    (tmp_path / "a.txt").write_text(OTHER)
    with open_deposits(config, stores) as (deposits, _):
        assert deposits.ingest_file(tmp_path / "a.txt", "Test", force=True).decision == "reprocess"
    work(config, stores, Counting())
    assert shown(stores) == named(stores)


def test_what_was_published_but_not_noted_goes_with_its_name(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    work_until("published", config, stores)
    remove(config, stores, "a.txt")
    work(config, stores, Counting())
    assert shown(stores) == set()
    before = knowledge_in(stores)
    stores.graph.clear()
    rebuild(stores)
    assert knowledge_in(stores) == before


def test_a_predecessor_that_is_named_again_before_its_leaving_was_noted_comes_back(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, Counting())
    deposit(config, stores, tmp_path, a=OTHER)
    work_until("published", config, stores)
    deposit(config, stores, tmp_path, c=TEXT)
    work(config, stores, Counting())
    assert states(stores) == {State.DONE: 2}
    assert shown(stores) == named(stores)
    before = knowledge_in(stores)
    rebuild(stores)
    assert knowledge_in(stores) == before


def test_a_document_that_is_named_again_before_its_forgetting_was_noted_comes_back(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, Counting())
    remove(config, stores, "a.txt")
    work_until("forgotten", config, stores)
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, Counting())
    assert states(stores) == {State.DONE: 1}
    assert shown(stores) == named(stores)


def test_what_was_staged_and_never_published_is_dropped(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(publication_module, "border", lambda name: throw(KilledError()) if name == "staged" else None)
        work(config, stores, Counting())
    assert stores.graph.staged()
    remove(config, stores, "a.txt")
    work(config, stores, Counting())
    assert stores.graph.staged() == []


@pytest.mark.logs("worker ZeroDivisionError: a bug of a model")
def test_a_document_that_is_removed_while_it_waits_for_another_try_stops_nobody(
    home: Path, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_timing, "JOB_RETRY", 0.3)
    config = Config(home=home, pipeline=Settings(max_attempts=5, lease=0.01))
    deposit(config, stores, tmp_path, bad=TEXT + " POISON.", last=TEXT)
    removed: list[str] = []

    def watch() -> None:
        if config.errors_log.exists() and not removed:
            removed.append("bad.txt")
            remove(config, stores, "bad.txt")

    pipeline = Pipeline(
        config,
        stores,
        Counting(poison="POISON"),
        StageClock(),
        LocalEngine(Counting(poison="POISON"), stores.garage.objects),
    )
    Worker(pipeline, ErrorLog(config.errors_log), lambda: None).run(until_idle=True, watch=watch)
    assert removed
    assert states(stores)[State.DONE] == 1


def test_what_changed_about_a_document_since_its_publication_does_not_change_the_rebuilt_graph(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    deposit(config, stores, tmp_path, a=TEXT, b=TEXT + " Tracing is another form.")
    work(config, stores, Counting())
    with open_deposits(config, stores) as (deposits, _):
        assert deposits.ingest_file(tmp_path / "a.txt", "Test", force=True).decision == "reprocess"
    deposit(config, stores, tmp_path, c=TEXT)
    work(config, stores, Counting())
    [ontology] = stores.catalog.names.ontologies()
    before = knowledge_in(stores), stores.graph.documents(ontology.id)
    rebuild(stores)
    assert (knowledge_in(stores), stores.graph.documents(ontology.id)) == before


def test_opening_a_home_whose_first_document_is_being_published_takes_nothing_away(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    def look(name: str) -> None:
        if name == "staged":
            with open_home(config):
                pass

    deposit(config, stores, tmp_path, a=TEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publication_module, "border", look)
        work(config, stores, Counting())
    [document] = documents(stores)
    assert stores.graph.sources(document.doc_id)
    assert stores.graph.instances_of(document.doc_id)


def test_a_document_is_not_given_up_because_its_worker_was_stopped_often(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    for _ in range(worker_module.FATAL + 2):
        stopped: list[Worker] = []
        pipeline = Pipeline(config, stores, Counting(), StageClock(), LocalEngine(Counting(), stores.garage.objects))
        stopped.append(Worker(pipeline, ErrorLog(config.errors_log), lambda held=stopped: held[0].stop()))
        stopped[0].run()
        [job] = stores.catalog.jobs.all()
        assert (job.state, job.worker) == ("queued", "")
    work(config, stores, Counting())
    assert states(stores) == {State.DONE: 1}


def test_a_document_read_ahead_is_claimed_once_however_long_the_one_before_takes(
    home: Path, stores: Stores, tmp_path: Path
) -> None:
    class Slow(Counting):
        def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
            if any("SLOW" in passage.text for passage in passages):
                time.sleep(1.5)
            else:
                time.sleep(2.0)
            return super().extract(passages, known)

    config = Config(home=home, pipeline=Settings(lease=0.6))
    deposit(config, stores, tmp_path, first=TEXT + " SLOW.", ahead=TEXT)
    compute = Slow()
    work(config, stores, compute)
    assert len(compute.asked) == 2


def test_a_document_moved_over_another_is_not_forgotten_before_it_is_settled(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    deposit(config, stores, tmp_path, a=TEXT, b=OTHER)
    work(config, stores, Counting())
    [ontology] = stores.catalog.names.ontologies()
    evidence = {c.name: [i.n for i in stores.graph.instances(c.concept_id)] for c in stores.graph.concepts(ontology.id)}
    moved = stores.catalog.names.resolve(ontology.id, "a.txt")
    assert moved is not None
    with open_deposits(config, stores) as (deposits, _):
        deposits.move(moved.id, ontology.root, "b.txt", replace=True)
        looks: list[int] = []

        def watch() -> None:
            looks.append(len(looks))
            if len(looks) == 8:
                deposits.settler.settle_now()

        pipeline = Pipeline(config, stores, Counting(), StageClock(), LocalEngine(Counting(), stores.garage.objects))
        Worker(pipeline, ErrorLog(config.errors_log), lambda: None).run(until_idle=True, watch=watch)
    facts = [fact for _, fact in stores.catalog.facts(0) or []]
    assert [f.doc_id for f in facts if isinstance(f, DocumentForgotten)] != [moved.doc_id]
    assert shown(stores) == named(stores) == {moved.sha256}
    after = {c.name: [i.n for i in stores.graph.instances(c.concept_id)] for c in stores.graph.concepts(ontology.id)}
    assert after.items() <= evidence.items()
