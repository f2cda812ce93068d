"""Create an object on first use, for clients of servers that take long to load."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """A callable that returns the result of ``make``, which runs once, on the first call by any thread. If
    ``make`` raises, the next call runs it again."""

    __slots__ = ("_make", "_making", "made")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making = threading.Lock()
        self.made: T | None = None
        """The result; None until the first successful call."""

    def __call__(self) -> T:
        with self._making:
            if self.made is None:
                self.made = self._make()
            return self.made
