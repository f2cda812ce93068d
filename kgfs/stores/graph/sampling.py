"""A random choice of concepts that depends on the seed and the living concepts alone, and never scans them all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

SKIP = 32
"""A random id is reached from a random number by some steps more, so that an id after a narrow gap is not a rare one."""


def draw(
    seed: str,
    limit: int,
    count: int,
    following: Callable[[str, int], Sequence[str]],
    every: Callable[[], Sequence[str]],
) -> list[str]:
    """``limit`` distinct ids of ``count``, in the order drawn.

    Ids are hashes, so they are spread evenly, and a number is drawn at random among them; past the last comes the first.
    ``following(text, n)`` gives the first ``n`` ids that are not below the text; ``every`` gives all in order of id, to
    be shuffled where most are wanted anyway.
    """
    source = random.Random(seed)
    if count <= max(2 * limit, SKIP):
        return source.sample(list(every()), min(limit, count))
    drawn: dict[str, None] = {}
    while len(drawn) < limit:
        wanted = source.randrange(SKIP) + 1
        found = following(f"{source.getrandbits(64):016x}", wanted)
        if len(found) < wanted:
            found = following("", wanted - len(found))
        drawn[found[-1]] = None
    return list(drawn)
