"""Reading again: as a new keeper, for one document, with other means; killed, failed, compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.config import Config, load
from kgfs.domain.documents import INGEST_VERSION, INGEST_VERSIONS, Document, IngestVersion, State
from kgfs.errors import BadInputError, MissingError
from kgfs.ingest import timing
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.lifecycle.runs import Order, all_of, failed, outdated, owe, owe_again, plan, recognise
from kgfs.ingest.working import pipeline as pipeline_module
from kgfs.knowledge.compare import compare
from kgfs.knowledge.document_location import standing_of
from kgfs.settings import Pipeline as Settings
from kgfs.stores.catalog.facts import DocumentRead, ReadingOwed
from kgfs.stores.readings import load_reading
from kgfs.stores.stores import Stores
from tests.support.knowledge_of import knowledge_in
from tests.support.peers.homes import anywhere, lifecycle
from tests.support.working import TEXT, TEXTS, Counting, deposit, documents, regenerate, states, work

pytestmark = lifecycle


@pytest.fixture
def config(home: Path) -> Config:
    return replace(load(home), pipeline=Settings(max_attempts=2))


def reported(stores: Stores) -> dict[str, Any]:
    """Concepts with their words and quotes, without numbers of evidence."""
    concepts = knowledge_in(stores)["Test"]["concepts"]
    return {
        name: (c["label"], c["aliases"], c["description"], sorted(e[1:5] for e in c["evidence"]))
        for name, c in concepts.items()
    }


@anywhere
def test_a_regenerated_ontology_is_what_a_fresh_ingest_gives_whatever_stood_there(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    other = Config(home=tmp_path / "other")
    with open_home(other) as fresh:
        deposit(other, fresh, tmp_path, **TEXTS)
        work(other, fresh, Counting())
        wanted = reported(fresh)
    # An earlier document makes other names for things, and leaves; its concepts stay in what the others joined.
    deposit(
        config, stores, tmp_path, x="A GC is a garbage collector. Tracing collectors (GC) free memory cells.", **TEXTS
    )
    work(config, stores, Counting())
    [ontology] = stores.catalog.names.ontologies()
    name = stores.catalog.names.resolve(ontology.id, "x.txt")
    assert name is not None
    with open_deposits(config, stores) as (deposits, _):
        deposits.remove(name.id)
    work(config, stores, Counting())
    regenerate(stores)
    work(config, stores, Counting())
    assert reported(stores) == wanted


def test_nothing_changes_where_nothing_is_read_otherwise_and_nobody_is_asked(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    deposit(config, stores, tmp_path, **TEXTS)
    work(config, stores, Counting())
    before = knowledge_in(stores)
    assert len(regenerate(stores)) == 3
    again = Counting()
    work(config, stores, again)
    assert again.asked == []
    assert knowledge_in(stores) == before
    [ontology] = stores.catalog.names.ontologies()
    found = compare(stores, ontology)
    assert (found.compared, found.uncompared, found.documents) == (3, 0, {})
    assert found.whole.concepts[0] == found.whole.concepts[1] > 0


def test_each_run_has_readings_of_its_own_by_what_was_asked_for(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, **TEXTS)
    work(config, stores, Counting())
    for strategy in ("random", "popularity", "random"):
        regenerate(stores, strategy=strategy, extractor="statistics")
        work(config, stores, Counting())
        for document in documents(stores):
            reading = load_reading(stores.garage.objects, document.doc_id, document.reading)
            assert (reading.strategy, reading.extractor) == (strategy, "statistics/1")
            former = load_reading(stores.garage.objects, document.doc_id, document.former_reading)
            assert former.run != reading.run
    assert all(len(list(stores.garage.objects.keys(f"readings/{d.doc_id}/"))) == 4 for d in documents(stores))


@anywhere
@pytest.mark.claim("VIS-9")
def test_readers_have_the_old_graph_until_each_document_is_published_anew(
    config: Config, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deposit(config, stores, tmp_path, **TEXTS)
    work(config, stores, Counting())
    doc_ids = [document.doc_id for document in sorted(documents(stores), key=lambda d: (d.size, d.deposit))]

    def evidence() -> dict[str, list[Any]]:
        return {doc_id: stores.graph.instances_of(doc_id) for doc_id in doc_ids}

    before = evidence()
    regenerate(stores, strategy="random")
    assert knowledge_in(stores)["Test"]["states"] == {"queued": 3}
    assert not any(standing_of(stores.catalog.names, doc_id).stale for doc_id in doc_ids)
    seen: list[tuple[str, dict[str, list[Any]]]] = []
    monkeypatch.setattr(pipeline_module, "border", lambda name: seen.append((name, evidence())))
    fewer = replace(config, pipeline=Settings(concepts_per_document=1))
    work(fewer, stores, Counting())
    after = evidence()
    assert all(0 < len(after[doc_id]) < len(before[doc_id]) for doc_id in doc_ids)
    for border, published in (("decided", 0), ("published", 1)):
        shown = [found for name, found in seen if name == border]
        assert len(shown) == 3
        for at, found in enumerate(shown, published):
            wanted = {d: (after if n < at else before)[d] for n, d in enumerate(doc_ids)}
            assert {d: _spans(rows) for d, rows in found.items()} == {d: _spans(rows) for d, rows in wanted.items()}


def _spans(rows: list[Any]) -> list[tuple[Any, ...]]:
    return [(row.owner, row.n, row.char_start, row.char_end) for row in rows]


class KilledError(BaseException):
    """Stands for the end of the process: nothing catches it."""


@pytest.mark.parametrize("border", ["decided", "published", "indexed", "noted"])
def test_killed_in_the_middle_it_ends_as_if_undisturbed(
    config: Config, stores: Stores, tmp_path: Path, border: str
) -> None:
    deposit(config, stores, tmp_path, x=TEXT + " Tracing (GC) is old.", **TEXTS)
    work(config, stores, Counting())
    before = knowledge_in(stores)
    regenerate(stores, strategy="popularity")
    passed: list[str] = []

    def kill(name: str) -> None:
        if name == border:
            passed.append(name)
            if len(passed) == 2:
                raise KilledError

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(pipeline_module, "border", kill)
        work(config, stores, Counting())
    work(config, stores, Counting())
    assert states(stores) == {State.DONE: 4}
    after = knowledge_in(stores)
    assert after["Test"]["concepts"].keys() == before["Test"]["concepts"].keys()
    regenerate(stores, strategy="popularity")
    work(config, stores, Counting())
    assert knowledge_in(stores) == after
    rebuild(stores)
    assert knowledge_in(stores) == after


@anywhere
def test_rebuilt_equals_step_by_step_after_regenerations(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, **TEXTS)
    work(config, stores, Counting(garbage=True))
    regenerate(stores)
    deposit(config, stores, tmp_path, b="Zen is a school of Buddhism. Garbage collection is no part of Zen.")
    work(config, stores, Counting())
    owe_again(stores, [documents(stores)[0].doc_id], "random")
    work(config, stores, Counting())
    before = knowledge_in(stores)
    rebuild(stores)
    assert knowledge_in(stores) == before


@pytest.mark.claim("VIS-9")
@pytest.mark.logs("worker ZeroDivisionError: a bug of a model")
def test_what_cannot_be_read_again_keeps_what_was_known_of_it_until_it_can(
    config: Config, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "JOB_RETRY", 0.05)

    class Other(Counting):
        @property
        def extractor(self) -> str:
            return "other/1"

    deposit(config, stores, tmp_path, **TEXTS)
    work(config, stores, Counting())
    before = reported(stores)
    regenerate(stores)
    work(config, stores, Other(poison="cycle"))
    [ontology] = stores.catalog.names.ontologies()
    assert states(stores) == {State.DONE: 2, State.FAILED: 1}
    assert reported(stores) == before
    [poor] = failed(stores, [ontology])
    assert poor.source_id.endswith("/c.txt")
    assert len(owe(stores.catalog, lambda: failed(stores, [ontology]), Order("failed"))) == 1
    work(config, stores, Counting())
    assert states(stores) == {State.DONE: 3}
    assert reported(stores) == before


def test_what_an_older_version_read_is_outdated(
    config: Config, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deposit(config, stores, tmp_path, **TEXTS)
    work(config, stores, Counting())
    names, [ontology] = stores.catalog.names, stores.catalog.names.ontologies()
    assert outdated(names, [ontology]) == []
    newer = INGEST_VERSION + 1
    monkeypatch.setitem(INGEST_VERSIONS, newer, IngestVersion("a test"))  # type: ignore[arg-type]
    assert len(outdated(names, [ontology], newer)) == 3
    [one, *_] = documents(stores)
    read = [fact for _, fact in stores.catalog.facts(0) or [] if isinstance(fact, DocumentRead)]
    [fact] = [fact for fact in read if fact.doc_id == one.doc_id]
    values = {name: getattr(fact, name) for name in fact.__slots__}
    stores.catalog.record(DocumentRead(**{**values, "ingest_version": newer}))
    assert {document.doc_id for document in outdated(names, [ontology], newer)} == {
        document.doc_id for document in documents(stores) if document.doc_id != one.doc_id
    }
    with pytest.raises(BadInputError, match="no ingest version 99"):
        outdated(names, [ontology], 99)


def test_unsupported_formats_are_left_and_words_are_checked(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, a=TEXT, photo="\0\1\2")
    work(config, stores, Counting())
    assert [document.source_id.partition("/")[2] for document in regenerate(stores)] == ["a.txt"]
    with pytest.raises(BadInputError, match="Unknown strategy 'best'; known are random, popularity, hybrid"):
        Order("x", strategy="best")
    with pytest.raises(BadInputError, match="the extractor is 'best'"):
        Order("x", extractor="best")


def test_a_document_that_loses_its_path_while_it_is_owed_is_looked_for_again(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    deposit(config, stores, tmp_path, **TEXTS)
    work(config, stores, Counting())
    [ontology] = stores.catalog.names.ontologies()
    looks: list[list[Document]] = []

    def choose() -> list[Document]:
        looks.append(all_of(stores.catalog.names, ontology))
        if len(looks) == 1:
            name = stores.catalog.names.resolve(ontology.id, "a.txt")
            assert name is not None
            with open_deposits(config, stores) as (deposits, _):
                deposits.remove(name.id)
        return looks[-1]

    owed = owe(stores.catalog, choose, Order("asked for"))
    assert (len(looks[0]), len(owed)) == (3, 2)
    with pytest.raises(MissingError):
        owe(stores.catalog, lambda: looks[0], Order("asked for"))
    recorded = [fact for _, fact in stores.catalog.facts(0) or [] if isinstance(fact, ReadingOwed)]
    assert {fact.doc_id for fact in recorded} == {document.doc_id for document in owed}


def test_a_plan_counts_what_is_known_and_guesses_what_is_not(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, **TEXTS)
    work(config, stores, Counting())
    compute = Counting()
    assert plan(config, stores, compute, "Test", documents(stores), "random").seconds == 0
    deposit(config, stores, tmp_path, later="Zen is calm. " * 400)
    found = plan(config, stores, compute, "Test", documents(stores), "random")
    assert (found.documents, found.unread, found.strategy, found.extractor) == (4, 1, "random", "statistics/1")
    assert (found.reusable_chunks, found.chunks) == (3, 3 + 3)
    assert found.tokens == found.reusable_tokens + 1300
    assert (found.cost, compute.asked) == (0.0, [])

    class Billed(Counting):
        billed = True

        @property
        def extractor(self) -> str:
            return "model/1"

    priced = replace(config, llm=replace(config.llm, price_in=2.0, price_out=4.0))
    dear = plan(priced, stores, Billed(), "Test", documents(stores), "random")
    assert dear.reusable_chunks == 0
    assert dear.seconds and found.seconds and dear.seconds > found.seconds
    assert dear.cost == round((dear.tokens + 6 * config.pipeline.overlap_tokens) * (2.0 + 0.25 * 4.0) / 1e6, 4)


def test_one_document_is_read_again_and_compared_with_all_the_others(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    deposit(config, stores, tmp_path, **TEXTS)
    work(config, stores, Counting())
    before = reported(stores)
    [document] = [d for d in documents(stores) if d.source_id.endswith("/c.txt")]
    [owed] = owe_again(stores, [document.doc_id], "random")
    assert owed.doc_id == document.doc_id
    [job] = stores.catalog.jobs.all()
    assert (job.doc_id, job.strategy, job.since) == (document.doc_id, "random", 0)
    work(config, stores, Counting())
    assert reported(stores) == before
    assert len(owe_again(stores, [d.doc_id for d in documents(stores)], "hybrid")) == 3
    assert {job.since for job in stores.catalog.jobs.all()} == {stores.catalog.seq() - 2}


@pytest.mark.files("path")
def test_files_of_this_home_are_recognised(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, **TEXTS)
    [document, *_] = documents(stores)
    [kept] = [path for path in config.garage.rglob("*") if path.name == document.key.rpartition("/")[2]]
    found = recognise(config, stores, kept)
    assert found is not None
    assert found.doc_id == document.doc_id
    assert recognise(config, stores, tmp_path / "a.txt") is None
