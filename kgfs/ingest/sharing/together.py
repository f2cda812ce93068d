"""Several requests at the same time that do not depend on one another: one after the other each would wait for the way to the server
and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def together(call: Callable[[Item], Answer], items: Sequence[Item], at_once: int) -> Iterator[Answer]:
    """What ``call`` returns of each, in their order, as it comes; by so many threads at most. Once one has failed none is begun any
    more, so that a silent server is waited for no longer than by one; what it raised is raised in its place. Who takes all that
    comes, or what is raised, goes on when none is under way."""
    failed = Event()

    def unless_failed(item: Item) -> Answer:
        if failed.is_set():  # items are begun in order, so the failure is met before this
            raise CancelledError
        try:
            return call(item)
        except BaseException:
            failed.set()
            raise

    with ThreadPoolExecutor(at_once, "kgfs-exchange") as several:
        yield from several.map(unless_failed, items)
