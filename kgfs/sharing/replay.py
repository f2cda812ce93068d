"""How facts are carried out again in graph and vectors: what this room needs of the room above it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kgfs.errors import CorruptError, MissingError
from kgfs.stores.catalog.facts import Fact
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Vectors


class VectorReplay(Protocol):
    """Carries out facts in vectors, in batches. One thread."""

    founded: set[str]
    """Concepts that have got a row so far."""
    lost: MissingError | CorruptError | None
    """The last error about objects that a fact needs and that are lost."""
    other_models: set[str]
    """Embedding models of Readings that have no vectors by the model of these."""

    def replay(self, fact: Fact) -> None:
        """Carry out the effect of a fact. Rows may wait until :meth:`carry_out`."""
        ...

    def carry_out(self) -> None:
        """Write what waits."""
        ...


@dataclass(frozen=True, slots=True)
class Replay:
    """Functions that carry out facts, as a rebuild does. Each may be called again for the same facts."""

    in_graph: Callable[[Fact, Stores], None]
    """Carry out the effect of one fact on the graph. Raises MissingError where objects of a document are lost."""
    graph_anew: Callable[[Stores], object]
    """Derive the graph anew from all facts that the ledger is known to have."""
    in_vectors: Callable[[Stores, Vectors], VectorReplay]
    """Return what carries out facts in these vectors."""
    vectors_anew: Callable[[Stores], object]
    """Derive the vectors anew. Raises MissingError or CorruptError after everything that is not lost is done."""
    concepts_decided: Callable[[Stores, str], set[str]]
    """Return the concepts that any Decisions about a document (its id) have named."""
    lacking: Callable[[str], None] = lambda model: None
    """Called with the embedding model of another home's Reading that has no vectors by the model of this home."""
