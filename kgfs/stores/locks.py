"""Locks between processes, and between threads of one: files that are locked while they are open (``flock``).

A lock is of the file as it was opened, not of the process: whoever opens it again, be it the same thread, waits for itself.
It is given back when the file is closed, or by the kernel when the process ends, however that ends: there are no stale ones.
A program that is started has it for the moment until it runs (``O_CLOEXEC``), a child that is only forked until both let go.

Lock files are 0600, made where they are missing, and stay: whoever removed one would let two have locks of the same name.
Only processes of one machine exclude each other. An OSError is passed on as it is; a folder that is not there is one.
Files whose lock is looked at or taken at once are never shared for long, as folders may be.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgfs.errors import BusyError

GLANCE = 0.001
"""Seconds after which somebody who only looked is gone."""
LOOK = 0.01
"""Seconds between attempts of one who waits for so long and no longer."""


@contextmanager
def locked(path: Path | str) -> Iterator[int]:
    """Waits, as long as it takes, until the lock is ours; gives the open file, in which its holder may note something."""
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def locked_folder(folder: Path, *, shared: bool = False) -> Iterator[int]:
    """As :func:`locked`, of a folder that is there; gives the open folder. Those who share it do not wait for each other."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def locked_within(path: Path, patience: float) -> Iterator[bool]:
    """Waits for so many seconds, and says whether the lock is ours."""
    descriptor = _opened(path)
    try:
        deadline = time.monotonic() + patience
        while not (ours := lock_at_once(descriptor)) and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(LOOK, left))
        yield ours
    finally:
        os.close(descriptor)


@contextmanager
def alone(path: Path, refusal: str) -> Iterator[None]:
    """Does not wait: a BusyError that says ``refusal`` where somebody has the lock."""
    with locked_within(path, 0) as ours:
        if not ours:
            raise BusyError(refusal)
        yield


def take(path: Path) -> int | None:
    """Does not wait: None where somebody has the lock, else the open file. Closing that gives the lock back."""
    descriptor = _opened(path)
    if lock_at_once(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def lock_at_once(descriptor: int) -> bool:
    """Whether the lock of this open file could be had at once. Who only looks whether anybody has it is waited for."""
    while not _try(descriptor, fcntl.LOCK_EX):
        # Whoever looks shares the lock for a moment; nobody shares it with one who has it.
        if not _try(descriptor, fcntl.LOCK_SH):
            return False
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        time.sleep(GLANCE)
    return True


def is_locked(path: Path) -> bool:
    """Whether anybody, this process or another, has the lock; nobody has that of a file which is not there. Quick."""
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
