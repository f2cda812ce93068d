"""Reading one object of a garage on files, block by block."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from io import FileIO
from threading import Lock

import xxhash

from kgfs.errors import BadInputError, RotError
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.durable import os_errors

FETCHERS = 2


def end_of_span(size: int, start: int, length: int | None) -> int:
    """Where ``start:start+length`` ends within ``size`` bytes; BadInputError for negative numbers."""
    if start < 0 or (length is not None and length < 0):
        raise BadInputError(f"cannot read {length} bytes from {start}: neither may be negative.")
    return size if length is None else min(start + length, size)


class FileReader:
    """A Reader over an open file, which it closes. A block is verified when it is first touched.

    The block touched last stays in memory, and once its second half is read the next one is fetched in advance: whoever
    reads on and on waits for the disk once.
    """

    def __init__(self, key: str, file: FileIO, sums: Sums) -> None:
        self._key = key
        self._file = file
        self._sums = sums
        self._verified: set[int] = set()
        self._held: tuple[int, bytes] = (-1, b"")
        self._ahead: tuple[int, Future[bytes]] | None = None
        self._lock = Lock()
        """Held while a block is asked for in advance."""
        self._closed = False

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
            block = self._in_memory(number)
            if block is None:
                return None
            base, stop = number * BLOCK, min((number + 1) * BLOCK, end)
            pieces.append(block[offset - base : stop - base])
            self._look_ahead(number, stop)
            offset = stop
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _piece(self, number: int, start: int, stop: int) -> bytes:
        """``start:stop``, which lies in block ``number``."""
        base = number * BLOCK
        block = self._in_memory(number)
        if block is None:
            if number in self._verified:
                piece = self._pread(start, stop)
                if len(piece) != stop - start:
                    raise self._rot(number)
                return piece
            ahead = self._ahead
            block = ahead[1].result() if ahead is not None and ahead[0] == number else self._block(number)
            self._held = (number, block)
        self._look_ahead(number, stop)
        return block[start - base : stop - base]

    def _in_memory(self, number: int) -> bytes | None:
        held, ahead = self._held, self._ahead
        if held[0] == number:
            return held[1]
        if ahead is None or ahead[0] != number or not ahead[1].done() or ahead[1].exception() is not None:
            return None
        self._held = (number, ahead[1].result())
        return self._held[1]

    def _look_ahead(self, number: int, stop: int) -> None:
        """Fetch what follows block ``number``, of which the bytes before ``stop`` were asked for."""
        following = number + 1
        if stop - number * BLOCK <= BLOCK // 2 or following * BLOCK >= self._sums.size or following in self._verified:
            return
        with self._lock:
            if not self._closed and (self._ahead is None or self._ahead[0] != following):
                self._ahead = (following, _fetching().submit(self._block, following))

    def _block(self, number: int) -> bytes:
        base = number * BLOCK
        block = self._pread(base, min(base + BLOCK, self._sums.size))
        if xxhash.xxh3_64_hexdigest(block) != self._sums.blocks[number]:
            raise self._rot(number)
        self._verified.add(number)
        return block

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
        with self._lock:
            self._closed = True
        # The number of a closed file is soon another file's: who still reads by it in advance ends first.
        if self._ahead is not None and not self._ahead[1].cancel():
            self._ahead[1].add_done_callback(lambda _: self._file.close())
        else:
            self._file.close()


@cache
def _fetching() -> ThreadPoolExecutor:
    """Threads that read in advance, for all readers."""
    return ThreadPoolExecutor(FETCHERS, thread_name_prefix="garage-ahead")
