"""Read one object of the bucket, block by block: from the cache, else by ranged requests."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Lock

import xxhash

from kgfs.errors import AWAY, CorruptError, MissingError
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.reader import end_of_span
from kgfs.stores.garage.s3.bucket import Bucket, Download
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.s3.errors import ShortError
from kgfs.stores.garage.s3.names import object_name, sha256_in

FIRST = 4
"""The number of blocks in the first request: most objects are no longer, and most readers read all of them."""
FASTER = 16
"""The factor by which each request is larger than the one before while a reader reads sequentially."""
AHEAD = 1024
"""The maximal number of blocks in one request."""


class S3Reader:
    """A Reader of an object in the bucket. It verifies each block that comes from the cache or the bucket, and keeps
    the last touched block in memory.

    If the object is deleted while it is read, only the block in memory and the rest of a download that is under way
    can still be read. All other reads raise MissingError. Another content that takes the key is never shown.
    """

    def __init__(
        self,
        key: str,
        sums: Sums,
        bucket: Bucket,
        cache: Cache,
        first: bytes | None = None,
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
        self._lock = Lock()
        """Protects the block."""
        self._block = first or b""
        self._held = -1 if first is None else 0
        """The number of the block in memory, -1 for none."""
        self._ahead = FIRST if following else 1
        self._next = 0 if first is None else 1
        """The number after that of the last block that came from the bucket."""
        self._download = following
        """The download of the blocks from ``_next`` on, if one is under way."""
        self._last = min(FIRST, len(sums.blocks)) - 1
        """The number of the last block of the download."""
        self._round = round_

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
                pieces.append(self._block[offset - number * BLOCK : stop - number * BLOCK])
                offset = stop
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def cached(self, offset: int, length: int) -> bytes | None:
        end = end_of_span(self._sums.size, offset, length)
        if offset >= end:
            return b""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            base = self._held * BLOCK
            return self._block[offset - base : end - base] if base <= offset and end <= base + BLOCK else None
        finally:
            self._lock.release()

    def close(self) -> None:
        self._block, self._held = b"", -1
        self._hang_up()

    def _load(self, number: int, last: int) -> None:
        """Make block ``number`` the block in memory. ``last`` is the last block that the caller reads."""
        cached = self._cache.block(self._key, number, self._sums)
        if cached is not None:
            self._block, self._held = cached, number
            if number >= self._next:
                self._hang_up()  # the download would only hold a connection
        elif not self._goes_on(number):
            self._ask(number, last)
            self._take(number)

    def _goes_on(self, number: int) -> bool:
        """Take block ``number`` from the download that is under way, and return whether that succeeded. If not, a new
        request is needed."""
        if self._download is None or number != self._next:
            return False
        try:
            self._take(number)
        except AWAY:
            return False
        return True

    def _ask(self, number: int, last: int) -> None:
        """Begin a new download from block ``number`` on. ``last`` is the last block that the caller reads."""
        self._hang_up()
        if number == self._next and number:  # a sequential reader
            self._ahead = FIRST if self._ahead < FIRST else min(self._ahead * FASTER, AHEAD)
        else:
            self._ahead = 1
        count = min(max(self._ahead, min(last - number + 1, AHEAD)), len(self._sums.blocks) - number)
        start, end = number * BLOCK, min((number + count) * BLOCK, self._sums.size)
        self._round = self._cache.round()
        try:
            self._download = self._bucket.download(object_name(self._key), start, end - start)[1]
        except ShortError as error:
            raise self._wrong(number) from error
        self._last = number + count - 1

    def _take(self, number: int) -> None:
        """Make the next block of the download the block in memory, and cache it.

        After a failure the download is closed, for the position in the stream is unknown.
        """
        assert self._download is not None
        with ExitStack() as failing:
            failing.callback(self._hang_up)
            block = self._download.read(min(BLOCK, self._sums.size - number * BLOCK))
            if xxhash.xxh3_64_hexdigest(block) != self._sums.blocks[number]:
                raise self._wrong(number)
            failing.pop_all()
        self._block, self._held = block, number
        self._cache.keep_block(self._key, number, block, self._round)
        self._next = number + 1
        if number == self._last:
            self._hang_up()

    def _hang_up(self) -> None:
        """Close the download."""
        if self._download is not None:
            self._download.close()
            self._download = None

    def _wrong(self, number: int) -> CorruptError | MissingError:
        """Return the error for a wrong block: MissingError if another object has the key now, else CorruptError."""
        found = self._bucket.head(object_name(self._key))
        if sha256_in(found.meta) not in ("", self._sums.sha256):
            return MissingError(f"{self._key}: the object was deleted while it was read.")
        return CorruptError(f"{self._key}: MiB block {number} is not what was kept. Run kgfs check --deep --repair.")
