"""Reading one object of the bucket, block by block: from the cache, else by ranged requests."""

from __future__ import annotations

import os
from threading import Lock

import xxhash

from kgfs.errors import MissingError, RotError
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.reader import end_of_span
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.s3.names import object_name, sha256_in
from kgfs.stores.garage.s3.speaking import ShortError

HELD = 8
"""Cached blocks of an object that stay open while it is read, so that deleting it does not end the reading."""
AHEAD = 8
"""Blocks of one request, at most, while somebody reads on and on and there is a cache to put them."""


class S3Reader:
    """A block is verified each time it comes from the cache or the bucket; the one touched last stays in memory.

    When the object is deleted meanwhile, what was cached when it was opened can still be read and the rest is MissingError;
    another content that takes its key is never shown.
    """

    def __init__(self, key: str, sums: Sums, bucket: Bucket, cache: Cache, first: bytes | None = None) -> None:
        self._key = key
        self._sums = sums
        self._bucket = bucket
        self._cache = cache
        self._files = cache.open_blocks(key, min(HELD, len(sums.blocks)))
        self._lock = Lock()
        """Held by who uses the block."""
        self._block: bytes = b""
        self._held = -1
        """The number of that block."""
        self._ahead = 1
        self._next = 0
        """The block behind those of the last request."""
        if first is not None:
            self._hold(0, first)

    @property
    def sums(self) -> Sums:
        return self._sums

    def read_at(self, offset: int, length: int) -> bytes:
        end = end_of_span(self._sums.size, offset, length)
        pieces = []
        with self._lock:
            while offset < end:
                number = offset // BLOCK
                base, stop = number * BLOCK, min((number + 1) * BLOCK, end)
                if number != self._held:
                    self._load(number, (end - 1) // BLOCK)
                pieces.append(self._block[offset - base : stop - base])
                offset = stop
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def at_hand(self, offset: int, length: int) -> bytes | None:
        end = end_of_span(self._sums.size, offset, length)
        if offset >= end:
            return b""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            base = self._held * BLOCK
            if self._held < 0 or not base <= offset < end <= base + BLOCK:
                return None
            return self._block[offset - base : end - base]
        finally:
            self._lock.release()

    def close(self) -> None:
        self._block, self._held = b"", -1
        for file in self._files.values():
            file.close()

    def _load(self, number: int, last: int) -> None:
        """Hold block ``number``; ``last`` is the last one that is asked for."""
        if number in self._files and self._hold(number, os.pread(self._files[number].fileno(), BLOCK, 0)):
            return
        cached = self._cache.block(self._key, number, self._sums)
        if cached is not None:
            self._block, self._held = cached, number
            return
        self._ahead = min(self._ahead * 2, AHEAD) if number == self._next and number else 1
        count = max(self._ahead, min(last - number + 1, AHEAD)) if self._cache.keeps else 1
        self._fetch(number, min(count, len(self._sums.blocks) - number))

    def _fetch(self, number: int, count: int) -> None:
        """Blocks ``number`` and following from the bucket; the first is held, all are cached."""
        round_, name = self._cache.round(), object_name(self._key)
        start, end = number * BLOCK, min((number + count) * BLOCK, self._sums.size)
        self._next = number + count
        try:
            with self._bucket.stream(name, start, end - start) as (_, response):
                for at in range(number, number + count):
                    block = response.read(min(BLOCK, end - at * BLOCK))
                    if at == number:
                        if not self._hold(at, block):
                            raise self._wrong(number)
                    elif xxhash.xxh3_64_hexdigest(block) != self._sums.blocks[at]:
                        break  # who asks for it is told
                    self._cache.keep_block(self._key, at, block, round_)
        except ShortError as error:
            raise self._wrong(number) from error

    def _hold(self, number: int, block: bytes) -> bool:
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
