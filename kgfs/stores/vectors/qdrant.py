"""Vectors in a Qdrant server: one collection for each embedding model, and an alias to the one that is in use.

Names: alias ``<prefix>``, collection ``<prefix>-<model tag>``. Rows are points; a point's id is the UUIDv5 of its row key, so
an upsert replaces. A model that is new here fills its collection while the alias stays; :meth:`QdrantVectors.conclude` moves
it in one step and drops the others. Whoever asks the server by other means asks the alias, and never sees half a model.

Scores are exact with ``exact=True``; else the server may search its HNSW graph, whose recall is its settings' affair.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http import models
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from kgfs.errors import AwayError, BadInputError, KgfsError, StoreError, TimedOutError
from kgfs.stores.portions import portions
from kgfs.stores.servers import is_loopback, trusted
from kgfs.stores.vectors.checked import checked, is_empty, passes_none, same_dimensions, unit
from kgfs.stores.vectors.contract import Filter, Hit, Row, Vector
from kgfs.stores.vectors.key import Key

KEY_SPACE = uuid.UUID("5c0a4f0e-6f0c-5f6b-9a39-0d7b6d6f7f10")
"""Of the UUIDv5 of row keys; never to be changed."""
PAYLOAD = (
    "kind", "item", "window", "ontology", "doc_id", "chunk_index", "source_variant", "role", "domain", "authority",
)  # fmt: skip
OF_SOURCES = ("content_hash", "total_chunks", "chunk_start_char", "chunk_end_char")
"""Fields of the points of Sources besides, with ``parent_document_id``, ``storage_type``, ``content`` and ``content_length``."""
KEYWORDS = (
    "kind", "item", "ontology", "doc_id", "source_variant", "role", "domain", "authority", "parent_document_id",
    "content_hash", "storage_type",
)  # fmt: skip
NUMBERS = ("chunk_index", "total_chunks", "chunk_start_char", "chunk_end_char")
INDEXED = (*KEYWORDS, *NUMBERS)
"""Fields by which the server filters without looking at every point."""
BATCH = 256
WEIGHT = 4_000_000
"""Points of one upsert and bytes of their texts: with 256 × 384 numbers, 2 MB of JSON, well below the server's limit of 32 MB."""
MOST_CONTENT = 900_000
"""Bytes of a text that a point has in full, of a longer one the length alone: a point is to stay below a megabyte."""
PAGE = 1000


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server is and how it is spoken to. The key is a secret: never shown, never in an error."""

    url: str
    api_key: str = field(default="", repr=False)
    api_key_file: Path | None = None
    """Where it stands, if it is to be read again when it is refused: who changes it changes the file."""
    prefix: str = "kgfs"
    timeout: float = 30.0
    """Seconds that the server may be silent."""
    exact: bool = True
    quantisation: bool = False
    """Keep 8-bit copies of the vectors in memory for the first pass of a search."""
    on_disk: bool = False
    """Keep the full vectors on disk rather than in memory."""
    content: bool = True
    """Keep the text of a Source in full with each of its points, as ``content``, on disk."""
    ca_file: Path | None = None
    """Certificates to trust instead of the usual ones."""


class QdrantVectors:
    """The :class:`~kgfs.stores.vectors.contract.Vectors` of one server and model."""

    def __init__(self, place: Place, model: str) -> None:
        self._place = place
        self._model = model
        self._name = f"{place.prefix}-{hashlib.sha256(model.encode()).hexdigest()[:12]}"
        self._making = threading.Lock()
        self._is_indexed = False
        """Whether this process has made the indexes of the collection, which one that was killed may have left without."""
        self._to_be_used = False
        """Whether this process makes the collection for the first time, so that the alias leads there, where it leads nowhere."""
        self._was_there = False
        """Whether this process has seen the collection, or the alias lead there. If it is gone the server has lost it: what is put
        since is not all, and the alias, by which that would be known, leads there again when the rest is derived."""
        logging.getLogger("httpx").setLevel(logging.WARNING)  # it tells of every request
        try:
            self._client = QdrantClient(
                url=place.url,
                auth=Key(place.api_key, place.api_key_file),
                timeout=max(1, round(place.timeout)),
                check_compatibility=False,
                verify=trusted(place.ca_file, "vectors.ca_file") if place.ca_file else httpx.create_ssl_context(),
                # By itself it would send what is said on this machine, the key too, to a proxy elsewhere.
                trust_env=not is_loopback(urlsplit(place.url).hostname or ""),
            )
        except (ImportError, ValueError) as error:  # which quote a proxy's address, and what it wants to be told
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
        for some in portions(points, BATCH, _weight, WEIGHT):
            with self._spoken():
                self._client.upsert(self._name, some, wait=True)

    def delete(self, where: Filter) -> int:
        if is_empty(checked(where)):
            raise BadInputError("Deleting by an empty filter would delete everything; use clear().")
        gone = self.count(where)
        if gone:
            with self._spoken():
                selector = models.FilterSelector(filter=_condition(where) or models.Filter())
                self._client.delete(self._name, selector, wait=True)
        return gone

    def erase(self, doc_ids: Sequence[str], concepts: Sequence[str]) -> None:
        """When the server's optimiser takes deleted points off its disk is its own affair."""
        wheres = [Filter(doc_ids=frozenset(doc_ids))] if doc_ids else []
        if concepts:
            wheres.append(Filter(kind="concept", items=frozenset(concepts)))
        for name in self._collections():
            for where in wheres:
                with self._spoken():
                    selector = models.FilterSelector(filter=_condition(where) or models.Filter())
                    self._client.delete(name, selector, wait=True)

    def clear(self) -> None:
        with self._spoken():
            self._client.delete_collection(self._name)
        self._was_there = False

    def complete(self) -> bool:
        return self._in_use() == self._name

    def conclude(self) -> None:
        if self._dimensions():
            self._use()
        for name in self._collections():
            if name != self._name:
                with self._spoken():
                    self._client.delete_collection(name)

    # ------------------------------------------------------------------------------------------- reading

    def query(self, vector: Vector, where: Filter, limit: int = 10, threshold: float = -1.0) -> list[Hit]:
        wanted = unit(vector, "The query")
        checked(where)
        if limit <= 0 or passes_none(where):
            return []
        ask = max(4 * limit, 32)
        while True:
            try:
                found = self._nearest(wanted, where, ask, threshold)
            except _NoCollectionError:
                return []
            except BadInputError:
                if not self.count():
                    return []  # where no row is left, none is of another dimension
                same_dimensions(wanted, self._dimensions(), self._model)
                raise
            hits = _by_item(found)
            # All windows that tie with the last item wanted must have been seen, for ties go by item.
            settled = len(hits) > limit and hits[limit - 1].score > hits[-1].score
            if settled or len(found) < ask:
                return hits[:limit]
            ask *= 4

    def _nearest(self, wanted: Vector, where: Filter, limit: int, threshold: float) -> list[models.ScoredPoint]:
        with self._spoken():
            answer = self._client.query_points(
                self._name,
                query=wanted.tolist(),
                query_filter=_condition(where),
                limit=limit,
                score_threshold=threshold if threshold > -1.0 else None,
                with_payload=list(PAYLOAD),
                search_params=models.SearchParams(exact=self._place.exact),
            )
        return list(answer.points)

    def fetch(self, where: Filter) -> list[Row]:
        condition = _condition(checked(where))
        if passes_none(where):
            return []
        try:
            rows = [_row(record) for record in self._records(condition)]
        except _NoCollectionError:
            return []
        return sorted(rows, key=lambda row: (row.kind, row.item, row.window))

    def _records(self, condition: models.Filter | None) -> Iterator[models.Record]:
        after: Any = None
        while True:
            with self._spoken():
                records, after = self._client.scroll(
                    self._name, condition, limit=PAGE, offset=after, with_payload=list(PAYLOAD), with_vectors=True
                )
            yield from records
            if after is None:
                return

    def count(self, where: Filter | None = None) -> int:
        condition = _condition(checked(where or Filter()))
        if where is not None and passes_none(where):
            return 0
        try:
            with self._spoken():
                return int(self._client.count(self._name, condition, exact=True).count)
        except _NoCollectionError:
            return 0

    def close(self) -> None:
        self._client.close()

    # --------------------------------------------------------------------------------------- collections

    def _dimensions(self) -> int:
        """0 while there is no collection for the model."""
        try:
            with self._spoken():
                params = self._client.get_collection(self._name).config.params.vectors
        except _NoCollectionError:
            return 0
        assert isinstance(params, models.VectorParams)
        self._was_there = True
        return int(params.size)

    def _make_room(self, vector: Vector) -> None:
        """A collection for vectors of this size; in use at once where none is."""
        with self._making:
            known = self._dimensions()
            if known and known != vector.size and self.count():
                same_dimensions(vector, known, self._model)
            if known != vector.size:
                if known:  # its rows are gone: the model may start again with another dimension
                    self.clear()
                self._is_indexed, self._to_be_used = False, not self._was_there
                self._create(self._name, vector.size)
            if not self._is_indexed:
                self._index()
                if self._to_be_used and not self._in_use():
                    self._use()
                self._is_indexed = self._was_there = True

    def _create(self, name: str, size: int) -> None:
        params = models.VectorParams(size=size, distance=models.Distance.COSINE, on_disk=self._place.on_disk or None)
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        quantisation = models.ScalarQuantization(scalar=scalar) if self._place.quantisation else None
        try:
            with self._spoken():
                self._client.create_collection(
                    name, params, quantization_config=quantisation, on_disk_payload=self._place.content or None
                )
        except BadInputError:
            with self._spoken():
                if not self._client.collection_exists(name):
                    raise

    def _index(self) -> None:
        """Harmless twice."""
        with self._spoken():
            for column in INDEXED:
                kind = models.PayloadSchemaType.INTEGER if column in NUMBERS else models.PayloadSchemaType.KEYWORD
                self._client.create_payload_index(self._name, column, kind, wait=True)

    def _collections(self) -> list[str]:
        """Of all models, those of others with a longer prefix left out."""
        ours = re.compile(f"{re.escape(self._place.prefix)}-[0-9a-f]{{12}}")
        with self._spoken():
            found = self._client.get_collections().collections
        return [each.name for each in found if ours.fullmatch(each.name)]

    def _in_use(self) -> str:
        """The collection that the alias leads to; '' where there is no alias."""
        with self._spoken():
            aliases = self._client.get_aliases().aliases
        found = next((each.collection_name for each in aliases if each.alias_name == self._place.prefix), "")
        self._was_there |= found == self._name
        return found

    def _use(self) -> None:
        """Lead the alias here. A reader finds the former collection or this one, never none."""
        created = models.CreateAlias(collection_name=self._name, alias_name=self._place.prefix)
        gone = models.DeleteAlias(alias_name=self._place.prefix)
        with self._spoken():
            self._client.update_collection_aliases(
                [models.DeleteAliasOperation(delete_alias=gone), models.CreateAliasOperation(create_alias=created)]
            )

    def _spoken(self) -> AbstractContextManager[None]:
        return _spoken(self._place.url)


class _NoCollectionError(StoreError):
    """Nothing was ever kept for the model."""


@contextmanager
def _spoken(url: str) -> Iterator[None]:
    """What the client raises as our errors, without anything of the request but the server's address."""
    try:
        yield
    except (ApiException, QdrantException, httpx.HTTPError, json.JSONDecodeError) as error:
        raise _ours(url, error) from error


def _ours(url: str, error: Exception) -> KgfsError:
    if isinstance(error, UnexpectedResponse):
        status, said = error.status_code, error.content.decode("utf-8", "replace")[:300]
        if status == 404:
            return _NoCollectionError(f"{url}: {said}") if _is_own(error.content) else _stranger(url)
        if status in (401, 403):
            return AwayError(
                f"{url}: Qdrant refuses the key. Check the one that vectors.api_key_file or QDRANT_API_KEY gives."
            )
        if status in (400, 409, 422):
            return BadInputError(f"{url}: Qdrant refuses what was asked: {said}")
        if status in (408, 429) or (status or 0) >= 500:  # its disk is full, say: no document's fault
            why = f": {' '.join(said.split())}" if _is_own(error.content) else ""
            return AwayError(f"{url}: Qdrant answers {status}{why}. Try again later.")
        if status == 405:  # never said by Qdrant to what is asked here
            return _stranger(url)
        return StoreError(f"{url}: Qdrant answers {status}: {' '.join(said.split())}")
    if isinstance(error, QdrantException):  # only where it says, well or badly, when to ask again
        return AwayError(f"{url}: Qdrant answers 429. Try again later.")
    cause = error.source if isinstance(error, ResponseHandlingException) else error
    if isinstance(cause, ValueError):  # no JSON, or none of the answers there are
        return _stranger(url)
    if isinstance(cause, httpx.TimeoutException):
        return TimedOutError(f"{url}: Qdrant does not answer in time.")
    if "[SSL" in str(cause):
        return AwayError(f"{url}: no TLS with Qdrant ({cause}). Check vectors.url and vectors.ca_file.")
    return AwayError(f"{url}: Qdrant cannot be reached ({type(cause).__name__}). Is the server running?")


def _is_own(answer: bytes) -> bool:
    """Whether it is an error as Qdrant tells one, and not what stands before it, or at another path."""
    try:
        said = json.loads(answer)
    except ValueError:
        return False
    status = said.get("status") if isinstance(said, dict) else None
    return isinstance(status, dict) and "error" in status


def _stranger(url: str) -> KgfsError:
    """Waited for, like one that is away: what stands before a server says other things, too, while it is."""
    return AwayError(f"{url}: what answers there is not Qdrant, or not all of it. Check vectors.url.")


def _point(row: Row, vector: Vector) -> models.PointStruct:
    payload = {name: getattr(row, name) for name in PAYLOAD} | _source(row) | _content(row.content)
    return models.PointStruct(id=point_id(row.kind, row.item, row.window), vector=vector.tolist(), payload=payload)


def _source(row: Row) -> dict[str, Any]:
    """Nothing for a row that is no Source's."""
    if not row.total_chunks:
        return {}
    found = {name: getattr(row, name) for name in OF_SOURCES}
    storage_type = "single" if row.total_chunks == 1 else "chunk"
    return found | {"parent_document_id": row.doc_id, "storage_type": storage_type}


def _content(text: str) -> dict[str, Any]:
    """In full or not at all; ``doc_id`` and ``chunk_index`` lead to the Source in the graph, which has it in any case."""
    if not text:
        return {}
    length = {"content_length": len(text)}
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # half a surrogate pair, which JSON has no bytes for
        return length
    return length | ({"content": text} if size <= MOST_CONTENT else {})


def _weight(point: models.PointStruct) -> int:
    return len((point.payload or {}).get("content", "").encode())


def point_id(kind: str, item: str, window: int) -> str:
    return str(uuid.uuid5(KEY_SPACE, "\x1f".join((kind, item, str(window)))))


def _row(record: models.Record) -> Row:
    vector = np.asarray(record.vector, np.float32)
    return Row(vector=vector, **{name: (record.payload or {})[name] for name in PAYLOAD})


def _by_item(points: Sequence[models.ScoredPoint]) -> list[Hit]:
    """Each item once, by its best window, best first."""
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
