"""Whose turn it is: to read a document, and to change the graph.

The graph of a home that shares its ledger with no other is its worker's (``stores.worker_lock``). Of homes that share a ledger
each document is read by one, under a lease of its own, and one at a time publishes, under the lease ``publish``, so that
documents are matched in order of deposit whoever read them; the others do the same to their graphs (``own_graph``). The lease
only saves them work; what holds is what reached the ledger first (``GraphFact``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from kgfs.config import Config
from kgfs.errors import AWAY, BusyError, FullError, KgfsError, LostLeaseError
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.journal.following import confirmed, following
from kgfs.stores.leases.bucket import BucketLeases
from kgfs.stores.leases.contract import Lease
from kgfs.stores.leases.holding import Holding
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # models, which a verb that changes the graph may not need
    from kgfs.ingest.working.pipeline import Pipeline

Exchange = Callable[[Stores], object]
"""Delivers what this home has recorded, and learns what the others have."""

PUBLISH = "publish"
LOOK = 0.5
"""Seconds between looks whether another has let go."""
KEEP_UP_EVERY = 2.0
"""Seconds between looks at what others did, while they have their turns."""


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
        self._ours: tuple[Lease, Pipeline] | None = None
        self._not_before = 0.0
        self._keep_up_next = 0.0
        self._conclude_next = 0.0
        self._follows = 0
        """The last fact of others that a graph of this home's own had when its turn began."""
        self._told: set[str] = set()
        """What could not be done for something that is lost."""

    shared = True

    def prepare(self) -> bool:
        """What was ordered is carried out even where no document waits for its turn. Who has it did that when it began."""
        from kgfs.ingest.matching.concepts import is_word_owed

        stores = self._pipeline.stores
        ordered = stores.journal.names.forgettings_count() or is_word_owed(stores)
        return not ordered or self.publisher() is not None

    def publisher(self) -> Pipeline | None:
        from kgfs.ingest.working import own_vectors

        if self._ours is not None:
            lease, fenced = self._ours
            if self._holding.holds(lease) and not self._holding.wanted(lease) and not self._is_overtaken():
                self._conclude_own_graph()
                return fenced
            self.pass_on()
            # Longer than the others' looks, so that it is one of them who has it next.
            self._not_before = time.monotonic() + 2 * LOOK
        if time.monotonic() < self._not_before:
            return None
        self._not_before = time.monotonic() + LOOK
        self.keep_up()  # what takes long, while others may go on
        lease_now = self._holding.take(PUBLISH)
        if lease_now is None:
            return None
        try:
            stores = self._pipeline.stores
            self._exchange(stores)
            known = confirmed(stores.journal)
            fenced = replace(self._pipeline, stores=self._caught_up())
            if own_vectors.has_own(self._pipeline.config, stores):
                with self._as_far_as_possible():
                    own_vectors.follow_vectors(self._pipeline.config, stores, known)
            with self._as_far_as_possible():
                fenced.recover()
            with self._as_far_as_possible():
                fenced.finish_forgetting()
        except BaseException:
            self._holding.release(lease_now)
            raise
        self._ours = lease_now, fenced
        return fenced

    def pass_on(self) -> None:
        if self._ours is None:
            return
        from kgfs.ingest.working import own_vectors

        lease, _ = self._ours
        self._ours = None
        try:
            if self._holding.holds(lease):
                stores = self._pipeline.stores
                self._exchange(stores)
                self._conclude_next = 0.0
                self._conclude_own_graph()
                certain = not self._is_overtaken() and self._holding.surely_holds(lease)
                if certain and own_vectors.has_own(self._pipeline.config, stores):
                    own_vectors.conclude_vectors(self._pipeline.config, stores)
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
        from kgfs.ingest.working import own_graph, own_vectors

        config, stores = self._pipeline.config, self._pipeline.stores
        with suppress(*AWAY), self._as_far_as_possible():
            known = confirmed(stores.journal)
            if own_graph.is_behind(config, stores):
                own_graph.follow_graph(config, stores)
            elif own_graph.is_far_behind(config, stores):
                own_graph.conclude_graph(config, stores)
            if own_vectors.has_own(config, stores) and own_vectors.are_behind(config, stores):
                own_vectors.follow_vectors(config, stores, known)
        self._keep_up_next = time.monotonic() + KEEP_UP_EVERY

    @contextmanager
    def _as_far_as_possible(self) -> Iterator[None]:
        """What one document or one order lost in the garage, or an order that a server has not the memory for, ends no turn, else it
        would end everybody's for good: it is said once, and tried again at the next. What is published meanwhile does not depend on
        it, as little as for a worker that is alone."""
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

    def _caught_up(self) -> Stores:
        """The stores to publish with, where the graph is as the others have left it."""
        stores = self._pipeline.stores
        from kgfs.ingest.working.own_graph import follow_graph

        self._follows = follow_graph(self._pipeline.config, stores)
        return replace(stores, journal=following(stores.journal, self._follows))

    def _is_overtaken(self) -> bool:
        """Whether another has published to its own graph all the same, because it took this one for dead."""
        return self._pipeline.stores.journal.changed_elsewhere() > self._follows

    def _conclude_own_graph(self) -> None:
        if time.monotonic() < self._conclude_next:
            return
        from kgfs.ingest.working.own_graph import conclude_graph

        conclude_graph(self._pipeline.config, self._pipeline.stores)
        self._conclude_next = time.monotonic() + KEEP_UP_EVERY


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
        from kgfs.ingest.working.own_graph import conclude_graph, follow_graph

        follows = follow_graph(config, stores)
        yield replace(stores, journal=following(stores.journal, follows))
        exchange(stores)
        if stores.journal.changed_elsewhere() > follows:
            raise BusyError(
                "Another machine changed its graph meanwhile. If it was first, this was not carried out: look, and try again."
            )
        conclude_graph(config, stores)


@contextmanager
def only_deriver(config: Config, stores: Stores, exchange: Exchange, *, whole: bool) -> Iterator[Stores]:
    """The same for a verb that derives the graph anew, ``whole`` or in part, which concerns nobody else where it is the home's
    own: no turn is waited for then."""
    from kgfs.ingest.working import own_graph

    if not own_graph.has_own(stores):
        with only_changer(config, stores, exchange) as alone:
            yield alone
        return
    exchange(stores)
    if not whole:
        own_graph.follow_graph(config, stores)
    with own_graph.deriving(config, stores, whole=whole):
        yield stores


def _is_alone(stores: Stores) -> bool:
    """Whether no other machine has to do with the graph."""
    return not stores.journal.sharing


def _holding(stores: Stores, config: Config) -> Holding:
    return Holding(BucketLeases(stores.garage.objects), config.pipeline.lease)
