"""Taking the worker's place for a while: for verbs that change graph and index themselves.

Who wants it holds a second lock; a living worker sees that between two documents, gives back what it has in work, lets
go of the worker's lock and waits until the place is free again. Both locks go with the process that holds them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgfs.errors import BusyError
from kgfs.stores.locks import is_locked, locked_within
from kgfs.stores.worker_lock import LOCK

TURN = "worker.turn"
LOOK = 0.05
"""Seconds between looks of a worker that let go."""
PATIENCE = 120.0
"""Seconds for a worker to come to the end of the step it is in."""


@contextmanager
def in_place_of_worker(run: Path, patience: float = PATIENCE) -> Iterator[None]:
    """No worker works on the home meanwhile, and none begins. BusyError if it is not to be had within ``patience``
    seconds."""
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    deadline = time.monotonic() + patience
    with locked_within(run / TURN, patience) as ours:
        if not ours:
            raise BusyError(f"Another verb works on {run.parent} in place of its worker. Try again later.")
        with locked_within(run / LOCK, deadline - time.monotonic()) as free:
            if not free:
                raise BusyError(f"The worker of {run.parent} did not let go within {patience:.0f} s. Try again later.")
            yield


def place_wanted(run: Path) -> bool:
    """Whether somebody wants, or has, the worker's place. Quick."""
    return is_locked(run / TURN)
