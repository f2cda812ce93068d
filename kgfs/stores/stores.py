"""The stores of one home, held together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.stores.garage.contract import Garage
from kgfs.stores.graph.contract import Graph
from kgfs.stores.journal.contract import Journal

if TYPE_CHECKING:  # numpy, which a mount does not need
    from kgfs.stores.vectors.contract import Vectors


@dataclass(frozen=True, slots=True)
class Stores:
    """``vectors`` is opened lazily by the worker for its embedding model; the mount has none."""

    garage: Garage
    journal: Journal
    graph: Graph
    vectors: Vectors | None = None

    def close(self) -> None:
        for store in (self.vectors, self.graph, self.journal, self.garage):
            if store is not None:
                store.close()
