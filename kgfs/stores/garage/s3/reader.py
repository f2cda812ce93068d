"""Read one object of the bucket, block by block: from the cache, else by ranged requests."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from io import FileIO
from threading import Lock

import xxhash

from kgfs.errors import AWAY, CorruptError, MissingError
from kgfs.stores.garage.buffer import Buffers, buffer_of
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.reader import end_of_span
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.cache import Cache, is_cached
from kgfs.stores.garage.s3.download import Download
from kgfs.stores.garage.s3.errors import ShortError
from kgfs.stores.garage.s3.names import object_name, sha256_in

HELD = 8
"""The number of cached blocks of an object whose files stay open while it is read, so that deleting it does not end
the reading."""
FIRST = 4
"""The number of blocks in the first request: most objects are no longer, and most readers read all of them."""
FASTER = 16
"""The factor by which each request is larger than the one before while a reader reads sequentially. The blocks of a
request arrive while the reader works, but between two requests nothing arrives."""
AHEAD = 1024
"""The maximal number of blocks in one request."""
UNKEPT = 64
"""The number of blocks of a request after which the reader sends another request if any object was forgotten
meanwhile (a renewed lease is enough). The blocks of the old request would no longer be cached."""
BUFFERS = Buffers(BLOCK, 16)
"""Buffers for arriving blocks. A buffer is in use while its block is read, and until the block is cached."""


class S3Reader:
    """A Reader of an object in the bucket. It verifies a block each time the block comes from the cache or the
    bucket, and keeps the last touched block in memory.

    If the object is deleted while it is read, the blocks that were cached when it was opened can still be read. So
    can the next blocks of a download that is under way, up to :data:`UNKEPT` of its request. All other reads raise
    MissingError. Another content that takes the key is never shown.
    """

    def __init__(
        self,
        key: str,
        sums: Sums,
        bucket: Bucket,
        cache: Cache,
        first: bytes | memoryview | None = None,
        following: Download | None = None,
        round_: int = 0,
    ) -> None:
        """Make a reader of the object with these checksums.

        ``first`` is the first block, verified. ``following`` is the download of the rest of the first :data:`FIRST`
        blocks, and ``round_`` the round of the cache before that download began.
        """
        self._key = key
        self._sums = sums
        self._bucket = bucket
        self._cache = cache
        self._files = {} if first is not None else cache.open_blocks(key, min(HELD, len(sums.blocks)))
        self._lock = Lock()
        """Protects the block."""
        self._block: bytes | memoryview = first or b""
        self._held = -1 if first is None else 0
        """The number of the block in memory, -1 for none."""
        self._buffer = memoryview(b"")
        """A buffer for blocks from the page cache: allocating a new MiB costs as much as reading it."""
        self._prefetched = 0
        """The number of the last block that the kernel was asked to read ahead."""
        self._following: FileIO | None = None
        """The open file of that block, if it is cached and not among those that stay open."""
        self._closed = False
        self._ahead = FIRST if following else 1
        self._next = 0 if first is None else 1
        """The number after that of the last block that came from the bucket."""
        self._download = following
        """The download of the blocks from ``_next`` on, if one is under way."""
        self._last = min(FIRST, len(sums.blocks)) - 1
        """The number of the last block of the download."""
        self._round = round_
        self._asked = 0
        """The number of the first block of the download."""

    @property
    def sums(self) -> Sums:
        return self._sums

    def read_at(self, offset: int, length: int) -> bytes:
        end = end_of_span(self._sums.size, offset, length)
        pieces = []
        with self._lock:
            while offset < end:
                number = offset // BLOCK
                stop = min((number + 1) * BLOCK, end)
                if number != self._held:
                    self._load(number, (end - 1) // BLOCK)
                pieces.append(self._piece(offset, stop))
                offset = stop
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def cached(self, offset: int, length: int) -> bytes | None:
        end = end_of_span(self._sums.size, offset, length)
        if offset >= end:
            return b""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            number = offset // BLOCK
            if number != (end - 1) // BLOCK or not (number == self._held or self._in_pages(number)):
                return None
            return self._piece(offset, end)
        finally:
            self._lock.release()

    def close(self) -> None:
        self._closed = True
        self._block, self._held = b"", -1
        self._hang_up()
        for file in (*self._files.values(), self._following):
            if file is not None:
                file.close()

    def _piece(self, start: int, stop: int) -> bytes:
        """Return ``start:stop`` of the block in memory. Prefetch the next block once the second half is read."""
        base, following = self._held * BLOCK, self._held + 1
        if stop - base > BLOCK // 2 and self._prefetched < following < len(self._sums.blocks):
            self._prefetch(following)
        block = self._block
        return bytes(memoryview(block)[start - base : stop - base])

    def _prefetch(self, number: int) -> None:
        """Ask the kernel to read ahead block ``number`` if it is cached."""
        if self._following is not None:
            self._following.close()
        self._prefetched, self._following = number, None
        file = self._files.get(number)
        if file is None:
            file = self._following = self._cache.open_block(self._key, number)
        if file is not None:
            with suppress(OSError, ValueError):  # ValueError if the reader was closed meanwhile
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
        # closed by another thread meanwhile: close() has not seen this file
        if self._closed and self._following is not None:
            self._following.close()

    def _in_pages(self, number: int) -> bool:
        """Return whether block ``number`` is cached, wholly in the page cache and intact. If so, it is the block in
        memory now."""
        size = min(BLOCK, self._sums.size - number * BLOCK)
        if len(self._buffer) != size:
            self._buffer = buffer_of(size)
        elif self._block is self._buffer:
            self._held = -1
        if not (self._was_cached(number) and self._hold(number, self._buffer)):
            return False
        self._is_cached(number)
        return True

    def _was_cached(self, number: int) -> bool:
        """Fill the buffer with the cached block ``number`` if it is in the page cache, and return whether it was
        filled."""
        file = self._files.get(number) or (self._following if number == self._prefetched else None)
        if file is not None:
            return is_cached(file, self._buffer)
        return self._cache.block_cached(self._key, number, self._buffer)

    def _load(self, number: int, last: int) -> None:
        """Make block ``number`` the block in memory. ``last`` is the last block that the caller reads."""
        if number in self._files and self._hold(number, _read(self._files[number])):
            self._is_cached(number)
            return
        cached = self._cache.block(self._key, number, self._sums)
        if cached is not None:
            self._block, self._held = cached, number
            self._is_cached(number)
            return
        if not self._goes_on(number):
            self._ask(number, last)
            self._take(number)

    def _is_cached(self, number: int) -> None:
        """Close the download if the reader has gone on to a cached block at or beyond its position. The download
        would only hold a connection."""
        if number >= self._next:
            self._hang_up()

    def _goes_on(self, number: int) -> bool:
        """Take block ``number`` from the download that is under way, and return whether that succeeded. If not, a new
        request is needed."""
        if self._download is None or number != self._next:
            return False
        if number - self._asked >= UNKEPT and self._cache.keeps and self._cache.round() != self._round:
            return False
        try:
            self._take(number)
        except AWAY:
            return False
        return True

    def _ask(self, number: int, last: int) -> None:
        """Begin a new download from block ``number`` on. ``last`` is the last block that the caller reads."""
        self._hang_up()
        self._ahead = self._more() if number == self._next and number else 1
        count = min(max(self._ahead, min(last - number + 1, AHEAD)), len(self._sums.blocks) - number)
        start, end = number * BLOCK, min((number + count) * BLOCK, self._sums.size)
        self._round = self._cache.round()
        try:
            self._download = self._bucket.download(object_name(self._key), start, end - start)[1]
        except ShortError as error:
            raise self._wrong(number) from error
        self._asked, self._last = number, number + count - 1

    def _more(self) -> int:
        """Return the number of blocks of the next request of a sequential reader."""
        return FIRST if self._ahead < FIRST else min(self._ahead * FASTER, AHEAD)

    def _take(self, number: int) -> None:
        """Make the next block of the download the block in memory, and cache it.

        After a failure the download is closed, for the position in the stream is unknown.
        """
        assert self._download is not None
        with ExitStack() as failing:
            failing.callback(self._hang_up)
            block = BUFFERS.take(min(BLOCK, self._sums.size - number * BLOCK))
            if self._download.read_into(block) != len(block) or not self._hold(number, block):
                raise self._wrong(number)
            failing.pop_all()
        self._cache.keep_block(self._key, number, block, self._round)
        self._next = number + 1
        if number == self._last:
            self._hang_up()

    def _hang_up(self) -> None:
        """Close the download."""
        if self._download is not None:
            self._download.close()
            self._download = None

    def _hold(self, number: int, block: bytes | memoryview) -> bool:
        """Return whether the bytes are those of block ``number``. If so, make them the block in memory."""
        if xxhash.xxh3_64_hexdigest(block) != self._sums.blocks[number]:
            return False
        self._block, self._held = block, number
        return True

    def _wrong(self, number: int) -> CorruptError | MissingError:
        """Return the error for a wrong block: MissingError if another object has the key now, else CorruptError."""
        found = self._bucket.head(object_name(self._key))
        if sha256_in(found.meta) not in ("", self._sums.sha256):
            return MissingError(f"{self._key}: the object was deleted while it was read.")
        return CorruptError(f"{self._key}: MiB block {number} is not what was kept. Run kgfs check --deep --repair.")


def _read(file: FileIO) -> bytes:
    """Return a cached block, or empty bytes if the disk cannot read it any more: the bucket has the block."""
    with suppress(OSError):
        return os.pread(file.fileno(), BLOCK, 0)
    return b""
