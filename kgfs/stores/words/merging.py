"""Which segments of an index of words are joined, so that there are few of them and each row is written seldom."""

from __future__ import annotations

from collections.abc import Sequence

LARGEST = 250_000
"""Rows that a joined segment has at most. A segment of so many rows is never joined."""
MOST = 3
"""Segments of less than LARGEST rows, above which some are joined."""
TIMES = 2
"""A segment is joined with smaller ones that have a TIMES-th of its rows or more together: a text that comes to a large index
does not have a large segment written anew."""


def to_join(rows: Sequence[int], most: int = MOST, largest: int = LARGEST) -> list[int]:
    """Return the places of the segments to join, by the numbers of their rows; [] for none.

    Where none of more than ``most`` can be joined, each has TIMES as many rows as all smaller ones together, or two have
    more than ``largest``: so there are few.
    """
    small = sorted((place for place, count in enumerate(rows) if count < largest), key=lambda place: rows[place])
    if len(small) <= most:
        return []
    for first in range(len(small)):
        joined, total = [small[first]], rows[small[first]]
        for place in small[first + 1 :]:
            if total + rows[place] > largest or rows[place] > TIMES * total:
                break
            joined.append(place)
            total += rows[place]
        if len(joined) > 1:
            return joined
    return []
