"""Two bits for each number of a vector, and what of a dot product they tell: which rows are worth comparing exactly.

A number is in one of four equal steps around 0, each as wide as the numbers of a unit vector spread. The question
keeps more: 16 steps. The estimate costs no multiplication, and a sixteenth of the memory: docs/search.md says what it
misses.

Codes and rows are in arrays that grow without a copy of what they have already.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kgfs.stores.vectors.contract import Vector

SPARE = 8
"""An array that is full gets room for a SPARE-th more than it needs."""
LEAST_SPARE = 1024
Array = npt.NDArray[Any]

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.float32]

STEPS = 4
"""Bits for each number of a question."""
BLOCK = 32_768
"""Rows looked at together, so that what is added stays in the processor's cache."""
FIRST_SHARE, FIRST_TIMES = 20, 4
"""By the upper bits alone a FIRST_SHARE-th of the rows is chosen, and FIRST_TIMES as many as are wanted at least."""


@dataclass(frozen=True)
class Codes:
    """The codes of many vectors. Never changed; any number of threads may ask."""

    high: Words
    """The upper bits, of shape (words of 64 bits, rows)."""
    low: Words
    ones: Numbers
    """The number of upper bits that are 1, of each row."""
    sums: Numbers
    """The sum of the codes (0 to 3) of each row."""
    room: tuple[Growing, Growing, Growing, Growing] = field(
        default_factory=lambda: (Growing(), Growing(), Growing(), Growing())
    )
    """Where the four stand, with room for those of more rows."""

    def likely(self, vector: Vector, rows: npt.NDArray[np.intp], count: int) -> npt.NDArray[np.intp]:
        """Return the ``count`` of these rows, with all ties, whose dot products with the vector seem the greatest.

        The upper bits of codes and question choose some, of which all bits choose.
        """
        least = float(vector.min())
        step = max(float(vector.max()) - least, 1e-12) / (2**STEPS - 1)
        levels = np.round((vector - least) / step).astype(np.uint8)
        bits = [(1 << at, _packed((levels >> at & 1).astype(np.bool_)[None])[:, 0]) for at in range(STEPS)]
        some = max(len(rows) // FIRST_SHARE, FIRST_TIMES * count)
        if some < len(rows):
            seems = np.float32(step) * _counted([(1, self.high)], bits[1:]) + np.float32(least + step / 2) * self.ones
            rows = _greatest(rows, seems[rows] if len(rows) < len(seems) else seems, some)
        planes = [(2, self.high[:, rows]), (1, self.low[:, rows])]
        return _greatest(rows, np.float32(step) * _counted(planes, bits) + np.float32(least) * self.sums[rows], count)


def _counted(planes: Sequence[tuple[int, Words]], bits: Sequence[tuple[int, Words]]) -> Numbers:
    """Return for each row the sum of the bits that it shares with the question, by the weights of both."""
    found = np.empty(planes[0][1].shape[1], np.float32)
    both, ones, more = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint8)
    for start in range(0, len(found), BLOCK):
        some = slice(start, start + BLOCK)
        length = len(found[some])
        same, count, another = both[:length], ones[:length], more[:length]
        total = np.zeros(length, np.int32)
        for value, asked in bits:
            for weight, plane in planes:
                for first in range(0, len(asked), 3):  # three counts of up to 64 fit into a byte
                    np.bitwise_count(np.bitwise_and(plane[first, some], asked[first], out=same), out=count)
                    for word in range(first + 1, min(first + 3, len(asked))):
                        np.bitwise_count(np.bitwise_and(plane[word, some], asked[word], out=same), out=another)
                        count += another
                    total += np.multiply(count, weight * value, dtype=np.int32)
        found[some] = total
    return found


def _greatest(rows: npt.NDArray[np.intp], seems: Numbers, count: int) -> npt.NDArray[np.intp]:
    if count >= len(rows):
        return rows
    found: npt.NDArray[np.intp] = rows[seems >= np.partition(seems, len(rows) - count)[len(rows) - count]]
    return found


def coded(matrix: Numbers, known: Codes | None = None) -> Codes:
    """Return the codes of the rows of a matrix; ``known`` are those of its first ones, which are not copied."""
    first = len(known.sums) if known is not None else 0
    if known is not None and first == len(matrix):
        return known
    width = np.float32(1 / np.sqrt(max(matrix.shape[1], 1)))
    parts: list[tuple[Words, Words, Numbers, Numbers]] = []
    for start in range(first, max(len(matrix), 1), BLOCK):  # so that no second matrix is made
        rows = matrix[start : start + BLOCK]
        above = rows >= 0
        high, low = _packed(above), _packed((rows >= width) | (~above & (rows >= -width)))
        ones = np.bitwise_count(high).sum(0, dtype=np.uint32)
        sums = 2 * ones + np.bitwise_count(low).sum(0, dtype=np.uint32)
        parts.append((high, low, ones.astype(np.float32), sums.astype(np.float32)))
    added = [np.concatenate(some, axis=-1) for some in zip(*parts, strict=True)]
    if known is None:
        return Codes(added[0], added[1], added[2], added[3])
    of_high, of_low, of_ones, of_sums = known.room
    return Codes(
        of_high.extended(known.high, added[0]),
        of_low.extended(known.low, added[1]),
        of_ones.extended(known.ones, added[2]),
        of_sums.extended(known.sums, added[3]),
        known.room,
    )


def _packed(bits: npt.NDArray[np.bool_]) -> Words:
    """Return rows of bits as columns of words of 64 bits."""
    width = -(-bits.shape[1] // 64) * 8
    packed = np.zeros((len(bits), width), np.uint8)
    packed[:, : -(-bits.shape[1] // 8)] = np.packbits(bits, axis=1)
    return np.ascontiguousarray(packed.view(np.uint64).T)


class Growing:
    """Room for an array that grows along its last axis. What was returned never changes; any thread may read it.

    Any thread may extend it. Threads that extend the same array at the same time append the same values.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._room: Array | None = None

    def extended(self, known: Array | None, added: Array) -> Array:
        """Return ``known`` with ``added`` behind it. ``known`` is what this object returned before, None for nothing; the
        first time it may be any array."""
        length = known.shape[-1] if known is not None else 0
        total = length + added.shape[-1]
        with self._lock:
            room = self._room
            if room is None or room.shape[-1] < total:
                room = np.empty((*added.shape[:-1], total + total // SPARE + LEAST_SPARE), added.dtype)
                if known is not None:
                    room[..., :length] = known
                self._room = room
            room[..., length:total] = added
            return room[..., :total]
