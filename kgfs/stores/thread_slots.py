"""Release a thread's slot before it waits for a server. A request that this machine can answer alone then never
queues behind requests that wait for an unresponsive server.

A thread also releases its slot before it waits for another thread that may be waiting for a server. Most threads
have no slot, and nothing changes for them.

A function that is called without blocking returns its result, or raises WouldBlock and is then repeated in a thread.
A function that may have to wait calls :func:`blocks` before it waits and before it changes anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal, TypeVar

T = TypeVar("T")


class _Mine(threading.local):
    give_back: Callable[[], None] | None = None


_MINE = _Mine()


def in_place(call: Callable[[], T], give_back: Callable[[], None]) -> T:
    """Run ``call`` in this thread, which occupies a slot, and return its result. ``give_back`` releases the slot;
    it is called in this thread, at most once, when :func:`step_aside` is called."""
    _MINE.give_back = give_back
    try:
        return call()
    finally:
        _MINE.give_back = None


def release_slot() -> None:
    """Release the thread's slot. Call this before waiting for a server, or for a thread that may wait for one. The
    thread continues without a slot. On the event loop this raises WouldBlock."""
    blocks()
    give_back = _MINE.give_back
    if give_back is not None:
        _MINE.give_back = None
        give_back()


class WaitingLock:
    """A reentrant lock whose holder may be waiting for a server. A thread releases its slot before it waits for
    the lock."""

    __slots__ = ("_lock", "release")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.release = self._lock.release

    def acquire_nowait(self) -> bool:
        """Take the lock if that needs no waiting, and return whether it was taken. *Quick*."""
        return self._lock.acquire(blocking=False)

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            release_slot()
            self._lock.acquire()

    def __exit__(self, *failure: object) -> Literal[False]:
        self._lock.release()
        return False


class WouldBlock(Exception):  # noqa: N818  # not an error: the caller repeats the call in a thread
    """The call would have to wait. Nothing was done."""


class _Here(threading.local):
    inline = False


_HERE = _Here()


def inline(call: Callable[[], T]) -> T:
    """Return the result of ``call`` if it does not have to wait; else raise WouldBlock."""
    _HERE.inline = True
    try:
        return call()
    finally:
        _HERE.inline = False


def is_inline() -> bool:
    """Return whether the calling thread is inside :func:`inline`."""
    return _HERE.inline


def blocks() -> None:
    """Raise WouldBlock if the caller must not wait. Call this before waiting for anything."""
    if _HERE.inline:
        raise WouldBlock
