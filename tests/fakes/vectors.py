"""Vectors in a dict, searched by brute force: the oracle for the other implementations."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kgfs.errors import BadInputError
from kgfs.stores.vectors.contract import Filter, Hit, Row, Vector, checked, is_empty, same_dimensions, unit

Key = tuple[str, str, int]


class MemoryVectors:
    def __init__(self, model: str) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._rows: dict[Key, Row] = {}
        self._concluded = False
        self.another_in_use = False

    @property
    def model(self) -> str:
        return self._model

    @property
    def keeps_payload(self) -> bool:
        return False

    @property
    def keeps_content(self) -> bool:
        return False

    def _dimensions(self) -> int:
        return next((row.vector.size for row in self._rows.values()), 0)

    def upsert(self, rows: Sequence[Row]) -> None:
        with self._lock:
            dimensions = self._dimensions()
            kept: dict[Key, Row] = {}
            for row in rows:
                vector = unit(row.vector, f"{row.kind} {row.item}")
                same_dimensions(vector, dimensions, self._model)
                dimensions = vector.size
                kept[row.kind, row.item, row.window] = replace(row, vector=vector, content="")
            self._rows |= kept

    def delete(self, where: Filter) -> int:
        if is_empty(checked(where)):
            raise BadInputError("Deleting by an empty filter would delete everything; use clear().")
        with self._lock:
            gone = [key for key, row in self._rows.items() if _passes(row, where)]
            for key in gone:
                del self._rows[key]
            return len(gone)

    def erase(self, doc_ids: Sequence[str], concepts: Sequence[str]) -> None:
        with self._lock:
            self._rows = {
                key: row
                for key, row in self._rows.items()
                if row.doc_id not in doc_ids and not (row.kind == "concept" and row.item in concepts)
            }

    def query(
        self, vector: Vector, where: Filter, limit: int = 10, threshold: float = -1.0, *, exact: bool = False
    ) -> list[Hit]:
        wanted = unit(vector, "The query")
        best: dict[tuple[str, str], Hit] = {}
        for row in self.fetch(where):
            same_dimensions(wanted, row.vector.size, self._model)
            hit = Hit(row.kind, row.item, row.window, float(np.dot(row.vector, wanted)), row.doc_id, row.chunk_index)
            known = best.get((row.kind, row.item))
            if hit.score >= threshold and (known is None or hit.score > known.score):
                best[row.kind, row.item] = hit
        return sorted(best.values(), key=lambda hit: (-hit.score, hit.item, hit.kind))[: max(limit, 0)]

    def fetch(self, where: Filter) -> list[Row]:
        checked(where)
        with self._lock:
            return [row for _, row in sorted(self._rows.items()) if _passes(row, where)]

    def count(self, where: Filter | None = None) -> int:
        return len(self.fetch(where or Filter()))

    def clear(self) -> None:
        with self._lock:
            self._rows.clear()
            self._concluded = False

    def complete(self) -> bool:
        return (self._concluded or bool(self._rows)) and not self.another_in_use

    def superseded(self) -> bool:
        return self.another_in_use

    def conclude(self) -> None:
        self._concluded = True

    def close(self) -> None:
        """Nothing is held."""


def _passes(row: Row, where: Filter) -> bool:
    return (
        where.kind in ("", row.kind)
        and where.ontology in ("", row.ontology)
        and (where.items is None or row.item in where.items)
        and (where.doc_ids is None or row.doc_id in where.doc_ids)
        and all(value in ("", getattr(row, name)) for name, value in where.equal.items())
    )
