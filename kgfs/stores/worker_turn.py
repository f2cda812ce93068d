"""Run a command in place of the home's worker, for commands that change graph and index themselves.

The command holds a second lock. A running worker checks that lock between two documents. It then returns its jobs
to the queue, releases the worker's lock, and waits until the second lock is free again. The kernel releases both
locks when the process that holds them ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgfs.errors import BusyError
from kgfs.stores import timing
from kgfs.stores.locks import is_locked, locked_within
from kgfs.stores.worker_lock import LOCK

TURN = "worker.turn"


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
