"""The lock of a home's worker, of which there is at most one, and the run file in which it describes itself."""

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
from kgfs.stores.run_files import write_note

LOCK = "worker.lock"


class WorkerLock:
    """The worker's lock, held until :meth:`close` or until the process ends. Raises BusyError if another process
    holds it."""

    def __init__(self, run: Path) -> None:
        run.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._note = run / "worker.json"
        descriptor = take(run / LOCK)
        if descriptor is None:
            raise BusyError(f"A worker is at work on {run.parent} already; one is enough.")
        self._descriptor = descriptor

    def note(self, about: Mapping[str, Any]) -> None:
        """Replace what ``kgfs status`` shows of this worker. The file is replaced atomically."""
        DiskReserve(self._note.parent.parent).run(lambda: write_note(self._note, {"pid": os.getpid(), **about}))

    def close(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)

    def __enter__(self) -> WorkerLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def worker_alive(run: Path) -> bool:
    """Return whether some process holds the worker's lock."""
    return is_locked(run / LOCK)


def worker_note(run: Path) -> dict[str, Any]:
    """Return what the newest worker wrote about itself; empty if none ever ran."""
    try:
        note: dict[str, Any] = json.loads((run / "worker.json").read_text())
    except FileNotFoundError:
        return {}
    return note


def reason_of_last_end(run: Path) -> str:
    """Return a sentence, beginning with a space, on why the newest worker ended before it could begin its work; ''
    if it did begin. The cause may be gone by now."""
    reason = worker_note(run).get("reason", "")
    return f" The last one ended before it could begin: {reason}" if reason else ""
