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
    """A Reader over an open file, which it closes. A block is verified when it is first touched.

    The block touched last stays in memory, and once its second half is read the kernel is asked to fetch the next one:
    whoever reads on and on finds all that follows at hand.
    """

    def __init__(self, key: str, file: FileIO, sums: Sums) -> None:
        self._key = key
        self._file = file
        self._sums = sums
        self._verified: set[int] = set()
        self._held: tuple[int, memoryview] = (-1, memoryview(b""))
        self._fetched = 0
        """The last block asked for in advance."""

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

    def at_hand(self, offset: int, length: int) -> bytes | None:
        end = end_of_span(self._sums.size, offset, length)
        pieces = []
        while offset < end:
            number = offset // BLOCK
            block = self._without_waiting(number)
            if block is None:
                return None
            base, stop = number * BLOCK, min((number + 1) * BLOCK, end)
            pieces.append(bytes(block[offset - base : stop - base]))
            self._look_ahead(number, stop)
            offset = stop
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _piece(self, number: int, start: int, stop: int) -> bytes:
        """``start:stop``, which lies in block ``number``."""
        base = number * BLOCK
        held, block = self._held
        if held != number:
            if number in self._verified:
                piece = self._pread(start, stop)
                if len(piece) != stop - start:
                    raise self._rot(number)
                return piece
            block = memoryview(self._pread(base, min(base + BLOCK, self._sums.size)))
            if not self._is_right(number, block):
                raise self._rot(number)
            self._hold(number, block)
        self._look_ahead(number, stop)
        return bytes(block[start - base : stop - base])

    def _without_waiting(self, number: int) -> memoryview | None:
        """Block ``number`` if it is held, or whole and right in the kernel's pages."""
        held, block = self._held
        if held == number:
            return block
        block = memoryview(bytearray(min(BLOCK, self._sums.size - number * BLOCK)))
        try:
            found = os.preadv(self._file.fileno(), [block], number * BLOCK, os.RWF_NOWAIT)
        except (
            OSError,
            ValueError,
        ):  # it would wait, cannot tell, or is closed: whoever waits for it is told the reason
            return None
        if found != len(block) or not self._is_right(number, block):
            return None
        self._hold(number, block)
        return block

    def _is_right(self, number: int, block: memoryview) -> bool:
        return bool(xxhash.xxh3_64_hexdigest(block) == self._sums.blocks[number])

    def _hold(self, number: int, block: memoryview) -> None:
        self._verified.add(number)
        self._held = (number, block)

    def _look_ahead(self, number: int, stop: int) -> None:
        """Have fetched what follows block ``number``, of which the bytes before ``stop`` were asked for."""
        following = number + 1
        if stop - number * BLOCK > BLOCK // 2 and self._fetched < following < len(self._sums.blocks):
            self._fetched = following
            os.posix_fadvise(self._file.fileno(), following * BLOCK, BLOCK, os.POSIX_FADV_WILLNEED)

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
