"""One bucket, spoken to with the ``minio`` client: what the rest of this package asks of an S3 server, and no more."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote
from xml.etree import ElementTree

from kgfs.errors import AWAY, AwayError, KgfsError, MissingError, StoreError, TimedOutError
from kgfs.stores.aside import step_aside
from kgfs.stores.garage.s3.download import Download
from kgfs.stores.garage.s3.errors import NoBucketError, TakenError
from kgfs.stores.garage.s3.place import Place
from kgfs.stores.once import Once

if TYPE_CHECKING:  # loaded when something is asked
    from minio import Minio
    from urllib3 import BaseHTTPResponse

T = TypeVar("T")
META = "x-amz-meta-"
_UNLESS_THERE = {"If-None-Match": "*"}
PAGE = 1000
"""Names of one answer, the most that S3 gives."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object as the server tells of it; of a folder only the name, which ends with ``/``."""

    name: str
    size: int = 0
    changed_at: int = 0
    """Nanoseconds, whole seconds of the server's clock."""
    etag: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)
    """Without :data:`META`, in lower case. Empty in listings."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of an object that the bucket has already."""

    name: str
    start: int = 0
    length: int = 0
    """0 for all of it, the only span that servers copy of what is shorter than 5 MiB."""
    etag: str = ""
    """Of the object, if only that is to be copied and none that took its name meanwhile."""


@dataclass(frozen=True, slots=True)
class Upload:
    name: str
    id: str


class Bucket:
    """Names are those below the place's prefix. A bucket that is not there is empty, and made by the first put; one that has
    been there is away, and not made again, for it would lack what was kept. Only :meth:`head` cannot tell that from a name
    that is not there, since its answer has no words.

    Errors: StoreError, TimedOutError, MissingError where one name was asked for. Any number of threads.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._client = Once(self._load)
        self._top = f"{place.prefix.strip('/')}/" if place.prefix.strip("/") else ""
        self._seen = False
        """Whether there was a bucket."""
        self._left: dict[str, list[Upload]] = {}
        """Uploads by their names whose parts a server that went away did not get all of."""
        self._server: str | None = None
        """What it calls itself, once it has; in small letters."""

    # ------------------------------------------------------------------------------------------- writing

    def put(self, name: str, body: bytes, meta: Mapping[str, str], sha256: str = "") -> bool:
        """Whether the name was free and holds ``body`` now. One request, all or nothing; ``sha256`` (hex) is checked by
        the server, where it can."""
        headers = {**_labels(meta), **_UNLESS_THERE}
        if sha256:
            headers["x-amz-checksum-sha256"] = base64.b64encode(bytes.fromhex(sha256)).decode()
        return self._unless_taken("PUT", name, body, headers)

    def replace(self, name: str, body: bytes, meta: Mapping[str, str]) -> None:
        """Put over what stands there: for notes, and for repairing."""

        def send() -> None:
            with self._spoken(name):
                _tag(self._execute("PUT", name, body, _labels(meta)))

        self._in_bucket(send)

    def put_parts(self, name: str, parts: Iterable[bytes | Span], meta: Mapping[str, str]) -> bool:
        """As :meth:`put`, of any size: one part in memory at a time, each but the last of 5 MiB or more. Where it fails,
        or ``parts`` raises, nothing is left behind, unless the server is away, which is not waited for once more: then the
        parts stay until this bucket puts under that name again. Where it went away while it ended the upload, so that nobody
        knows whether it did, they stay."""
        for left in self._left.pop(name, ()):
            self.abort_if_there(left)
        upload = Upload(name, self._begin(name, meta))
        try:
            with self._spoken(name):
                tags = [self._put_part(upload, number, part) for number, part in enumerate(parts, 1)]
        except AWAY:
            self._left.setdefault(name, []).append(upload)
            raise
        except BaseException:
            self.abort_if_there(upload)
            raise
        listed = "".join(
            f'<Part><PartNumber>{number}</PartNumber><ETag>"{tag}"</ETag></Part>' for number, tag in enumerate(tags, 1)
        )
        body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
        try:
            done = self._unless_taken(
                "POST", name, body, {"Content-Type": "application/xml", **_UNLESS_THERE}, {"uploadId": upload.id}
            )
        except (*AWAY, MissingError):
            # It may have been ended, or be so yet. SeaweedFS before 4.48 takes the parts out of the object where it is aborted then.
            raise
        except KgfsError:
            self.abort_if_there(upload)
            raise
        if not done and not self._is_labelled(name, meta):
            self.abort_if_there(upload)
        return done

    def _is_labelled(self, name: str, meta: Mapping[str, str]) -> bool:
        """Whether what stands there may be this very upload, whose end was asked for twice: the first answer was not heard."""
        try:
            found = self.head(name).meta
        except MissingError:
            return False
        return all(found.get(key) == value for key, value in meta.items())

    def relabel(self, found: Found, meta: Mapping[str, str]) -> None:
        """Give an object other metadata, if it is still the one that was found."""
        source = quote(f"{self.place.bucket}/{self._top}{found.name}")
        headers = {
            **_labels(meta),
            "x-amz-copy-source": source,
            "x-amz-copy-source-if-match": found.etag,
            "x-amz-metadata-directive": "REPLACE",
        }
        with self._spoken(found.name):
            self._execute("PUT", found.name, None, headers)

    def delete(self, name: str) -> None:
        """Absent afterwards, whether it was there or not."""
        try:
            with self._spoken(name):
                self._client().remove_object(self.place.bucket, self._top + name)
        except MissingError:
            pass

    # ------------------------------------------------------------------------------------------- reading

    def head(self, name: str) -> Found:
        with self._spoken(name):
            return _found(name, self._execute("HEAD", name))

    def has(self, name: str) -> bool:
        try:
            self.head(name)
        except MissingError:
            return False
        return True

    def get(self, name: str) -> tuple[Found, bytes]:
        """A small object whole."""
        with self._spoken(name):
            response = self._execute("GET", name)
            return _found(name, response), response.data

    def download(self, name: str, start: int, length: int) -> tuple[Found, Download]:
        """A part of an object (``length`` at least 1), to be read in pieces and closed. ShortError where the object ends
        before ``start``."""
        with self._spoken(name):
            headers = {"Range": f"bytes={start}-{start + length - 1}"}
            response = self._execute("GET", name, None, headers, preload=False)
            return _found(name, response), Download(response, lambda: self._spoken(name))

    def listed(self, prefix: str, *, after: str = "", flat: bool = True, limit: int = PAGE) -> Iterator[Found]:
        """Objects whose name starts with ``prefix``, after the name ``after``, a page in memory at a time; not ``flat``:
        those directly below the prefix, and folders. In the server's order: see :attr:`lists_by_folder`."""
        top = len(self._top)
        try:
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
                        continue  # some servers show a folder that is empty
                    yield Found(name, item.size or 0, _nanoseconds(item.last_modified), etag)
        except NoBucketError:
            return

    @property
    def lists_by_folder(self) -> bool:
        """Whether listings are in order folder by folder (``a/b`` before ``a-``) instead of in order of name."""
        return "seaweedfs" in self._called()

    @property
    def looks_before_it_writes(self) -> bool:
        """Whether what ends an upload may replace what was put after it was looked whether the name is free. SeaweedFS 4.48 does;
        those are trusted of which it is known that they do not."""
        return not any(known in self._called() for known in ("amazons3", "minio"))

    def _called(self) -> str:
        if self._server is None:
            try:
                with self._spoken("the bucket"):
                    response = self._client()._execute("HEAD", self.place.bucket)
            except MissingError:
                return ""  # there is no bucket yet, and nothing known of the server
            self._server = str(response.headers.get("server", "")).lower()
        return self._server

    # ---------------------------------------------------------------------------------- left-over uploads

    def uploads(self, name: str) -> list[Upload]:
        """Uploads of this very name that were begun and not ended; some servers find them by exact name only."""
        try:
            with self._spoken(name):
                answer = self._client()._list_multipart_uploads(self.place.bucket, prefix=self._top + name)
        except MissingError:
            return []
        return [
            Upload(name, found.upload_id or "") for found in answer.uploads if found.object_name == self._top + name
        ]

    def abort(self, upload: Upload) -> None:
        try:
            with self._spoken(upload.name):
                self._execute("DELETE", upload.name, query={"uploadId": upload.id})
        except MissingError:
            pass

    def abort_if_there(self, upload: Upload) -> None:
        """After a failure, which is the one to be told: a server that is away keeps the parts, and :meth:`uploads`
        finds them later."""
        try:
            self.abort(upload)
        except (StoreError, TimedOutError):
            pass

    def close(self) -> None:
        if self._client.made is not None:
            self._client.made._http.clear()

    # ------------------------------------------------------------------------------------------- the wire

    def _load(self) -> Minio:
        from kgfs.stores.garage.s3.client import client_of

        return client_of(self.place)

    def _begin(self, name: str, meta: Mapping[str, str]) -> str:
        def begin() -> str:
            with self._spoken(name):
                headers = {"Content-Type": "application/octet-stream", **_labels(meta)}
                answer = self._execute("POST", name, None, headers, {"uploads": ""})
                found = ElementTree.fromstring(answer.data).findtext("{*}UploadId")
                if not found:
                    raise StoreError(f"{self.place.shown}: the server began no upload of {name}.")
                return found

        return self._in_bucket(begin)

    def _put_part(self, upload: Upload, number: int, part: bytes | Span) -> str:
        """Its tag."""
        query = {"partNumber": str(number), "uploadId": upload.id}
        if not isinstance(part, Span):
            return _tag(self._execute("PUT", upload.name, part, {}, query))
        headers = {"x-amz-copy-source": quote(f"{self.place.bucket}/{self._top}{part.name}")}
        if part.etag:
            headers["x-amz-copy-source-if-match"] = part.etag
        if part.length:
            headers["x-amz-copy-source-range"] = f"bytes={part.start}-{part.start + part.length - 1}"
        answer = self._execute("PUT", upload.name, None, headers, query)
        _refuse_with(answer)
        tag = ElementTree.fromstring(answer.data).findtext("{*}ETag") if answer.data else None
        if not tag:
            raise StoreError(f"{self.place.shown}: the server copied no part of {part.name}.")
        return tag.strip('"')

    def _unless_taken(
        self, method: str, name: str, body: bytes, headers: dict[str, str], query: dict[str, str] | None = None
    ) -> bool:
        def send() -> None:
            with self._spoken(name):
                answer = self._execute(method, name, body, headers, query)
                # Completing many parts may take so long that "200 OK" is said before it is known.
                _refuse_with(answer)
                if method == "PUT":
                    _tag(answer)

        try:
            self._in_bucket(send)
        except TakenError:
            return False
        return True

    def _in_bucket(self, write: Callable[[], T]) -> T:
        """Write, and make the bucket for it if there is none."""
        try:
            return write()
        except NoBucketError:
            self._make()
            return write()

    def _make(self) -> None:
        try:
            with self._spoken("the bucket"):
                self._client().make_bucket(self.place.bucket, self.place.region or None)
        except TakenError:
            pass  # another process was quicker

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
        """The client's own way to the wire: its public methods know neither conditions nor a stream of parts."""
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
        from kgfs.stores.garage.s3.speaking import spoken

        step_aside()
        try:
            with spoken(self.place.shown, what):
                yield
        except NoBucketError as error:
            if not self._seen:
                raise
            raise AwayError(
                f"{self.place.shown}: the bucket is not there any more. Bring it back with what it held."
            ) from error


def _refuse_with(answer: BaseHTTPResponse) -> None:
    """Raise the error that stands in an answer, if one does."""
    if b"<Error>" in answer.data[:1000]:
        from minio.error import S3Error

        raise S3Error.fromxml(answer)


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
    """Of an object that was told of, or taken. Whatever else says "200 OK" on the way, a login page for one, has none, and
    must not be taken for the server."""
    tag: str = response.headers.get("etag", "").strip('"')
    if not tag:
        raise ValueError("The answer has no ETag.")
    return tag


def _nanoseconds(moment: datetime | None) -> int:
    return int(moment.timestamp()) * 10**9 if moment else 0
