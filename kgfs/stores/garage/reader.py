"""Reading one object of a garage on files, block by block."""

from __future__ import annotations

import os
from io import FileIO

import xxhash

from kgfs.errors import BadInputError, RotError
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.durable import os_errors


def end_of_span(size: int, start: int, length: int | None) -> int:
    """Where ``start:start+length`` ends within ``size`` bytes; BadInputError for negative numbers."""
    if start < 0 or (length is not None and length < 0):
        raise BadInputError(f"cannot read {length} bytes from {start}: neither may be negative.")
    return size if length is None else min(start + length, size)


class FileReader:
    """A Reader over an open file, which it closes. A block is verified when it is first touched."""

    def __init__(self, key: str, file: FileIO, sums: Sums) -> None:
        self._key = key
        self._file = file
        self._sums = sums
        self._verified: set[int] = set()

    @property
    def sums(self) -> Sums:
        return self._sums

    def read_at(self, offset: int, length: int) -> bytes:
        end = end_of_span(self._sums.size, offset, length)
        pieces = []
        with os_errors(f"reading {self._key}"):
            while offset < end:
                number = offset // BLOCK
                stop = min((number + 1) * BLOCK, end)
                pieces.append(self._piece(number, offset, stop))
                offset = stop
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _piece(self, number: int, start: int, stop: int) -> bytes:
        """``start:stop``, which lies in block ``number``."""
        if number in self._verified:
            piece = self._pread(start, stop)
            if len(piece) != stop - start:
                raise self._rot(number)
            return piece
        base = number * BLOCK
        block = self._pread(base, min(base + BLOCK, self._sums.size))
        if xxhash.xxh3_64_hexdigest(block) != self._sums.blocks[number]:
            raise self._rot(number)
        self._verified.add(number)
        return block[start - base : stop - base]

    def _pread(self, start: int, stop: int) -> bytes:
        """``start:stop`` of the file, shorter only where the file ends."""
        pieces = []
        while start < stop and (piece := os.pread(self._file.fileno(), stop - start, start)):
            pieces.append(piece)
            start += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _rot(self, number: int) -> RotError:
        return RotError(f"{self._key}: MiB block {number} is not what was kept. Restore the object from a backup.")

    def close(self) -> None:
        self._file.close()
