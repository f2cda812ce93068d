"""Taking the worker's place for a while: for verbs that change graph and index themselves.

Who wants it holds a second lock; a living worker sees that between two documents, gives back what it has in work, lets
go of the worker's lock and waits until the place is free again. Both locks go with the process that holds them.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from kgfs.errors import BusyError
from kgfs.stores.worker_lock import WorkerLock

T = TypeVar("T")

LOOK = 0.05
"""Seconds between looks."""
PATIENCE = 120.0
"""Seconds for a worker to come to the end of the step it is in."""


@contextmanager
def in_place_of_worker(run: Path, patience: float = PATIENCE) -> Iterator[None]:
    """No worker works on the home meanwhile, and none begins. BusyError if it is not to be had within ``patience``
    seconds."""
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    deadline = time.monotonic() + patience
    descriptor = os.open(run / "worker.turn", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _until(lambda: _locked(descriptor), deadline, f"Another verb works on {run.parent} in place of its worker.")
        lock = _until(
            lambda: _worker_lock(run), deadline, f"The worker of {run.parent} did not let go within {patience:.0f} s."
        )
        with lock:
            yield
    finally:
        os.close(descriptor)


def place_wanted(run: Path) -> bool:
    """Whether somebody wants, or has, the worker's place. Quick."""
    try:
        descriptor = os.open(run / "worker.turn", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _worker_lock(run: Path) -> WorkerLock | None:
    try:
        return WorkerLock(run)
    except BusyError:
        return None


def _until(attempt: Callable[[], T | None], deadline: float, failure: str) -> T:
    while not (found := attempt()):
        if time.monotonic() > deadline:
            raise BusyError(f"{failure} Try again later.")
        time.sleep(LOOK)
    return found
