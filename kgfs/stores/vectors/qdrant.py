"""Vectors in a Qdrant server: one collection for each embedding model, reached by an alias.

Names: alias ``<prefix>-<model tag>``, collection ``<alias>-<generation>``. Rows are points; a point's id is the UUIDv5
of its row key, so an upsert replaces. A collection fixes the dimension of its vectors: a model that was emptied and comes
back with another dimension gets a new generation, and the alias moves to it in one step.

Scores are exact with ``exact=True``; else the server may search its HNSW graph, whose recall is its settings' affair.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
from qdrant_client import QdrantClient
from qdrant_client.http import models
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from kgfs.errors import BadInputError, KgfsError, StoreError, TimedOutError
from kgfs.stores.vectors.checked import checked, is_empty, same_dimensions, unit
from kgfs.stores.vectors.contract import Filter, Hit, Row, Vector

KEY_SPACE = uuid.UUID("5c0a4f0e-6f0c-5f6b-9a39-0d7b6d6f7f10")
"""Of the UUIDv5 of row keys; never to be changed."""
PAYLOAD = (
    "kind", "item", "window", "ontology", "doc_id", "chunk_index", "source_variant", "role", "domain", "authority",
)  # fmt: skip
INDEXED = ("kind", "item", "ontology", "doc_id", "source_variant", "role", "domain", "authority")
BATCH = 256
"""Points of one upsert: 256 × 384 numbers are about 2 MB of JSON, well below the server's limit of 32 MB."""
PAGE = 1000


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server is and how it is spoken to. The key is a secret: never shown, never in an error."""

    url: str
    api_key: str = ""
    prefix: str = "kgfs"
    timeout: int = 30
    """Seconds."""
    exact: bool = False
    quantisation: bool = False
    """Keep 8-bit copies of the vectors in memory for the first pass of a search."""
    on_disk: bool = False
    """Keep the full vectors on disk rather than in memory."""


class QdrantVectors:
    """The :class:`~kgfs.stores.vectors.contract.Vectors` of one server and model."""

    def __init__(self, place: Place, model: str) -> None:
        self._place = place
        self._model = model
        self._alias = f"{place.prefix}-{hashlib.sha256(model.encode()).hexdigest()[:12]}"
        self._making = threading.Lock()
        with _spoken(place.url):
            self._client = QdrantClient(
                url=place.url, api_key=place.api_key or None, timeout=place.timeout, check_compatibility=False
            )

    @property
    def model(self) -> str:
        return self._model

    # ------------------------------------------------------------------------------------------- writing

    def upsert(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        vectors = [unit(row.vector, f"{row.kind} {row.item}") for row in rows]
        for vector in vectors:
            same_dimensions(vector, vectors[0].size, self._model)
        self._make_room(vectors[0])
        for start in range(0, len(rows), BATCH):
            pairs = zip(rows[start : start + BATCH], vectors[start : start + BATCH], strict=True)
            points = [_point(row, vector) for row, vector in pairs]
            with self._spoken():
                self._client.upsert(self._alias, points, wait=True)

    def delete(self, where: Filter) -> int:
        if is_empty(checked(where)):
            raise BadInputError("Deleting by an empty filter would delete everything; use clear().")
        gone = self.count(where)
        if gone:
            with self._spoken():
                selector = models.FilterSelector(filter=_condition(where) or models.Filter())
                self._client.delete(self._alias, selector, wait=True)
        return gone

    def erase(self, doc_ids: Sequence[str], concepts: Sequence[str]) -> None:
        """When the server's optimiser takes deleted points off its disk is its own affair."""
        wheres = [Filter(doc_id=doc_id) for doc_id in doc_ids]
        if concepts:
            wheres.append(Filter(kind="concept", items=frozenset(concepts)))
        with self._spoken():
            for found in self._client.get_collections().collections:
                if found.name.startswith(f"{self._place.prefix}-"):
                    for where in wheres:
                        selector = models.FilterSelector(filter=_condition(where) or models.Filter())
                        self._client.delete(found.name, selector, wait=True)

    def clear(self) -> None:
        with self._spoken():
            for found in self._client.get_collections().collections:
                if found.name.startswith(f"{self._place.prefix}-"):
                    self._client.delete_collection(found.name)

    # ------------------------------------------------------------------------------------------- reading

    def query(self, vector: Vector, where: Filter, limit: int = 10, threshold: float = -1.0) -> list[Hit]:
        wanted = unit(vector, "The query")
        checked(where)
        dimensions = self._dimensions()
        if not dimensions or limit <= 0 or where.items == frozenset():
            return []
        if self.count() == 0:
            return []
        same_dimensions(wanted, dimensions, self._model)
        ask = max(4 * limit, 32)
        while True:
            found = self._nearest(wanted, where, ask, threshold)
            hits = _by_item(found)
            # All windows that tie with the last item wanted must have been seen, for ties go by item.
            settled = len(hits) > limit and hits[limit - 1].score > hits[-1].score
            if settled or len(found) < ask:
                return hits[:limit]
            ask *= 4

    def _nearest(self, wanted: Vector, where: Filter, limit: int, threshold: float) -> list[models.ScoredPoint]:
        with self._spoken():
            answer = self._client.query_points(
                self._alias,
                query=wanted.tolist(),
                query_filter=_condition(where),
                limit=limit,
                score_threshold=threshold if threshold > -1.0 else None,
                with_payload=True,
                search_params=models.SearchParams(exact=self._place.exact),
            )
        return list(answer.points)

    def fetch(self, where: Filter) -> list[Row]:
        condition = _condition(checked(where))
        if where.items == frozenset() or not self._dimensions():
            return []
        rows = [_row(record) for record in self._records(condition)]
        return sorted(rows, key=lambda row: (row.kind, row.item, row.window))

    def _records(self, condition: models.Filter | None) -> Iterator[models.Record]:
        after: Any = None
        while True:
            with self._spoken():
                records, after = self._client.scroll(
                    self._alias, condition, limit=PAGE, offset=after, with_payload=True, with_vectors=True
                )
            yield from records
            if after is None:
                return

    def count(self, where: Filter | None = None) -> int:
        condition = _condition(checked(where or Filter()))
        if (where is not None and where.items == frozenset()) or not self._dimensions():
            return 0
        with self._spoken():
            return int(self._client.count(self._alias, condition, exact=True).count)

    def close(self) -> None:
        self._client.close()

    # --------------------------------------------------------------------------------------- collections

    def _dimensions(self) -> int:
        """0 while there is no collection for the model."""
        try:
            with self._spoken():
                params = self._client.get_collection(self._alias).config.params.vectors
        except _NoCollectionError:
            return 0
        assert isinstance(params, models.VectorParams)
        return int(params.size)

    def _make_room(self, vector: Vector) -> None:
        """A collection for vectors of this size behind the alias. Several processes may make one at once: the loser
        finds the winner's."""
        with self._making:
            known = self._dimensions()
            if known == vector.size:
                return
            if known and self.count():
                same_dimensions(vector, known, self._model)
            former = self._real_name() if known else None
            generation = int(former.rpartition("-")[2]) + 1 if former else 1
            name = f"{self._alias}-{generation}"
            self._create(name, vector.size)
            with self._spoken():
                self._client.update_collection_aliases(self._aliasing(name))
                if former:
                    self._client.delete_collection(former)

    def _create(self, name: str, size: int) -> None:
        params = models.VectorParams(size=size, distance=models.Distance.COSINE, on_disk=self._place.on_disk or None)
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        quantisation = models.ScalarQuantization(scalar=scalar) if self._place.quantisation else None
        try:
            with self._spoken():
                self._client.create_collection(name, params, quantization_config=quantisation)
        except BadInputError:
            with self._spoken():
                if not self._client.collection_exists(name):
                    raise
        with self._spoken():
            for column in INDEXED:
                self._client.create_payload_index(name, column, models.PayloadSchemaType.KEYWORD, wait=True)

    def _aliasing(self, name: str) -> list[models.AliasOperations]:
        created = models.CreateAlias(collection_name=name, alias_name=self._alias)
        gone = models.DeleteAlias(alias_name=self._alias)
        return [models.DeleteAliasOperation(delete_alias=gone), models.CreateAliasOperation(create_alias=created)]

    def _real_name(self) -> str | None:
        with self._spoken():
            aliases = self._client.get_aliases().aliases
        return next((found.collection_name for found in aliases if found.alias_name == self._alias), None)

    def _spoken(self) -> AbstractContextManager[None]:
        return _spoken(self._place.url)


class _NoCollectionError(StoreError):
    """Nothing was ever kept for the model."""


@contextmanager
def _spoken(url: str) -> Iterator[None]:
    """What the client raises as our errors, without anything of the request but the server's address."""
    try:
        yield
    except (ApiException, httpx.HTTPError) as error:
        raise _ours(url, error) from error


def _ours(url: str, error: Exception) -> KgfsError:
    if isinstance(error, UnexpectedResponse):
        status, said = error.status_code, error.content.decode("utf-8", "replace")[:300]
        if status == 404:
            return _NoCollectionError(f"{url}: {said}")
        if status in (401, 403):
            return StoreError(f"{url}: Qdrant refuses the key. Set [vectors] api_key_file or KGFS_VECTORS_API_KEY.")
        if status in (400, 409, 422):
            return BadInputError(f"{url}: Qdrant refuses what was asked: {said}")
        return StoreError(f"{url}: Qdrant answers {status}: {said}")
    cause = error.source if isinstance(error, ResponseHandlingException) else error
    if isinstance(cause, httpx.TimeoutException):
        return TimedOutError(f"{url}: Qdrant does not answer in time.")
    return StoreError(f"{url}: Qdrant cannot be reached ({cause}). Is it running?")


def _point(row: Row, vector: Vector) -> models.PointStruct:
    payload = {name: getattr(row, name) for name in PAYLOAD}
    return models.PointStruct(id=point_id(row.kind, row.item, row.window), vector=vector.tolist(), payload=payload)


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
    given = {"kind": where.kind, "ontology": where.ontology, "doc_id": where.doc_id, **where.equal}
    must: list[Any] = [
        models.FieldCondition(key=key, match=models.MatchValue(value=value)) for key, value in given.items() if value
    ]
    if where.items is not None:
        must.append(models.FieldCondition(key="item", match=models.MatchAny(any=sorted(where.items))))
    return models.Filter(must=must) if must else None
