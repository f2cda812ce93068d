"""Run independent requests in parallel: one after the other, each would wait for a round trip to the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def together(call: Callable[[Item], Answer], items: Sequence[Item], at_once: int) -> Iterator[Answer]:
    """Yield the results of ``call`` on each of ``items``, in order, from at most ``at_once`` threads.

    After a failure no further call is begun, so a silent server is waited for by the calls under way only. The error
    is raised in place of the failed result. When the iterator is exhausted, or has raised, no call is under way.
    """
    failed = Event()

    def unless_failed(item: Item) -> Answer:
        if failed.is_set():  # items are begun in order, so the failure is raised before this
            raise CancelledError
        try:
            return call(item)
        except BaseException:
            failed.set()
            raise

    with ThreadPoolExecutor(at_once, "kgfs-exchange") as several:
        yield from several.map(unless_failed, items)
