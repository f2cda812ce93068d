"""Read an object whose content is the beginning of another object."""

from __future__ import annotations

import xxhash

from kgfs.errors import CorruptError
from kgfs.stores.garage.contract import BLOCK, Reader, Sums
from kgfs.stores.garage.reader import end_of_span


class PrefixReader:
    """A Reader of the first bytes of another object, as many as ``sums`` says.

    The reader of the other object verifies every byte. Blocks that are read whole are compared with ``sums``, too.
    """

    def __init__(self, key: str, whole: Reader, sums: Sums) -> None:
        self._key = key
        self._whole = whole
        self._sums = sums

    @property
    def sums(self) -> Sums:
        return self._sums

    def read_at(self, offset: int, length: int) -> bytes:
        end = end_of_span(self._sums.size, offset, length)
        found = self._whole.read_at(offset, max(0, end - offset))
        if len(found) != max(0, end - offset):
            raise self._rot(offset // BLOCK)
        view = memoryview(found)
        for number in range(-(-offset // BLOCK), -(-end // BLOCK)):
            start, stop = number * BLOCK, min((number + 1) * BLOCK, self._sums.size)
            if (
                stop <= end
                and xxhash.xxh3_64_hexdigest(view[start - offset : stop - offset]) != self._sums.blocks[number]
            ):
                raise self._rot(number)
        return found

    def cached(self, offset: int, length: int) -> bytes | None:
        end = end_of_span(self._sums.size, offset, length)
        return self._whole.cached(offset, max(0, end - offset))

    def close(self) -> None:
        self._whole.close()

    def _rot(self, number: int) -> CorruptError:
        return CorruptError(f"{self._key}: MiB block {number} is not what was kept. Run kgfs check --deep --repair.")
