"""How long a caller waits for an answer: until a deadline passes or the caller cancels."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from kgfs.compute import timing
from kgfs.errors import GivenUpError, TimedOutError


class Deadline:
    """A deadline with cancellation. Any number of threads may use it.

    Code that computes an answer calls ``check`` often.
    """

    def __init__(self, seconds: float, gone: Callable[[], bool] = lambda: False) -> None:
        """Start the deadline, ``seconds`` from now.

        ``gone`` tells whether the caller has left. It must be quick: the working thread calls it often.
        """
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._gone = gone
        self._given_up = threading.Event()

    def give_up(self) -> None:
        """Cancel: the answer is not wanted any more."""
        self._given_up.set()

    def within(self, seconds: float) -> Deadline:
        """Return a Deadline for a part of the work: it ends after ``seconds``, or with this one if that is earlier."""
        return Deadline(min(seconds, self.left), self._over)

    def _over(self) -> bool:
        return self._given_up.is_set() or self._gone()

    @property
    def left(self) -> float:
        """Return the seconds until the deadline; 0 once it has passed."""
        return max(0.0, self._deadline - time.monotonic())

    def check(self) -> None:
        """Raise GivenUpError where the answer was cancelled, and TimedOutError once the deadline has passed."""
        if self._over():
            raise GivenUpError("The answer is not waited for any more.")
        if not self.left:
            raise TimedOutError(f"No answer within {self._seconds:g} seconds. Ask again, or with fewer words.")

    def wait(self, seconds: float) -> None:
        """Sleep for ``seconds``. Raise the errors of :meth:`check` as soon as they apply."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            self.check()
            self._given_up.wait(min(rest, timing.CANCEL_POLL))
        self.check()
