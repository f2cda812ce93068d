"""Split an iterable into batches of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batched(
    items: Iterable[T], most: int, weight: Callable[[T], int] | None = None, heaviest: int = 0
) -> Iterator[list[T]]:
    """Yield the items in order, in lists of at most ``most``. With ``weight``, a list is shorter if its items
    would weigh more than ``heaviest`` together; an item above that weight is yielded alone. The iterable is read
    lazily: no item is read before its list is requested, except that with ``weight`` one item of the next list may
    be."""
    portion: list[T] = []
    heavy = 0
    for item in items:
        if weight is not None:
            heavy += weight(item)
            if portion and heavy > heaviest:
                yield portion
                portion, heavy = [], weight(item)
        portion.append(item)
        if len(portion) == most:
            yield portion
            portion, heavy = [], 0
    if portion:
        yield portion
