"""Locks: one holder at a time, among threads and processes, and nobody's when the holder is gone.

One worker a home, whoever looks meanwhile; and how soon one that died is started again.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kgfs.config import Config, load
from kgfs.errors import BusyError
from kgfs.ingest import timing
from kgfs.ingest.working.worker_keeper import WorkerKeeper
from kgfs.stores.locks import alone, is_locked, lock_nowait, locked, locked_folder, locked_within, take
from kgfs.stores.worker_lock import WorkerLock, worker_alive

FORK = """
import os, sys
from pathlib import Path
from kgfs.stores.locks import locked
with locked(Path(sys.argv[1])):
    if os.fork() == 0:
        print("forked", flush=True)
        sys.stdin.read()
"""
HOLD = """
import sys, time
from pathlib import Path
from kgfs.stores.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_killed_holder_has_it_no_more(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path) as process:
        assert is_locked(path)
        assert take(path) is None
        with pytest.raises(BusyError, match="not now"), alone(path, "not now"):
            pytest.fail("two have it")
        with locked_within(path, 0.05) as ours:
            assert not ours
        process.send_signal(signal.SIGKILL)
        with locked(path):
            assert is_locked(path)
    assert not is_locked(path)


def test_a_started_process_does_not_inherit_it_and_a_forked_one_does(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path):
        started = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False)
    with started:
        assert started.stdin is not None
        assert started.stdout is not None
        started.stdin.write(b"started\n")
        started.stdin.flush()
        assert started.stdout.readline() == b"started\n"
        assert not is_locked(path)
    forking = subprocess.Popen([sys.executable, "-c", FORK, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with forking:
        assert forking.stdin is not None
        assert forking.stdout is not None
        assert forking.stdout.readline() == b"forked\n"
        forking.wait()
        assert is_locked(path)
        forking.stdin.close()
        with locked(path):
            assert is_locked(path)


def test_threads_exclude_each_other_and_wait(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    inside, most = 0, []

    def work() -> None:
        nonlocal inside
        for _ in range(50):
            with locked(path):
                inside += 1
                most.append(inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 200


def test_whoever_waits_for_so_long_has_it_as_soon_as_it_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    descriptor = take(path)
    assert descriptor is not None
    given_back = threading.Event()

    def give_back() -> None:
        given_back.set()
        os.close(descriptor)

    back = threading.Timer(0.05, give_back)
    back.start()
    with locked_within(path, 600) as ours:
        assert ours
        assert given_back.is_set()
        assert take(path) is None
    back.join()


def test_an_error_inside_gives_it_back_and_is_not_taken_for_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with pytest.raises(BlockingIOError), alone(path, "another is at it"):
        raise BlockingIOError
    assert not is_locked(path)


def test_a_lock_file_is_private_stays_and_carries_what_its_holder_notes(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    assert not path.exists()
    with locked(path) as descriptor:
        os.write(descriptor, b"mine")
    with locked(path) as descriptor:
        assert os.read(descriptor, 10) == b"mine"
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileNotFoundError), locked(tmp_path / "none" / "lock"):
        pytest.fail("there is no such folder")


def test_those_who_share_a_folder_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with locked_folder(tmp_path, shared=True), locked_folder(tmp_path, shared=True) as descriptor:
        assert os.listdir(descriptor) == []
        assert not is_locked(tmp_path)
    with locked_folder(tmp_path):
        assert is_locked(tmp_path)
        other = os.open(tmp_path, os.O_RDONLY)
        assert not lock_nowait(other)
        os.close(other)


def test_a_second_worker_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    assert not worker_alive(tmp_path)
    with WorkerLock(tmp_path):
        assert worker_alive(tmp_path)
        with pytest.raises(BusyError):
            WorkerLock(tmp_path)
        assert worker_alive(tmp_path)
    assert not worker_alive(tmp_path)
    WorkerLock(tmp_path).close()


def test_whoever_only_looks_keeps_no_worker_from_starting(tmp_path: Path) -> None:
    WorkerLock(tmp_path).close()
    looking = (tmp_path / "worker.lock").open("r+b")
    fcntl.flock(looking, fcntl.LOCK_SH)
    gone = threading.Timer(0.05, looking.close)
    gone.start()
    with WorkerLock(tmp_path):
        assert looking.closed
        assert worker_alive(tmp_path)
    gone.join()


class ShortLived(WorkerKeeper):
    """Its workers end at once; ``starts`` says when they were started."""

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        super().__init__(config)
        self.starts: list[float] = []
        self._clock = clock

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts.append(self._clock())
        process = subprocess.Popen([sys.executable, "-S", "-c", ""])
        process.wait()
        return process


def test_the_pause_before_a_worker_is_started_again_is_short_after_one_that_lived_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("kgfs.ingest.working.worker_keeper.time.monotonic", lambda: now)
    keeper = ShortLived(load(tmp_path / "home"), lambda: now)
    while len(keeper.starts) < 5:
        keeper.poll()
        now += 0.25
    pauses = [later - earlier for earlier, later in zip(keeper.starts, keeper.starts[1:], strict=False)]
    assert pauses == sorted(pauses)
    assert pauses[-1] > 2 * pauses[0] >= 2 * timing.WORKER_RESTART
    now += timing.WORKER_RESTART_AT_MOST + 1
    keeper.poll()
    died = now
    while len(keeper.starts) < 6:
        now += 0.25
        keeper.poll()
    assert keeper.starts[-1] - died <= timing.WORKER_RESTART + 0.25
