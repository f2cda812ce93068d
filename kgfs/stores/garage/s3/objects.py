"""Objects in a bucket. Their names there are said in :mod:`.names`."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import xxhash

from kgfs.errors import AWAY, AwayError, BadInputError, ExistsError, MissingError, StoreError, TimedOutError
from kgfs.failpoints import border
from kgfs.stores.garage.contract import BLOCK, Look, Reader, Sums
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
"""Bytes of a part; what is longer than one is put in parts."""
MAX_PARTS = 10_000
COPIED = 128 << 20
"""Bytes that the server copies at one request."""
SENT = BLOCK
"""Bytes that are sent sooner than copied: to send them is one request, and to copy seven."""
TRIES = 10
"""How often a content is put that is deleted each time, or that a server calls taken and does not show."""
REPLACED = 1.0
"""Seconds within which the end of another upload that looked before may replace what was put, on servers that look before they
write (:attr:`Bucket.looks_before_it_writes`). Milliseconds were seen; a server that hesitates longer breaks the promise."""
CACHED_AT_PUT = 8 << 20
"""What is this long at most goes into the cache when it is put, for it is mostly read soon."""


class S3Objects:
    """A put is conditional on the server, so of any number of writers one wins and others find what it put. The sums stand
    in the object's metadata or, where it has too many blocks, in a sidecar that is there before the object is.

    ``open`` and ``get`` answer from the cache without asking the server, since a key's content never changes while it
    stands; everything else asks it. See :class:`~.reader.S3Reader` for readers of what is deleted.
    """

    def __init__(self, bucket: Bucket, cache: Cache) -> None:
        self._bucket = bucket
        self._cache = cache

    # ------------------------------------------------------------------------------------------- writing

    def put(
        self, key: str, content: bytes | Path, sums: Sums | None = None, *, move: bool = False, present: str = ""
    ) -> Sums:
        name, round_ = object_name(key), self._cache.round()
        with os_errors(f"keeping {key}"):
            sums = sums or sums_of(content)
            check_size(content, content.stat().st_size if isinstance(content, Path) else len(content), sums)
            copied = bool(present) and sums.size > SENT and self.copy(present, key, sums.sha256)
            # What is deleted between the two is tried again.
            placed = (self._place(key, name, content, sums) or self._is_kept(key, sums) for _ in range(TRIES))
            if not (copied or any(placed)):
                raise AwayError(f"{self._bucket.place.shown}: {key} is called taken and is not there. Try again later.")
            if sums.size <= CACHED_AT_PUT:
                self._cache_content(key, content, sums, round_)
            if move and isinstance(content, Path):
                content.unlink(missing_ok=True)
        return sums

    def copy(self, present: str, key: str, sha256: str = "") -> bool:
        """In parts, of which one is enough mostly: no request takes the server long then, and only the end of an upload is
        conditional everywhere. ``sha256`` is what the copy is to have, where the caller knows."""
        source = object_name(present)
        try:
            found = self._bucket.head(source)
            sums = self._sums(present, found)
            if sums.size <= SENT or sha256 not in ("", sums.sha256):
                return False
            starts = range(0, sums.size, COPIED)
            spans = [Span(source, at, min(COPIED, sums.size - at), found.etag) for at in starts]
            if len(spans) == 1:
                spans = [Span(source, etag=found.etag)]
            return self._place_parts(key, object_name(key), spans, sums) or self._is_kept(key, sums)
        except AWAY:
            raise
        except (MissingError, TakenError, StoreError):  # gone or another meanwhile, or a server that cannot
            return False

    def delete(self, key: str) -> bool:
        name = object_name(key)
        try:
            found = self._bucket.head(name)
        except MissingError:
            next(self._bucket.listed(name, limit=1), None)  # AwayError where the bucket itself is gone
            self._cache.forget(key)
            return False
        self._bucket.delete(name)
        sha256 = sha256_in(found.meta)
        if sha256 and decode_meta(found) is None:
            self._bucket.delete(sums_name(key, sha256))
        self._cache.forget(key)
        return True

    def _place(self, key: str, name: str, content: bytes | Path, sums: Sums) -> bool:
        """Whether the content is in its place now; if not, something else is."""
        try:
            if sums.size <= PART:
                body = content.read_bytes() if isinstance(content, Path) else content
                done = self._bucket.put(name, body, encode_meta(sums, time.time_ns()), sums.sha256)
                return done and self._stays(key, name, sums)
            return self._place_parts(key, name, _parts(content, sums), sums)
        except ChangedError as error:
            raise BadInputError(f"{key}: the content changed after it was hashed.") from error

    def _place_parts(self, key: str, name: str, parts: Iterable[bytes | Span], sums: Sums) -> bool:
        if self._bucket.has(name):
            return False
        # Noted first, so that parts which a crash leaves are found, on servers too that list uploads by exact name only.
        self._bucket.replace(upload_name(key), key.encode(), {})
        if len(sums.blocks) > BLOCKS_IN_META:
            self._bucket.put(sums_name(key, sums.sha256), encode_sums(sums), {})
        border("upload-noted")
        try:
            done = self._bucket.put_parts(name, parts, encode_meta(sums, time.time_ns()))
        except MissingError:  # somebody aborted it, or what is copied is gone
            done = False
        except AWAY:
            raise
        except BaseException:
            with suppress(StoreError, TimedOutError):
                self._unnote(key, name)
            raise
        stays = done and self._stays(key, name, sums, in_parts=True)
        with suppress(StoreError, TimedOutError):  # it is in its place, and a note that stays does no harm
            self._unnote(key, name, ended=True)  # not before: by it the putter of a small content knows of this one
        return stays

    def _unnote(self, key: str, name: str, *, ended: bool = False) -> None:
        try:
            left = bool(self._bucket.uploads(name))
        except NotAllowedError:
            left = not ended
        if not left:  # else the parts that stay, or those of others, are found by it
            self._bucket.delete(upload_name(key))

    def _stays(self, key: str, name: str, sums: Sums, *, in_parts: bool = False) -> bool:
        """Whether what was put is not replaced by the end of another upload. Where the key is made of the content's hash, as most
        are, what replaces it is the same."""
        if is_named_by(key, sums.sha256) or not self._bucket.looks_before_it_writes:
            return True
        # Where none is noted, who noted one has ended it: what came of it stands there.
        if in_parts or self._bucket.has(upload_name(key)):
            time.sleep(REPLACED)
        try:
            return sha256_in(self._bucket.head(name).meta) == sums.sha256
        except MissingError:
            return True  # deleted meanwhile, as it may be

    def _is_kept(self, key: str, sums: Sums) -> bool:
        """Whether this content is kept; ExistsError if another is, False if none."""
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
                with suppress(AwayError):  # broken off before there is a block of it: the reader asks once more
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

    def at_hand(self, key: str, sha256: str, size: int) -> bytes | None:
        """What is cached, without a look at when it was used last. An empty one is known by its sums."""
        if size == 0:
            kept = self._cache.kept(key)
            return b"" if kept and kept[0].sha256 == sha256 else None
        if size > BLOCK:
            return None
        found = self._cache.at_hand(key, size)
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
        """Lazily, a page at a time; whole at once where the server's order is another than ours."""
        folder, _, start = prefix.rpartition("/")
        # Some servers take a prefix for a path.
        asked = prefix if start not in (".", "..") else f"{folder}/" if folder else ""
        listed = ((key_of(item.name), item.size) for item in self._bucket.listed(OBJECTS + asked))
        found = (item for item in listed if item[0].startswith(prefix))
        yield from sorted(found) if self._bucket.lists_by_folder else found

    def names(self, folder: str = "") -> list[str]:
        top = f"{OBJECTS}{folder}/" if check_folder(folder) else OBJECTS
        below = (item.name for item in self._bucket.listed(top, flat=False))
        return sorted(key_of(name)[len(top) - len(OBJECTS) :] for name in below)

    def look(self, path: str) -> Look:
        """A folder's time is that of the newest of its first thousand objects, below or directly in it."""
        try:
            found = self._bucket.head(object_name(path))
            return Look(False, found.size, kept_at(found))
        except MissingError:
            pass
        below = self._bucket.listed(f"{OBJECTS}{path}/")
        times = [item.changed_at for item, _ in zip(below, range(PAGE), strict=False)]
        if not times:
            raise MissingError(f"{path}: neither an object nor a folder.")
        return Look(True, 0, max(times))

    def _sums(self, key: str, found: Found, proof: str = "") -> Sums:
        """The sums of an object, made anew where they are lost and a hash proves the bytes: that of its metadata, of its
        name, or ``proof``."""
        if kept := self._kept_sums(key, found):
            return kept
        sums = proven(self._bucket, key, found, proof)
        remake(self._bucket, key, found, sums)
        return sums

    def _kept_sums(self, key: str, found: Found) -> Sums | None:
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

    def leave_room(self) -> None:
        self._cache.leave_room()

    # --------------------------------------------------------------------------------- left-over uploads

    def sweep(self, begun_before: float | None = None) -> None:
        self.abort_left_over(begun_before)

    def left_over(self) -> Iterator[tuple[str, float]]:
        """Of uploads in parts."""
        for note in self._bucket.listed(UPLOADS):
            try:
                key = self._bucket.get(note.name)[1].decode()
            except MissingError:
                continue  # ended since it was listed
            if self._bucket.uploads(object_name(key)):
                yield key, note.changed_at / 10**9

    def abort_left_over(self, until: float | None = None) -> list[str]:
        """Abort those begun before ``until`` (all, for None); the keys concerned. A writer that is still at it begins
        again."""
        gone = []
        for note in list(self._bucket.listed(UPLOADS)):
            if until and note.changed_at / 10**9 >= until:
                continue
            try:
                key = self._bucket.get(note.name)[1].decode()
            except MissingError:
                continue  # ended since it was listed
            for upload in self._bucket.uploads(object_name(key)):
                self._bucket.abort(upload)
                gone.append(key)
            self._bucket.delete(note.name)
        return gone


def _parts(content: bytes | Path, sums: Sums) -> Iterator[bytes]:
    """The parts of a content; ChangedError at its end if they were not what its sums say."""
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
