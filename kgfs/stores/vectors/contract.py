"""The interface of a vector store, with the checks that all of them share: vectors are normalised to length 1, and
filters name only fields that rows have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgfs.errors import BadInputError
from kgfs.stores.stores import Stores

COMPARABLE = ("source_variant", "role", "domain", "authority")
"""The fields of a row that :attr:`Filter.equal` may name."""

Vector = npt.NDArray[np.float32]
"""An embedding of shape (dimensions,) and length 1. The store normalises the vectors that it is given."""


@dataclass(frozen=True, slots=True)
class Row:
    """One embedding. Its key is (kind, item, window): a long item has several windows."""

    kind: str
    """``source``, ``concept`` or ``claim``."""
    item: str
    """The id of the item: a chunk's row id, a concept's id, …"""
    window: int
    """The number of the window within the item."""
    vector: Vector
    ontology: str = ""
    doc_id: str = ""
    chunk_index: int = -1
    source_variant: str = "raw"
    """``raw`` for the words of the document itself, ``normalized`` for words derived from them."""
    role: str = ""
    domain: str = ""
    authority: str = ""
    content: str = ""
    """The whole text of a Source, given to stores with :attr:`Vectors.keeps_content`. This field and the fields below
    are never returned."""
    content_hash: str = ""
    """The SHA-256 of the original that the Source belongs to. This field and the fields below are given to stores
    with :attr:`Vectors.keeps_payload`."""
    total_chunks: int = 0
    """The number of Sources of the document, 0 if it is not given."""
    chunk_start_char: int = 0
    chunk_end_char: int = 0
    """The span ``chunk_start_char:chunk_end_char`` of the Source in the document's Text, in characters."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on rows, all of which must hold. An empty filter passes every row."""

    kind: str = ""
    ontology: str = ""
    items: frozenset[str] | None = None
    """The item must be one of these. None for no condition."""
    doc_ids: frozenset[str] | None = None
    """The document must be one of these. None for no condition."""
    equal: Mapping[str, str] = field(default_factory=dict)
    """Required values of ``source_variant``, ``role``, ``domain`` or ``authority``."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that a query found."""

    kind: str
    item: str
    window: int
    """The window of the item with the highest score."""
    score: float
    """The cosine similarity, exact for the embedded store."""
    doc_id: str
    chunk_index: int


class Vectors(Protocol):
    """The rows of one embedding model. ``model`` is fixed when the store is opened; rows of other models are
    invisible.

    A write is durable when its call returns. Any number of threads and processes may call at the same time. A query
    sees every write that was complete before it, also of another process. Any call may raise StoreError if the store
    fails. If the store is on a server, any call may also raise UnavailableError or TimedOutError: then a part of a write may
    be done, and repeating the call does the rest.
    """

    @property
    def model(self) -> str:
        """Return the name of the embedding model."""
        ...

    @property
    def keeps_payload(self) -> bool:
        """Tell whether the store keeps a Source's position and document with its vectors, for programs that query the
        store directly."""
        ...

    @property
    def keeps_content(self) -> bool:
        """Tell whether the store keeps texts with vectors, for programs that query the store directly."""
        ...

    def upsert(self, rows: Sequence[Row]) -> None:
        """Insert rows, or replace rows with the same key.

        Raise BadInputError if a vector has another number of dimensions than the stored rows.
        """
        ...

    def delete(self, where: Filter) -> int:
        """Delete the rows that pass the filter, and return their number. Raise BadInputError for an empty filter."""
        ...

    def erase(self, doc_ids: Sequence[str], concepts: Sequence[str]) -> None:
        """Delete the rows of these documents and concepts, of every model, and remove every trace of deleted rows
        from the files.

        The call takes long, for all rows are rewritten. It may be repeated. A store on a server deletes the rows; the
        server decides when deleted rows leave its disk.
        """
        ...

    def query(
        self, vector: Vector, where: Filter, limit: int = 10, threshold: float = -1.0, *, exact: bool = False
    ) -> list[Hit]:
        """Return the ``limit`` items with the highest scores of at least ``threshold``, best first.

        Each item appears once, with its best window. Items with equal scores are in order of item. With ``exact`` every
        row is compared, also where the store has an approximate index.
        """
        ...

    def fetch(self, where: Filter) -> list[Row]:
        """Return all rows that pass the filter, in order of key."""
        ...

    def count(self, where: Filter | None = None) -> int:
        """Return the number of rows that pass the filter; without a filter, of all rows of the model."""
        ...

    def clear(self) -> None:
        """Delete every row of this model. ``rebuild`` begins with it."""
        ...

    def complete(self) -> bool:
        """Return whether the rows of this model are complete and in use.

        They are not if the store is new, was lost, or holds the rows of another model. Then the rows are to be
        derived, and :meth:`conclude` is to be called.
        """
        ...

    def superseded(self) -> bool:
        """Return whether another process has put the rows of another model into use since this one saw those of this
        model in use. Only a store on a server knows; in a file of the home the home's worker alone does that."""
        ...

    def conclude(self) -> None:
        """Declare the rows of this model complete: put them into use, and delete those of other models. It may be
        repeated."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...


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


def unindex_dead(stores: Stores, doc_ids: Iterable[str], concept_ids: Collection[str]) -> None:
    """Remove the rows of those documents and concepts that are not in the graph by now.

    A process calls this after it has put rows of these documents and concepts into vectors that other processes also
    write. Every process that removes something from the graph removes its rows *after* that. So either those rows are
    removed after they were put, or this call sees that their document or concept is gone. Raise the stores' UnavailableError
    and TimedOutError; then repeat the whole call.
    """
    unindex(stores, [doc_id for doc_id in doc_ids if stores.graph.document(doc_id) is None], concept_ids)


def unindex(stores: Stores, doc_ids: Iterable[str], concept_ids: Collection[str]) -> frozenset[str]:
    """Remove the Sources and claims of these documents, and the rows of those concepts that are not alive. Return the ids of
    these concepts.

    Without a vector store do nothing and return an empty set.
    """
    if stores.vectors is None:
        return frozenset()
    if left := frozenset(doc_ids):
        stores.vectors.delete(Filter(doc_ids=left))
    if gone := frozenset({*concept_ids} - stores.graph.concepts_by_id(concept_ids).keys()):
        stores.vectors.delete(Filter(kind="concept", items=gone))
    return gone
