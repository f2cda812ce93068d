"""The worker on real stores: order, retries, poisoned documents, bad models, Records that are asked for once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.app.home import open_deposits
from kgfs.compute.contract import LocalEngine
from kgfs.config import Config, load
from kgfs.domain.documents import Document, State
from kgfs.errors import TimedOutError, UnavailableError
from kgfs.ingest import timing
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.worker import Worker
from kgfs.settings import Pipeline as Settings
from kgfs.stores.catalog import jobs as jobs_module
from kgfs.stores.catalog.facts import DocumentRead
from kgfs.stores.catalog.rows import Job
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.readings import Reading
from kgfs.stores.stores import Stores
from tests.support.knowledge_of import knowledge_in
from tests.support.peers.homes import anywhere, lifecycle
from tests.support.working import TEXT, Counting, deposit, documents, states, throw, work

pytestmark = lifecycle


class Better(Counting):
    @property
    def extractor(self) -> str:
        return f"better-{super().extractor}"


@pytest.fixture
def config(home: Path) -> Config:
    return replace(load(home), pipeline=Settings(max_attempts=2))


@pytest.mark.logs("worker ZeroDivisionError: a bug of a model")
def test_a_poisoned_document_fails_with_its_reason_and_the_others_are_read(
    config: Config, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "JOB_RETRY", 0.05)
    deposit(config, stores, tmp_path, first=TEXT, bad=TEXT + " POISON.", last=TEXT + " And more.")
    compute = Counting(poison="POISON")
    work(config, stores, compute)
    assert states(stores) == {State.DONE: 2, State.FAILED: 1}
    [failed] = [d for d in documents(stores) if d.state is State.FAILED]
    assert failed.reason == "ZeroDivisionError: a bug of a model"
    assert sum("POISON" in text for text in compute.asked) == 2
    logged = [json.loads(line) for line in config.errors_log.read_text().splitlines()]
    assert [line["attempt"] for line in logged] == [1, 2]
    assert stores.garage.objects.get(failed.key) == (TEXT + " POISON.").encode()


def test_those_behind_one_that_takes_long_to_publish_are_claimed_once(
    config: Config, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than their leases last, which only who publishes could renew."""
    deposit(config, stores, tmp_path, first=TEXT, second=TEXT + " More.", third=TEXT + " And more.")
    attempts = []

    def publish(self: Pipeline, document: Document, reading: Reading, ours: Callable[[], None], job: Job) -> None:
        attempts.append(job.attempts)
        published(self, document, reading, ours, job)
        if len(attempts) < 3:  # nobody is behind the last
            time.sleep(1.05 * settings.lease)

    published, settings = Pipeline.publish, Settings(lease=1.0)
    monkeypatch.setattr(Pipeline, "publish", publish)
    work(replace(config, pipeline=settings), stores, Counting())
    assert attempts == [1, 1, 1]


@pytest.mark.logs("worker UnavailableError: silent")
def test_who_watches_is_called_also_while_a_server_is_away(
    config: Config, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "JOB_RETRY", 0.01)

    def watch() -> None:
        raise TimedOutError("long enough")

    compute = Counting()
    pipeline = Pipeline(config, stores, compute, StageClock(), LocalEngine(compute, stores.garage.objects))
    monkeypatch.setattr(stores.catalog.jobs, "claim", lambda *_: throw(UnavailableError("silent")))
    worker = Worker(pipeline, ErrorLog(config.errors_log), lambda: None)
    with pytest.raises(TimedOutError, match="long enough"):
        worker.run(until_idle=True, watch=watch)


@pytest.mark.parametrize("ends", [True, False])
def test_questions_are_answered_before_documents_are_read_on(
    config: Config, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    monkeypatch.setattr(timing, "QUESTIONS_FIRST", 30 if ends else 0.1)
    deposit(config, stores, tmp_path, a=TEXT)
    compute, asked = Counting(), threading.Event()
    pipeline = Pipeline(config, stores, compute, StageClock(), LocalEngine(compute, stores.garage.objects))
    worker = Worker(pipeline, ErrorLog(config.errors_log), lambda: None, questions_wait=lambda: not asked.is_set())
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(worker.run, until_idle=True)
        if ends:
            assert not wait([done], 0.5).done and State.DONE not in states(stores)
            asked.set()
        done.result(60)  # else they never end, and it gets on all the same
    assert states(stores) == {State.DONE: 1}


def test_a_model_that_talks_nonsense_gives_no_concepts_and_its_words_are_kept(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, Counting(garbage=True))
    assert states(stores) == {State.DONE: 1}
    assert stores.graph.counts()["concepts"] == 0
    [key] = [key for key, _ in stores.garage.objects.keys("records/")]
    assert json.loads(stores.garage.objects.get(key))["raw_output"] == "not json"


def matched(stores: Stores) -> list[str]:
    """Names of documents in the order in which they were matched, as the ledger has it."""
    facts = [fact for _, fact in stores.catalog.facts(0) or [] if isinstance(fact, DocumentRead)]
    return [d.source_id.rpartition("/")[2] for f in facts if (d := stores.catalog.names.document(f.doc_id))]


def test_small_documents_come_first_and_none_waits_for_many(
    config: Config, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "OVERTAKEN", 3)
    long = "\n\n".join(f"{TEXT} Paragraph {n} of many speaks about reference counting." for n in range(200))
    deposit(config, stores, tmp_path, long=long, longer=long + TEXT)
    deposit(config, stores, tmp_path, **{f"short{n}": f"{TEXT} Number {n}." for n in range(6)})
    work(config, stores, Counting())
    assert matched(stores) == [
        *(f"{stem}.txt" for stem in ("short0", "short1", "short2", "long", "longer", "short3", "short4", "short5"))
    ]


def test_the_extractor_is_asked_about_a_source_once(config: Config, stores: Stores, tmp_path: Path) -> None:
    paragraphs = [f"{TEXT} Number {n} is about reference counting and garbage collection." * 8 for n in range(24)]
    deposit(config, stores, tmp_path, a="\n\n".join(paragraphs))
    first = Counting()
    work(config, stores, first)
    paragraphs[11] = "Something else entirely stands here now, about tracing algorithms."
    deposit(config, stores, tmp_path, a="\n\n".join(paragraphs))
    second = Counting()
    work(config, stores, second)
    assert len(first.asked) > 8
    assert 1 <= len(second.asked) <= 5, "only the Sources that the edit touched"
    assert states(stores)[State.DONE] == 1


@anywhere
def test_what_is_removed_leaves_the_graph_and_comes_back_without_asking_again(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, Counting())
    before = knowledge_in(stores)
    [ontology] = stores.catalog.names.ontologies()
    name = stores.catalog.names.resolve(ontology.id, "a.txt")
    assert name is not None
    with open_deposits(config, stores) as (deposits, _):
        deposits.remove(name.id)
    work(config, stores, Counting())
    assert stores.graph.counts()["concepts"] == 0
    again = Counting()
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, again)
    assert again.asked == []
    after = knowledge_in(stores)
    assert after["Test"]["concepts"].keys() == before["Test"]["concepts"].keys()


@anywhere
def test_rebuilt_equals_step_by_step(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, a=TEXT, b=TEXT + " Tracing is another form.", c="Zen is a school of Buddhism.")
    work(config, stores, Counting())
    deposit(config, stores, tmp_path, b="Reference counting cannot reclaim a reference cycle. Cycles are common.")
    work(config, stores, Counting())
    before = knowledge_in(stores)
    assert rebuild(stores) == 4
    assert knowledge_in(stores) == before


def test_reading_again_uses_the_extractor_there_is_now(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, Counting(garbage=True))
    assert stores.graph.counts()["concepts"] == 0
    better = Better()
    with open_deposits(config, stores) as (deposits, _):
        assert deposits.ingest_file(tmp_path / "a.txt", "Test", force=True).decision == "reprocess"
    work(config, stores, better)
    assert better.asked
    assert stores.graph.counts()["concepts"] > 0
    before = knowledge_in(stores)
    rebuild(stores)
    assert knowledge_in(stores) == before
