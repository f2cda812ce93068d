"""The lock of a home's worker, of which there is at most one, and the run file in which it describes itself.

Commands that change graph and index themselves run in place of the worker. Such a command holds a second lock. A
running worker checks that lock between two documents. It then returns its jobs to the queue, releases the worker's
lock, and waits until the second lock is free again. The kernel releases both locks when the process that holds them
ends.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kgfs.errors import BusyError
from kgfs.stores import timing
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.locks import is_locked, locked_within, take
from kgfs.stores.run_files import write_note

TURN = "worker.turn"

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

    def __exit__(self, *error: object) -> None:
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


@contextmanager
def in_place_of_worker(run: Path, patience: float = timing.WORKER_TURN) -> Iterator[None]:
    """Return a context in which no worker runs on the home and none starts. Raises BusyError if that is not
    reached within ``patience`` seconds."""
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    deadline = time.monotonic() + patience
    with locked_within(run / TURN, patience) as ours:
        if not ours:
            raise BusyError(f"Another verb works on {run.parent} in place of its worker. Try again later.")
        (run / TURN).touch()  # wakes a worker that rests
        with locked_within(run / LOCK, deadline - time.monotonic()) as free:
            if not free:
                raise BusyError(f"The worker of {run.parent} did not let go within {patience:.0f} s. Try again later.")
            yield


def place_wanted(run: Path) -> bool:
    """Return whether a command waits for the worker's place or has it. Quick."""
    return is_locked(run / TURN)
