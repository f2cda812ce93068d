"""The stores of one home, held together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.stores.garage.contract import Garage
from kgfs.stores.graph.contract import Graph
from kgfs.stores.journal.contract import Journal
from kgfs.stores.journal.facts import GraphFact

if TYPE_CHECKING:  # numpy, which a mount does not need
    from kgfs.stores.vectors.contract import Vectors


@dataclass(frozen=True, slots=True)
class Stores:
    """``vectors`` is opened lazily by the worker for its embedding model; the mount has none."""

    garage: Garage
    journal: Journal
    graph: Graph
    vectors: Vectors | None = None
    publish: Callable[[GraphFact], None] | None = None
    """Where homes share the ledger, and this one has its turn: make a fact true that changes the graph. It is recorded, delivered,
    and only then carried out in graph and vectors. LostLeaseError where another home was first, with nothing changed.

    None where the graph is changed before the fact is recorded, since nobody else has one."""

    def close(self) -> None:
        for store in (self.vectors, self.graph, self.journal, self.garage):
            if store is not None:
                store.close()
