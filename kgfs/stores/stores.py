"""The open stores of one home."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.garage.contract import Garage
from kgfs.stores.graph.sqlite import Graph

if TYPE_CHECKING:  # numpy, which a mount does not need, and the classes of facts, which a reader does not
    from kgfs.stores.catalog.facts import ContentKept, GraphFact
    from kgfs.stores.vectors.contract import Vectors


class Uploads(Protocol):
    """The contents that this process puts into a shared garage until they are settled (``kgfs.sharing.uploads``). Any number of
    threads may call."""

    def bring(self, fact: ContentKept) -> None:
        """Upload a content before its fact is recorded. An error ends the flush."""
        ...

    def left_waiting(self, name_id: int, sha256: str) -> None:
        """Note that a pending upload may not be needed: its name was removed or written meanwhile. Quick."""
        ...

    def end_grace(self) -> None:
        """Delete what nothing needs any more at once from now on, since this process is about to end. Quick."""
        ...


class Exchange(Protocol):
    """Exchanges facts with the other homes that share the ledger (``kgfs.sharing.exchange``). Any number of threads and
    processes may call. Methods wait for a server."""

    @property
    def uploads(self) -> Uploads:
        """Return the contents that this process has put. Quick."""
        ...

    def __call__(self) -> None:
        """Follow the facts of other homes, then deliver those of this home. Raises what the stores raise; then nothing
        is lost, and a later call tries again."""
        ...

    def poll(self) -> None:
        """Follow the facts of other homes, if there are any, and deliver nothing."""
        ...

    def pull(self, patience: float = ...) -> None:
        """Follow all facts that other homes have delivered by now, without a check whether there are any.

        Raise TimedOutError where other threads or processes of this home are at it for longer than ``patience``
        seconds (default: no limit).
        """
        ...

    def meet(self) -> None:
        """Follow and deliver: every fact delivered before this call is known here when it returns."""
        ...

    def deliver_purges(self) -> None:
        """Deliver the facts of this home, then delete the snapshots from before the purges among them."""
        ...

    def accept(self, fact: ContentKept) -> None:
        """Deliver a fact after it was recorded. An error ends the flush, and the fact is withdrawn."""
        ...


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

    exchange: Exchange | None = None
    """The exchange of this process with the homes that share the ledger; None where no other home shares it."""

    def close(self) -> None:
        """Close all stores."""
        for store in (self.vectors, self.graph, self.catalog, self.garage):
            if store is not None:
                store.close()
