"""The graph that a configuration names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.config import Config
from kgfs.errors import BadInputError, MachineError
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.sqlite import SqliteGraph
from kgfs.stores.servers import file_named, secret_in, warn_of_plain_text

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.graph.neo4j.origin import Origin
    from kgfs.stores.graph.neo4j.place import Place


def open_graph(config: Config, *, mounted: bool = False) -> Graph:
    """A server is asked at once, and its constraints are made where it has none.

    Of a graph on a server a home that was ever mounted has a copy, which answers in place of the server and also while
    that is away. For a mount (``mounted``) it is made where there is none, or none that the server's feed leads on from;
    others ask the server itself then.
    """
    if config.graph.store == "sqlite":
        return SqliteGraph(config.graph_db)
    from kgfs.stores.graph.replica.file import is_usable

    if mounted:
        copy_graph(config)
    if is_usable(config.replica_db):
        from kgfs.stores.graph.replica.opening import open_replica
        from kgfs.stores.graph.replica.outage import Outage

        origin, connect = _origin(config), _connecting(config)
        outage = Outage(config.run / "replica.away", ErrorLog(config.errors_log))
        replica = open_replica(origin, config.replica_db, _lock(config), connect, outage, refill=mounted)
        if replica is not None:
            return replica
        origin.close()
    return _connecting(config)()


def copy_graph(config: Config, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
    """Copy a graph that stands on a server, for mounts to read; nothing where it is copied already. May take long, and
    goes on where an earlier attempt ended. ``progress`` is told (rows, of about how many)."""
    if config.graph.store == "sqlite":
        return
    from kgfs.stores.graph.replica.file import is_usable
    from kgfs.stores.graph.replica.opening import make_replica

    if is_usable(config.replica_db):
        return
    with closing(_origin(config)) as origin:
        make_replica(origin, config.replica_db, _lock(config), _connecting(config), progress)


def _lock(config: Config) -> Path:
    return config.run / "replica.lock"


def _origin(config: Config) -> Origin:
    """What copies are made from. Nothing is asked yet."""
    place = _place(config)
    from kgfs.stores.graph.neo4j.origin import Origin

    return Origin(place)


def _connecting(config: Config) -> Callable[[], Neo4jGraph]:
    """What opens the graph itself."""
    place = _place(config)
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    return lambda: Neo4jGraph(place)


def _place(config: Config) -> Place:
    settings = config.graph
    try:
        from kgfs.stores.graph.neo4j.place import Place
        from kgfs.stores.graph.neo4j.speaking import Speaking  # noqa: F401 - whether the driver is there
    except ModuleNotFoundError as error:
        raise MachineError(
            f"graph.store is 'neo4j', and the package {error.name} is not installed. Install kgfs[servers]."
        ) from error
    place = Place(
        uri=settings.uri,
        user=settings.user,
        password=_secret(settings.password_file),
        database=settings.database,
        namespace=settings.namespace,
        timeout=settings.timeout,
        ca_file=file_named(settings.ca_file),
        bookmarks=config.run / "graph.bookmarks" if settings.uri.startswith("neo4j") else None,
    )
    if place.open_to_others:
        warn_of_plain_text(config, place.uri, "Use bolt+s:// or neo4j+s:// (graph.uri).")
    return place


def _secret(named: str) -> str:
    if not named:
        raise BadInputError("graph.store is 'neo4j', and graph.password_file names no file.")
    return secret_in(named, "graph.password_file")
