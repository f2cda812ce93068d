"""One worker a home: a lock that dies with its process, and a note for people beside it."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from kgfs.errors import BusyError

LOOK = 0.001
"""Seconds after which somebody who only looked is gone."""


class WorkerLock:
    """Held while the object is open. BusyError if another process holds it."""

    def __init__(self, run: Path) -> None:
        run.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._note = run / "worker.json"
        self._descriptor = os.open(run / "worker.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        while not _try(self._descriptor, fcntl.LOCK_EX):
            # Whoever only looks whether a worker is alive shares the lock for a moment; with a worker nobody shares it.
            if not _try(self._descriptor, fcntl.LOCK_SH):
                os.close(self._descriptor)
                raise BusyError(f"A worker is at work on {run.parent} already; one is enough.")
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            time.sleep(LOOK)

    def note(self, about: Mapping[str, Any]) -> None:
        """What ``kgfs status`` shows of this worker; replaced whole."""
        fresh = self._note.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text(json.dumps({"pid": os.getpid(), **about}))
        fresh.replace(self._note)

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> WorkerLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def worker_alive(run: Path) -> bool:
    """Whether some process holds the lock of the worker."""
    try:
        descriptor = os.open(run / "worker.lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _try(descriptor: int, kind: int) -> bool:
    """Whether this lock could be had at once; one that was held before may be lost where not."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def worker_note(run: Path) -> dict[str, Any]:
    """What the newest worker noted about itself; empty if none ever ran."""
    try:
        note: dict[str, Any] = json.loads((run / "worker.json").read_text())
    except FileNotFoundError:
        return {}
    return note
