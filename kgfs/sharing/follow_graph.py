"""Bring this home's graph up to the ledger: carry out what homes that share it, this one included, published.

The ledger has one order, and every home's graph is what a rebuild makes of it. The graph stores in its own file the
number of the last fact that it has followed. Nothing else changes the graph of a home that shares its ledger: a
publication of this home is carried out here too, once the ledger has it (``shared_commits``). So no change ever has
to be rolled back. Each fact may be carried out twice, since its commits are recognised by their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from kgfs.config import Config
from kgfs.errors import BusyError
from kgfs.failpoints import border
from kgfs.sharing import timing
from kgfs.sharing.replay import Replay
from kgfs.stores.catalog.facts import Fact, ForgettingDone, GraphFact
from kgfs.stores.catalog.purges import purges_among, without_purged
from kgfs.stores.locks import locked_within
from kgfs.stores.ship import facts_since
from kgfs.stores.stores import Stores

NOTED_EVERY = 1000
"""Facts without effect on the graph after which the position is stored all the same. The catalog may soon drop them."""


class GraphFollower:
    """Follow the ledger repeatedly for one process. One thread at a time. No fact is looked at twice."""

    def __init__(self, config: Config, stores: Stores, replay: Replay) -> None:
        self._config = config
        self._stores = stores
        self._replay = replay
        self._passed = -1
        """The number of the fact up to which this graph has nothing left to carry out; -1 if not known."""
        self._clears = -1
        """Identifies the graph that ``_passed`` is about: another process may replace the graph by one that was
        derived up to an earlier fact."""

    def follow(self) -> None:
        """Follow the ledger as :func:`follow_graph` does; do nothing while another process of the home follows it.

        Then the next call does the work. Quick where nothing is new.
        """
        with suppress(BusyError):
            for _ in range(2):  # the first call may replace the graph by one that it derives
                if not self.is_behind:
                    return
                clears = self._stores.graph.clears()
                passed = self._passed if clears == self._clears else -1
                self._passed = follow_graph(self._config, self._stores, self._replay, 0.0, passed=passed)
                self._clears = clears

    @property
    def is_behind(self) -> bool:
        """Return whether there may be facts to carry out. Quick."""
        graph = self._stores.graph
        return self._stores.catalog.confirmed() != self._passed or graph.clears() != self._clears


def follow_graph(
    config: Config, stores: Stores, replay: Replay, patience: float = timing.FOLLOWER_WAIT, *, passed: int = -1
) -> int:
    """Carry out every fact that the ledger is known to have and the graph lacks; return the number of the last.

    Derive the graph anew where it does not know its position: its file was lost, or comes from a home that shared no
    ledger. One process of the home follows at a time; raise BusyError where another one does for longer than
    ``patience`` seconds. Any thread may call this, and again after any error or kill. ``passed`` is the result of an
    earlier call for the same graph: facts up to there are not looked at again. Raise MissingError where the garage
    has lost objects of a document.
    """
    with locked_within(config.run / "follow.lock", patience) as ours:
        if not ours:
            raise BusyError(f"{config.home}: another process is bringing the graph up to date. Try again.")
        graph = stores.graph
        for commit_id in graph.staged():  # staged by a process that was killed
            graph.abandon(commit_id)
        position = graph.followed()
        upto = stores.catalog.confirmed()
        if position is None or position > upto:
            replay.graph_anew(stores)
            return graph.followed() or 0
        return _carry_out(stores, replay, max(position, passed), upto)


def _carry_out(stores: Stores, replay: Replay, position: int, upto: int) -> int:
    for number, fact in _graph_facts(stores, position, upto):
        replay.in_graph(fact, stores)
        if isinstance(fact, ForgettingDone) and fact.purge:
            stores.graph.redact([], [], fact.doc_ids)
        stores.graph.note_followed(number)
        border("followed-in-graph")
    if upto - (stores.graph.followed() or 0) >= NOTED_EVERY:
        stores.graph.note_followed(upto)
    return upto


def _graph_facts(stores: Stores, after: int, upto: int) -> Iterator[tuple[int, Fact]]:
    """Return the facts above ``after``, up to ``upto``, that change the graph, as a rebuild carries them out."""
    erased = purges_among(_facts(stores, after, upto))
    return without_purged(_facts(stores, after, upto), erased)


def _facts(stores: Stores, after: int, upto: int) -> Iterator[tuple[int, GraphFact]]:
    for number, fact in facts_since(stores.catalog, stores.garage.ledger, after):
        if number > upto:
            return
        if isinstance(fact, GraphFact):
            yield number, fact
