"""Objects in a bucket. See :mod:`.names` for their names there."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from io import BytesIO, RawIOBase
from pathlib import Path
from typing import BinaryIO

import xxhash

from kgfs.errors import BadInputError, CorruptError, ExistsError, MissingError, UnavailableError
from kgfs.stores.garage.contract import BLOCK, GarageEntry, Reader, Sums
from kgfs.stores.garage.durable import check_size, os_errors
from kgfs.stores.garage.listing import check_folder
from kgfs.stores.garage.reader import end_of_span
from kgfs.stores.garage.s3.bucket import PAGE, Bucket, Found, Upload
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.s3.errors import ChangedError, NotAllowedError, ShortError
from kgfs.stores.garage.s3.names import (
    BLOCKS_IN_META,
    OBJECTS,
    decode_meta,
    encode_meta,
    kept_at,
    key_of,
    object_name,
    sha256_in,
    sums_name,
)
from kgfs.stores.garage.s3.reader import FIRST, S3Reader
from kgfs.stores.garage.sums import Summer, decode_sums, encode_sums, is_named_by, sums_of

PART = 16 << 20
"""The size in bytes of a part. A longer object is put in parts."""
MAX_PARTS = 10_000
TRIES = 10
"""The maximal number of attempts to put an object whose name the server calls taken and then does not find."""
CACHED_AT_PUT = 8 << 20
"""The size in bytes up to which an object is cached when it is put, for a new object is mostly read soon."""


class S3Objects:
    """Objects in a bucket, with a local cache. One home writes them.

    A put of at most :data:`PART` bytes is one conditional request; a longer one is an upload in parts. The checksums are
    in the object's metadata. If the object has too many blocks for that, they are in a sidecar that is put before the
    object.

    ``open`` and ``get`` answer from the cache without a request, since the content of a key never changes while the
    object exists. All other calls send requests, except :meth:`cached` and :meth:`leave_room`. See
    :class:`~.reader.S3Reader` for readers of an object that is deleted.
    """

    def __init__(self, bucket: Bucket, cache: Cache, confirm: Callable[[], None] = lambda: None) -> None:
        """``confirm`` raises NotOwnerError if another home has the right to write here; it is called before each
        deletion."""
        self._bucket = bucket
        self._cache = cache
        self._confirm = confirm

    # ------------------------------------------------------------------------------------------- writing

    def put(self, key: str, content: bytes | Path, sums: Sums | None = None, *, move: bool = False) -> Sums:
        name, round_ = object_name(key), self._cache.round()
        with os_errors(f"keeping {key}"):
            sums = sums or sums_of(content)
            check_size(content, content.stat().st_size if isinstance(content, Path) else len(content), sums)
            # Try again if the object is deleted between the two calls.
            placed = (self._place(key, name, content, sums) or self._is_kept(key, sums) for _ in range(TRIES))
            if not any(placed):
                raise UnavailableError(
                    f"{self._bucket.place.shown}: {key} is called taken and is not there. Try again later."
                )
            if sums.size <= CACHED_AT_PUT:
                self._cache_content(key, content, sums, round_)
            if move and isinstance(content, Path):
                content.unlink(missing_ok=True)
        return sums

    def _place(self, key: str, name: str, content: bytes | Path, sums: Sums) -> bool:
        """Put the content, and return whether it is in place now. If not, an object has the name already."""
        if sums.size <= PART:
            body = content.read_bytes() if isinstance(content, Path) else content
            try:
                return self._bucket.put(name, body, encode_meta(sums, time.time_ns()), sums.sha256)
            except ChangedError as error:
                raise _changed(key) from error
        if self._bucket.has(name):
            return False
        if len(sums.blocks) > BLOCKS_IN_META:
            self._bucket.replace(sums_name(key), encode_sums(sums), {})
        with closing(_Hashed(content)) as hashed:
            part = max(PART, -(-sums.size // MAX_PARTS // BLOCK) * BLOCK)
            self._bucket.put_large(name, hashed, sums.size, part, encode_meta(sums, time.time_ns()))
        if hashed.sums() != sums:
            self._bucket.delete(name)
            raise _changed(key)
        return True

    def _is_kept(self, key: str, sums: Sums) -> bool:
        """Return whether this content is stored under the key. Raise ExistsError if another content is; return False
        if none is."""
        try:
            kept = self._sums(key, self._bucket.head(object_name(key)), proof=sums.sha256)
        except MissingError:
            return False
        if kept.sha256 != sums.sha256:
            raise ExistsError(f"{key}: another content is kept under this key.")
        return True

    def _cache_content(self, key: str, content: bytes | Path, sums: Sums, round_: int) -> None:
        raw = content.read_bytes() if isinstance(content, Path) else content
        if len(sums.blocks) == 1:
            self._cache.keep_whole(key, sums, raw, round_)
            return
        view = memoryview(raw)
        for number in range(len(sums.blocks)):
            self._cache.keep_block(key, number, view[number * BLOCK : (number + 1) * BLOCK], round_)
        self._cache.keep_sums(key, sums, round_)

    def delete(self, key: str) -> bool:
        name = object_name(key)
        self._confirm()
        try:
            found = self._bucket.head(name)
        except MissingError:
            next(self._bucket.listed(name, limit=1), None)  # raises UnavailableError if the bucket itself is missing
            found = None
        if found is None or found.size > PART:
            for upload in self._uploads(name):  # what a killed upload in parts has left of it
                if upload.name == name:
                    self._bucket.abort(upload)
        if found is not None:
            self._bucket.delete(name)
            if decode_meta(found) is None:
                self._bucket.delete(sums_name(key))
        self._cache.forget(key)
        return found is not None

    # ------------------------------------------------------------------------------------------- reading

    def stat(self, key: str) -> Sums:
        return self._sums(key, self._bucket.head(object_name(key)))

    def exists(self, key: str) -> bool:
        return self._bucket.has(object_name(key))

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        end_of_span(0, start, length)
        with closing(self.open(key)) as reader:
            return reader.read_at(start, max(0, end_of_span(reader.sums.size, start, length) - start))

    def open(self, key: str) -> Reader:
        name = object_name(key)
        if kept := self._cache.kept(key):
            return S3Reader(key, kept[0], self._bucket, self._cache, kept[1])
        round_ = self._cache.round()
        with ExitStack() as stack:
            first, download = b"", None
            try:
                found, download = self._bucket.download(name, 0, FIRST * BLOCK)
                stack.callback(download.close)
                # interrupted before the first block was complete: the reader sends another request
                with suppress(UnavailableError):
                    first = download.read(BLOCK)
            except ShortError:
                found = self._bucket.head(name)
            sums = self._sums(key, found)
            right = bool(sums.blocks) and xxhash.xxh3_64_hexdigest(first) == sums.blocks[0]
            if right and len(sums.blocks) == 1:
                self._cache.keep_whole(key, sums, first, round_)
            else:
                self._cache.keep_sums(key, sums, round_)
                if right:
                    self._cache.keep_block(key, 0, first, round_)
            if not right or len(sums.blocks) == 1:
                return S3Reader(key, sums, self._bucket, self._cache, first if right else None)
            stack.pop_all()
            return S3Reader(key, sums, self._bucket, self._cache, first, download, round_)

    def cached(self, key: str, sha256: str, size: int) -> bytes | None:
        """Return the object from the page cache if it is cached and correct, else None.

        The use is not recorded. An empty object is recognised by its cached checksums. Objects of more than one block
        are never returned.
        """
        if size == 0:
            kept = self._cache.kept(key)
            return b"" if kept and kept[0].sha256 == sha256 else None
        found = self._cache.cached(key, size) if size <= BLOCK else None
        return found if found is not None and hashlib.sha256(found).hexdigest() == sha256 else None

    def has_sums(self, key: str) -> bool:
        try:
            return self._kept_sums(key, self._bucket.head(object_name(key))) is not None
        except MissingError:
            return False

    def salvage(self, key: str) -> bytes:
        with os_errors(f"reading {key}"):
            return self._bucket.get(object_name(key))[1]

    def keys(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield (key, size in bytes) in order of key, a page at a time. If the server lists in another order, all are
        listed first and sorted."""
        folder, _, start = prefix.rpartition("/")
        # Some servers interpret a prefix as a path.
        asked = prefix if start not in (".", "..") else f"{folder}/" if folder else ""
        listed = ((key_of(item.name), item.size) for item in self._bucket.listed(OBJECTS + asked))
        found = (item for item in listed if item[0].startswith(prefix))
        yield from sorted(found) if self._bucket.lists_by_folder else found

    def names(self, folder: str = "") -> list[str]:
        top = f"{OBJECTS}{folder}/" if check_folder(folder) else OBJECTS
        below = (item.name for item in self._bucket.listed(top, flat=False))
        return sorted(key_of(name)[len(top) - len(OBJECTS) :] for name in below)

    def entry(self, path: str) -> GarageEntry:
        """Return the metadata of an object or folder.

        The time of a folder is that of the newest of its first thousand objects, directly or deeper below it.
        """
        try:
            found = self._bucket.head(object_name(path))
            return GarageEntry(False, found.size, kept_at(found))
        except MissingError:
            pass
        below = self._bucket.listed(f"{OBJECTS}{path}/")
        times = [item.changed_at for item, _ in zip(below, range(PAGE), strict=False)]
        if not times:
            raise MissingError(f"{path}: neither an object nor a folder.")
        return GarageEntry(True, 0, max(times))

    def _sums(self, key: str, found: Found, proof: str = "") -> Sums:
        """Return the checksums of an object.

        If they are lost, read the object whole and store them in a sidecar if a hash proves the bytes: the hash in the
        metadata, the one in the key, or ``proof``. Raise CorruptError if none does.
        """
        if kept := self._kept_sums(key, found):
            return kept
        summer = Summer()
        if found.size:
            with closing(self._bucket.download(object_name(key), 0, found.size)[1]) as download:
                while piece := download.read(BLOCK):
                    summer.update(piece)
        sums = summer.sums()
        named = is_named_by(key.rpartition("/")[2], sums.sha256)
        if sums.sha256 not in (proof, sha256_in(found.meta)) and not named:
            raise CorruptError(f"{key}: its sums are lost and nothing proves its bytes. Run kgfs check --repair.")
        self._bucket.replace(sums_name(key), encode_sums(sums), {})
        return sums

    def _kept_sums(self, key: str, found: Found) -> Sums | None:
        """Return the stored checksums of an object from its metadata or its sidecar, or None."""
        if sums := decode_meta(found):
            return sums
        try:
            sums = decode_sums(self._bucket.get(sums_name(key))[1])
        except MissingError:
            return None
        fits = sums is not None and sums.size == found.size and sha256_in(found.meta) in ("", sums.sha256)
        return sums if fits else None

    def forget(self, key: str) -> None:
        if self._cache.holds(key):
            self._cache.forget(key)

    def leave_room(self) -> None:
        self._cache.leave_room()

    # --------------------------------------------------------------------------------- left-over uploads

    def sweep(self, begun_before: float | None = None) -> None:
        for upload in self._uploads(OBJECTS):
            if begun_before is None or upload.begun < begun_before:
                self._bucket.abort(upload)

    def left_over(self) -> Iterator[tuple[str, float]]:
        for upload in self._uploads(OBJECTS):
            yield key_of(upload.name), upload.begun

    def _uploads(self, prefix: str) -> list[Upload]:
        """Return the unfinished uploads; none if the keys do not permit to list them."""
        try:
            return list(self._bucket.uploads(prefix))
        except NotAllowedError:
            return []


def _changed(key: str) -> BadInputError:
    return BadInputError(f"{key}: the content changed after it was hashed.")


class _Hashed(RawIOBase):
    """A content that is read once, and hashed meanwhile."""

    def __init__(self, content: bytes | Path) -> None:
        self._file: BinaryIO = content.open("rb") if isinstance(content, Path) else BytesIO(content)
        self._summer = Summer()

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._summer.update(piece)
        return piece

    def sums(self) -> Sums:
        """Return the checksums of what was read."""
        return self._summer.sums()

    def close(self) -> None:
        self._file.close()
        super().close()
