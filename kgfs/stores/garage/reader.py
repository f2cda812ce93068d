"""Read one object of a garage on files, block by block, into memory that begins at a page."""

from __future__ import annotations

import mmap
import os
from io import BytesIO, FileIO
from threading import Lock

import xxhash

from kgfs.errors import BadInputError, CorruptError
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.durable import os_errors


def end_of_span(size: int, start: int, length: int | None) -> int:
    """Return the end of ``start:start+length`` within ``size`` bytes. Raise BadInputError for negative numbers."""
    if start < 0 or (length is not None and length < 0):
        raise BadInputError(f"cannot read {length} bytes from {start}: neither may be negative.")
    return size if length is None else min(start + length, size)


class FileReader:
    """A Reader over an open file. It verifies a block when the block is first touched, and closes the file.

    The last touched block stays in memory. Once its second half is read, the kernel is asked to read ahead the next
    block, so that a sequential reader finds the following blocks in the page cache.
    """

    def __init__(self, key: str, file: FileIO, sums: Sums) -> None:
        self._key = key
        self._file = file
        self._sums = sums
        self._verified: set[int] = set()
        self._lock = Lock()
        """Protects the buffer."""
        self._buffer = memoryview(b"")
        """One buffer for all blocks: allocating a new MiB costs as much as reading it."""
        self._held = -1
        """The number of the block in the buffer, -1 for none."""
        self._fetched = 0
        """The number of the last block that the kernel was asked to read ahead."""

    @property
    def sums(self) -> Sums:
        return self._sums

    def read_at(self, offset: int, length: int) -> bytes:
        end = end_of_span(self._sums.size, offset, length)
        piece = b""
        out = BytesIO()  # whose bytes are returned without a copy: those of a long text would be there twice
        with self._lock, os_errors(f"reading {self._key}"):
            while offset < end:
                number = offset // BLOCK
                stop = min((number + 1) * BLOCK, end)
                if piece:
                    out.write(piece)
                piece = self._piece(number, offset, stop)
                offset = stop
        if not out.tell():
            return piece
        out.write(piece)
        return out.getvalue()

    def cached(self, offset: int, length: int) -> bytes | None:
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
        """Return the bytes ``start:stop``, which lie in block ``number``."""
        if number != self._held:
            if number in self._verified:
                piece = self._pread(start, stop)
                if len(piece) != stop - start:
                    raise self._rot(number)
                return piece
            base = number * BLOCK
            if not self._hold(number, self._pread(base, min(base + BLOCK, self._sums.size))):
                raise self._rot(number)
        return self._from_buffer(start, stop)

    def _in_pages(self, number: int) -> bool:
        """Return whether block ``number`` was wholly in the page cache and intact. If so, the block is in the
        buffer."""
        self._held = -1
        size = min(BLOCK, self._sums.size - number * BLOCK)
        if len(self._buffer) != size:
            self._buffer = buffer_of(size)
        try:
            found = os.preadv(self._file.fileno(), [self._buffer], number * BLOCK, os.RWF_NOWAIT)
        # the read would block, the kernel cannot tell, or the file is closed: read_at reports the reason
        except (OSError, ValueError):
            return False
        return found == size and self._hold(number, self._buffer)

    def _hold(self, number: int, block: bytes | memoryview) -> bool:
        """Return whether the bytes are those of block ``number``. If so, keep them in the buffer."""
        if xxhash.xxh3_64_hexdigest(block) != self._sums.blocks[number]:
            return False
        if block is not self._buffer:
            self._buffer = buffer_of(len(block))
            self._buffer[:] = block
        self._verified.add(number)
        self._held = number
        return True

    def _from_buffer(self, start: int, stop: int) -> bytes:
        """Return ``start:stop`` of the block in the buffer. Ask for the next block once the second half is read."""
        base, following = self._held * BLOCK, self._held + 1
        if stop - base > BLOCK // 2 and self._fetched < following < len(self._sums.blocks):
            self._fetched = following
            os.posix_fadvise(self._file.fileno(), following * BLOCK, BLOCK, os.POSIX_FADV_WILLNEED)
        return bytes(self._buffer[start - base : stop - base])

    def _pread(self, start: int, stop: int) -> bytes:
        """Return ``start:stop`` of the file, fewer bytes only at the end of the file."""
        pieces = []
        while start < stop and (piece := os.pread(self._file.fileno(), stop - start, start)):
            pieces.append(piece)
            start += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _rot(self, number: int) -> CorruptError:
        return CorruptError(f"{self._key}: MiB block {number} is not what was kept. Run kgfs check --deep --repair.")

    def close(self) -> None:
        self._file.close()


def buffer_of(size: int) -> memoryview:
    """Return ``size`` bytes (at least 1) of writable memory that begins at a page boundary.

    The C library begins large allocations at the 16th byte of a page. Copying from the page cache to such an address
    takes 2.4 times as long on some processors.
    """
    return memoryview(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
