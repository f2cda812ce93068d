"""Questions to a worker over its socket: answered, refused, given up; never in anybody's way."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgfs.compute.answering import Answers, answering
from kgfs.compute.deadline import Deadline
from kgfs.compute.nearest import nearest
from kgfs.compute.questions import CONCURRENCY, LONGEST, NAME, Materials, QuestionServer, ask, asking_itself
from kgfs.errors import BadInputError, GivenUpError, NoWorkerError, StoreError, TimedOutError
from kgfs.stores.vectors.contract import Row
from tests.fakes.vectors import MemoryVectors
from tests.support.running import until


def echo(question: Any) -> Any:
    return {"said": question["words"]}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Deeper than the 107 bytes of a socket's address."""
    path = tmp_path / ("deep" * 30) / "run"
    path.mkdir(mode=0o700, parents=True)
    return path


def test_a_question_is_answered(run: Path) -> None:
    with QuestionServer(run, echo):
        assert ask(run, {"words": "zen é\n\ud800"}, Deadline(5)) == {"said": "zen é\n\ud800"}
        assert ask(run, {"words": "x" * (LONGEST - 100)}, Deadline(5))["said"] == "x" * (LONGEST - 100)


def test_the_socket_is_the_users_alone(run: Path) -> None:
    with QuestionServer(run, echo):
        assert stat.S_IMODE((run / NAME).stat().st_mode) == 0o600
        assert os.listdir(run) == [NAME]
    assert os.listdir(run) == []


def test_nobody_listens(run: Path) -> None:
    with pytest.raises(NoWorkerError):
        ask(run, {"words": "zen"}, Deadline(5))
    with pytest.raises(NoWorkerError):
        ask(run / "missing", {"words": "zen"}, Deadline(5))


def test_what_a_killed_worker_left_is_noticed_and_replaced(run: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from kgfs.compute.questions import QuestionServer;"
        "server = QuestionServer(Path(sys.argv[1]), lambda question: 1); print('up', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(run)], stdout=subprocess.PIPE) as worker:
        assert worker.stdout and worker.stdout.readline() == b"up\n"
        assert ask(run, {}, Deadline(5)) == 1
        worker.send_signal(signal.SIGKILL)
    assert (run / NAME).exists()
    with pytest.raises(NoWorkerError):
        ask(run, {"words": "zen"}, Deadline(5))
    with QuestionServer(run, echo):
        assert ask(run, {"words": "zen"}, Deadline(5)) == {"said": "zen"}


def test_errors_are_answers_too(run: Path) -> None:
    def failing(question: Any) -> Any:
        if question == {"kind": "typed"}:
            raise BadInputError("this is not known")
        return question["missing"]

    with QuestionServer(run, failing):
        with pytest.raises(StoreError, match="this is not known"):
            ask(run, {"kind": "typed"}, Deadline(5))
        with pytest.raises(StoreError, match="KeyError"):
            ask(run, {"kind": "a bug"}, Deadline(5))
        for raw in (b"no json\n", b"[1]\n", b"x" * (LONGEST + 10), b"\xff\n"):
            assert b"refused" in sent(run, raw)
        with pytest.raises(BadInputError):
            ask(run, {"words": "x" * LONGEST}, Deadline(5))


def sent(run: Path, raw: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as asker:
        folder = os.open(run, os.O_RDONLY)
        try:
            asker.connect(f"/proc/self/fd/{folder}/{NAME}")
        finally:
            os.close(folder)
        asker.settimeout(10)
        asker.sendall(raw)
        return asker.recv(1 << 16)


def test_a_slow_answer_is_given_up_in_time(run: Path) -> None:
    free = threading.Event()

    def slow(question: Any) -> Any:
        free.wait(30)

    with QuestionServer(run, slow):
        with pytest.raises(TimedOutError):
            ask(run, {}, Deadline(0.3))
        gone = Deadline(30)
        threading.Timer(0.2, gone.give_up).start()
        with pytest.raises(GivenUpError):
            ask(run, {}, gone)
        left = time.monotonic() + 0.2
        with pytest.raises(GivenUpError):
            ask(run, {}, Deadline(30, lambda: time.monotonic() > left))
        free.set()


def test_more_than_are_worked_on_at_once_are_refused_at_once(run: Path) -> None:
    free, begun = threading.Event(), threading.Semaphore(0)

    def slow(question: Any) -> Any:
        begun.release()
        free.wait(30)
        return "late"

    with QuestionServer(run, slow):
        answers: list[Any] = []
        askers = [
            threading.Thread(target=lambda: answers.append(ask(run, {}, Deadline(30)))) for _ in range(CONCURRENCY)
        ]
        try:
            for asker in askers:
                asker.start()
            for _ in range(CONCURRENCY):
                assert begun.acquire(timeout=20)
            for size in (0, LONGEST // 2):
                with pytest.raises(StoreError, match="already"):
                    ask(run, {"words": "x" * size}, Deadline(30))
        finally:
            free.set()
        for asker in askers:
            asker.join(30)
        assert answers == ["late"] * CONCURRENCY

        def answered() -> bool:
            try:
                return bool(ask(run, {}, Deadline(30)) == "late")
            except StoreError:  # the last one's room is given back a moment after its answer
                return False

        until(answered)


def test_the_nearest_sources_by_meaning() -> None:
    vectors = MemoryVectors("model")
    for doc_id, chunk, vector, ontology in (("a", 0, [1, 0], "P"), ("a", 1, [0, 1], "P"), ("b", 0, [0.8, 0.6], "Q")):
        row = Row("source", f"{doc_id}:{chunk}", 0, np.array(vector, np.float32), ontology, doc_id, chunk)
        vectors.upsert([row])
    answer = answering(Materials(lambda texts: [np.array([[1, 0]], np.float32) for _ in texts], vectors))
    question = {"question": "nearest", "words": "zen", "ontology": "", "limit": 2, "also": []}
    assert answer(question) == [("a", 0, 1.0), ("b", 0, 0.8)]
    assert answer({**question, "also": ["a:1", "none:7", "b:0"]}) == [("a", 0, 1.0), ("b", 0, 0.8), ("a", 1, 0.0)]
    assert answer({**question, "ontology": "P"}) == [("a", 0, 1.0), ("a", 1, 0.0)]
    for wrong in (
        {"question": "other"},
        {"words": 7},
        {"limit": "many"},
        {"also": ["x"] * 2000},
        {"words": "x" * 20_000},
    ):
        with pytest.raises(BadInputError):
            answer({**question, **wrong})
    with pytest.raises(BadInputError, match="no embedding model"):
        answering(Materials(None, vectors))(question)


def test_what_a_question_asks_is_answered_with_the_same_materials() -> None:
    """As ``find`` asks ``nearest``; a worker that ends, or changes over to another model, lets it finish."""
    answers, begun, go_on = Answers(), threading.Event(), threading.Event()
    vectors = MemoryVectors("model")
    vectors.upsert([Row("source", "a:0", 0, np.array([1, 0], np.float32), "P", "a", 0)])

    def finds(*_: object) -> dict[tuple[str, int], float]:
        begun.set()
        assert go_on.wait(30)
        return nearest(asking_itself(answers), "zen", "", 2, [], Deadline(5))

    answers.change(Materials(lambda texts: [np.array([[1, 0]], np.float32) for _ in texts], vectors, find=finds), 1)
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(answers, {"question": "find", "words": "zen", "ontology": "", "seconds": 5})
        assert begun.wait(30)
        changed = pool.submit(answers.change, Materials(None, None), 30)
        until(lambda: not answered(answers))
        assert not changed.done() and answers.are_wanted
        go_on.set()
        assert asked.result() == {("a", 0): 1.0}
        changed.result(30)
    until(lambda: not answers.are_wanted)  # its asker may ask for more


def answered(answers: Answers) -> bool:
    try:
        answers({"question": "nearest", "words": "zen", "ontology": "", "limit": 1, "also": []})
    except BadInputError:
        return False
    return True


def test_they_come_over_the_socket(run: Path) -> None:
    asked: list[Any] = []

    def answer(question: Any) -> Any:
        asked.append(question)
        return [("a", 3, 0.5)]

    with QuestionServer(run, answer):
        assert nearest(partial(ask, run), "zen", "P", 5, [("b", 1)], Deadline(5)) == {("a", 3): 0.5}
    assert asked == [{"question": "nearest", "words": "zen", "ontology": "P", "limit": 5, "also": ["b:1"]}]
    with QuestionServer(run, lambda question: [["a", "b"]]), pytest.raises(StoreError, match="form"):
        nearest(partial(ask, run), "zen", "P", 5, [], Deadline(5))
