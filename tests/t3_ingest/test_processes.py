"""Processes that read for the worker: much is read there, little and texts in the worker's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from kgfs.compute.contract import Compute
from kgfs.compute.processes import LARGE, ProcessEngine
from kgfs.errors import LostLeaseError, MachineError, UnreadableTextError
from kgfs.stores.garage.contract import Objects
from tests.support.counting_works import Dying, Refused, Told, make_nothing


def no_progress(stage: str, share: float) -> None:
    return


@pytest.fixture
def engine() -> Iterator[ProcessEngine]:
    with closing(ProcessEngine(cast(Compute, None), cast(Objects, None), make_nothing, 2)) as engine:
        yield engine


def test_little_is_read_in_the_workers_process_and_much_in_others(engine: ProcessEngine) -> None:
    assert engine.run(Told(), no_progress) == os.getpid()
    engine.widen(3, 1 << 30)
    assert engine.run(Told(), no_progress) == os.getpid(), "too few documents"
    engine.widen(100, 1 << 20)
    told: list[tuple[str, float]] = []
    with ThreadPoolExecutor(2) as pool:
        used = set(pool.map(lambda _: engine.run(Told(seconds=0.3), lambda *reported: told.append(reported)), range(4)))
    assert len(used) == 2 and os.getpid() not in used
    assert ("extract", 0.5) in told
    assert engine.run(Told(weight=0), no_progress) == os.getpid(), "a text"


def test_errors_are_those_of_the_work_and_a_lost_process_is_replaced(engine: ProcessEngine, tmp_path: Path) -> None:
    engine.widen(100, 1 << 20)
    with pytest.raises(UnreadableTextError, match="not a text"):
        engine.run(Refused(), no_progress)
    assert engine.run(Dying(str(tmp_path / "mark")), no_progress) != os.getpid()

    def gone(stage: str, share: float) -> None:
        raise LostLeaseError("another has it")

    with pytest.raises(LostLeaseError):
        engine.run(Told(seconds=60), gone)
    assert engine.run(Told(), no_progress) != os.getpid()


KILLED = """
import os, signal, sys
from kgfs.compute.reading_process import ReadingProcess
from tests.support.counting_works import Silent, make_nothing

ReadingProcess(make_nothing).run(Silent(sys.argv[1], 3.0), lambda *told: os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.mark.claim("GONE-6")
def test_a_process_ends_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    """Who has the worker's lock then may purge what it read."""
    mark = tmp_path / "mark"
    # Both hold the pipe, so this returns when both have ended.
    done = subprocess.run([sys.executable, "-c", KILLED, mark], stdout=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not mark.exists()


def test_a_small_document_is_read_beside_large_ones(engine: ProcessEngine) -> None:
    engine.widen(100, 1 << 20)
    begun = threading.Barrier(3)

    def large() -> int:
        told = iter((begun.wait,))
        return engine.run(Told(weight=LARGE, seconds=5.0), lambda *_: next(told, lambda: 0)() and None)

    with ThreadPoolExecutor(2) as pool:
        those = [pool.submit(large) for _ in range(2)]
        begun.wait(30)
        assert engine.has_express
        assert engine.run(Told(), no_progress) == os.getpid()
        assert not any(one.done() for one in those)
        engine.close()
        for one in those:
            with pytest.raises((MachineError, LostLeaseError)):
                one.result(5)
