"""Locks between processes, and between threads of one process: ``flock`` locks on files.

A lock belongs to the open file description, not to the process: a thread that opens the file a second time waits
for itself. Closing the file releases the lock, and the kernel releases it when the process ends for any reason, so
there are no stale locks. A started program holds the lock until its ``exec`` (``O_CLOEXEC``). A child that is only
forked shares the lock, which then lasts until both processes close the file.

Lock files have mode 0600, are created if they are missing, and are never deleted: after a deletion two processes
could hold locks of the same name. Only processes of one machine exclude each other. An OSError is raised
unchanged, also for a missing folder. Files whose lock is queried or taken without waiting are never locked in
shared mode for long, unlike folders.

With the settle lock of a home, one process, and one thread in it, settles or gives up originals at a time.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgfs.errors import BusyError
from kgfs.stores import timing
from kgfs.stores.thread_slots import release_slot

LOCK = "settle.lock"


@contextmanager
def locked(path: Path | str) -> Iterator[int]:
    """Return a context that holds an exclusive lock on a file, and give its descriptor, to which the holder may
    write. Waits without a limit."""
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def locked_folder(folder: Path, *, shared: bool = False) -> Iterator[int]:
    """Return a context that holds a lock on an existing folder, and give its descriptor. Waits without a limit.
    Holders of the ``shared`` lock do not exclude each other."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def locked_within(path: Path, patience: float) -> Iterator[bool]:
    """Return a context that gives whether the lock was obtained within ``patience`` seconds."""
    descriptor = _opened(path)
    try:
        deadline = time.monotonic() + patience
        while not (ours := lock_nowait(descriptor)) and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(timing.LOCK_POLL, left))
        yield ours
    finally:
        os.close(descriptor)


@contextmanager
def alone(path: Path, refusal: str) -> Iterator[None]:
    """Return a context that holds the lock. Raises BusyError with the message ``refusal`` at once if another holds
    it."""
    with locked_within(path, 0) as ours:
        if not ours:
            raise BusyError(refusal)
        yield


def take(path: Path) -> int | None:
    """Return the descriptor of the locked file, or None if another holds the lock. Does not wait. Closing the
    descriptor releases the lock."""
    descriptor = _opened(path)
    if lock_nowait(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def lock_nowait(descriptor: int) -> bool:
    """Return whether the open file could be locked without waiting for another holder. A process that only queries
    the lock is waited for."""
    while not _try(descriptor, fcntl.LOCK_EX):
        # A query holds the shared lock for a moment. If the shared lock can be had, there is no exclusive holder.
        if not _try(descriptor, fcntl.LOCK_SH):
            return False
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        time.sleep(timing.LOCK_GLANCE)
    return True


def is_locked(path: Path) -> bool:
    """Return whether this or another process holds the lock. A missing file is not locked. Quick."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _opened(path: Path | str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def settle_lock(run: Path) -> Iterator[None]:
    """Hold the settle lock of the home with this run folder. Two holders would mint two versions. Waits without a
    limit."""
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    release_slot()  # the holder of the lock may be waiting for a bucket
    with locked(run / LOCK):
        yield
