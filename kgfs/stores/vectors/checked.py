"""Checks that all vector stores share: vectors are normalised to length 1, and filters name only fields that rows
have."""

from __future__ import annotations

import numpy as np

from kgfs.errors import BadInputError
from kgfs.stores.vectors.contract import Filter, Vector

COMPARABLE = ("source_variant", "role", "domain", "authority")
"""The fields of a row that :attr:`Filter.equal` may name."""


def unit(vector: Vector, what: str) -> Vector:
    """Return the vector scaled to length 1, as float32. A zero vector stays zero.

    Raise BadInputError if it is empty, has not one axis, or has numbers that are not finite. ``what`` names it in the
    message.
    """
    given = np.asarray(vector, np.float32)
    if given.ndim != 1 or not given.size or not np.isfinite(given).all():
        raise BadInputError(f"{what} is no vector of finite numbers (shape {given.shape}).")
    length = float(np.linalg.norm(given.astype(np.float64)))
    return (given / length).astype(np.float32) if length else given


def same_dimensions(vector: Vector, dimensions: int, model: str) -> None:
    """Raise BadInputError unless the vector has as many dimensions as the rows of the model. 0 dimensions allow any
    vector."""
    if dimensions and vector.size != dimensions:
        raise BadInputError(f"A vector of {vector.size} numbers among rows of {dimensions} ({model}).")


def checked(where: Filter) -> Filter:
    """Return the filter. Raise BadInputError if it names a field that cannot be compared."""
    unknown = sorted(set(where.equal) - set(COMPARABLE))
    if unknown:
        raise BadInputError(f"Rows cannot be filtered by '{unknown[0]}'; known are {', '.join(COMPARABLE)}.")
    return where


def is_empty(where: Filter) -> bool:
    """Return whether the filter has no condition."""
    named = where.items is not None or where.doc_ids is not None
    return not (where.kind or where.ontology or named or any(where.equal.values()))


def passes_none(where: Filter) -> bool:
    """Return whether the filter can pass no row, since it names an empty set of items or documents."""
    return frozenset() in (where.items, where.doc_ids)
