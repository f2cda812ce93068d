"""Change the graphs of all homes that share a ledger: append the change to the ledger first, then carry it out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kgfs.config import Config
from kgfs.errors import LostLeaseError
from kgfs.failpoints import border
from kgfs.sharing.follow_graph import follow_graph
from kgfs.sharing.follow_vectors import follow_vectors
from kgfs.sharing.replay import Replay
from kgfs.sharing.vector_positions import position_of
from kgfs.stores.catalog.facts import GraphFact
from kgfs.stores.stores import Stores

Meet = Callable[[Stores], object]
"""Delivers what this home has recorded, and fetches what the others have."""


class SharedCommits:
    """Publish facts for the home that has the publishing turn. One thread.

    The lease of the turn only prevents wasted work. Correctness comes from the ledger: a fact names the last fact of
    other homes that its home had followed (``GraphFact``), and the ledger refuses a fact that is too late.
    """

    def __init__(self, config: Config, stores: Stores, exchange: Meet, replay: Replay) -> None:
        """Bring the graph up to the ledger; raises the errors of :func:`.follow_graph`."""
        self._config = config
        self._stores = stores
        self._exchange = exchange
        self._replay = replay
        self._follows = follow_graph(config, stores, replay)
        self._position = position_of(config, stores) if stores.vectors is not None else None
        self.stores = replace(stores, publish=self._publish)
        """The same stores, with ``publish`` set, to change the graph with."""

    @property
    def is_overtaken(self) -> bool:
        """Return whether another home has changed the graph since, because it took this one for dead. Quick."""
        return self._stores.catalog.changed_elsewhere() > self._follows

    def follow_vectors(self) -> None:
        """Bring the vectors up to the graph, in a file of this home or on a server that all homes share.

        Raises the errors of :func:`.follow_vectors`.
        """
        if self._position is not None:
            follow_vectors(self._stores, self._replay, self._position)

    def conclude(self) -> None:
        """Store the position of the vectors for the next home. Call before the turn ends."""
        if self._position is not None:
            self._position.conclude()

    def _publish(self, fact: GraphFact) -> None:
        self._stores.catalog.record(replace(fact, follows=self._follows))
        border("publication-recorded")
        self._exchange(self._stores)
        border("publication-delivered")
        follow_graph(self._config, self._stores, self._replay)
        if self.is_overtaken:
            raise LostLeaseError("Another home has changed the graph since: what this one decided does not hold.")
        self.follow_vectors()
