"""What is made when it is first wanted: clients of servers, which cost much to load."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Gives what ``make`` makes, once, for whichever thread asks first. Where that fails the next one tries again."""

    __slots__ = ("_make", "_making", "made")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making = threading.Lock()
        self.made: T | None = None
        """None until it is wanted."""

    def __call__(self) -> T:
        with self._making:
            if self.made is None:
                self.made = self._make()
            return self.made
