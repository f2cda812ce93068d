"""A random choice of concepts that depends on the seed and the living concepts alone, and never scans them all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

SKIP = 32
"""A random id is reached from a random number by some steps more, so that an id after a narrow gap is not a rare one."""
FRUITLESS = 32
"""After so many draws in a row of known ids only there are no others: at least half of ``count`` are, so by chance it does not
happen."""

Nth = Callable[[Sequence[tuple[str, int]]], Sequence[str]]
"""For each hash and number n the n-th of the ids whose hash is not below that one; after the last comes the first."""


def draw(
    seed: int,
    limit: int,
    count: int,
    nth: Nth,
    every: Callable[[], Sequence[str]],
) -> list[str]:
    """``limit`` distinct ids of ``count``, in the order drawn.

    Ids stand in the order of hashes (``norm_hash``), which are spread evenly; a hash is drawn at random, and past the last id comes the first.
    ``nth`` gives the ids that are met so, for many at once; ``every`` gives all in that order, to be shuffled where most
    are wanted anyway. Fewer where so many left since they were counted.
    """
    source = random.Random(seed)
    if count <= max(2 * limit, SKIP):
        return source.sample(list(every()), min(limit, count))
    drawn: dict[str, None] = {}
    fruitless = 0
    while len(drawn) < limit and fruitless < FRUITLESS:
        starts = []
        for _ in range(limit - len(drawn)):
            steps = source.randrange(SKIP) + 1
            starts.append((f"{source.getrandbits(64):016x}", steps))
        before = len(drawn)
        drawn |= dict.fromkeys(nth(starts))
        fruitless = 0 if len(drawn) > before else fruitless + 1
    return list(drawn)


def stepwise(following: Callable[[str, int], Sequence[str]]) -> Nth:
    """For who answers at once: ``following(hash, n)`` gives the first ``n`` ids whose hash is not below that one."""

    def nth(text: str, steps: int) -> str:
        found = following(text, steps)
        return (found if len(found) == steps else following("", steps - len(found)))[-1]

    return lambda starts: [nth(text, steps) for text, steps in starts]
