"""One bucket, accessed by the ``minio`` client. It offers what this package needs of an S3 server, and no more. The
client takes long to load, so :class:`Lazy` creates it on first use.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from io import RawIOBase
from typing import TYPE_CHECKING, BinaryIO, Generic, TypeVar, cast

from kgfs.errors import MissingError, UnavailableError
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.errors import NoBucketError, TakenError
from kgfs.stores.thread_slots import release_slot

if TYPE_CHECKING:
    from minio import Minio
    from urllib3 import BaseHTTPResponse

T = TypeVar("T")
META = "x-amz-meta-"
_UNLESS_THERE = {"If-None-Match": "*"}
PAGE = 1000
"""The number of names in one page of a listing, the maximum that S3 returns."""


@dataclass(frozen=True, slots=True)
class Found:
    """The metadata of an object as the server reports it. For a folder only the name, which ends with ``/``."""

    name: str
    size: int = 0
    changed_at: int = 0
    """The time of the last change in nanoseconds, in whole seconds of the server's clock."""
    etag: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)
    """The user metadata without the prefix :data:`META`, in lower case. Empty in listings."""


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload in parts that was begun and not ended."""

    name: str
    id: str
    begun: float
    """Unix time in seconds, by the server's clock."""


class Download:
    """A part of an object that is being received. Not for several threads at the same time."""

    def __init__(self, response: BaseHTTPResponse, spoken: Callable[[], AbstractContextManager[None]]) -> None:
        self._response = response
        self._spoken = spoken

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end of the part. Waits for the server up to the timeout."""
        with self._spoken():
            piece = self._response.read(size, decode_content=False)
            if len(piece) < size and self._response.length_remaining:
                raise ValueError("The answer broke off.")
            return piece

    def close(self) -> None:
        """Close the download. The connection is reused only if the part was read to its end."""
        if self._response.length_remaining != 0:
            self._response.close()
        self._response.release_conn()


class Bucket:
    """A bucket of an S3 server. Names are relative to the place's prefix.

    If the bucket does not exist, calls raise NoBucketError, and none but :meth:`create` makes it. If a bucket that this object has
    seen disappears, calls raise UnavailableError. Only :meth:`head` cannot tell a missing bucket from a missing name, since the
    answer to a HEAD request has no body.

    Calls raise StoreError, TimedOutError and, if they ask for one name, MissingError. Any number of threads may call
    at the same time.
    """

    def __init__(self, place: Endpoint) -> None:
        self.place = place
        self._client = Lazy(self._load)
        self._top = f"{place.prefix.strip('/')}/" if place.prefix.strip("/") else ""
        self._seen = False
        """Whether the bucket has been seen."""
        self._server: str | None = None
        """The server's name for itself, in lower case, once it is known."""

    # ------------------------------------------------------------------------------------------- writing

    def put(self, name: str, body: bytes, meta: Mapping[str, str], sha256: str = "") -> bool:
        """Put ``body`` under a name unless the name is taken, and return whether the name was free and holds ``body``
        now.

        One request, all or nothing. The server verifies ``sha256`` (hex) if it can.
        """
        headers = {**_labels(meta), **_UNLESS_THERE}
        if sha256:
            headers["x-amz-checksum-sha256"] = base64.b64encode(bytes.fromhex(sha256)).decode()

        def send() -> None:
            with self._spoken(name):
                _tag(self._execute("PUT", name, body, headers))

        try:
            self._in_bucket(send)
        except TakenError:
            return False
        return True

    def replace(self, name: str, body: bytes, meta: Mapping[str, str]) -> None:
        """Put ``body`` under a name, over any object that has the name. For notes, and for repair."""

        def send() -> None:
            with self._spoken(name):
                _tag(self._execute("PUT", name, body, _labels(meta)))

        self._in_bucket(send)

    def put_large(self, name: str, content: RawIOBase, size: int, part: int, meta: Mapping[str, str]) -> None:
        """Put ``size`` bytes under a name, over any object that has it, in parts of ``part`` bytes.

        One part is in memory at a time. If a request fails the upload is aborted, as far as the server can be
        reached.
        """

        def send() -> None:
            with self._spoken(name):
                self._client().put_object(
                    self.place.bucket,
                    self._top + name,
                    cast(BinaryIO, content),
                    size,
                    metadata=dict(meta),
                    part_size=part,
                    num_parallel_uploads=1,
                )

        self._in_bucket(send)

    def delete(self, name: str) -> None:
        """Delete an object. The name is absent afterwards, whether it existed or not."""
        try:
            with self._spoken(name):
                self._client().remove_object(self.place.bucket, self._top + name)
        except MissingError:
            pass

    # ------------------------------------------------------------------------------------------- reading

    def head(self, name: str) -> Found:
        """Return the metadata of an object. Raise MissingError if it is absent."""
        with self._spoken(name):
            return _found(name, self._execute("HEAD", name))

    def has(self, name: str) -> bool:
        """Return whether an object has this name."""
        try:
            self.head(name)
        except MissingError:
            return False
        return True

    def get(self, name: str) -> tuple[Found, bytes]:
        """Return the metadata and the whole content of a small object."""
        with self._spoken(name):
            response = self._execute("GET", name)
            return _found(name, response), response.data

    def download(self, name: str, start: int, length: int) -> tuple[Found, Download]:
        """Begin to download ``length`` bytes (at least 1) of an object from ``start`` on.

        Return the metadata and a Download, which the caller reads piece by piece and closes. Raise ShortError if the
        object ends before ``start``.
        """
        with self._spoken(name):
            headers = {"Range": f"bytes={start}-{start + length - 1}"}
            response = self._execute("GET", name, None, headers, preload=False)
            return _found(name, response), Download(response, lambda: self._spoken(name))

    def listed(self, prefix: str, *, after: str = "", flat: bool = True, limit: int = PAGE) -> Iterator[Found]:
        """Yield the objects whose name starts with ``prefix`` and comes after ``after``. One page is in memory at a
        time.

        With ``flat=False`` yield only the objects directly below the prefix, and folders. The order is the server's:
        see :attr:`lists_by_folder`.
        """
        top = len(self._top)
        with self._spoken(f"{prefix}*"):
            for item in self._client()._list_objects(
                self.place.bucket,
                delimiter=None if flat else "/",
                max_keys=limit,
                prefix=self._top + prefix,
                start_after=self._top + after if after else None,
            ):
                assert item.object_name is not None
                self._seen = True
                name, etag = item.object_name[top:], (item.etag or "").strip('"')
                if name.endswith("/") and (flat or name == prefix):
                    continue  # some servers list empty folders
                yield Found(name, item.size or 0, _nanoseconds(item.last_modified), etag)
            self._seen = True

    @property
    def lists_by_folder(self) -> bool:
        """Return whether listings are in order folder by folder (``a/b`` before ``a-``) instead of in order of name."""
        return "seaweedfs" in self._called()

    def _called(self) -> str:
        """Return the server's name for itself, in lower case, '' if the server gives none."""
        if self._server is None:
            with self._spoken("the bucket"):
                response = self._client()._execute("HEAD", self.place.bucket)
            self._server = str(response.headers.get("server", "")).lower()
        return self._server

    def uploads(self, prefix: str) -> Iterator[Upload]:
        """Yield the unfinished uploads in parts of names that begin with ``prefix``. Some servers find uploads by exact
        name only."""
        with self._spoken(f"{prefix}*"):
            answer = self._client()._list_multipart_uploads(self.place.bucket, prefix=self._top + prefix)
        for found in answer.uploads:
            begun = found.initiated_time.timestamp() if found.initiated_time else 0.0
            yield Upload(found.object_name[len(self._top) :], found.upload_id or "", begun)

    def abort(self, upload: Upload) -> None:
        """Abort an upload. Do nothing if it no longer exists."""
        try:
            with self._spoken(upload.name):
                self._execute("DELETE", upload.name, query={"uploadId": upload.id})
        except MissingError:
            pass

    def close(self) -> None:
        """Close the connections."""
        if self._client.made is not None:
            self._client.made._http.clear()

    # ------------------------------------------------------------------------------------------- requests

    def _load(self) -> Minio:
        from kgfs.stores.garage.s3.client import client_of

        return client_of(self.place)

    def _in_bucket(self, write: Callable[[], T]) -> T:
        """Call ``write`` if the bucket exists. Some servers would make a missing one."""
        if not self._seen:
            next(self.listed("", limit=1), None)
        return write()

    def create(self) -> bool:
        """Make the bucket unless it exists, and return whether it was made."""
        try:
            next(self.listed("", limit=1), None)
        except NoBucketError:
            try:
                with self._spoken("the bucket"):
                    self._client().make_bucket(self.place.bucket, self.place.region or None)
            except TakenError:
                return False  # another process created it first
            return True
        return False

    def _execute(
        self,
        method: str,
        name: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        query: dict[str, str] | None = None,
        *,
        preload: bool = True,
    ) -> BaseHTTPResponse:
        """Send a request through the client's internal method. Its public methods offer neither conditional requests
        nor a stream of parts."""
        answer = self._client()._execute(
            method,
            self.place.bucket,
            self._top + name,
            body=body,
            headers=dict(headers or {}),
            query_params=dict(query or {}),
            preload_content=preload,
        )
        self._seen = True
        return answer

    @contextmanager
    def _spoken(self, what: str) -> Iterator[None]:
        """Translate the client's errors. Raise UnavailableError if a bucket that was seen is missing."""
        from kgfs.stores.garage.s3.speaking import spoken

        release_slot()
        try:
            with spoken(self.place.shown, what):
                yield
        except NoBucketError as error:
            if not self._seen:
                raise
            raise UnavailableError(
                f"{self.place.shown}: the bucket is not there any more. Bring it back with what it held."
            ) from error


def _labels(meta: Mapping[str, str]) -> dict[str, str]:
    return {META + key: value for key, value in meta.items()}


def _found(name: str, response: BaseHTTPResponse) -> Found:
    headers = {key.lower(): value for key, value in response.headers.items()}
    meta = {key.removeprefix(META): value for key, value in headers.items() if key.startswith(META)}
    _, _, total = headers.get("content-range", "").partition("/")
    size = total if total.isdigit() else headers.get("content-length", "0")
    changed = parsedate_to_datetime(headers["last-modified"]) if "last-modified" in headers else None
    return Found(name, int(size), _nanoseconds(changed), _tag(response), meta)


def _tag(response: BaseHTTPResponse) -> str:
    """Return the ETag of an answer. Raise ValueError if there is none.

    Every answer about an object has an ETag. A "200 OK" of anything else on the way, for example a login page, has
    none, and must not be taken for the server's.
    """
    tag: str = response.headers.get("etag", "").strip('"')
    if not tag:
        raise ValueError("The answer has no ETag.")
    return tag


def _nanoseconds(moment: datetime | None) -> int:
    return int(moment.timestamp()) * 10**9 if moment else 0


class Lazy(Generic[T]):
    """A callable that returns the result of ``make``, which runs once, on the first call by any thread. If
    ``make`` raises, the next call runs it again."""

    __slots__ = ("_make", "_making", "made")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making = threading.Lock()
        self.made: T | None = None
        """The result; None until the first successful call."""

    def __call__(self) -> T:
        with self._making:
            if self.made is None:
                self.made = self._make()
            return self.made
