"""One worker a home: a lock that dies with its process, and a note for people beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from kgfs.errors import BusyError
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.locks import is_locked, take
from kgfs.stores.notes import write_note

LOCK = "worker.lock"


class WorkerLock:
    """Held while the object is open. BusyError if another process holds it."""

    def __init__(self, run: Path) -> None:
        run.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._note = run / "worker.json"
        descriptor = take(run / LOCK)
        if descriptor is None:
            raise BusyError(f"A worker is at work on {run.parent} already; one is enough.")
        self._descriptor = descriptor

    def note(self, about: Mapping[str, Any]) -> None:
        """What ``kgfs status`` shows of this worker; replaced whole."""
        DiskReserve(self._note.parent.parent).run(lambda: write_note(self._note, {"pid": os.getpid(), **about}))

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
    return is_locked(run / LOCK)


def worker_note(run: Path) -> dict[str, Any]:
    """What the newest worker noted about itself; empty if none ever ran."""
    try:
        note: dict[str, Any] = json.loads((run / "worker.json").read_text())
    except FileNotFoundError:
        return {}
    return note


def told_of_the_last(run: Path) -> str:
    """A sentence, after a space, on what kept the newest worker from beginning its work, as long as none has begun since; ''
    where nothing did. What that was may have passed."""
    reason = worker_note(run).get("reason", "")
    return f" The last one ended before it could begin: {reason}" if reason else ""
