"""Where what takes long to work out is waited for: apart from all else, so that it delays nobody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import trio

from kgfs.compute.patience import Patience
from kgfs.errors import CrowdedError, StoppingError, TimedOutError

T = TypeVar("T")

AT_ONCE = 16
"""Questions worked on at one time; who asks another one is told to try again."""
SECONDS = 10.0
"""How long one may take."""
GRACE = 0.5
"""Seconds more for work that notices by itself that its time is over, and can say so."""

_KILLED = 1 << 8
"""SIGKILL in a set of pending signals: what the kernel makes of every signal that ends a process."""


class Questions:
    """The event loop owns it. A question that its asker gives up, or that takes too long, leaves its place as soon as the
    work notices."""

    def __init__(self, at_once: int = AT_ONCE, seconds: float = SECONDS) -> None:
        self._places = trio.CapacityLimiter(at_once)
        self._seconds = seconds
        self._asked: set[trio.CancelScope] = set()
        self._stopping = False

    async def ask(self, work: Callable[[Patience], T], pid: int = 0) -> T:
        """What ``work`` returns, called in a thread. ``pid`` is whose question it is; 0 where that is not known. CrowdedError
        where all places are taken, TimedOutError after ``seconds``, StoppingError once :meth:`stop` was called."""
        if self._stopping:
            raise StoppingError("The mount is being taken down.")
        if self._places.available_tokens < 1:
            raise CrowdedError(f"{self._places.total_tokens:g} searches are being worked on. Ask again in a moment.")
        patience = Patience(self._seconds, lambda: ends(pid))
        with trio.move_on_after(self._seconds + GRACE) as scope:
            self._asked.add(scope)
            try:
                return await trio.to_thread.run_sync(
                    lambda: work(patience), limiter=self._places, abandon_on_cancel=True
                )
            finally:
                self._asked.discard(scope)
                patience.give_up()
        if self._stopping:
            raise StoppingError("The mount is being taken down.")
        raise TimedOutError(f"The search was not worked out within {self._seconds:g} seconds.")

    def stop(self) -> None:
        """Give up what is being asked, and refuse new questions."""
        self._stopping = True
        for scope in list(self._asked):
            scope.cancel()


def ends(pid: int) -> bool:
    """Whether the thread ``pid`` has ended or is about to: while it waits for a filesystem it cannot go before it has its
    answer. False where that cannot be known."""
    if not pid:
        return False
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            lines = status.read().splitlines()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return any(line.startswith(b"SigPnd:") and int(line.split()[1], 16) & _KILLED for line in lines)
