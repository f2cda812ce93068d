"""Two bits for each number of a vector, and what of a dot product they tell: which rows are worth comparing exactly.

A number is in one of four equal steps around 0, each as wide as the numbers of a unit vector spread. The question keeps more:
16 steps. The estimate costs no multiplication, and a sixteenth of the memory: docs/search.md says what it misses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kgfs.stores.vectors.contract import Vector
from kgfs.stores.vectors.growing import Growing

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.float32]

STEPS = 4
"""Bits for each number of a question."""
BLOCK = 32_768
"""Rows looked at together, so that what is added stays in the processor's cache."""


@dataclass(frozen=True)
class Codes:
    """The codes of many vectors. Never changed; any number of threads may ask."""

    high: Words
    """The upper bits, of shape (words of 64 bits, rows)."""
    low: Words
    sums: Numbers
    """The sum of the codes (0 to 3) of each row."""
    room: tuple[Growing, Growing, Growing] = field(default_factory=lambda: (Growing(), Growing(), Growing()))
    """Where the three stand, with room for those of more rows."""

    def estimate(self, vector: Vector) -> Numbers:
        """Return for each row a number that is the greater, the greater its dot product with the vector seems."""
        least = float(vector.min())
        step = max(float(vector.max()) - least, 1e-12) / (2**STEPS - 1)
        levels = np.round((vector - least) / step).astype(np.uint8)
        bits = [_packed((levels >> at & 1).astype(np.bool_)[None])[:, 0] for at in range(STEPS)]
        found = np.empty(len(self.sums), np.float32)
        for start in range(0, len(found), BLOCK):
            some = slice(start, start + BLOCK)
            total = np.zeros(len(found[some]), np.int32)
            for at, asked in enumerate(bits):
                for plane, weight in ((self.high, 2 << at), (self.low, 1 << at)):
                    for first in range(0, len(asked), 3):  # three counts of up to 64 fit into a byte
                        count = np.bitwise_count(plane[first, some] & asked[first])
                        for word in range(first + 1, min(first + 3, len(asked))):
                            count += np.bitwise_count(plane[word, some] & asked[word])
                        total += np.multiply(count, weight, dtype=np.int32)
            found[some] = np.float32(step) * total + np.float32(least) * self.sums[some]
        return found


def coded(matrix: Numbers, known: Codes | None = None) -> Codes:
    """Return the codes of the rows of a matrix; ``known`` are those of its first ones, which are not copied."""
    first = len(known.sums) if known is not None else 0
    if known is not None and first == len(matrix):
        return known
    width = np.float32(1 / np.sqrt(max(matrix.shape[1], 1)))
    parts: list[tuple[Words, Words, Numbers]] = []
    for start in range(first, max(len(matrix), 1), BLOCK):  # so that no second matrix is made
        rows = matrix[start : start + BLOCK]
        above = rows >= 0
        high, low = _packed(above), _packed((rows >= width) | (~above & (rows >= -width)))
        sums = 2 * np.bitwise_count(high).sum(0, dtype=np.uint32) + np.bitwise_count(low).sum(0, dtype=np.uint32)
        parts.append((high, low, sums.astype(np.float32)))
    added = [np.concatenate(some, axis=-1) for some in zip(*parts, strict=True)]
    if known is None:
        return Codes(added[0], added[1], added[2])
    of_high, of_low, of_sums = known.room
    return Codes(
        of_high.extended(known.high, added[0]),
        of_low.extended(known.low, added[1]),
        of_sums.extended(known.sums, added[2]),
        known.room,
    )


def _packed(bits: npt.NDArray[np.bool_]) -> Words:
    """Return rows of bits as columns of words of 64 bits."""
    width = -(-bits.shape[1] // 64) * 8
    packed = np.zeros((len(bits), width), np.uint8)
    packed[:, : -(-bits.shape[1] // 8)] = np.packbits(bits, axis=1)
    return np.ascontiguousarray(packed.view(np.uint64).T)
