"""Draw a random choice of concepts that depends only on the seed and the living concepts, without scanning all
concepts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

SKIP = 32
"""Each draw starts at a random hash and takes up to this many steps from there. Otherwise an id behind a narrow
gap between hashes would be drawn rarely."""
FRUITLESS = 32
"""The number of rounds without a new id after which drawing ends, because no other ids exist. At least half of
``count`` are undrawn before, so this does not happen by chance."""

Nth = Callable[[Sequence[tuple[str, int]]], Sequence[str]]
"""For each (hash, n), return the n-th id whose hash is not below that hash; after the last id comes the first."""


def draw(
    seed: int,
    limit: int,
    count: int,
    nth: Nth,
    every: Callable[[], Sequence[str]],
) -> list[str]:
    """Return ``limit`` distinct ids of ``count``, in the order drawn.

    Ids are ordered by their hashes (``norm_hash``), which are spread evenly. Each draw starts at a random hash,
    and the last id is followed by the first. ``nth`` returns the ids for many draws at once. ``every`` returns all
    ids in that order; they are sampled directly if most of them are wanted anyway. Returns fewer ids if some were
    removed since ``count`` was taken."""
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
    """Return an :data:`Nth` that answers each draw by a query of its own. ``following(hash, n)`` returns the first
    ``n`` ids whose hash is not below that one."""

    def nth(text: str, steps: int) -> str:
        found = following(text, steps)
        return (found if len(found) == steps else following("", steps - len(found)))[-1]

    return lambda starts: [nth(text, steps) for text, steps in starts]
