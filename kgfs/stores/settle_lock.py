"""The settle lock of a home: one process, and one thread in it, settles or gives up originals at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgfs.stores.locks import alone, locked
from kgfs.stores.thread_slots import release_slot

LOCK = "settle.lock"


@contextmanager
def settle_lock(run: Path) -> Iterator[None]:
    """Hold the settle lock of the home with this run folder. Two holders would mint two versions. Waits without a
    limit."""
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    release_slot()  # the holder of the lock may be waiting for a bucket
    with locked(run / LOCK):
        yield


@contextmanager
def settle_lock_nowait(run: Path) -> Iterator[None]:
    """Hold the settle lock as :func:`settle_lock` does, or raise BusyError where another thread or process holds it."""
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    with alone(run / LOCK, "Files are being settled. Try again later."):
        yield
