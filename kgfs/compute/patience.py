"""How long somebody waits for an answer: until a deadline, and until it goes away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from kgfs.errors import GivenUpError, TimedOutError

SLICE = 0.05
"""Seconds between looks whether the answer is still wanted."""


class Patience:
    """Whoever works an answer out asks it often, and stops when it says so. Any number of threads."""

    def __init__(self, seconds: float, gone: Callable[[], bool] = lambda: False) -> None:
        """``gone`` tells whether the asker went away; quick, called every now and then by who works."""
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._gone = gone
        self._given_up = threading.Event()

    def give_up(self) -> None:
        """The answer is not wanted any more."""
        self._given_up.set()

    def within(self, seconds: float) -> Patience:
        """The same, for a part that may take no longer than this."""
        return Patience(min(seconds, self.left), self._over)

    def _over(self) -> bool:
        return self._given_up.is_set() or self._gone()

    @property
    def left(self) -> float:
        """Seconds; 0 when it is over."""
        return max(0.0, self._deadline - time.monotonic())

    def check(self) -> None:
        """GivenUpError, or TimedOutError once the deadline has passed."""
        if self._over():
            raise GivenUpError("The answer is not waited for any more.")
        if not self.left:
            raise TimedOutError(f"No answer within {self._seconds:g} seconds. Ask again, or with fewer words.")

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than anybody waits: then the errors of :meth:`check`."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            self.check()
            self._given_up.wait(min(rest, SLICE))
        self.check()
