"""Coordinate which worker reads a document and which worker changes the graph.

The graph of a home that shares its ledger with no other home belongs to the home's worker (``stores.worker_lock``).
Among homes that share a ledger, each document is read by one worker, under a lease of its own. One worker at a time
publishes, under the lease ``publish``, so that documents are matched in order of deposit whichever worker read them.
Each home carries out every publication in the same way (``follow_graph``), once the ledger has it
(``shared_commits``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from kgfs.config import Config
from kgfs.errors import AWAY, BusyError, KgfsError, LostLeaseError, NoSpaceError
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.leases.bucket import BucketLeases
from kgfs.stores.leases.contract import Lease
from kgfs.stores.leases.holding import Holding
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # models, which a command that changes the graph may not need
    from kgfs.ingest.working.follow_graph import GraphFollower
    from kgfs.ingest.working.pipeline import Pipeline
    from kgfs.ingest.working.shared_commits import Exchange, SharedCommits

PUBLISH = "publish"
OVERTAKEN = (
    "Another machine changed its graph meanwhile. If it was first, this was not carried out: look, and try again."
)
LOOK = 0.5
"""Seconds between polls of a lease that another worker holds."""
KEEP_UP_EVERY = 0.1
"""Seconds between polls for facts of other homes while they publish. A poll asks no server."""
SERVER_EVERY = 30.0
"""Seconds between polls whether vectors on a shared server contain everything that was published."""
KEEP_UP_AGAIN = 5.0
"""Seconds until facts of other homes are polled again after a failure."""


class Turns(Protocol):
    """Leases to read and to publish, for the one worker of a home. Any thread may call ``holds``."""

    @property
    def shared(self) -> bool:
        """Whether other machines work on the graph too."""
        ...

    def prepare(self) -> bool:
        """Carry out recorded orders to forget, before anything is claimed.

        Return False, without waiting, while another worker has the publishing turn: then call this again when there is
        nothing else to do.
        """
        ...

    def publisher(self) -> Pipeline | None:
        """Return the pipeline to publish with; None while another machine publishes.

        The pipeline sees all earlier publications.
        """
        ...

    def pass_on(self) -> None:
        """Give the publishing turn back, so that another worker may publish. No effect without the turn."""
        ...

    def release_slot(self, seconds: float) -> None:
        """Give the publishing turn back and do not ask for it for ``seconds``.

        For failures that other machines may not have: a full disk, or a server that only this machine does not reach.
        Raises the errors of :meth:`pass_on`; the turn is given back all the same. Where the lease store is not
        reached, the turn stays here until its lease expires.
        """
        ...

    def keep_up(self, *, now: bool = False) -> None:
        """Apply publications of other homes to the stores that only this home has, some seconds late or ``now``.

        Call this often while another worker has the publishing turn, since this worker may never get it. Quick where
        nothing was published. While a server is away, the work is postponed.
        """
        ...

    def begin(self, doc_id: str) -> Lease | None:
        """Take the lease to read this document; None while another machine reads it."""
        ...

    def holds(self, lease: Lease) -> bool:
        """Return whether this worker still holds the lease, as far as is known here."""
        ...

    def end(self, lease: Lease) -> None:
        """Release the lease of a document that was read or given up."""
        ...


class Alone:
    """Turns of a home that shares its ledger with no other home: every lease is granted."""

    shared = False

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def prepare(self) -> bool:
        self._pipeline.recover()
        self._pipeline.finish_forgetting()
        return True

    def publisher(self) -> Pipeline:
        return self._pipeline

    def pass_on(self) -> None:
        return

    def release_slot(self, seconds: float) -> None:
        return

    def keep_up(self, *, now: bool = False) -> None:
        return

    def begin(self, doc_id: str) -> Lease:
        return Lease(doc_id, 0)

    def holds(self, lease: Lease) -> bool:
        return True

    def end(self, lease: Lease) -> None:
        return


class Together:
    """Turns of a home that shares its ledger: leases in the bucket decide which worker reads and publishes."""

    def __init__(self, pipeline: Pipeline, holding: Holding, exchange: Exchange) -> None:
        self._pipeline = pipeline
        self._holding = holding
        self._exchange = exchange
        self._ours: tuple[Lease, Pipeline, SharedCommits] | None = None
        self._not_before = 0.0
        self._keep_up_next = 0.0
        self._follower: GraphFollower | None = None
        self._server_next = 0.0
        self._told: set[str] = set()
        """Errors about lost objects that are logged already."""

    shared = True

    def prepare(self) -> bool:
        """Take the publishing turn where orders are due, even if no document waits for it.

        The orders are carried out when the turn begins, so nothing is left to do while this worker holds it.
        """
        return not self._pipeline.stores.catalog.names.forgettings_count() or self.publisher() is not None

    def _is_server_behind(self) -> bool:
        """Return whether vectors on a shared server lack publications, since the home that published them was killed.

        Looks at most every SERVER_EVERY seconds.
        """
        if time.monotonic() < self._server_next:
            return False
        self._server_next = time.monotonic() + SERVER_EVERY
        from kgfs.ingest.working.follow_vectors import are_behind
        from kgfs.ingest.working.vector_positions import position_of

        config, stores = self._pipeline.config, self._pipeline.stores
        if stores.vectors is None or config.vectors.store == "sqlite":
            return False
        return are_behind(stores, position_of(config, stores))

    def publisher(self) -> Pipeline | None:
        from kgfs.ingest.working.shared_commits import SharedCommits

        if self._ours is not None:
            lease, publisher, commits = self._ours
            if self._holding.holds(lease) and not self._holding.wanted(lease) and not commits.is_overtaken:
                return publisher
            self.pass_on()
            # Longer than the pause between the polls of other workers, so that one of them takes the lease next.
            self._not_before = time.monotonic() + 2 * LOOK
        if time.monotonic() < self._not_before:
            return None
        self._not_before = time.monotonic() + LOOK
        self.keep_up()  # do the slow part before the lease is taken, while other workers may publish
        if self._follower is None or self._follower.is_behind:
            return None
        lease_now = self._holding.take(PUBLISH)
        if lease_now is None:
            return None
        try:
            stores = self._pipeline.stores
            self._exchange(stores)
            commits = SharedCommits(self._pipeline.config, stores, self._exchange)
            publisher = replace(self._pipeline, stores=commits.stores)
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
                self._exchange(self._pipeline.stores)
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
        from kgfs.ingest.working.follow_graph import GraphFollower
        from kgfs.ingest.working.follow_vectors import are_behind, follow_vectors, has_own_vectors
        from kgfs.ingest.working.vector_positions import position_of

        config, stores = self._pipeline.config, self._pipeline.stores
        if self._follower is None:
            self._follower = GraphFollower(config, stores)
        pause = KEEP_UP_AGAIN
        with suppress(*AWAY), self._as_far_as_possible():
            self._follower.follow()
            if has_own_vectors(config, stores) and are_behind(stores, position := position_of(config, stores)):
                follow_vectors(stores, position)
            pause = KEEP_UP_EVERY
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
            if str(error) not in self._told:
                self._told.add(str(error))
                ErrorLog(self._pipeline.config.errors_log).add("recover", error)

    def begin(self, doc_id: str) -> Lease | None:
        return self._holding.take(f"read {doc_id}")

    def holds(self, lease: Lease) -> bool:
        return self._holding.holds(lease)

    def end(self, lease: Lease) -> None:
        self._holding.release(lease)


@contextmanager
def taking_turns(pipeline: Pipeline, exchange: Exchange) -> Iterator[Turns]:
    """Yield the turns that a worker needs for this graph and ledger."""
    stores = pipeline.stores
    if _is_alone(stores):
        yield Alone(pipeline)
        return
    with closing(_holding(stores, pipeline.config)) as holding:
        together = Together(pipeline, holding, exchange)
        try:
            yield together
        finally:
            with suppress(KgfsError):  # the next publisher makes up for facts that were not delivered
                together.pass_on()


@contextmanager
def only_changer(config: Config, stores: Stores, exchange: Exchange, patience: float = 120.0) -> Iterator[Stores]:
    """Yield the stores to change the graph with, while no other machine changes it.

    For a command that holds its home's worker lock. Raise BusyError if the publishing turn is not free within
    ``patience`` seconds. Raise BusyError too where another machine changed the graph all the same: then the next worker
    may have to repeat the work, and a person may have to repeat a decision.
    """
    if _is_alone(stores):
        yield stores
        return
    with closing(_holding(stores, config)) as holding:
        deadline = time.monotonic() + patience
        while holding.take(PUBLISH, urgent=True) is None:
            if time.monotonic() > deadline:
                raise BusyError("Another machine changes the graph, and did not let go. Try again later.")
            time.sleep(LOOK / 2)
        exchange(stores)
        from kgfs.ingest.working.shared_commits import SharedCommits

        commits = SharedCommits(config, stores, exchange)
        try:
            yield commits.stores
        except LostLeaseError as error:
            raise BusyError(OVERTAKEN) from error
        exchange(stores)
        commits.conclude()
        if commits.is_overtaken:
            raise BusyError(OVERTAKEN)


@contextmanager
def only_deriver(config: Config, stores: Stores, exchange: Exchange, *, whole: bool) -> Iterator[Stores]:
    """Yield the stores for a command that derives the graph anew, ``whole`` or in part.

    Where the graph is the home's own, this concerns no other home, and no turn is waited for.
    """
    if _is_alone(stores):
        yield stores
        return
    from kgfs.ingest.working.follow_graph import follow_graph

    exchange(stores)
    if not whole:
        follow_graph(config, stores)
    yield stores


def _is_alone(stores: Stores) -> bool:
    """Return whether no other machine shares the graph."""
    return not stores.catalog.sharing


def _holding(stores: Stores, config: Config) -> Holding:
    return Holding(BucketLeases(stores.garage.objects), config.pipeline.lease)
