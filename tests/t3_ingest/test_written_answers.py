"""Questions that a language model answers: what it writes is shown where shown Sources bear it out."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from kgfs.app import api
from kgfs.app.home import open_deposits, open_home
from kgfs.app.working import run_worker
from kgfs.compute.answering import Answers
from kgfs.compute.completing import Completion, Request
from kgfs.compute.completing import complete as ask_model
from kgfs.compute.deadline import Deadline
from kgfs.compute.finding import find
from kgfs.compute.questions import CONCURRENCY, Materials, QuestionServer
from kgfs.compute.questions import ask as ask_worker
from kgfs.config import Config, load
from kgfs.errors import StoreError
from kgfs.ingest.lifecycle import forget, forget_plan
from kgfs.knowledge.compiled import compiled, metrics_text
from kgfs.knowledge.compiled import page as counts_page
from kgfs.models.llm import LanguageModel, Prompt
from kgfs.render.answer_files import AnswerPage, answer_json, answer_md
from kgfs.settings import Llm, Models
from kgfs.stores import answer_records
from kgfs.stores.answer_records import AnswerRecord
from kgfs.stores.resolve import find_document
from kgfs.stores.saved_answers import FOLDER
from tests.support.model_server import COMPANY, DATA, ModelServer, answering, said, serving
from tests.support.running import until

ANNOTATED = [json.loads((DATA / "annotations" / f"{path.stem}.json").read_text()) for path in COMPANY]
ASKED = "How much revenue did Fernhill Media make in June 2025?"


def annotated(*, answerable: bool) -> dict[str, list[dict[str, Any]]]:
    """Return the parts of the answers to each annotated question, of all documents together."""
    found: dict[str, list[dict[str, Any]]] = {}
    for question in (one for page in ANNOTATED for one in page["questions"] if bool(one["answer"]) == answerable):
        found.setdefault(question["question"], []).extend(question["answer"])
    return found


def records(home: Path) -> list[dict[str, Any]]:
    """Return the Records of answers, the oldest first."""
    found = [json.loads(path.read_bytes()) for path in (home / FOLDER).glob("????-??-??-*.json")]
    return sorted(found, key=lambda one: int(one["created_at"]))


def squeezed(text: str) -> str:
    return " ".join(text.split())


def configured(home: Path, url: str, **llm: Any) -> Config:
    settings = Llm(**{"base_url": url, "timeout": 5.0, "retry_for": 2.0, **llm})
    return replace(load(home), llm=settings, models=Models(extractor="statistics", embedder="none"))


@contextmanager
def working(config: Config, *paths: Path) -> Iterator[None]:
    """Read documents, and answer questions while the context is open."""
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
        for path in paths or COMPANY:
            deposits.ingest_file(path, "Growth")
    run_worker(config, until_idle=True)
    with at_work(config):
        yield


@contextmanager
def at_work(config: Config) -> Iterator[None]:
    stops: list[Any] = []
    thread = threading.Thread(target=run_worker, args=(config,), kwargs={"stoppable": stops.append})
    thread.start()
    try:
        until((config.run / "questions.sock").exists)
        yield
    finally:
        until(lambda: bool(stops))
        with suppress(OSError):  # it may be ending by itself at this moment
            stops[-1]()
        thread.join(60)


@contextmanager
def asked(
    home: Path, folder: Path, faults: dict[str, float] | None = None, **llm: Any
) -> Iterator[tuple[Config, ModelServer]]:
    with serving(folder, faults) as server:
        config = configured(home, server.url, **llm)
        with working(config):
            yield config, server


def shown_in(page: AnswerPage) -> str:
    return answer_md(page, "").decode() + answer_json(page).decode()


@pytest.mark.parametrize(("trust", "least"), [("high", 0.85), ("low", 0.75)])
def test_annotated_questions_are_answered_by_what_their_quotes_say(
    home: Path, tmp_path: Path, trust: str, least: float
) -> None:
    answerable, unanswerable = annotated(answerable=True), annotated(answerable=False)
    with asked(home, tmp_path, trust=trust) as (config, server):
        answered = 0
        for question, parts in answerable.items():
            page = api.ask(config, question)
            known = {squeezed(one["sentence"]).rstrip("."): one["quotes"] for one in parts}
            texts = {one.chunk_id: squeezed(one.text) for one in page.looked}
            for sentence in page.statements:
                quotes = known[squeezed(sentence.text).rstrip(".")]
                assert sentence.chunk_ids and sentence.quotes
                for chunk_id in sentence.chunk_ids:
                    assert any(squeezed(quote) in texts[chunk_id] for quote in quotes), (question, sentence)
                assert all(squeezed(quote) in " ".join(texts.values()) for quote in sentence.quotes)
            answered += bool(page.statements)
            if page.statements:
                assert page.model == "replay" and page.citations and not page.invalid_citations
                assert (
                    "[C:" not in answer_md(page, "").decode() and "Written by replay." in answer_md(page, "").decode()
                )
        assert answered >= least * len(answerable), answered / len(answerable)
        for question in unanswerable:
            page = api.ask(config, question)
            assert (page.state, page.response, page.statements) == ("not_found", "Not found in sources", ())
        assert {one["kind"] for one in records(config.home)} == {"answer"}
        assert len(records(config.home)) == len(server.calls("answer"))
        assert not list(config.garage.rglob("*answer*"))


def test_invented_citations_are_asked_about_twice_more_and_never_shown(home: Path, tmp_path: Path) -> None:
    with asked(home, tmp_path, {"invented_citation": 1.0}) as (config, server):
        page = api.ask(config, ASKED)
        assert len(server.calls("answer")) == 3
        assert (page.state, page.statements, page.quotes) == ("not_found", (), ())
        assert page.invalid_citations and json.loads(answer_json(page))["had_invalid_citations"]
        assert not any(one in answer_md(page, "").decode() for one in page.invalid_citations)
        assert "no source that was shown bears out" in answer_md(page, "").decode()
        written = [attempt["raw_output"] for one in records(config.home) for attempt in one["attempts"]]
        assert len(written) == 3 and all(page.invalid_citations[0] in one for one in written)


@pytest.mark.parametrize(
    ("fault", "calls", "told"),
    [
        ("refusal", 3, "no source that was shown bears out what the language model wrote"),
        ("empty", 1, "Without the language model: replay gave no answer (the answer is empty)."),
        ("http_503", None, "Without the language model: "),
        ("http_400", 1, "Without the language model: replay gave no answer (400 "),
    ],
)
def test_a_fault_of_the_model_is_told_plainly(
    home: Path, tmp_path: Path, fault: str, calls: int | None, told: str
) -> None:
    with asked(home, tmp_path, {fault: 1.0}) as (config, server):
        page = api.ask(config, ASKED)
        assert calls is None or len(server.calls("answer")) == calls
        assert told in answer_md(page, "").decode()
        if calls == 3:
            assert page.state == "not_found" and page.model
        else:
            assert page.quotes and not page.statements and not page.model and page.trouble
            assert answer_md(page, "").decode().splitlines()[2].startswith("Without the language model: ")


def test_a_model_that_takes_too_long_leaves_time_for_sentences(home: Path, tmp_path: Path) -> None:
    held = threading.Event()

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        held.wait(20)
        return said("Late.")

    with answering(answer) as url, working(config := configured(home, url, model="m")):
        page = api.ask(config, ASKED, timeout=3)
        held.set()
    assert page.quotes and page.trouble.startswith("it did not answer in time")


def test_without_a_worker_sentences_answer(home: Path, tmp_path: Path) -> None:
    with asked(home, tmp_path) as (config, _):
        pass
    page = api.ask(config, ASKED)
    assert page.quotes and "No worker listens" in page.trouble and not page.model


def test_a_purge_removes_what_the_model_said_of_a_document(home: Path, tmp_path: Path) -> None:
    with asked(home, tmp_path) as (config, _):
        page = api.ask(config, ASKED)
        api.ask(config, "Does buying backlinks work?")
        assert len(records(config.home)) == 2
    doc_id = page.quotes[0].doc_id
    others = [one for one in records(config.home) if doc_id not in one["doc_ids"]]
    with AnswerRecord(config.home, [doc_id], {"kind": "answer"}) as under_way:
        with open_home(config) as stores:
            found = find_document(stores, config.run, doc_id)
            with open_deposits(config, stores) as (deposits, _):
                forget.order(deposits, stores, forget_plan.plan(stores, [found], "orphans", purge=True))
            forget.carry_out(config, stores)
        under_way.keep({"raw_output": "of the purged document"})
    assert records(config.home) == others
    assert not any(b"of the purged" in path.read_bytes() for path in (config.home / "answers").iterdir())
    with at_work(config), pytest.raises(StoreError, match="a document was removed while the question was asked"):
        ask_model(config.run, Request("answer", ASKED, ("read before the purge",), doc_ids=(doc_id,)), Deadline(20))
    assert records(config.home) == others


def test_records_are_kept_for_thirty_days(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(2):
        with AnswerRecord(home, ["d"], {"kind": "answer", "n": at}) as record:
            record.keep({"raw_output": "yes"})
    old = record.path.with_name(f"2020-01-01-{'0' * 16}.json")
    record.path.rename(old)
    assert len(records(home)) == 2
    AnswerRecord(home, ["d"], {"kind": "answer"}).__exit__(None, None, None)
    assert not old.exists() and len(records(home)) == 2
    monkeypatch.setattr(answer_records, "DAYS", -1)
    with AnswerRecord(home, ["d"], {"kind": "answer", "n": 9}):
        assert [one["n"] for one in records(home)] == [9]


def test_the_prompt_shows_sources_first_and_the_question_last(home: Path) -> None:
    asked_with: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        asked_with.append(body)
        if "response_format" in body:
            told = {"intent": "procedural", "domain": "Money", "funnel_stage": "decision", "expansions": ["earnings"]}
            return said(json.dumps(told))
        shown = re.findall(r"^\[C:([0-9a-f]+)", body["messages"][0]["content"], re.MULTILINE)
        return said(f"Revenue was $18,442.75. [C:{shown[0]}] It was $99,999 in May [C:{shown[0]}]. It grew.")

    with answering(answer) as url, working(config := configured(home, url, model="m", intent=True)):
        (config.prompts).mkdir()
        (config.prompts / "answer.md").write_text("Own rules.")
        page = api.ask(config, ASKED)
    assert page.intent is not None
    assert (page.intent["intent"], page.intent["by"]) == ("procedural", "m")
    assert "earnings" in page.intent["expansions"]
    (message,) = asked_with[1]["messages"]
    content = message["content"]
    assert content.startswith("[C:") and content.endswith(f"Own rules.\n\nQuestion: {ASKED}")
    assert 6 <= len(re.findall(r"^\[C:", content, re.MULTILINE)) <= 10
    assert [one["kind"] for one in records(config.home)] == ["intent", "answer"]
    if page.statements:  # where the first Source is one of the report
        assert [one.text for one in page.statements] == ["Revenue was $18,442.75."]


def test_a_short_answer_rests_on_the_sentence_that_has_the_question(home: Path, tmp_path: Path) -> None:
    (tmp_path / "zen.md").write_text(
        "# Zen\n\nWritten on 19 August 2004.\n\nThe Zen of Ann has 20 aphorisms, and 19 are known.\n"
    )

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return said(f"19. [C:{re.findall(r'C:([0-9a-f]+)', body['messages'][0]['content'])[0]}]")

    with answering(answer) as url, working(config := configured(home, url), tmp_path / "zen.md"):
        page = api.ask(config, "How many aphorisms of the Zen of Ann are known?")
    assert [one.quotes for one in page.statements] == [("The Zen of Ann has 20 aphorisms, and 19 are known.",)]


def test_claims_that_a_model_was_shown_and_cited_are_counted(home: Path) -> None:
    with answering(lambda body: said("It pays. [C:aaaa1111bbbb]")) as url, working(config := configured(home, url)):
        blocks = ("[C:aaaa1111bbbb | A]\nIt pays.", "[C:cccc2222dddd | B]\nIt costs.")
        claims = (("aaaa1111bbbb", 2), ("cccc2222dddd", 3))
        for _ in range(2):
            ask_model(config.run, Request("answer", "Does it pay?", blocks, claims=claims), Deadline(20))
        with open_home(config) as stores:
            found = compiled(config, stores)
    assert (found.plain()["claims_shown"], found.plain()["claims_cited"]) == (10, 4)
    assert 'kgfs_claims_answered_total{use="cited"} 4\n' in metrics_text(found)
    assert "the model was shown 10 claims, and cited the Sources of 4." in counts_page(found).decode()


def test_questions_go_before_documents(tmp_path: Path) -> None:
    order: list[str] = []
    free = threading.Event()

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        order.append(body["messages"][0]["content"])
        free.wait(30)
        return said("yes")

    with answering(answer) as url, closing(LanguageModel(Llm(base_url=url, model="m", concurrency=1))) as model:
        documents = [threading.Thread(target=model.ask, args=(Prompt(f"document {at}", "", 9),)) for at in range(4)]
        for one in documents:
            one.start()
        until(lambda: order)
        question = threading.Thread(target=model.ask, args=(Prompt("question", "", 9),), kwargs={"first": True})
        question.start()
        until(lambda: model._first)
        sleep(0.5)  # longer than the others look for a place
        free.set()
        for one in (*documents, question):
            one.join()
    assert order.index("question") == 1


def test_the_worker_answers_others_while_the_model_is_asked(tmp_path: Path) -> None:
    free, answers, begun = threading.Event(), Answers(), list[str]()

    def complete(request: Request, seconds: float) -> Completion:
        begun.append(request.words)
        free.wait(30)
        return Completion("answer", request.words, "", "m", ())

    answers.change(Materials(None, None, complete=complete), 1)
    with QuestionServer(tmp_path, answers), ThreadPoolExecutor(2 * CONCURRENCY) as pool:
        waiting = [
            pool.submit(ask_model, tmp_path, Request("answer", str(at)), Deadline(30)) for at in range(CONCURRENCY + 1)
        ]
        until(lambda: len(begun) == CONCURRENCY + 1)
        assert not answers.are_wanted, "documents are read meanwhile"
        with pytest.raises(StoreError, match="no index of words"):
            find(partial(ask_worker, tmp_path), "koan", "", None, None, Deadline(5))
        answers.change(Materials(None, None), 30)
        with pytest.raises(StoreError, match="no language model"):
            ask_model(tmp_path, Request("answer", "why"), Deadline(5))
        free.set()
        assert sorted(one.result().text for one in waiting) == [str(at) for at in range(CONCURRENCY + 1)]
