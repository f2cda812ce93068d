"""Who works in one of a few places gives it to others before waiting for a server: whom this machine can answer is never to
stand behind one that is silent.

So does who waits for somebody that may be waiting for a server. Threads that have no place, as most, are not concerned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal, TypeVar

from kgfs.stores.blocking import blocks

T = TypeVar("T")


class _Mine(threading.local):
    give_back: Callable[[], None] | None = None


_MINE = _Mine()


def in_place(call: Callable[[], T], give_back: Callable[[], None]) -> T:
    """What ``call`` returns. ``give_back`` is called in this thread, once at most, when it steps aside."""
    _MINE.give_back = give_back
    try:
        return call()
    finally:
        _MINE.give_back = None


def step_aside() -> None:
    """To be called before waiting for a server, or for somebody who may. The thread goes on without a place; the event loop,
    which is no such thread, gets WouldBlock."""
    blocks()
    give_back = _MINE.give_back
    if give_back is not None:
        _MINE.give_back = None
        give_back()


class WaitingLock:
    """A lock whose holder may be waiting for a server: who has to wait for it steps aside. Its holder can take it again."""

    __slots__ = ("_lock", "release")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.release = self._lock.release

    def at_once(self) -> bool:
        """Whether it could be taken without waiting. *Quick*."""
        return self._lock.acquire(blocking=False)

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            step_aside()
            self._lock.acquire()

    def __exit__(self, *failure: object) -> Literal[False]:
        self._lock.release()
        return False
