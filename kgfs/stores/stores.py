"""The open stores of one home."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.stores.catalog.contract import Catalog
from kgfs.stores.catalog.facts import GraphFact
from kgfs.stores.garage.contract import Garage
from kgfs.stores.graph.contract import Graph

if TYPE_CHECKING:  # imports numpy, which a mount does not need
    from kgfs.stores.vectors.contract import Vectors


@dataclass(frozen=True, slots=True)
class Stores:
    """The open stores of one home. The worker opens ``vectors`` lazily for its embedding model; a mount has none."""

    garage: Garage
    catalog: Catalog
    graph: Graph
    vectors: Vectors | None = None
    publish: Callable[[GraphFact], None] | None = None
    """Record, deliver and carry out a fact that changes the graph, where homes share the ledger and this home
    holds the lease. The fact is recorded and delivered first, then carried out in graph and vectors. Raises
    LostLeaseError, with nothing changed, if another home was first.

    None where the graph is changed before the fact is recorded, because no other home has the same graph."""

    def close(self) -> None:
        """Close all stores."""
        for store in (self.vectors, self.graph, self.catalog, self.garage):
            if store is not None:
                store.close()
