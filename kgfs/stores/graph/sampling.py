"""A random choice of concepts that depends on the seed and the living concepts alone, and never scans them all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence


def draw(
    seed: str, limit: int, count: int, at_or_after: Callable[[str], str | None], every: Callable[[], Sequence[str]]
) -> list[str]:
    """``limit`` distinct ids of ``count``, in the order drawn.

    Ids are hashes, so they are spread evenly: a random number's successor (``at_or_after``, None past the last) is a
    random id. Where most are wanted anyway they are shuffled (``every``, in order of id).
    """
    source = random.Random(seed)
    if 2 * limit >= count:
        return source.sample(list(every()), min(limit, count))
    drawn: dict[str, None] = {}
    while len(drawn) < limit:
        found = at_or_after(f"{source.getrandbits(64):016x}") or at_or_after("")
        if found is not None:
            drawn[found] = None
    return list(drawn)
