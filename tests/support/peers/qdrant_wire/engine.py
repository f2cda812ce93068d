"""Collections kept by qdrant_edge, spoken to in the models of qdrant_client. Knows nothing of HTTP."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import qdrant_edge as edge
from qdrant_client.http import models


class NotFoundError(Exception):
    """Answered with 404."""


class NotCarriedOverError(Exception):
    """Answered with 501: the wire has it, this front does not."""


class WrongError(Exception):
    """Answered with 400."""


class Engine:
    """All collections below one folder, and their aliases. What was acknowledged is in the shard's log and survives a kill."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        self._shards: dict[str, edge.EdgeShard] = {}
        self._notes: dict[str, Any] = {"collections": {}, "aliases": {}}
        if (folder / "notes.json").exists():
            self._notes = json.loads((folder / "notes.json").read_text())
        for name in self._notes["collections"]:
            self._shards[name] = edge.EdgeShard.load(str(folder / name))

    def close(self) -> None:
        with self._lock:
            for shard in self._shards.values():
                shard.close()
            self._shards.clear()

    # --------------------------------------------------------------------------------------- collections

    def names(self) -> list[str]:
        with self._lock:
            return sorted(self._shards)

    def create(self, name: str, body: models.CreateCollection) -> bool:
        with self._lock:
            if name in self._shards:
                raise WrongError(f"Wrong input: Collection `{name}` already exists!")
            vectors = body.vectors
            if not isinstance(vectors, models.VectorParams):
                raise NotCarriedOverError("named vectors")
            distance = getattr(edge.Distance, vectors.distance.value.capitalize())
            params = edge.EdgeVectorParams(size=vectors.size, distance=distance, on_disk=vectors.on_disk)
            config = edge.EdgeConfig(
                vectors=params,
                on_disk_payload=body.on_disk_payload,
                quantization_config=_quantised(body.quantization_config),
            )
            (self._folder / name).mkdir(parents=True, exist_ok=True)
            self._shards[name] = edge.EdgeShard.create(str(self._folder / name), config)
            self._notes["collections"][name] = {
                "vectors": vectors.model_dump(mode="json", exclude_none=True),
                "on_disk_payload": body.on_disk_payload,
                "quantised": body.quantization_config and body.quantization_config.model_dump(mode="json"),
                "indexes": {},
            }
            self._write_notes()
            return True

    def drop(self, name: str) -> bool:
        with self._lock:
            shard = self._shards.pop(name, None)
            if shard is None:
                return False
            shard.close()
            shutil.rmtree(self._folder / name)
            self._notes["collections"].pop(name)
            self._notes["aliases"] = {a: c for a, c in self._notes["aliases"].items() if c != name}
            self._write_notes()
            return True

    def exists(self, name: str) -> bool:
        with self._lock:
            return name in self._shards or name in self._notes["aliases"]

    def describe(self, name: str) -> dict[str, Any]:
        with self._lock:
            shard, note = self._shard(name), self._notes["collections"][self._real(name)]
            count = shard.count(edge.CountRequest(exact=True))
            return {
                "status": "green",
                "optimizer_status": "ok",
                "points_count": count,
                "indexed_vectors_count": 0,
                "segments_count": 1,
                "config": {
                    "params": {
                        "vectors": note["vectors"],
                        "on_disk_payload": note["on_disk_payload"],
                        "shard_number": 1,
                        "replication_factor": 1,
                    },
                    "quantization_config": note["quantised"],
                    "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
                    "optimizer_config": {
                        "deleted_threshold": 0.2,
                        "vacuum_min_vector_number": 1000,
                        "default_segment_number": 0,
                        "flush_interval_sec": 5,
                    },
                    "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
                },
                "payload_schema": {
                    field: {"data_type": kind, "points": count} for field, kind in note["indexes"].items()
                },
            }

    def index(self, name: str, body: models.CreateFieldIndex) -> None:
        with self._lock:
            kind = body.field_schema
            if not isinstance(kind, models.PayloadSchemaType):
                raise NotCarriedOverError("parameters of a payload index")
            schema = getattr(edge.PayloadSchemaType, kind.value.capitalize())
            self._update(name, edge.UpdateOperation.create_field_index(body.field_name, schema))
            self._notes["collections"][self._real(name)]["indexes"][body.field_name] = kind.value
            self._write_notes()

    # ------------------------------------------------------------------------------------------- aliases

    def aliases(self) -> list[dict[str, str]]:
        with self._lock:
            pairs = sorted(self._notes["aliases"].items())
            return [{"alias_name": alias, "collection_name": name} for alias, name in pairs]

    def change_aliases(self, body: models.ChangeAliasesOperation) -> None:
        """All of them at once, as the server does."""
        with self._lock:
            after = dict(self._notes["aliases"])
            for action in body.actions:
                if isinstance(action, models.CreateAliasOperation):
                    if action.create_alias.collection_name not in self._shards:
                        raise NotFoundError(f"Collection `{action.create_alias.collection_name}` doesn't exist!")
                    after[action.create_alias.alias_name] = action.create_alias.collection_name
                elif isinstance(action, models.DeleteAliasOperation):
                    after.pop(action.delete_alias.alias_name, None)
                else:
                    after[action.rename_alias.new_alias_name] = after.pop(action.rename_alias.old_alias_name)
            self._notes["aliases"] = after
            self._write_notes()

    # -------------------------------------------------------------------------------------------- points

    def upsert(self, name: str, body: models.PointsList) -> None:
        with self._lock:
            size = self._notes["collections"][self._real(name)]["vectors"]["size"]
            for point in body.points:
                if not isinstance(point.vector, list):
                    raise NotCarriedOverError("vectors by name")
                if len(point.vector) != size:
                    raise WrongError(
                        f"Wrong input: Vector dimension error: expected dim: {size}, got {len(point.vector)}"
                    )
            points = [edge.Point(id=p.id, vector=p.vector, payload=p.payload) for p in body.points]
            self._update(name, edge.UpdateOperation.upsert_points(points))

    def delete(self, name: str, body: models.PointsSelector) -> None:
        with self._lock:
            if isinstance(body, models.FilterSelector):
                operation = edge.UpdateOperation.delete_points_by_filter(_filter(body.filter))
            elif isinstance(body, models.PointIdsList):
                operation = edge.UpdateOperation.delete_points(list(body.points))
            else:
                raise NotCarriedOverError("this way of choosing points")
            self._update(name, operation)

    def count(self, name: str, body: models.CountRequest) -> int:
        with self._lock:
            return self._shard(name).count(edge.CountRequest(exact=True, filter=_filter_or_none(body.filter)))

    def scroll(self, name: str, body: models.ScrollRequest) -> dict[str, Any]:
        with self._lock:
            records, after = self._shard(name).scroll(
                edge.ScrollRequest(
                    offset=body.offset,
                    limit=body.limit,
                    filter=_filter_or_none(body.filter),
                    with_payload=_fields(body.with_payload, default=True),
                    with_vector=_flag(body.with_vector, default=False),
                )
            )
            points = [{"id": str(r.id), "payload": r.payload, "vector": r.vector} for r in records]
            return {"points": points, "next_page_offset": None if after is None else str(after)}

    def query(self, name: str, body: models.QueryRequest) -> list[dict[str, Any]]:
        with self._lock:
            size = self._notes["collections"][self._real(name)]["vectors"]["size"]
            wanted = body.query.nearest if isinstance(body.query, models.NearestQuery) else body.query
            if not isinstance(wanted, list):
                raise NotCarriedOverError("queries by anything but a vector")
            if len(wanted) != size:
                raise WrongError(f"Wrong input: Vector dimension error: expected dim: {size}, got {len(wanted)}")
            params = body.params or models.SearchParams()
            found = self._shard(name).query(
                edge.QueryRequest(
                    limit=body.limit if body.limit is not None else 10,
                    offset=body.offset,
                    query=edge.Query.Nearest(wanted),
                    filter=_filter_or_none(body.filter),
                    score_threshold=body.score_threshold,
                    with_payload=_fields(body.with_payload, default=False),
                    with_vector=_flag(body.with_vector, default=False),
                    params=edge.SearchParams(hnsw_ef=params.hnsw_ef, exact=bool(params.exact)),
                )
            )
            return [{"id": str(p.id), "version": 0, "score": p.score, "payload": p.payload} for p in found]

    # ------------------------------------------------------------------------------------------- inwards

    def _update(self, name: str, operation: edge.UpdateOperation) -> None:
        self._shard(name).update(operation)

    def _real(self, name: str) -> str:
        real: str = self._notes["aliases"].get(name, name)
        if real not in self._shards:
            raise NotFoundError(f"Not found: Collection `{name}` doesn't exist!")
        return real

    def _shard(self, name: str) -> edge.EdgeShard:
        return self._shards[self._real(name)]

    def _write_notes(self) -> None:
        aside = self._folder / "notes.json.new"
        aside.write_text(json.dumps(self._notes))
        aside.replace(self._folder / "notes.json")


def _flag(given: Any, *, default: bool) -> bool:
    if given is None:
        return default
    if not isinstance(given, bool):
        raise NotCarriedOverError("choosing vectors by name")
    return given


def _fields(given: Any, *, default: bool) -> Any:
    """Which parts of the payload are asked for."""
    if isinstance(given, list):
        return edge.PayloadSelector.Include(given)
    return _flag(given, default=default)


def _quantised(given: Any) -> edge.ScalarQuantizationConfig | None:
    if given is None:
        return None
    if not isinstance(given, models.ScalarQuantization):
        raise NotCarriedOverError("quantisation but by 8-bit numbers")
    return edge.ScalarQuantizationConfig(
        type=edge.ScalarType.Int8, quantile=given.scalar.quantile, always_ram=given.scalar.always_ram
    )


def _filter_or_none(given: models.Filter | None) -> edge.Filter | None:
    return None if given is None else _filter(given)


def _filter(given: models.Filter) -> edge.Filter:
    if given.min_should:
        raise NotCarriedOverError("min_should")
    parts = {"must": given.must, "should": given.should, "must_not": given.must_not}
    return edge.Filter(**{name: _conditions(part) for name, part in parts.items() if part is not None})


def _conditions(part: Any) -> list[Any]:
    return [_condition(each) for each in (part if isinstance(part, list) else [part])]


def _condition(given: Any) -> Any:
    if isinstance(given, models.Filter):
        return _filter(given)
    if isinstance(given, models.HasIdCondition):
        return edge.HasIdCondition(list(given.has_id))
    if isinstance(given, models.FieldCondition) and isinstance(given.match, models.MatchValue):
        return edge.FieldCondition(key=given.key, match=edge.MatchValue(given.match.value))
    if isinstance(given, models.FieldCondition) and isinstance(given.match, models.MatchAny):
        return edge.FieldCondition(key=given.key, match=edge.MatchAny(list(given.match.any)))
    raise NotCarriedOverError(f"the condition {given!r}")
