"""Whose turn it is: to read a document, and to change the graph.

The graph of a home that shares its ledger with no other is its worker's (``stores.worker_lock``). Of homes that share a ledger
each document is read by one, under a lease of its own, and one at a time publishes, under the lease ``publish``, so that
documents are matched in order of deposit whoever read them. What is published is carried out by all of them alike
(``follow_graph``), once the ledger has it (``shared_commits``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from kgfs.config import Config
from kgfs.errors import AWAY, BusyError, FullError, KgfsError, LostLeaseError
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.leases.bucket import BucketLeases
from kgfs.stores.leases.contract import Lease
from kgfs.stores.leases.holding import Holding
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # models, which a verb that changes the graph may not need
    from kgfs.ingest.working.follow_graph import GraphFollower
    from kgfs.ingest.working.pipeline import Pipeline
    from kgfs.ingest.working.shared_commits import Exchange, SharedCommits

PUBLISH = "publish"
OVERTAKEN = (
    "Another machine changed its graph meanwhile. If it was first, this was not carried out: look, and try again."
)
LOOK = 0.5
"""Seconds between looks whether another has let go."""
KEEP_UP_EVERY = 0.1
"""Seconds between looks at what others did, while they have their turns. Asks no server."""
SERVER_EVERY = 30.0
"""Seconds between looks whether vectors on a server, which homes share, hold what was published."""
KEEP_UP_AGAIN = 5.0
"""The same after one that failed."""


class Turns(Protocol):
    """For the one worker of a home; ``holds`` may be asked by any thread."""

    @property
    def shared(self) -> bool:
        """Whether other machines work on the graph too."""
        ...

    def prepare(self) -> bool:
        """Before anything is claimed. What was ordered is carried out, which keeps nothing waiting that another does: False while
        another has its turn, and this is to be called again when there is nothing else to do."""
        ...

    def publisher(self) -> Pipeline | None:
        """The pipeline to publish with; None while another machine publishes. What was done before is seen by it."""
        ...

    def pass_on(self) -> None:
        """Another may publish now. Harmless where it is not this one's turn."""
        ...

    def step_aside(self, seconds: float) -> None:
        """What is tried here fails by what another may not suffer from, a full disk or a server that only this one does not
        reach: who can publishes, and this one does not ask for its turn again for so long. Errors as of :meth:`pass_on`;
        the turn is another's all the same. Where who gives turns is not reached it stays, and runs out by itself."""
        ...

    def keep_up(self, *, now: bool = False) -> None:
        """To be called often while it is not this one's turn, which may never come: what others did is done to what only this
        home has, some seconds later or ``now``. Quick where they did nothing; while a server is away, that is made up for
        later."""
        ...

    def begin(self, doc_id: str) -> Lease | None:
        """To read that document; None while another reads it."""
        ...

    def holds(self, lease: Lease) -> bool:
        """Whether it is still this one's, as far as is known here."""
        ...

    def end(self, lease: Lease) -> None:
        """It is read, or given up."""
        ...


class Alone:
    """Always ours."""

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

    def step_aside(self, seconds: float) -> None:
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
        """What could not be done for something that is lost."""

    shared = True

    def prepare(self) -> bool:
        """What was ordered is carried out even where no document waits for its turn. Who has it did that when it began."""
        return not self._pipeline.stores.journal.names.forgettings_count() or self.publisher() is not None

    def _is_server_behind(self) -> bool:
        """Whether vectors on a server lack what is published, since the home that published it was killed. Looked at seldom."""
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
            # Longer than the others' looks, so that it is one of them who has it next.
            self._not_before = time.monotonic() + 2 * LOOK
        if time.monotonic() < self._not_before:
            return None
        self._not_before = time.monotonic() + LOOK
        self.keep_up()  # what takes long, while others may go on
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

    def step_aside(self, seconds: float) -> None:
        # One that could not be given back would keep this machine, too, from going on when the server is there again.
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
        """What one document or one order has lost in the garage ends no turn, else it would end everybody's for good: it is said once,
        and tried again at the next."""
        try:
            yield
        except (LostLeaseError, FullError, *AWAY):
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
    """For a worker: those that its graph, and its ledger, ask for."""
    stores = pipeline.stores
    if _is_alone(stores):
        yield Alone(pipeline)
        return
    with closing(_holding(stores, pipeline.config)) as holding:
        together = Together(pipeline, holding, exchange)
        try:
            yield together
        finally:
            with suppress(KgfsError):  # who is next makes up for what was not delivered
                together.pass_on()


@contextmanager
def only_changer(config: Config, stores: Stores, exchange: Exchange, patience: float = 120.0) -> Iterator[Stores]:
    """For a verb that has its home's worker's place: the stores to change the graph with, while no other machine does.
    BusyError if that is not to be had within ``patience`` seconds, or where another did all the same: then what was done may
    have to be done anew by the next worker, and what was decided to be said again."""
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
    """The same for a verb that derives the graph anew, ``whole`` or in part, which concerns nobody else where it is the home's
    own: no turn is waited for then."""
    if _is_alone(stores):
        yield stores
        return
    from kgfs.ingest.working.follow_graph import follow_graph

    exchange(stores)
    if not whole:
        follow_graph(config, stores)
    yield stores


def _is_alone(stores: Stores) -> bool:
    """Whether no other machine has to do with the graph."""
    return not stores.journal.sharing


def _holding(stores: Stores, config: Config) -> Holding:
    return Holding(BucketLeases(stores.garage.objects), config.pipeline.lease)
