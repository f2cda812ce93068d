"""One worker a home, whoever looks meanwhile; and how soon one that died is started again."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kgfs.config import Config, load
from kgfs.errors import BusyError
from kgfs.ingest import timing
from kgfs.ingest.working.worker_keeper import WorkerKeeper
from kgfs.stores.worker_lock import WorkerLock, worker_alive


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
