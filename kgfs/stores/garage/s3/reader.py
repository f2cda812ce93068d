"""Reading one object of the bucket, block by block: from the cache, else by ranged requests."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from io import FileIO
from threading import Lock

import xxhash

from kgfs.errors import AWAY, MissingError, RotError
from kgfs.stores.garage.buffer import Buffers, buffer_of
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.reader import end_of_span
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.cache import Cache, is_at_hand
from kgfs.stores.garage.s3.download import Download
from kgfs.stores.garage.s3.errors import ShortError
from kgfs.stores.garage.s3.names import object_name, sha256_in

HELD = 8
"""Cached blocks of an object that stay open while it is read, so that deleting it does not end the reading."""
FIRST = 4
"""Blocks of the first request: most objects are no longer, and most readers read all of them."""
FASTER = 16
"""How many times more blocks than the one before a request is for, while somebody reads on and on: each is answered when it
is here, but between two requests nothing comes."""
AHEAD = 1024
"""Blocks of one request, at most."""
UNKEPT = 64
"""Blocks of one request after which another one is made where something was forgotten meanwhile (a lease that was renewed is
enough): of what the first still brings nothing would be cached."""
BUFFERS = Buffers(BLOCK, 16)
"""For blocks that arrive: held while they are read and until they are in the cache."""


class S3Reader:
    """A block is verified each time it comes from the cache or the bucket; the one touched last stays in memory.

    When the object is deleted meanwhile, what was cached when it was opened can still be read, and of what was on its way here
    the next blocks, up to :data:`UNKEPT` of its request; the rest is MissingError. Another content that takes its key is never shown.
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
        """``first`` is the first block, verified; ``following`` the rest of the first :data:`FIRST`, on their way here from
        the bucket since that round of the cache."""
        self._key = key
        self._sums = sums
        self._bucket = bucket
        self._cache = cache
        self._files = {} if first is not None else cache.open_blocks(key, min(HELD, len(sums.blocks)))
        self._lock = Lock()
        """Held by who uses the block."""
        self._block: bytes | memoryview = first or b""
        self._held = -1 if first is None else 0
        """The number of that block."""
        self._buffer = memoryview(b"")
        """For blocks at hand: getting a MiB anew costs as much as reading it."""
        self._prefetched = 0
        """The last block that the kernel was asked to read ahead."""
        self._following: FileIO | None = None
        """That block, where it is cached and none of those that stay open."""
        self._closed = False
        self._ahead = FIRST if following else 1
        self._next = 0 if first is None else 1
        """The block behind the last one that came from the bucket."""
        self._download = following
        """Blocks from ``_next`` on, on their way here."""
        self._last = min(FIRST, len(sums.blocks)) - 1
        """The last block of it."""
        self._round = round_
        self._asked = 0
        """The first block of that download."""

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

    def at_hand(self, offset: int, length: int) -> bytes | None:
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
        """``start:stop`` of the block that is held. Once its second half is asked for the next one is fetched."""
        base, following = self._held * BLOCK, self._held + 1
        if stop - base > BLOCK // 2 and self._prefetched < following < len(self._sums.blocks):
            self._prefetch(following)
        block = self._block
        return bytes(memoryview(block)[start - base : stop - base])

    def _prefetch(self, number: int) -> None:
        """Have the kernel read a block that will be asked for, if it is cached."""
        if self._following is not None:
            self._following.close()
        self._prefetched, self._following = number, None
        file = self._files.get(number)
        if file is None:
            file = self._following = self._cache.open_block(self._key, number)
        if file is not None:
            with suppress(OSError, ValueError):  # the latter where the reader was closed meanwhile
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
        if self._closed and self._following is not None:  # meanwhile: then nobody else would close it
            self._following.close()

    def _in_pages(self, number: int) -> bool:
        """Whether block ``number`` is cached, in the kernel's pages and right; then it is held."""
        size = min(BLOCK, self._sums.size - number * BLOCK)
        if len(self._buffer) != size:
            self._buffer = buffer_of(size)
        elif self._block is self._buffer:
            self._held = -1
        if not (self._was_at_hand(number) and self._hold(number, self._buffer)):
            return False
        self._is_cached(number)
        return True

    def _was_at_hand(self, number: int) -> bool:
        """Whether the buffer has what is cached as block ``number`` now."""
        file = self._files.get(number) or (self._following if number == self._prefetched else None)
        if file is not None:
            return is_at_hand(file, self._buffer)
        return self._cache.block_at_hand(self._key, number, self._buffer)

    def _load(self, number: int, last: int) -> None:
        """Hold block ``number``; ``last`` is the last one that is asked for."""
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
        """Who reads on from a cached block has no use for what is on its way here from before it, which holds a connection."""
        if number >= self._next:
            self._hang_up()

    def _goes_on(self, number: int) -> bool:
        """Take the block from what is on its way here; where that broke off, it is to be asked for again."""
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
        return FIRST if self._ahead < FIRST else min(self._ahead * FASTER, AHEAD)

    def _take(self, number: int) -> None:
        """Hold the next block of the download, and have it cached. Where that fails nothing more is read of it: nobody knows
        which bytes would be next."""
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
        if self._download is not None:
            self._download.close()
            self._download = None

    def _hold(self, number: int, block: bytes | memoryview) -> bool:
        """Whether the bytes are those of the block; if so they are held."""
        if xxhash.xxh3_64_hexdigest(block) != self._sums.blocks[number]:
            return False
        self._block, self._held = block, number
        return True

    def _wrong(self, number: int) -> RotError | MissingError:
        found = self._bucket.head(object_name(self._key))
        if sha256_in(found.meta) not in ("", self._sums.sha256):
            return MissingError(f"{self._key}: the object was deleted while it was read.")
        return RotError(f"{self._key}: MiB block {number} is not what was kept. Run kgfs check --deep --repair.")


def _read(file: FileIO) -> bytes:
    """A cached block; nothing where the disk cannot read it any more: the bucket has it."""
    with suppress(OSError):
        return os.pread(file.fileno(), BLOCK, 0)
    return b""
