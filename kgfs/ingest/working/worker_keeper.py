"""Keep a worker running beside a mount, in a process of its own, so that a busy model never makes ``ls`` wait."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from kgfs.config import Config
from kgfs.ingest import timing
from kgfs.stores.error_log import open_log
from kgfs.stores.worker_lock import worker_alive


class WorkerKeeper:
    """Starts and restarts the worker process. One thread. Starts nothing while another process works on the home."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._pause = timing.WORKER_RESTART
        self._not_before = 0.0
        self._started = 0.0

    def poll(self) -> None:
        """Start the worker if there is none. Quick."""
        if self._process is not None:
            if self._process.poll() is None:
                return
            self._process = None
            now = time.monotonic()
            if now - self._started > timing.WORKER_RESTART_AT_MOST:
                self._pause = timing.WORKER_RESTART
            self._not_before = now + self._pause
            self._pause = min(self._pause * 2, timing.WORKER_RESTART_AT_MOST)
        if time.monotonic() >= self._not_before and not worker_alive(self._config.run):
            self._process = self._start()
            self._started = time.monotonic()

    def stop(self) -> bool:
        """End the worker; return whether it had to be killed while it had work."""
        if self._process is None or self._process.poll() is not None:
            return False
        self._process.terminate()
        try:
            self._process.wait(timing.WORKER_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return True
        return False

    def _start(self) -> subprocess.Popen[bytes]:
        # Exec'd with all descriptors closed: a forked child holding /dev/fuse would hang every client of a dead
        # mount.
        with os.fdopen(open_log(self._config.logs / "worker.log"), "ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "kgfs", "worker", "--while-in-use", *self._config.words()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                close_fds=True,
                start_new_session=True,
                cwd="/",
            )
