"""Take turns with the other homes of a garage: leases in the bucket decide which worker reads a document, and which
home changes the graph.

Each document is read by one worker, under a lease of its own. One home at a time publishes, under the lease
``publish``. Each home carries out every publication in the same way (``follow_graph``), once the ledger has it
(``shared_commits``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Generic, Protocol, TypeVar

from kgfs.config import Config
from kgfs.errors import AWAY, BusyError, KgfsError, LostLeaseError, NoSpaceError
from kgfs.sharing import timing
from kgfs.sharing.follow_graph import GraphFollower
from kgfs.sharing.follow_vectors import are_behind, follow_vectors, has_own_vectors
from kgfs.sharing.replay import Replay
from kgfs.sharing.shared_commits import Meet, SharedCommits
from kgfs.sharing.vector_positions import position_of
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.leases.bucket import BucketLeases
from kgfs.stores.leases.contract import Lease
from kgfs.stores.leases.holding import Holding
from kgfs.stores.stores import Stores

PUBLISH = "publish"
OVERTAKEN = (
    "Another machine changed its graph meanwhile. If it was first, this was not carried out: look, and try again."
)


class Publisher(Protocol):
    """Matches and publishes documents, and carries out orders to forget."""

    def finish_forgetting(self) -> None:
        """Carry out the orders to forget that a killed process left incomplete."""
        ...


P = TypeVar("P", bound=Publisher)


class Together(Generic[P]):
    """Turns of a home that shares its ledger: leases in the bucket decide which worker reads and publishes.

    ``publisher_with`` returns a publisher that changes the graph through the given stores.
    """

    def __init__(
        self,
        config: Config,
        stores: Stores,
        publisher_with: Callable[[Stores], P],
        holding: Holding,
        exchange: Meet,
        replay: Replay,
    ) -> None:
        self._config = config
        self._stores = stores
        self._publisher_with = publisher_with
        self._holding = holding
        self._exchange = exchange
        self._replay = replay
        self._ours: tuple[Lease, P, SharedCommits] | None = None
        self._not_before = 0.0
        self._keep_up_next = 0.0
        self._follower: GraphFollower | None = None
        self._server_next = 0.0
        self._reported: set[str] = set()
        """Errors about lost objects that are logged already."""

    shared = True

    def prepare(self) -> bool:
        """Take the publishing turn where orders are due, even if no document waits for it.

        The orders are carried out when the turn begins, so nothing is left to do while this worker holds it.
        """
        return not self._stores.catalog.names.forgettings_count() or self.publisher() is not None

    def _is_server_behind(self) -> bool:
        """Return whether vectors on a shared server lack publications, since the home that published them was killed.

        Looks at most every timing.VECTORS_POLL seconds.
        """
        if time.monotonic() < self._server_next:
            return False
        self._server_next = time.monotonic() + timing.VECTORS_POLL
        config, stores = self._config, self._stores
        if stores.vectors is None or config.vectors.store == "sqlite":
            return False
        return are_behind(stores, position_of(config, stores))

    def publisher(self) -> P | None:
        if self._ours is not None:
            lease, publisher, commits = self._ours
            if self._holding.holds(lease) and not self._holding.wanted(lease) and not commits.is_overtaken:
                return publisher
            self.pass_on()
            # Longer than the pause between the polls of other workers, so that one of them takes the lease next.
            self._not_before = time.monotonic() + 2 * timing.LEASE_POLL
        if time.monotonic() < self._not_before:
            return None
        self._not_before = time.monotonic() + timing.LEASE_POLL
        self.keep_up()  # do the slow part before the lease is taken, while other workers may publish
        if self._follower is None or self._follower.is_behind:
            return None
        lease_now = self._holding.take(PUBLISH)
        if lease_now is None:
            return None
        try:
            stores = self._stores
            self._exchange(stores)
            commits = SharedCommits(self._config, stores, self._exchange, self._replay)
            publisher = self._publisher_with(commits.stores)
            with self._as_far_as_possible():
                commits.follow_vectors()
            with self._as_far_as_possible():
                publisher.finish_forgetting()
        except BaseException:
            self._holding.release(lease_now)
            raise
        self._ours = lease_now, publisher, commits
        return publisher

    def pass_on(self) -> None:
        if self._ours is None:
            return
        lease, _, commits = self._ours
        self._ours = None
        try:
            if self._holding.holds(lease):
                self._exchange(self._stores)
                commits.conclude()
        finally:
            self._holding.release(lease)

    def release_slot(self, seconds: float) -> None:
        # Without a turn that can surely be given back, this machine could not go on when the server is back.
        if self._ours is None or not self._holding.surely_holds(self._ours[0]):
            return
        try:
            self.pass_on()
        finally:
            self._not_before = time.monotonic() + seconds

    def keep_up(self, *, now: bool = False) -> None:
        if self._ours is not None or (time.monotonic() < self._keep_up_next and not now):
            return
        config, stores = self._config, self._stores
        if self._follower is None:
            self._follower = GraphFollower(config, stores, self._replay)
        pause = timing.KEEP_UP_RETRY
        with suppress(*AWAY), self._as_far_as_possible():
            self._follower.follow()
            if has_own_vectors(config, stores) and are_behind(stores, position := position_of(config, stores)):
                follow_vectors(stores, self._replay, position)
            pause = timing.KEEP_UP_EVERY
            if self._is_server_behind():
                self._keep_up_next = time.monotonic() + pause
                self.publisher()
        self._keep_up_next = time.monotonic() + pause

    @contextmanager
    def _as_far_as_possible(self) -> Iterator[None]:
        """Log errors about what one document or one order has lost in the garage, each once, and go on.

        Such an error must not end the turn, since it would end the turn of every worker for good. The work is tried
        again at the next turn. LostLeaseError, NoSpaceError and errors of servers that are away are raised.
        """
        try:
            yield
        except (LostLeaseError, NoSpaceError, *AWAY):
            raise
        except KgfsError as error:
            if str(error) not in self._reported:
                self._reported.add(str(error))
                ErrorLog(self._config.errors_log).add("recover", error)

    def begin(self, doc_id: str) -> Lease | None:
        return self._holding.take(f"read {doc_id}")

    def holds(self, lease: Lease) -> bool:
        return self._holding.holds(lease)

    def end(self, lease: Lease) -> None:
        self._holding.release(lease)


@contextmanager
def only_changer(
    config: Config, stores: Stores, exchange: Meet, replay: Replay, patience: float = 120.0
) -> Iterator[Stores]:
    """Yield the stores to change the graph with, while no other machine changes it.

    For a command that holds its home's worker lock. Raise BusyError if the publishing turn is not free within
    ``patience`` seconds. Raise BusyError too where another machine changed the graph all the same: then the next worker
    may have to repeat the work, and a person may have to repeat a decision.
    """
    with closing(holding_of(config, stores)) as holding:
        deadline = time.monotonic() + patience
        while holding.take(PUBLISH, urgent=True) is None:
            if time.monotonic() > deadline:
                raise BusyError("Another machine changes the graph, and did not let go. Try again later.")
            time.sleep(timing.LEASE_POLL / 2)
        exchange(stores)
        commits = SharedCommits(config, stores, exchange, replay)
        try:
            yield commits.stores
        except LostLeaseError as error:
            raise BusyError(OVERTAKEN) from error
        exchange(stores)
        commits.conclude()
        if commits.is_overtaken:
            raise BusyError(OVERTAKEN)


def holding_of(config: Config, stores: Stores) -> Holding:
    """Return what takes and renews leases in the bucket. The caller closes it."""
    return Holding(BucketLeases(stores.garage.objects), config.pipeline.lease)
