"""What every implementation checks and does alike: vectors made length 1, filters that name only what rows have."""

from __future__ import annotations

import numpy as np

from kgfs.errors import BadInputError
from kgfs.stores.vectors.contract import Filter, Vector

COMPARABLE = ("source_variant", "role", "domain", "authority")


def unit(vector: Vector, what: str) -> Vector:
    """The vector with length 1 (zero stays zero), float32. BadInputError if it is none."""
    given = np.asarray(vector, np.float32)
    if given.ndim != 1 or not given.size or not np.isfinite(given).all():
        raise BadInputError(f"{what} is no vector of finite numbers (shape {given.shape}).")
    length = float(np.linalg.norm(given.astype(np.float64)))
    return (given / length).astype(np.float32) if length else given


def same_dimensions(vector: Vector, dimensions: int, model: str) -> None:
    if dimensions and vector.size != dimensions:
        raise BadInputError(f"A vector of {vector.size} numbers among rows of {dimensions} ({model}).")


def checked(where: Filter) -> Filter:
    unknown = sorted(set(where.equal) - set(COMPARABLE))
    if unknown:
        raise BadInputError(f"Rows cannot be filtered by '{unknown[0]}'; known are {', '.join(COMPARABLE)}.")
    return where


def is_empty(where: Filter) -> bool:
    named = where.items is not None or where.doc_ids is not None
    return not (where.kind or where.ontology or named or any(where.equal.values()))


def passes_none(where: Filter) -> bool:
    return frozenset() in (where.items, where.doc_ids)
