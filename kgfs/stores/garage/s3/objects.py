"""Objects in a bucket. See :mod:`.names` for their names there."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import xxhash

from kgfs.errors import AWAY, BadInputError, ExistsError, MissingError, StoreError, TimedOutError, UnavailableError
from kgfs.stores import timing
from kgfs.stores.garage.contract import BLOCK, GarageEntry, Reader, Sums
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.garage.listing import check_folder
from kgfs.stores.garage.reader import end_of_span
from kgfs.stores.garage.s3.bucket import PAGE, Bucket, Found, Span
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.s3.errors import ChangedError, NotAllowedError, ShortError, TakenError
from kgfs.stores.garage.s3.names import (
    BLOCKS_IN_META,
    OBJECTS,
    UPLOADS,
    decode_meta,
    encode_meta,
    kept_at,
    key_of,
    object_name,
    sha256_in,
    sums_name,
    upload_name,
)
from kgfs.stores.garage.s3.proof import is_named_by, proven, remake
from kgfs.stores.garage.s3.reader import BUFFERS, FIRST, S3Reader
from kgfs.stores.garage.sidecar import decode_sums, encode_sums
from kgfs.stores.garage.staging import check_size
from kgfs.stores.garage.sums import Summer, sums_of

PART = 16 << 20
"""The size in bytes of a part. A longer object is put in parts."""
MAX_PARTS = 10_000
COPIED = 128 << 20
"""The number of bytes that the server copies for one request."""
SENT = BLOCK
"""The size in bytes up to which an object is sent rather than copied on the server: sending takes one request,
copying seven."""
TRIES = 10
"""The maximal number of attempts to put a content that is deleted each time, or whose name a server reports as taken
and then does not find."""
CACHED_AT_PUT = 8 << 20
"""The size in bytes up to which an object is cached when it is put, for a new object is mostly read soon."""


class S3Objects:
    """Objects in a bucket, with a local cache.

    A put is conditional on the server, so of several writers of one key one wins, and the others find its object. The
    checksums are in the object's metadata. If the object has too many blocks for that, they are in a sidecar that is
    put before the object.

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

    def put(
        self, key: str, content: bytes | Path, sums: Sums | None = None, *, move: bool = False, likely: bool = False
    ) -> Sums:
        name, round_ = object_name(key), self._cache.round()
        with os_errors(f"keeping {key}"):
            sums = sums or sums_of(content)
            check_size(content, content.stat().st_size if isinstance(content, Path) else len(content), sums)
            # Try again if the object is deleted between the two calls.
            placed = (self._place(key, name, content, sums) or self._is_kept(key, sums) for _ in range(TRIES))
            if not ((likely and self._is_kept(key, sums)) or any(placed)):
                raise UnavailableError(
                    f"{self._bucket.place.shown}: {key} is called taken and is not there. Try again later."
                )
            if sums.size <= CACHED_AT_PUT:
                self._cache_content(key, content, sums, round_)
            if move and isinstance(content, Path):
                content.unlink(missing_ok=True)
        return sums

    def copy(self, present: str, key: str) -> bool:
        """Copy an object on the server (see :meth:`~kgfs.stores.garage.contract.Objects.copy`). Return False for an
        object of at most :data:`SENT` bytes.

        The copy is an upload in parts, mostly of one part: no request then takes the server long, and only the
        completion of an upload is conditional on every server.
        """
        source = object_name(present)
        try:
            found = self._bucket.head(source)
            sums = self._sums(present, found)
            if sums.size <= SENT:
                return False
            starts = range(0, sums.size, COPIED)
            spans = [Span(source, at, min(COPIED, sums.size - at), found.etag) for at in starts]
            if len(spans) == 1:
                spans = [Span(source, etag=found.etag)]
            return self._place_parts(key, object_name(key), spans, sums) or self._is_kept(key, sums)
        except AWAY:
            raise
        # the source was deleted or replaced meanwhile, or the server cannot copy
        except (MissingError, TakenError, StoreError):
            return False

    def delete(self, key: str) -> bool:
        name = object_name(key)
        self._confirm()
        try:
            found = self._bucket.head(name)
        except MissingError:
            next(self._bucket.listed(name, limit=1), None)  # raises UnavailableError if the bucket itself is missing
            self._cache.forget(key)
            return False
        self._bucket.delete(name)
        sha256 = sha256_in(found.meta)
        if sha256 and decode_meta(found) is None:
            self._bucket.delete(sums_name(key, sha256))
        self._cache.forget(key)
        return True

    def _place(self, key: str, name: str, content: bytes | Path, sums: Sums) -> bool:
        """Put the content, and return whether it is in place now. If not, another object has the name."""
        try:
            if sums.size <= PART:
                body = content.read_bytes() if isinstance(content, Path) else content
                done = self._bucket.put(name, body, encode_meta(sums, time.time_ns()), sums.sha256)
                return done and self._stays(key, name, sums)
            return self._place_parts(key, name, _parts(content, sums), sums)
        except ChangedError as error:
            raise BadInputError(f"{key}: the content changed after it was hashed.") from error

    def _place_parts(self, key: str, name: str, parts: Iterable[bytes | Span], sums: Sums) -> bool:
        """Put the parts as one object, and return whether it is in place now."""
        if self._bucket.has(name):
            return False
        # Write the note first, so that parts which a crash leaves are found even on servers that list uploads by
        # exact name only.
        self._bucket.replace(upload_name(key), key.encode(), {})
        if len(sums.blocks) > BLOCKS_IN_META:
            self._bucket.put(sums_name(key, sums.sha256), encode_sums(sums), {})
        try:
            done = self._bucket.put_parts(name, parts, encode_meta(sums, time.time_ns()))
        except MissingError:  # another process aborted the upload, or the source of the copy was deleted
            done = False
        except AWAY:
            raise
        except BaseException:
            with suppress(StoreError, TimedOutError):
                self._unnote(key, name)
            raise
        stays = done and self._stays(key, name, sums, in_parts=True)
        with suppress(StoreError, TimedOutError):  # the object is in place, and a note that remains does no harm
            # not earlier: _stays of a single-request put learns of this upload by the note
            self._unnote(key, name, ended=True)
        return stays

    def _unnote(self, key: str, name: str, *, ended: bool = False) -> None:
        """Delete the note of an upload in parts unless uploads of the object remain."""
        try:
            left = bool(self._bucket.uploads(name))
        except NotAllowedError:
            left = not ended
        if not left:  # else the remaining parts, or those of other writers, are found by the note
            self._bucket.delete(upload_name(key))

    def _stays(self, key: str, name: str, sums: Sums, *, in_parts: bool = False) -> bool:
        """Return whether the object that was put is still there, and was not overwritten by the completion of another
        upload.

        If the key contains the content's hash, as most keys do, an overwriting object has the same content.
        """
        if is_named_by(key, sums.sha256) or not self._bucket.looks_before_it_writes:
            return True
        # If there is no note, any other upload has ended, and its outcome is visible.
        if in_parts or self._bucket.has(upload_name(key)):
            time.sleep(timing.UPLOAD_REPLACED)
        try:
            return sha256_in(self._bucket.head(name).meta) == sums.sha256
        except MissingError:
            return True  # deleted meanwhile, which is allowed

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
            first: bytes | memoryview = b""
            download = None
            try:
                found, download = self._bucket.download(name, 0, FIRST * BLOCK)
                stack.callback(download.close)
                # interrupted before the first block was complete: the reader sends another request
                with suppress(UnavailableError):
                    if found.size > BLOCK:
                        block = BUFFERS.take(BLOCK)
                        first = block if download.read_into(block) == BLOCK else b""
                    else:
                        first = download.read(BLOCK)
            except ShortError:
                found = self._bucket.head(name)
            sums = self._sums(key, found)
            right = bool(sums.blocks) and xxhash.xxh3_64_hexdigest(first) == sums.blocks[0]
            if right and len(sums.blocks) == 1:
                self._cache.keep_whole(key, sums, bytes(first), round_)
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
        if size > BLOCK:
            return None
        found = self._cache.cached(key, size)
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

        If they are lost, recompute and store them if a hash proves the bytes: the hash in the metadata, the one in
        the name, or ``proof``. Raise CorruptError if none does.
        """
        if kept := self._kept_sums(key, found):
            return kept
        sums = proven(self._bucket, key, found, proof)
        remake(self._bucket, key, found, sums)
        return sums

    def _kept_sums(self, key: str, found: Found) -> Sums | None:
        """Return the stored checksums of an object from its metadata or its sidecar, or None."""
        if sums := decode_meta(found):
            return sums
        sha256 = sha256_in(found.meta)
        if not sha256:
            return None
        try:
            sums = decode_sums(self._bucket.get(sums_name(key, sha256))[1])
        except MissingError:
            return None
        return sums if sums and sums.sha256 == sha256 else None

    def forget(self, key: str) -> None:
        if self._cache.holds(key):
            self._cache.forget(key)

    def leave_room(self) -> None:
        self._cache.leave_room()

    # --------------------------------------------------------------------------------- left-over uploads

    def sweep(self, begun_before: float | None = None) -> None:
        self.abort_left_over(begun_before)

    def left_over(self) -> Iterator[tuple[str, float]]:
        """Yield (key, time of begin in seconds) of unfinished uploads in parts."""
        for note in self._bucket.listed(UPLOADS):
            try:
                key = self._bucket.get(note.name)[1].decode()
            except MissingError:
                continue  # ended after it was listed
            if self._bucket.uploads(object_name(key)):
                yield key, note.changed_at / 10**9

    def abort_left_over(self, until: float | None = None) -> list[str]:
        """Abort the uploads that were begun before ``until`` (seconds; all for None), and return their keys.

        A writer that is still at work begins its upload again.
        """
        gone = []
        for note in list(self._bucket.listed(UPLOADS)):
            if until and note.changed_at / 10**9 >= until:
                continue
            try:
                key = self._bucket.get(note.name)[1].decode()
            except MissingError:
                continue  # ended after it was listed
            for upload in self._bucket.uploads(object_name(key)):
                self._bucket.abort(upload)
                gone.append(key)
            self._bucket.delete(note.name)
        return gone


def _parts(content: bytes | Path, sums: Sums) -> Iterator[bytes]:
    """Yield the parts of a content. After the last part, raise ChangedError if the parts do not match ``sums``."""
    size = max(PART, -(-sums.size // MAX_PARTS // BLOCK) * BLOCK + BLOCK if sums.size > PART * MAX_PARTS else PART)
    summer = Summer()
    if isinstance(content, bytes):
        pieces: Iterator[bytes] = (content[at : at + size] for at in range(0, len(content), size))
    else:
        pieces = _read(content, size)
    for piece in pieces:
        summer.update(piece)
        yield piece
    if summer.sums() != sums:
        raise ChangedError("the content changed after it was hashed.")


def _read(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(size):
            yield piece
