"""The open stores of one home."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.garage.contract import Garage
from kgfs.stores.graph.sqlite import Graph

if TYPE_CHECKING:  # numpy, which a mount does not need
    from kgfs.stores.vectors.contract import Vectors


@dataclass(frozen=True, slots=True)
class Stores:
    """The open stores of one home. The worker opens ``vectors`` lazily for its embedding model; a mount has none."""

    garage: Garage
    catalog: Catalog
    graph: Graph
    vectors: Vectors | None = None

    def close(self) -> None:
        """Close all stores."""
        for store in (self.vectors, self.graph, self.catalog, self.garage):
            if store is not None:
                store.close()
