"""Keep the projection to Neo4j up to the graph, in a thread of the worker. Nothing in the home waits for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from kgfs.config import Config
from kgfs.errors import KgfsError, LostLeaseError
from kgfs.ingest import timing
from kgfs.stores.catalog.names import Names
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.projection.endpoint import endpoint_of
from kgfs.stores.projection.progress import note, noted
from kgfs.stores.projection.source import Catalog, State, VersionLinks, state_of
from kgfs.stores.run_files import home_id
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # the driver, which is loaded in the thread that uses it
    from kgfs.stores.projection.projection import Projection

log = logging.getLogger("kgfs.projection")


def catalog_of(names: Names) -> Catalog:
    """Return what the projection needs of a home's names."""

    def versions(doc_id: str) -> VersionLinks:
        found = names.version_of(doc_id)
        if found is None:
            return VersionLinks(0)
        version = found[0]
        superseded = []
        for earlier in names.history(version.lineage):
            document = names.document(earlier.doc_id)
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

    return Catalog(lambda: {ontology.id: ontology.name for ontology in names.ontologies()}, versions)


def projection_of(config: Config, stores: Stores, stopping: Callable[[], bool] = lambda: False) -> Projection:
    """Return the projection of a home, which confirms before each batch that the home owns its bucket. Nothing is asked
    yet."""
    from kgfs.stores.projection.projection import Projection

    home, garage = home_id(config.home), config.garage_store
    # A home that takes over a bucket writes the projection of the one before.
    origin = home if garage.store == "files" else f"{garage.bucket}/{garage.prefix.strip('/')}"

    def is_stopping() -> bool:
        stores.garage.confirm_owner()
        return stopping()

    return Projection(
        endpoint_of(config), stores.graph, home, catalog_of(stores.catalog.names), is_stopping, origin=origin
    )


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
        self._trouble = Trouble(ErrorLog(config.errors_log), "neo4j")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kgfs-projecting", daemon=True)
        self._done: tuple[State, dict[str, str]] | None = None
        """State of graph and names on the server, as far as this process knows; None if not known."""
        self._noted_at = 0.0

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
        with self._stores.graph.whole() as sql:
            state = state_of(sql)
        return state, {ontology.id: ontology.name for ontology in self._stores.catalog.names.ontologies()}

    def _run(self) -> None:
        pause = timing.PROJECTION_RETRY
        projection: Projection | None = None
        while not self._stopping.is_set():
            wait = timing.PROJECTION_POLL
            try:
                if (now := self._now()) != self._done:
                    projection = projection or projection_of(self._config, self._stores, self._stopping.is_set)
                    self._follow(projection, now)
                    pause = timing.PROJECTION_RETRY
            except LostLeaseError as error:
                log.info("%s", error)
            except KgfsError as error:
                self._failed(error)
                wait, pause = pause, min(2 * pause, timing.PROJECTION_RETRY_AT_MOST)
            self._stopping.wait(wait)
        if projection is not None:
            projection.close()

    def _follow(self, projection: Projection, now: tuple[State, dict[str, str]]) -> None:
        position = projection.follow(self._progress)
        self._trouble.over()
        _note_position(self._config, position)
        if position.epoch >= now[0].epoch and position.redactions >= now[0].redactions:
            self._done = now

    def _failed(self, error: KgfsError) -> None:
        log.info("%s", error)
        self._trouble.met(error)
        since = noted(self._config).away_since or time.time()
        with suppress(KgfsError):  # the disk did not take the note: the next round tries again
            note(self._config, away_since=since, away_reason=str(error), done=0, total=0)

    def _progress(self, done: int, total: int) -> None:
        if time.monotonic() - self._noted_at >= timing.PROJECTION_NOTED:
            self._noted_at = time.monotonic()
            note(self._config, state="writing all", done=done, total=total, away_since=None, away_reason="")


def write_anew(config: Config, stores: Stores, progress: Callable[[int, int], None]) -> None:
    """Write the projection anew, for a command that holds its home's worker lock."""
    with closing(projection_of(config, stores)) as projection:
        _note_position(config, projection.rebuild(progress))


def _note_position(config: Config, position: State) -> None:
    there: dict[str, Any] = {"epoch": position.epoch, "redactions": position.redactions, "at": time.time()}
    note(config, **there, state="following", done=0, total=0, away_since=None, away_reason="")
