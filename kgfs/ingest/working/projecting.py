"""Keep the projection to Neo4j up to the graph, in threads of the worker. Nothing in the home waits for them.

Homes that share a garage have one projection. The home that holds the lease ``project`` writes it. A home takes the
lease when its graph has changed, and releases it when nothing has changed for timing.PROJECTION_RELEASE seconds.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from kgfs.config import Config
from kgfs.errors import BusyError, KgfsError, LostLeaseError, TimedOutError
from kgfs.ingest import timing
from kgfs.stores.catalog.names import Names
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.hosts import host_id
from kgfs.stores.leases.bucket import BucketLeases
from kgfs.stores.leases.contract import Lease
from kgfs.stores.leases.holding import Holding
from kgfs.stores.projection.endpoint import endpoint_of
from kgfs.stores.projection.progress import note, noted
from kgfs.stores.projection.source import Catalog, State, VersionLinks, state_of
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # the driver, which is loaded in the thread that uses it
    from kgfs.stores.projection.projection import Compared, Projection

Answer = TypeVar("Answer")

LEASE = "project"

log = logging.getLogger("kgfs.projection")


def catalog_of(names: Names) -> Catalog:
    """Return what the projection needs of a home's names."""

    def ontologies() -> dict[str, str]:
        return {ontology.id: ontology.name for ontology in names.ontologies()}

    def versions(doc_id: str) -> VersionLinks:
        found = names.version_of(doc_id)
        if found is None:
            return VersionLinks(0)
        version = found[0]
        superseded = []
        for earlier in names.history(version.lineage):
            document = names.document(earlier.doc_id) if earlier.doc_id else None
            if earlier.n < version.n and document is not None and document.doc_id != doc_id:
                properties = {
                    "doc_id": document.doc_id,
                    "ontology": document.ontology,
                    "source_id": document.source_id,
                    "content_hash": document.sha256,
                    "garage_key": document.key,
                    "size_bytes": document.size,
                }
                superseded.append((earlier.n, properties))
        return VersionLinks(version.n, tuple(superseded))

    return Catalog(ontologies, versions)


def origin_of(config: Config) -> str:
    """Return what identifies homes with equal graphs: the garage that they share, or the home itself."""
    garage = config.garage_store
    return f"{garage.bucket}/{garage.prefix.strip('/')}" if garage.shared else host_id(config)


@contextmanager
def projecting(config: Config, stores: Stores) -> Iterator[Projecting]:
    """Keep the projection up to the graph while the context lasts."""
    running = Projecting(config, stores)
    running.start()
    try:
        yield running
    finally:
        running.stop()


class Projecting:
    """Keeps the projection up to the graph, in a thread.

    Any thread may call :meth:`start` once and :meth:`stop` once.
    """

    def __init__(self, config: Config, stores: Stores) -> None:
        self._config = config
        self._stores = stores
        self._graph: Graph = stores.graph
        self._errors = ErrorLog(config.errors_log)
        self._trouble = Trouble(self._errors, "neo4j")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kgfs-projecting", daemon=True)
        self._done: tuple[State, dict[str, str]] | None = None
        """State of graph and names on the server, as far as this process knows; None if not known."""
        self._pause = timing.PROJECTION_RETRY
        self._not_before = 0.0
        self._holding: Holding | None = None
        self._lease: Lease | None = None
        self._projection: Projection | None = None
        self._cancelled = threading.Event()
        self._moved_at = 0.0

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; return within a few seconds, whatever the server does.

        The next worker continues an interrupted pass.
        """
        self._stopping.set()
        self._thread.join(3.0)

    def finish(self, seconds: float) -> None:
        """Wait until the server has the state of the graph, the server is away, or ``seconds`` have passed."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and noted(self._config).away_since is None and self._done != self._now():
            self._stopping.wait(0.1)

    def _now(self) -> tuple[State, dict[str, str]]:
        with self._graph.whole() as sql:
            state = state_of(sql)
        return state, {ontology.id: ontology.name for ontology in self._stores.catalog.names.ontologies()}

    def _run(self) -> None:
        try:
            while True:
                with suppress(KgfsError):  # the disk did not take the note: the next round looks again
                    self._poll()
                if self._stopping.wait(timing.PROJECTION_POLL):
                    return
        finally:
            self._release()
            if self._projection is not None:
                self._projection.close()

    def _poll(self) -> None:
        now = self._now()
        if now == self._done:
            if self._holding is not None and time.monotonic() - self._moved_at > timing.PROJECTION_RELEASE:
                self._release()
            return
        if time.monotonic() < self._not_before:
            return
        self._moved_at = time.monotonic()
        try:
            if not self._may_write():
                self._poll_another(now)
                return
            self._pass(now)
        except LostLeaseError as error:
            log.info("%s", error)
            self._release()
        except KgfsError as error:
            self._failed(error)
        else:
            self._pause = timing.PROJECTION_RETRY
            self._trouble.over()

    def _failed(self, error: KgfsError) -> None:
        log.info("%s", error)
        self._trouble.met(error)
        since = noted(self._config).away_since
        note(self._config, away_since=since or time.time(), away_reason=str(error), done=0, total=0)
        self._not_before = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, timing.PROJECTION_RETRY_AT_MOST)

    # ---------------------------------------------------------------------------------------------- the lease

    def _may_write(self) -> bool:
        """Return whether no other home writes the projection. Asks the bucket where homes share it."""
        if not self._stores.catalog.sharing:
            return True
        if self._holding is None:
            self._holding = Holding(BucketLeases(self._stores.garage.objects), self._config.pipeline.lease)
            self._lease = self._holding.take(LEASE)
        if self._lease is None or not self._holding.holds(self._lease) or self._holding.wanted(self._lease):
            self._release()
            return False
        return True

    def _holds(self) -> bool:
        if self._stopping.is_set():
            return False
        return self._holding is None or (self._lease is not None and self._holding.holds(self._lease))

    def _release(self) -> None:
        if self._holding is not None:
            holding, self._holding = self._holding, None
            with suppress(KgfsError):  # the lease expires
                holding.close()

    def _poll_another(self, now: tuple[State, dict[str, str]]) -> None:
        """Note how far the home has come that writes the projection."""
        self._not_before = time.monotonic() + timing.PROJECTION_RETRY
        position = self._in_thread(lambda projection: projection.position())
        told: dict[str, Any] = {
            "state": "another home writes it",
            "away_since": None,
            "away_reason": "",
            "done": 0,
            "total": 0,
        }
        if position is not None:
            told |= {"epoch": position.epoch, "redactions": position.redactions, "at": time.time()}
            if position.epoch >= now[0].epoch and position.redactions >= now[0].redactions:
                self._done = now
        note(self._config, **told)

    # ----------------------------------------------------------------------------------------------- a pass

    def _pass(self, now: tuple[State, dict[str, str]]) -> None:
        def report(compared: Compared) -> None:
            tell_of_comparison(self._config, compared)

        noted_at = 0.0

        def progress(done: int, total: int) -> None:
            nonlocal noted_at
            if time.monotonic() - noted_at >= timing.PROJECTION_NOTED:
                noted_at = time.monotonic()
                note(self._config, state="writing all", done=done, total=total, away_since=None, away_reason="")

        position = self._in_thread(lambda projection: projection.follow(report, progress))
        note(
            self._config,
            epoch=position.epoch,
            redactions=position.redactions,
            at=time.time(),
            state="following",
            done=0,
            total=0,
            away_since=None,
            away_reason="",
        )
        if position.epoch >= now[0].epoch and position.redactions >= now[0].redactions:
            self._done = now

    def _in_thread(self, work: Callable[[Projection], Answer]) -> Answer:
        """Run ``work`` in a thread of its own; return what it returns or raise what it raises.

        Raise LostLeaseError when the lease is lost or the worker stops, and TimedOutError when the server stopped
        answering. Then the thread is abandoned, and the server refuses its writes once another home, or the next
        pass, has taken over.
        """
        if self._projection is None:
            from kgfs.stores.projection.projection import Projection

            endpoint = endpoint_of(self._config)
            catalog, origin = catalog_of(self._stores.catalog.names), origin_of(self._config)
            self._cancelled = threading.Event()
            is_cancelled = self._cancelled.is_set
            self._projection = Projection(
                endpoint, self._graph, host_id(self._config), catalog, is_cancelled, origin=origin
            )
        projection, cancelled = self._projection, self._cancelled
        answered: Future[Answer] = Future()

        def carry_out() -> None:
            try:
                answered.set_result(work(projection))
            except BaseException as error:  # noqa: BLE001 - whatever it is, the caller raises it
                answered.set_exception(error)

        threading.Thread(target=carry_out, name="kgfs-projection", daemon=True).start()
        while True:
            try:
                return answered.result(timing.PROJECTION_POLL / 4)
            except TimeoutError:
                if answered.done():
                    raise  # the error of the work itself
            overdue = projection.connection.is_overdue
            if overdue or not self._holds():
                cancelled.set()
                self._projection = None
                with suppress(TimeoutError):
                    if not overdue:
                        return answered.result(timing.PROJECTION_POLL)
                if overdue:
                    raise TimedOutError(f"{self._config.graph.uri}: Neo4j does not answer. Does it listen there?")
                raise LostLeaseError("The projection is stopping.")


def write_anew(config: Config, stores: Stores, progress: Callable[[int, int], None]) -> None:
    """Write the projection anew, for a command that holds its home's worker lock.

    Raise BusyError where another home writes it and does not release the lease within a minute.
    """
    from kgfs.stores.projection.projection import Projection

    endpoint, catalog = endpoint_of(config), catalog_of(stores.catalog.names)
    with (
        _only_writer(config, stores),
        closing(Projection(endpoint, stores.graph, host_id(config), catalog, origin=origin_of(config))) as projection,
    ):
        position = projection.rebuild(progress)
    note(
        config,
        epoch=position.epoch,
        redactions=position.redactions,
        at=time.time(),
        state="following",
        away_since=None,
        away_reason="",
    )


@contextmanager
def _only_writer(config: Config, stores: Stores, patience: float = 60.0) -> Iterator[None]:
    if not stores.catalog.sharing:
        yield
        return
    with closing(Holding(BucketLeases(stores.garage.objects), config.pipeline.lease)) as holding:
        deadline = time.monotonic() + patience
        while holding.take(LEASE, urgent=True) is None:
            if time.monotonic() > deadline:
                raise BusyError("Another home writes the projection to Neo4j, and did not let go. Try again later.")
            time.sleep(timing.PROJECTION_POLL)
        yield


def tell_of_comparison(config: Config, compared: Compared) -> str:
    """Log how the projection of a former kgfs differs from the graph of the home, and return the message.

    A difference is added to the home's error log, agreement to the ordinary log.
    """
    where = f"{config.graph.uri}: the graph '{config.graph.namespace}' there is of a former kgfs"
    if not compared.counts:
        message = (
            f"{where}, and has the same documents, concepts and relationships. It is written anew in today's form."
        )
        log.info("%s", message)
        return message
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(compared.counts.items()))
    some = ", ".join(f"{one.label} {one.id} {one.what}" for one in compared.some)
    message = f"{where}, and differs from this home's: {kinds} ({some}). It is written anew from this home's."
    ErrorLog(config.errors_log).add("neo4j", message)
    return message
