"""Vectors in a Qdrant server: one collection for each embedding model, and an alias to the collection in use.

The alias is ``<prefix>``, a collection ``<prefix>-<model tag>``. Rows are points. A point's id is the UUIDv5 of its
row key, so an upsert replaces. A new model fills its collection while the alias stays; :meth:`QdrantVectors.conclude`
moves the alias in one step and deletes the other collections. Programs that query the server directly use the alias,
and never see half a model.

Scores are exact with ``exact=True``. Otherwise the server may search its HNSW graph, whose recall depends on the
server's settings.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import numpy as np
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http import models
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from kgfs.errors import BadInputError, KgfsError, StoreError, TimedOutError, UnavailableError
from kgfs.settings import Vectors as Settings
from kgfs.settings import is_loopback, is_sayable
from kgfs.stores.batched import batched
from kgfs.stores.servers import file_named, trusted
from kgfs.stores.vectors.contract import Filter, Hit, Row, Vector, checked, is_empty, passes_none, same_dimensions, unit

T = TypeVar("T")

REFUSED = (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)
"""The status codes of a refused key."""
KEY_SPACE = uuid.UUID("5c0a4f0e-6f0c-5f6b-9a39-0d7b6d6f7f10")
"""The namespace of the UUIDv5 of row keys. It must never change."""
PAYLOAD = (
    "kind", "item", "window", "ontology", "doc_id", "chunk_index", "source_variant", "role", "domain", "authority",
)  # fmt: skip
"""The fields of every point."""
OF_SOURCES = ("content_hash", "total_chunks", "chunk_start_char", "chunk_end_char")
"""Additional fields of the points of Sources, with ``parent_document_id``, ``storage_type``, ``content`` and
``content_length``."""
KEYWORDS = (
    "kind", "item", "ontology", "doc_id", "source_variant", "role", "domain", "authority", "parent_document_id",
    "content_hash", "storage_type",
)  # fmt: skip
NUMBERS = ("chunk_index", "total_chunks", "chunk_start_char", "chunk_end_char")
INDEXED = (*KEYWORDS, *NUMBERS)
"""The fields with an index on the server, by which it filters without scanning every point."""
BATCH = 256
"""The maximal number of points in one upsert."""
WEIGHT = 4_000_000
"""The maximal bytes of the texts in one upsert. 256 points of 384 numbers are 2 MB of JSON, so a request stays well
below the server's limit of 32 MB."""
MOST_CONTENT = 900_000
"""The bytes up to which a point holds a text in full. Of a longer text it holds only the length: a point should stay
below a megabyte."""
PAGE = 1000
"""The number of points in one page of a scroll."""


class Key(httpx.Auth):
    """Add the API key to each request, '' for a server without keys. It is a secret, and never shown. A refused request is sent once
    more if the file has another key by now. While the file cannot be read, or is being written, the key stays the same."""

    def __init__(self, key: str, file: Path | None) -> None:
        self._key = key
        self._file = file

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        sent = self._key
        if sent:
            request.headers["api-key"] = sent
        response = yield request
        if response.status_code in REFUSED and self._read_again() != sent:
            request.headers["api-key"] = self._key
            yield request

    def _read_again(self) -> str:
        if self._file is not None:
            with suppress(OSError, UnicodeDecodeError):
                found = self._file.read_text("utf-8").strip()
                self._key = found if found and is_sayable(found) else self._key
        return self._key


class QdrantVectors:
    """The :class:`~kgfs.stores.vectors.contract.Vectors` of one server and model."""

    def __init__(self, place: Settings, key: str, model: str, confirm: Callable[[], None] = lambda: None) -> None:
        """``key`` is the API key as it was first read, ``confirm`` as in :func:`.open_vectors`. Nothing is asked yet. BadInputError for settings that cannot be used."""
        self._place = place
        self._confirm = confirm
        self._model = model
        self._name = f"{place.prefix}-{hashlib.sha256(model.encode()).hexdigest()[:12]}"
        self._making = threading.Lock()
        self._is_indexed = False
        """Whether this process has made the indexes of the collection. A process that was killed may have left them
        out."""
        self._was_there = False
        """Whether this process has seen the collection, or the alias leading to it. If the collection is gone then,
        the server has lost it, and rows that are put now are not all rows. The alias, which would declare them
        complete, is only set again after the rest was derived."""
        self._was_in_use = False
        """Whether this process has seen the alias lead to the collection."""
        logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every request
        ca_file = file_named(place.ca_file)
        try:
            self._client = QdrantClient(
                url=place.url,
                auth=Key(key, file_named(place.api_key_file)),
                timeout=max(1, round(place.timeout)),
                check_compatibility=False,
                verify=trusted(ca_file, "vectors.ca_file") if ca_file else httpx.create_ssl_context(),
                # By default the client would send requests to this machine, with the key, through a proxy elsewhere.
                trust_env=not is_loopback(urlsplit(place.url).hostname or ""),
            )
        except (ImportError, ValueError) as error:  # the original message quotes the proxy's address and credentials
            raise BadInputError(
                f"{place.url}: the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names cannot be used. Set another, or name"
                " the server's host in NO_PROXY."
            ) from error

    @property
    def model(self) -> str:
        return self._model

    @property
    def keeps_payload(self) -> bool:
        return True

    @property
    def keeps_content(self) -> bool:
        return self._place.content

    # ------------------------------------------------------------------------------------------- writing

    def upsert(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        vectors = [unit(row.vector, f"{row.kind} {row.item}") for row in rows]
        for vector in vectors:
            same_dimensions(vector, vectors[0].size, self._model)
        self._make_room(vectors[0])
        points = (_point(row, vector) for row, vector in zip(rows, vectors, strict=True))
        for some in batched(points, BATCH, _weight, WEIGHT):
            self._confirm()
            self._asked(self._client.upsert, self._name, some, wait=True)

    def delete(self, where: Filter) -> int:
        if is_empty(checked(where)):
            raise BadInputError("Deleting by an empty filter would delete everything; use clear().")
        if gone := self.count(where):
            self._delete(self._name, where)
        return gone

    def _delete(self, name: str, where: Filter) -> None:
        self._confirm()
        selector = models.FilterSelector(filter=_condition(where) or models.Filter())
        self._asked(self._client.delete, name, selector, wait=True)

    def erase(self, doc_ids: Sequence[str], concepts: Sequence[str]) -> None:
        """Delete the rows of these documents and concepts, of every model. The server's optimiser decides when
        deleted points leave its disk."""
        wheres = [Filter(doc_ids=frozenset(doc_ids))] if doc_ids else []
        if concepts:
            wheres.append(Filter(kind="concept", items=frozenset(concepts)))
        for name in self._collections():
            for where in wheres:
                self._delete(name, where)

    def clear(self) -> None:
        self._confirm()
        self._asked(self._client.delete_collection, self._name)
        self._was_there = False

    def complete(self) -> bool:
        return self._in_use() == self._name

    def superseded(self) -> bool:
        return self._was_in_use and self._in_use() not in ("", self._name)

    def conclude(self) -> None:
        self._confirm()
        if self._dimensions():
            self._use()
        for name in self._collections():
            if name != self._name:
                self._asked(self._client.delete_collection, name)

    # ------------------------------------------------------------------------------------------- reading

    def query(
        self, vector: Vector, where: Filter, limit: int = 10, threshold: float = -1.0, *, exact: bool = False
    ) -> list[Hit]:
        wanted = unit(vector, "The query")
        checked(where)
        if limit <= 0 or passes_none(where):
            return []
        ask = max(4 * limit, 32)
        while True:
            try:
                found = self._nearest(wanted, where, ask, threshold, exact or self._place.exact)
            except _NoCollectionError:
                return []
            except BadInputError:
                if not self.count():
                    return []  # a model without rows has no dimensions to differ from
                same_dimensions(wanted, self._dimensions(), self._model)
                raise
            hits = _by_item(found)
            # All windows that tie with the last wanted item must have been seen, for ties are ordered by item.
            settled = len(hits) > limit and hits[limit - 1].score > hits[-1].score
            if settled or len(found) < ask:
                return hits[:limit]
            ask *= 4

    def _nearest(
        self, wanted: Vector, where: Filter, limit: int, threshold: float, exact: bool
    ) -> list[models.ScoredPoint]:
        """Return the ``limit`` nearest points that pass the filter and the threshold, best first."""
        answer = self._asked(
            self._client.query_points,
            self._name,
            query=wanted.tolist(),
            query_filter=_condition(where),
            limit=limit,
            score_threshold=threshold if threshold > -1.0 else None,
            with_payload=list(PAYLOAD),
            search_params=models.SearchParams(exact=exact),
        )
        return list(answer.points)

    def fetch(self, where: Filter) -> list[Row]:
        condition, rows, after = _condition(checked(where)), list[Row](), None
        scroll = partial(self._client.scroll, limit=PAGE, with_payload=list(PAYLOAD), with_vectors=True)
        while not passes_none(where):
            try:
                records, after = self._asked(scroll, self._name, condition, offset=after)
            except _NoCollectionError:
                break
            rows += map(_row, records)
            if after is None:
                break
        return sorted(rows, key=lambda row: (row.kind, row.item, row.window))

    def count(self, where: Filter | None = None) -> int:
        condition = _condition(checked(where or Filter()))
        if where is not None and passes_none(where):
            return 0
        try:
            return int(self._asked(self._client.count, self._name, condition, exact=True).count)
        except _NoCollectionError:
            return 0

    def close(self) -> None:
        self._client.close()

    # --------------------------------------------------------------------------------------- collections

    def _dimensions(self) -> int:
        """Return the dimensions of the model's collection, 0 if there is none."""
        try:
            params = self._asked(self._client.get_collection, self._name).config.params.vectors
        except _NoCollectionError:
            return 0
        assert isinstance(params, models.VectorParams)
        self._was_there = True
        return int(params.size)

    def _make_room(self, vector: Vector) -> None:
        """Make sure that the model has a collection for vectors of this size. Put it into use if no collection is."""
        with self._making:
            known = self._dimensions()
            if known != vector.size:
                if known:
                    if self.count():
                        same_dimensions(vector, known, self._model)
                    self.clear()  # it has no rows, so the model may start again with other dimensions
                self._create(vector.size)
                if not self._was_there and not self._in_use():
                    self._use()
                self._is_indexed, self._was_there = False, True
            if not self._is_indexed:
                self._index()
                self._is_indexed = True

    def _create(self, size: int) -> None:
        params = models.VectorParams(size=size, distance=models.Distance.COSINE, on_disk=self._place.on_disk or None)
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        quantisation = models.ScalarQuantization(scalar=scalar) if self._place.quantisation else None
        create = partial(self._client.create_collection, on_disk_payload=self._place.content or None)
        self._asked(create, self._name, params, quantization_config=quantisation)

    def _index(self) -> None:
        """Create the payload indexes. Repeating this is harmless."""
        for column in INDEXED:
            kind = models.PayloadSchemaType.INTEGER if column in NUMBERS else models.PayloadSchemaType.KEYWORD
            self._asked(self._client.create_payload_index, self._name, column, kind, wait=True)

    def _collections(self) -> list[str]:
        """Return the collections of all models. Those of other homes with a longer prefix are left out."""
        ours = re.compile(f"{re.escape(self._place.prefix)}-[0-9a-f]{{12}}")
        found = self._asked(self._client.get_collections).collections
        return [each.name for each in found if ours.fullmatch(each.name)]

    def _in_use(self) -> str:
        """Return the collection that the alias leads to, '' if there is no alias."""
        aliases = self._asked(self._client.get_aliases).aliases
        found = next((each.collection_name for each in aliases if each.alias_name == self._place.prefix), "")
        self._was_there |= found == self._name
        self._was_in_use |= found == self._name
        return found

    def _use(self) -> None:
        """Set the alias to this model's collection in one step. A reader finds the former collection or this one,
        never none."""
        created = models.CreateAlias(collection_name=self._name, alias_name=self._place.prefix)
        gone = models.DeleteAlias(alias_name=self._place.prefix)
        steps = [models.DeleteAliasOperation(delete_alias=gone), models.CreateAliasOperation(create_alias=created)]
        self._asked(self._client.update_collection_aliases, steps)

    def _asked(self, call: Callable[..., T], *words: Any, **options: Any) -> T:
        """Make a call of the client and translate its errors. Of the request a message has only the server's address."""
        try:
            return call(*words, **options)
        except (ApiException, QdrantException, httpx.HTTPError, json.JSONDecodeError) as error:
            raise _ours(self._place.url, error) from error


class _NoCollectionError(StoreError):
    """The model has no collection: no row of it was ever stored."""


def _ours(url: str, error: Exception) -> KgfsError:
    if isinstance(error, UnexpectedResponse):
        status, answer = error.status_code, error.content.decode("utf-8", "replace")[:300]
        if status in REFUSED:
            return UnavailableError(
                f"{url}: Qdrant refuses the key. Check the one that vectors.api_key_file or QDRANT_API_KEY gives."
            )
        is_own, why = _is_own(error.content), " ".join(answer.split())
        if (
            status in (408, 429) or (status or 0) >= 500
        ):  # for example because its disk is full; the request is not at fault
            return UnavailableError(f"{url}: Qdrant answers {status}{': ' * is_own}{why * is_own}. Try again later.")
        if not is_own:
            return _stranger(url)
        return (_NoCollectionError if status == 404 else BadInputError)(f"{url}: Qdrant refuses what was asked: {why}")
    if isinstance(error, QdrantException):  # raised only for a 429 with a Retry-After header, valid or not
        return UnavailableError(f"{url}: Qdrant answers 429. Try again later.")
    cause = error.source if isinstance(error, ResponseHandlingException) else error
    if isinstance(cause, ValueError):  # no JSON, or not an answer of the API
        return _stranger(url)
    if isinstance(cause, httpx.TimeoutException):
        return TimedOutError(f"{url}: Qdrant does not answer in time. Check vectors.url and vectors.timeout.")
    if "[SSL" in str(cause):
        return UnavailableError(f"{url}: no TLS with Qdrant ({cause}). Check vectors.url and vectors.ca_file.")
    why = " ".join(f"{type(cause).__name__}: {cause}".split()).removesuffix(":")
    return UnavailableError(f"{url}: Qdrant cannot be reached ({why}). Is the server running? Check vectors.url.")


def _is_own(answer: bytes) -> bool:
    """Return whether the answer is an error in Qdrant's own form, and not one of a proxy or of another path."""
    try:
        body = json.loads(answer)
    except ValueError:
        return False
    status = body.get("status") if isinstance(body, dict) else None
    return isinstance(status, dict) and "error" in status


def _stranger(url: str) -> KgfsError:
    """Return the error for an answer that is not Qdrant's. It is an UnavailableError, for a proxy also answers otherwise
    while the server is away."""
    return UnavailableError(f"{url}: what answers there is not Qdrant, or not all of it. Check vectors.url.")


def _point(row: Row, vector: Vector) -> models.PointStruct:
    payload = {name: getattr(row, name) for name in PAYLOAD}
    if row.total_chunks:  # a Source's
        storage_type = "single" if row.total_chunks == 1 else "chunk"
        payload |= {"parent_document_id": row.doc_id, "storage_type": storage_type}
        payload |= {name: getattr(row, name) for name in OF_SOURCES}
    if row.content:
        payload["content_length"] = len(row.content)
        with suppress(UnicodeEncodeError):  # half a surrogate pair, which JSON cannot encode
            if len(row.content.encode()) <= MOST_CONTENT:
                payload["content"] = row.content
    return models.PointStruct(id=point_id(row.kind, row.item, row.window), vector=vector.tolist(), payload=payload)


def _weight(point: models.PointStruct) -> int:
    """Return the bytes of a point's text."""
    return len((point.payload or {}).get("content", "").encode())


def point_id(kind: str, item: str, window: int) -> str:
    """Return the id of the point of a row."""
    return str(uuid.uuid5(KEY_SPACE, "\x1f".join((kind, item, str(window)))))


def _row(record: models.Record) -> Row:
    vector = np.asarray(record.vector, np.float32)
    return Row(vector=vector, **{name: (record.payload or {})[name] for name in PAYLOAD})


def _by_item(points: Sequence[models.ScoredPoint]) -> list[Hit]:
    """Return each item once, with its best window, best first."""
    best: dict[tuple[str, str], Hit] = {}
    for point in points:
        row = point.payload or {}
        hit = Hit(row["kind"], row["item"], row["window"], point.score, row["doc_id"], row["chunk_index"])
        known = best.get((hit.kind, hit.item))
        if known is None or hit.score > known.score:
            best[hit.kind, hit.item] = hit
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.item, hit.kind))


def _condition(where: Filter) -> models.Filter | None:
    given = {"kind": where.kind, "ontology": where.ontology, **where.equal}
    must: list[Any] = [
        models.FieldCondition(key=key, match=models.MatchValue(value=value)) for key, value in given.items() if value
    ]
    for key, words in (("item", where.items), ("doc_id", where.doc_ids)):
        if words is not None:
            must.append(models.FieldCondition(key=key, match=models.MatchAny(any=sorted(words))))
    return models.Filter(must=must) if must else None
