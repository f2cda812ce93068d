"""Much in small pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def portions(
    items: Iterable[T], most: int, weight: Callable[[T], int] | None = None, heaviest: int = 0
) -> Iterator[list[T]]:
    """The items in order, ``most`` at once; with a ``weight`` each, fewer where they would weigh more than ``heaviest``
    together. One that is heavier goes alone. No item is asked for before its portion is."""
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
