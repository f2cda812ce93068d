"""Documents that a language model reads, with each fault that a server or a model can have."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgfs.app import api
from kgfs.app.home import open_deposits, open_home
from kgfs.app.working import run_worker
from kgfs.config import Config, load
from kgfs.domain.documents import State
from kgfs.errors import KgfsError
from kgfs.ingest import timing
from kgfs.settings import Claims, Llm, Models
from kgfs.stores.readings import Reading, load_reading
from kgfs.stores.stores import Stores
from tests.support.knowledge_of import knowledge_in
from tests.support.model_server import COMPANY, ModelServer, answering, said, serving
from tests.support.running import Place, until

REPORT = next(path for path in COMPANY if path.stem.startswith("income-report"))


def configured(home: Path, url: str, **llm: Any) -> Config:
    settings = Llm(**{"base_url": url, "timeout": 1.0, "retry_for": 0.5, **llm})
    return replace(load(home), llm=settings, models=Models(extractor="llm", embedder="none"))


def deposit(config: Config, *paths: Path, ontology: str = "Growth") -> None:
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
        for path in paths:
            deposits.ingest_file(path, ontology)


def readings(stores: Stores) -> list[Reading]:
    names = stores.catalog.names
    found = [document for one in names.ontologies() for document in names.documents(one.id, "", 100)]
    objects = stores.garage.objects
    return [load_reading(objects, document.doc_id, document.reading) for document in found if document.reading]


def states(stores: Stores) -> Mapping[State, int]:
    return {state: count for state, count in stores.catalog.names.counts().items() if count}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "MODEL_RETRY", 0.2)


def read(config: Config, server: ModelServer, *paths: Path) -> None:
    deposit(config, *(paths or (REPORT,)))
    run_worker(config, until_idle=True)


def test_each_source_is_asked_about_once_and_its_answer_is_knowledge(home: Path, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        config = configured(home, server.url)
        read(config, server, *COMPANY)
        with open_home(config) as stores:
            sources = sum(len(reading.chunks) for reading in readings(stores))
            assert len(server.calls()) == sources
            noted = json.loads((tmp_path / "calls.ndjson").read_text().splitlines()[0])
            assert noted["task"] == "extraction"
            annotated = [json.loads(path.read_text()) for path in annotations_of(COMPANY)]
            relationships = sum(len(reading.relationships) for reading in readings(stores))
            assert relationships >= 0.95 * sum(len(one["relationships"]) for one in annotated)
            claims = [claim for reading in readings(stores) for claim in reading.claims]
            assert len(claims) >= 0.98 * sum(len(one["claims"]) for one in annotated)
            assert all(claim.quote is not None for claim in claims)
            assert states(stores) == {State.DONE: len(COMPANY)}
        assert api.llm_usage(config)["outcomes"] == {"answer": sources}
        run_worker(config, until_idle=True)
        assert len(server.calls()) == sources


def annotations_of(paths: list[Path]) -> list[Path]:
    return [path.parents[1] / "annotations" / f"{path.stem}.json" for path in paths]


FAULTS: Mapping[str, tuple[State, str]] = {
    "malformed": (State.FAILED, "Sources failed: length"),
    "refusal": (State.FAILED, "Sources failed: refusal"),
    "empty": (State.FAILED, "Sources failed: empty"),
    "http_400": (State.FAILED, "Sources failed: rejected"),
    "fenced": (State.DONE, ""),
    "paraphrase": (State.DONE, ""),
    "wrong_enum": (State.DONE, "claim: its "),
    "missing_field": (State.DONE, "claim: its claim is missing"),
    "reworded": (State.DONE, "relationship: its quote does not stand in the text"),
    "invented_quote": (State.DONE, "quote not found"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_model_ends_the_document(home: Path, tmp_path: Path, fault: str) -> None:
    state, reason = FAULTS[fault]
    with serving(tmp_path, {fault: 1.0}) as server:
        config = configured(home, server.url)
        read(config, server)
        with open_home(config) as stores:
            assert states(stores) == {state: 1}
            (document,) = stores.catalog.names.documents(stores.catalog.names.ontologies()[0].id, "", 9)
            if state is State.FAILED:
                assert reason in document.reason
                assert api.search_passages(config, "Mediavine").hits, "its text is found"
            else:
                (reading,) = readings(stores)
                refused = [*reading.dropped, *(claim.rejected for claim in reading.claims)]
                assert any(reason in one for one in refused) or not reason
                assert reading.relationships
                if fault == "paraphrase":
                    assert "relationship: its quote does not stand in the text" not in reading.dropped
                    assert all(claim.quote is not None for claim in reading.claims)


@pytest.mark.logs("does not answer", "refused with 401")
@pytest.mark.parametrize("fault", ["http_401", "http_429", "http_500", "http_503", "drop", "stall"])
def test_a_fault_of_the_server_lets_the_document_wait(home: Path, tmp_path: Path, fault: str) -> None:
    with serving(tmp_path, {fault: 1.0}) as server:
        config = configured(home, server.url)
        deposit(config, REPORT)
        with pytest.raises(KgfsError, match=r"does not answer|refused with 401"):
            run_worker(config, until_idle=True)
        with open_home(config) as stores:
            (job,) = stores.catalog.jobs.all()
            assert (job.stage, job.attempts) == ("waiting", 0)
            assert State.FAILED not in states(stores)
        assert api.document(config, f"Growth/{REPORT.name}")["state"] == "waiting"
        assert [one["reason"] for one in api.status(config)["waiting"]] == [job.reason]
        if fault == "http_401":
            assert len(server.calls()) <= 3  # one for each start of the worker's asking
    with serving(tmp_path) as server:
        config = configured(home, server.url)
        run_worker(config, until_idle=True)
        with open_home(config) as stores:
            assert states(stores) == {State.DONE: 1}


@pytest.mark.parametrize(("broken", "state"), [(1, State.DONE), (2, State.FAILED)])
def test_an_answer_of_another_form_is_repaired_once(home: Path, broken: int, state: State) -> None:
    asked: dict[str, list[list[dict[str, str]]]] = {}

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        turns = asked.setdefault(body["messages"][1]["content"], [])
        turns.append(body["messages"])
        return said('{"text": "no list"}' if len(turns) <= broken else '{"concepts": [], "claims": []}')

    with answering(answer) as url:
        config = configured(home, url, model="m")
        deposit(config, REPORT)
        run_worker(config, until_idle=True)
    with open_home(config) as stores:
        assert states(stores) == {state: 1}
    for turns in asked.values():
        assert len(turns) == 2
        assert turns[1][2] == {"role": "assistant", "content": '{"text": "no list"}'}
        assert "none of the lists" in turns[1][3]["content"]


def test_the_same_document_elsewhere_is_not_asked_about(home: Path, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        config = configured(home, server.url)
        read(config, server)
        calls = len(server.calls())
        deposit(config, REPORT, ontology="Other")
        run_worker(config, until_idle=True)
        assert len(server.calls()) == calls
        with open_home(config) as stores:
            one, other = readings(stores)
            assert one.relationships == other.relationships
            assert not {*one.records} & {*other.records}


@pytest.mark.logs("limit of the day")
def test_a_limit_lets_documents_wait(home: Path, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        config = configured(home, server.url, day_limit=3_000.0, concurrency=1)
        deposit(config, *COMPANY)
        with pytest.raises(KgfsError, match="limit of the day"):
            run_worker(config, until_idle=True)
        calls = len(server.calls())
        assert 0 < calls < 8
        config = configured(home, server.url)
        run_worker(config, until_idle=True)
        with open_home(config) as stores:
            assert states(stores) == {State.DONE: len(COMPANY)}
            assert len(server.calls()) == sum(len(reading.chunks) for reading in readings(stores))


def test_a_plan_states_the_calls_and_asking_again_makes_them(home: Path, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        config = configured(home, server.url, price_in=2.0, price_out=8.0)
        read(config, server)
        calls, plans = len(server.calls()), []

        def agree(plan: Any) -> bool:
            plans.append(plan)
            return True

        def progress(*_: object) -> None:
            return

        api.regenerate(config, "Growth", agree=agree, progress=progress)
        api.regenerate(config, "Growth", agree=agree, progress=progress, ask_again=True)
        api.regenerate(config, "Growth", agree=lambda plan: bool(plans.append(plan)), progress=progress)
        assert [plan.requests for plan in plans] == [0, calls, 0]
        assert plans[1].cost > 0
        assert len(server.calls()) == 2 * calls


def test_a_document_is_described_once_and_its_sources_are_embedded_below_that(home: Path, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        config = configured(home, server.url, contexts="on")
        read(config, server)
        assert len(server.calls("context")) == 1
        with open_home(config) as stores:
            (reading,) = readings(stores)
            summary = json.loads(annotations_of([REPORT])[0].read_text())["summary"]
            assert reading.context == summary
            for row in stores.graph.sources(reading.doc_id, -1):
                assert row.context_summary == summary
                assert row.embedding_text == f"{summary}\n\n{row.full_text}"


def test_a_description_that_names_what_the_text_does_not_is_left_out(home: Path) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        wanted = body["response_format"]["json_schema"]["schema"]["properties"]
        told = {"context": "A report by Wexford Partners."} if "context" in wanted else {"claims": []}
        return said(json.dumps(told))

    with answering(answer) as url:
        config = configured(home, url, model="m", contexts="on")
        deposit(config, REPORT)
        run_worker(config, until_idle=True)
    with open_home(config) as stores:
        (reading,) = readings(stores)
        assert reading.context == ""
        assert reading.dropped["context: it names what stands nowhere in the document"] == 1
        row = stores.graph.sources(reading.doc_id, -1)[0]
        assert row.context_summary == f"{reading.title}, section {' > '.join(row.section_path)} (Markdown, 2025-07-04)"
        assert row.embedding_text == row.full_text


@pytest.mark.parametrize(("border", "more"), [("answered", 1), ("answer-kept", 0)])
def test_a_worker_that_is_killed_asks_again_for_what_was_under_way_alone(
    home: Path, tmp_path: Path, border: str, more: int
) -> None:
    with serving(tmp_path) as server:
        config = configured(home, server.url, concurrency=1)
        deposit(config, REPORT)
        environment = {
            "KGFS_LLM_BASE_URL": server.url,
            "KGFS_LLM_CONCURRENCY": "1",
            "KGFS_MODELS_EXTRACTOR": "llm",
            "KGFS_MODELS_EMBEDDER": "none",
        }
        place = Place(home, tmp_path / "mnt", environment)
        place.run("worker", "--until-idle", expect=-9, env={"KGFS_FAIL_AT": f"{border}:2"})
        assert len(server.calls()) == 2
        place.run("worker", "--until-idle")
        with open_home(config) as stores:
            (reading,) = readings(stores)
            assert len(server.calls()) == len(reading.chunks) + more
            assert reading.claims


@pytest.mark.logs("does not answer", "language model")
def test_a_mix_of_faults_and_a_restart_of_the_server_lose_nothing(home: Path, tmp_path: Path) -> None:
    shares = ("malformed", "refusal", "http_429", "http_503", "drop", "stall", "wrong_enum", "empty", "reworded")
    faults = {fault: 0.3 / len(shares) for fault in shares}
    with serving(tmp_path, faults) as server:
        port = int(server.url.rsplit(":", 1)[1].removesuffix("/v1"))
        config = configured(home, server.url, retry_for=20.0)
        deposit(config, *COMPANY[:4])
        working = threading.Thread(target=run_worker, args=(config,), kwargs={"until_idle": True})
        working.start()
        until(lambda: len(server.calls()) > 5)
        server.kill()
        with serving(tmp_path, faults, port=port) as server:
            working.join(60)
            assert not working.is_alive()
            with open_home(config) as stores:
                assert sum(states(stores).values()) == 4
                assert set(states(stores)) <= {State.DONE, State.FAILED}
                records = [record for path in COMPANY[:4] for record in api.records_of(config, f"Growth/{path.name}")]
            answered = [(call["digest"], call["attempt"]) for call in server.calls() if not call["fault"]]
            under_way = config.llm.concurrency  # when the server was killed
            assert len(answered) - len(set(answered)) <= under_way
            assert {record["outcome"] for record in records} >= {"answer"}


def quiet(*_: object) -> None:
    return


def test_failed_passages_are_asked_again_where_a_person_says_so(home: Path, tmp_path: Path) -> None:
    with serving(tmp_path, {"refusal": 1.0}) as server:
        config = configured(home, server.url)
        read(config, server)
        refused = len(server.calls())
        run_worker(config, until_idle=True)
        assert len(server.calls()) == refused
    with serving(tmp_path) as server:
        config = configured(home, server.url)
        api.ingest(config, [REPORT], api.Deposit("Growth", force=True), quiet, quiet)
        assert len(server.calls()) == 2 * refused
        with open_home(config) as stores:
            assert states(stores) == {State.DONE: 1}


def test_some_failed_passages_are_noted_and_the_others_count(home: Path) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        refused = "Mediavine revenue on QuietDesk" in body["messages"][1]["content"]
        return said("I cannot help with that." if refused else '{"concepts": [], "claims": []}')

    with answering(answer) as url:
        config = configured(home, url, model="m")
        deposit(config, REPORT)
        run_worker(config, until_idle=True)
    with open_home(config) as stores:
        (reading,) = readings(stores)
        assert reading.note == f"1 of {len(reading.chunks)} Sources failed: refusal 1"
        assert states(stores) == {State.DONE: 1}


def test_a_purge_takes_the_records_of_its_document_alone(home: Path, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        config = configured(home, server.url)
        read(config, server)
        deposit(config, REPORT, ontology="Other")
        run_worker(config, until_idle=True)
        kept = api.records_of(config, f"Other/{REPORT.name}")
        api.forget(config, [f"Growth/{REPORT.name}"], "orphans", purge=True, agree=lambda plan: True)
        run_worker(config, until_idle=True)
        assert api.records_of(config, f"Other/{REPORT.name}") == kept
        with open_home(config) as stores:
            (reading,) = readings(stores)
            assert {key.split("/")[1] for key, _ in stores.garage.objects.keys("records/")} == {reading.doc_id}


def test_a_rebuild_asks_nobody(home: Path, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        config = configured(home, server.url)
        read(config, server, *COMPANY[:3])
        calls = len(server.calls())
    with open_home(config) as stores:
        before = knowledge_in(stores)
    api.rebuild_home(config, "", quiet)
    with open_home(config) as stores:
        assert knowledge_in(stores) == before
    assert calls


@pytest.mark.models
def test_claims_come_from_the_model_and_mentions_from_grammar(home: Path, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        config = replace(configured(home, server.url), models=Models(extractor="llm+grammar", embedder="none"))
        read(config, server)
        with open_home(config) as stores:
            (reading,) = readings(stores)
            assert len(server.calls()) == len(reading.chunks)
            assert reading.claims
            assert any(concept.odds is not None for concept in reading.concepts)
            assert {"PART_OF", "CAUSES"} & {found.type for found in reading.relationships}


def test_another_least_length_lets_claims_in_without_asking(home: Path, tmp_path: Path) -> None:
    def kept(config: Config) -> list[str]:
        with open_home(config) as stores:
            (reading,) = readings(stores)
            return sorted(claim.claim for claim in reading.claims if not claim.rejected)

    plans: list[Any] = []
    with serving(tmp_path) as server:
        config = replace(configured(home, server.url), claims=Claims(min_tokens=26))
        read(config, server)
        few, calls = kept(config), len(server.calls())
        config = replace(config, claims=Claims(min_tokens=20))
        api.reprocess(config, agree=lambda plan: bool(plans.append(plan) or True), progress=quiet)
        assert len(few) < len(kept(config))
        assert len(server.calls()) == calls
        api.reprocess(config, agree=lambda plan: bool(plans.append(plan)), progress=quiet)
    assert [(len(plan.paths), plan.requests) for plan in plans] == [(1, 0), (0, 0)]


def test_sources_of_short_blocks_alone_are_not_asked_about(home: Path, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("Buy milk.\n\nCall Ann about the commission.\n")
    with serving(tmp_path) as server:
        config = configured(home, server.url, contexts="on")
        read(config, server, note)
        assert server.calls() == []
    with open_home(config) as stores:
        (reading,) = readings(stores)
        assert reading.dropped == {"not asked: all blocks are short": 1}
        assert states(stores) == {State.DONE: 1}
        assert api.search_passages(config, "commission").hits
