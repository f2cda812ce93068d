"""Reading one object of a garage on files, block by block."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from threading import Lock

import xxhash

from kgfs.errors import BadInputError, RotError
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.durable import os_errors

PATIENCE = 0.001
"""Seconds to wait for a block that is being read in advance: no longer than it would take to read it from memory."""

_THREADS = ThreadPoolExecutor(2, "read-ahead")


def end_of_span(size: int, start: int, length: int | None) -> int:
    """Where ``start:start+length`` ends within ``size`` bytes; BadInputError for negative numbers."""
    if start < 0 or (length is not None and length < 0):
        raise BadInputError(f"cannot read {length} bytes from {start}: neither may be negative.")
    return size if length is None else min(start + length, size)


class FileReader:
    """A Reader over an open file, which it closes. A block is verified when it is first touched.

    The block touched last stays in memory, and once its second half is read a thread reads the next one: who reads on and
    on finds all that follows at hand, also where it has to come from the disk.
    """

    def __init__(self, key: str, file: FileIO, sums: Sums) -> None:
        self._key = key
        self._file = file
        self._sums = sums
        self._verified: set[int] = set()
        self._lock = Lock()
        """Held by who uses the buffer."""
        self._buffer = bytearray()
        """One for all blocks: getting a MiB anew costs as much as reading it."""
        self._spare = bytearray()
        """A second one, for who reads in sequence."""
        self._held = -1
        """The block in the buffer."""
        self._ahead: _Ahead | None = None
        """The block that is read in advance, or was last."""

    @property
    def sums(self) -> Sums:
        return self._sums

    def read_at(self, offset: int, length: int) -> bytes:
        end = end_of_span(self._sums.size, offset, length)
        pieces = []
        with self._lock, os_errors(f"reading {self._key}"):
            while offset < end:
                number = offset // BLOCK
                stop = min((number + 1) * BLOCK, end)
                pieces.append(self._piece(number, offset, stop))
                offset = stop
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def at_hand(self, offset: int, length: int) -> bytes | None:
        end = end_of_span(self._sums.size, offset, length)
        pieces = []
        if not self._lock.acquire(blocking=False):
            return None
        try:
            while offset < end:
                number = offset // BLOCK
                stop = min((number + 1) * BLOCK, end)
                if number != self._held and not self._in_pages(number):
                    return None
                pieces.append(self._from_buffer(offset, stop))
                offset = stop
        finally:
            self._lock.release()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _piece(self, number: int, start: int, stop: int) -> bytes:
        """``start:stop``, which lies in block ``number``."""
        if number != self._held:
            if number in self._verified:
                piece = self._pread(start, stop)
                if len(piece) != stop - start:
                    raise self._rot(number)
                return piece
            base = number * BLOCK
            if not (
                self._came(number, None) or self._hold(number, self._pread(base, min(base + BLOCK, self._sums.size)))
            ):
                raise self._rot(number)
        return self._from_buffer(start, stop)

    def _in_pages(self, number: int) -> bool:
        """Whether block ``number`` was read in advance, or whole and right in the kernel's pages; then it is held."""
        if self._ahead is not None and self._ahead.number == number:
            return self._came(number, PATIENCE)
        self._held = -1
        size = min(BLOCK, self._sums.size - number * BLOCK)
        if len(self._buffer) != size:
            self._buffer = bytearray(size)
        try:
            found = os.preadv(self._file.fileno(), [self._buffer], number * BLOCK, os.RWF_NOWAIT)
        except (OSError, ValueError):  # it would wait, cannot tell, or is closed: who waits for it is told the reason
            return False
        return found == size and self._hold(number, self._buffer)

    def _came(self, number: int, patience: float | None) -> bool:
        """Whether block ``number`` was read in advance, within so many seconds, and is right; then it is held."""
        ahead = self._ahead
        if ahead is None or ahead.number != number:
            return False
        try:
            whole = ahead.read.result(patience)
        except TimeoutError:
            return False
        except OSError:  # who reads it is told
            whole = False
        self._ahead, self._spare = None, self._buffer
        return whole and self._hold(number, ahead.buffer)

    def _hold(self, number: int, block: bytes | bytearray) -> bool:
        """Whether the bytes are those of block ``number``; if so they are held."""
        if xxhash.xxh3_64_hexdigest(block) != self._sums.blocks[number]:
            return False
        if block is not self._buffer:
            self._buffer = block if isinstance(block, bytearray) else bytearray(block)
        self._verified.add(number)
        self._held = number
        return True

    def _from_buffer(self, start: int, stop: int) -> bytes:
        """``start:stop`` of the block that is held. Once its second half is asked for the next one is read."""
        base, following = self._held * BLOCK, self._held + 1
        if stop - base > BLOCK // 2 and following < len(self._sums.blocks):
            self._read_ahead(following)
        return bytes(memoryview(self._buffer)[start - base : stop - base])

    def _read_ahead(self, number: int) -> None:
        ahead = self._ahead
        if ahead is not None and (ahead.number == number or not ahead.read.done()):
            return
        size = min(BLOCK, self._sums.size - number * BLOCK)
        buffer = self._spare if ahead is None else ahead.buffer
        self._spare = bytearray()
        self._ahead = _Ahead(self._file.fileno(), number, buffer if len(buffer) == size else bytearray(size))

    def _pread(self, start: int, stop: int) -> bytes:
        """``start:stop`` of the file, shorter only where the file ends."""
        pieces = []
        while start < stop and (piece := os.pread(self._file.fileno(), stop - start, start)):
            pieces.append(piece)
            start += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _rot(self, number: int) -> RotError:
        return RotError(f"{self._key}: MiB block {number} is not what was kept. Run kgfs check --deep --repair.")

    def close(self) -> None:
        if self._ahead is None:
            self._file.close()
        else:
            # Its number must not become another file's while the thread reads from it.
            self._ahead.read.add_done_callback(lambda read: self._file.close())


class _Ahead:
    """A block that a thread reads. The file stays open until ``read`` is done."""

    def __init__(self, descriptor: int, number: int, buffer: bytearray) -> None:
        self.number = number
        self.buffer = buffer
        """Of the size of the block."""
        self.read = _THREADS.submit(self._read, descriptor)
        """Whether the file had all of it; OSError."""

    def _read(self, descriptor: int) -> bool:
        left, at = memoryview(self.buffer), self.number * BLOCK
        while left and (count := os.preadv(descriptor, [left], at)):
            left, at = left[count:], at + count
        return not left
