"""What a vector store promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
"""Shape (dimensions,), length 1 (the store normalises what it is given)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One embedding. (kind, item, window) is its key: long items have several windows."""

    kind: str
    """``source``, ``concept``, ``claim``."""
    item: str
    """Chunk row id, concept id, …"""
    window: int
    vector: Vector
    ontology: str = ""
    doc_id: str = ""
    chunk_index: int = -1
    source_variant: str = "raw"
    """``raw``, of the words that stand in the document, or ``normalized``, of such as were made of them."""
    role: str = ""
    domain: str = ""
    authority: str = ""
    content: str = ""
    """The whole text of a Source, given where :attr:`Vectors.keeps_content`. This and the fields below are never given back."""
    content_hash: str = ""
    """SHA-256 of the original that the Source is of. This and the fields below are given where :attr:`Vectors.keeps_payload`."""
    total_chunks: int = 0
    """How many Sources its document has; 0 where that is not given."""
    chunk_start_char: int = 0
    chunk_end_char: int = 0
    """Its place in the document's Text, in characters."""


@dataclass(frozen=True, slots=True)
class Filter:
    """All given conditions must hold; an empty one lets everything pass."""

    kind: str = ""
    ontology: str = ""
    items: frozenset[str] | None = None
    doc_ids: frozenset[str] | None = None
    """Any of these documents."""
    equal: Mapping[str, str] = field(default_factory=dict)
    """source_variant, role, domain, authority."""


@dataclass(frozen=True, slots=True)
class Hit:
    kind: str
    item: str
    window: int
    """The best window of the item."""
    score: float
    """Cosine, exact for the embedded store."""
    doc_id: str
    chunk_index: int


class Vectors(Protocol):
    """Rows of one embedding model (``model`` is fixed when the store is opened; rows of another are not seen).

    Durable when a call returns. Any number of threads and processes; a reader sees a write of another process at its
    next query. Any call may raise StoreError where the store fails and, where it is on a server, AwayError or TimedOutError:
    then a part may be done, and repeating the call does the rest.
    """

    @property
    def model(self) -> str: ...

    @property
    def keeps_payload(self) -> bool:
        """Whether what a Source is (its place, its document) is kept beside vectors, for programs that ask the store itself."""
        ...

    @property
    def keeps_content(self) -> bool:
        """Whether texts are kept beside vectors, for those who ask the store by other means."""
        ...

    def upsert(self, rows: Sequence[Row]) -> None:
        """Insert or replace by key. BadInputError on a vector of another dimension than the rows already kept."""
        ...

    def delete(self, where: Filter) -> int:
        """How many rows went. An empty filter is refused with BadInputError."""
        ...

    def erase(self, doc_ids: Sequence[str], concepts: Sequence[str]) -> None:
        """Delete the rows of these documents and concepts, of every model, and remove every trace of removed rows from
        the files. Blocks for long, all is written anew. May be repeated."""
        ...

    def query(self, vector: Vector, where: Filter, limit: int = 10, threshold: float = -1.0) -> list[Hit]:
        """The best ``limit`` items (an item once, by its best window) with a score of at least ``threshold``,
        best first, ties by item."""
        ...

    def fetch(self, where: Filter) -> list[Row]:
        """All rows that pass, in order of key."""
        ...

    def count(self, where: Filter | None = None) -> int: ...

    def clear(self) -> None:
        """Drop every row of this model: what ``rebuild`` starts with."""
        ...

    def complete(self) -> bool:
        """Whether the rows of this model are those that are in use. Not where the store is new, was lost, or holds
        another model's: then they are to be derived, and :meth:`conclude` is to be called."""
        ...

    def conclude(self) -> None:
        """All rows that this model should have are there: they are in use from now on, those of other models go. May be
        repeated."""
        ...

    def close(self) -> None: ...
