"""A process that searches once has the worker rank: with the same outcome, without numpy, and never waiting twice."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kgfs.app.finding import Finder
from kgfs.app.working import _Answering
from kgfs.compute.answering import Answers
from kgfs.compute.deadline import Deadline
from kgfs.compute.finding import find
from kgfs.compute.local import LocalCompute
from kgfs.compute.questions import CONCURRENCY, Materials, QuestionServer, ask
from kgfs.config import Models
from kgfs.errors import BadInputError, StoreError, TimedOutError
from kgfs.knowledge import search, timing
from kgfs.knowledge.nesting import search_nested
from kgfs.knowledge.ranking import Ranked
from kgfs.stores.graph.sqlite import Graph
from tests.support.library import Library, library_at

TEXTS = {
    "Zen/documents/on zen.txt": (
        "Zen is a school of Buddhism.\n\nA koan is a riddle\nthat Zen teachers use.\n",
        "koan",
    ),
    "Zen/documents/koans.txt": ("Koans are told and retold.\nA teacher asks, a student answers.\n", "teacher"),
    "Tea/documents/tea.txt": ("Tea is a drink.\nMonks and Zen teachers drink it.\n", "tea"),
}
QUESTIONS = (
    ("koan",),
    ("zen teachers drink",),
    ('"zen teachers"',),
    ("zen -drink",),
    ("teacher path:on",),
    ("zen", "drink"),
    ("koann",),
    ("zzzzqqq",),
    ("type:txt",),
)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with library_at(tmp_path / "home") as library:
        for path, (text, concept) in TEXTS.items():
            library.add(path, text.encode(), {concept: [text.splitlines()[0]]})
        yield library


@pytest.fixture
def worker(library: Library) -> Iterator[Finder]:
    """What a worker without a model answers."""
    answers = Answers()
    finder = Finder(library.context.config, answers)
    answers.change(Materials(None, None, find=finder), 1)
    with QuestionServer(library.context.config.run, answers):
        yield finder
    finder.close()


@pytest.mark.parametrize("words", QUESTIONS, ids="/".join)
@pytest.mark.parametrize("least", (None, 0.5))
def test_the_outcome_is_the_same(library: Library, worker: Finder, words: tuple[str, ...], least: float | None) -> None:
    stores, run = library.stores, library.context.config.run
    here, there = (
        search_nested(stores, run, words, "", Deadline(10), min_score=least, by_worker=by_worker)
        for by_worker in (False, True)
    )
    assert here == there


def test_it_costs_no_numpy(library: Library, worker: Finder) -> None:
    library.add("Tea/documents/newest.txt", b"Matcha is ground tea.\n", {"matcha": ["Matcha is ground tea."]})
    code = (
        "import sys; from kgfs.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print(*({'numpy', 'kgfs.stores.catalog.facts'} & {*sys.modules}), file=sys.stderr)"
    )
    words = ["search", "matcha", "tea", "--json", "--home", str(library.context.config.home)]
    told = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    only_text = found["only_text"]
    assert found["results"][0]["document"].endswith("newest.txt")
    assert told.stderr == f"full text only: {found['only_text']}\n\n"
    assert "no embedding model" in only_text


def test_what_the_words_name_comes_first(library: Library, worker: Finder) -> None:
    def asked(*words: str) -> tuple[list[str], list[str]]:
        words = ("search", *words, "--home", str(library.context.config.home))
        told = subprocess.run([sys.executable, "-m", "kgfs", *words], capture_output=True, text=True)
        return told.stdout.splitlines()[:1], told.stderr.splitlines()[1:]

    library.add("Zen/documents/koan-7.txt", b"Mu.\n", {"mu": ["Mu."]})
    assert asked("koan") == (["concept: Zen/concepts/koan.concept/concept.md"], [])
    assert asked("koan-7") == (["file: Zen/documents/koan-7.txt"], [])
    assert asked("koaan", "--ontology", "Zen") == ([], ["nothing found", "did you mean: koan?"])


def test_a_worker_of_before_is_asked_what_it_knows(library: Library) -> None:
    """It knows the question ``nearest`` and refuses ``find``."""
    asked: list[str] = []
    document = library.document("Tea/documents/tea.txt")

    def answer(question: object) -> object:
        assert isinstance(question, dict)
        asked.append(question["question"])
        if question["question"] != "nearest":
            raise BadInputError("this question is not known")
        return [[document.doc_id, 0, 0.9]]

    with QuestionServer(library.context.config.run, answer):
        found = search_nested(
            library.stores, library.context.config.run, ("buddhism",), "", Deadline(10), by_worker=True
        )
    assert asked[:2] == ["find", "nearest"] and not found.only_text
    assert {doc_id for (doc_id, _), _ in found.order} > {document.doc_id}


def test_an_answer_of_another_form_is_none(library: Library) -> None:
    with QuestionServer(library.context.config.run, lambda question: {"found": [[1, 2]]}):
        found = search_nested(library.stores, library.context.config.run, ("koan",), "", Deadline(10), by_worker=True)
    assert found.order and found.only_text == str(StoreError("The worker's answer has not the form it should have."))


def test_a_silent_worker_is_waited_for_once(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "SEARCH_MODEL", 0.4)
    asked: list[object] = []

    def silent(question: object) -> object:
        asked.append(question)
        time.sleep(1)
        return []

    with QuestionServer(library.context.config.run, silent):
        before = time.monotonic()
        found = search_nested(library.stores, library.context.config.run, ("koan",), "", Deadline(10), by_worker=True)
        assert time.monotonic() - before < 1
    assert len(asked) == 1 and found.order and "No answer within" in found.only_text


def test_questions_that_nobody_waits_for_leave_the_worker(
    library: Library, worker: Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "SEARCH_MODEL", 0.3)
    monkeypatch.setattr(search, "rank", lambda *arguments: arguments[-1].wait(60))
    run = library.context.config.run
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        given_up = [
            pool.submit(find, partial(ask, run), "koan", "", None, None, Deadline(0.1)) for _ in range(CONCURRENCY)
        ]
        assert all(isinstance(one.exception(), TimedOutError) for one in given_up)
    time.sleep(0.5)
    with pytest.raises(TimedOutError):  # it is taken
        find(partial(ask, run), "koan", "", None, None, Deadline(0.1))


def test_a_worker_that_ends_answers_first_what_it_began(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connections that a question reads through are closed when it is answered."""
    begun, rank = threading.Event(), search.rank

    def slow(graph: Graph, *rest: Any) -> Ranked:
        begun.set()
        time.sleep(0.3)
        return rank(graph, *rest)

    monkeypatch.setattr(search, "rank", slow)
    config = library.context.config
    compute = LocalCompute(Models(extractor="statistics", embedder="none"))
    with ThreadPoolExecutor(1) as pool:
        with _Answering(config, library.stores, compute):
            told = pool.submit(find, partial(ask, config.run), "koan", "", None, None, Deadline(10))
            assert begun.wait(10)
        assert told.result()["found"]
