"""The graph that a configuration names."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.config import Config
from kgfs.errors import BadInputError
from kgfs.stores.database import remove_database
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.sqlite import SqliteGraph, built_beside
from kgfs.stores.locks import locked_within
from kgfs.stores.servers import file_named, need, secret_in, trusted, warn_of_plain_text

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.place import Place
    from kgfs.stores.graph.replica.following import Source
    from kgfs.stores.leases.contract import SharedGraph

LOOK = 0.5
"""Seconds between looks whether a server listens."""


def open_graph(config: Config, *, mounted: bool = False, later: bool = False, haste: float = float("inf")) -> Graph:
    """A server is asked at once, and its constraints are made where it has none.

    Of a graph on a server a home that was ever mounted has a replica, which answers in place of the server and also while
    that is away. For a mount (``mounted``) it is made where there is none, or none that the server's feed leads on from;
    others ask the server itself then. With ``later`` one that shows anything is opened as it is, without a word to
    the server. Else one that is there waits for the server's answer ``haste`` seconds at most; where that has an end, for who
    only tells how things stand, it is as it is then, though it be behind.
    """
    if config.graph.store == "sqlite":
        return SqliteGraph(config.graph_db)
    from kgfs.stores.graph.replica.file import is_usable

    if mounted:
        copy_graph(config)
    if is_usable(config.replica_db):
        from kgfs.stores.graph.replica.opening import open_replica
        from kgfs.stores.graph.replica.outage import Outage

        origin, connect = _origin(config, haste), _connecting(config)
        outage = Outage(config.run / "replica.away", ErrorLog(config.errors_log))
        path, lock = config.replica_db, _lock(config)
        replica = open_replica(origin, path, lock, connect, outage, refill=mounted, later=later, haste=haste)
        if replica is not None:
            return replica
        origin.close()
    return _connecting(config)()


def glance_at_graph(config: Config) -> None:
    """AwayError or TimedOutError where the graph's server is not there, lets nobody in, or says nothing within graph.timeout.
    Nothing is written. Only for a graph on a server."""
    with closing(_origin(config)) as origin:
        origin.standing()


def copy_graph(
    config: Config,
    progress: Callable[[int, int], None] = lambda done, total: None,
    told: Callable[[str], None] = lambda said: None,
) -> None:
    """Copy a graph that stands on a server, for mounts to read; nothing where it is copied already. May take long, and
    goes on where an earlier attempt ended. ``progress`` is told (rows, of about how many), ``told`` in words what else is done."""
    if config.graph.store == "sqlite":
        return
    from kgfs.stores.graph.replica.file import is_usable
    from kgfs.stores.graph.replica.opening import make_replica

    if is_usable(config.replica_db):
        return
    wait_for_server(config, told)
    with closing(_origin(config)) as origin:
        make_replica(origin, config.replica_db, _lock(config), _connecting(config), progress, told)


def wait_for_server(config: Config, told: Callable[[str], None] = lambda said: None) -> None:
    """Where the graph's server is asked when a home is opened, for there is no replica, and nobody listens there: until somebody
    does, or graph.timeout has passed. For a mount and a worker, which may be started together with it; verbs do not wait."""
    from kgfs.stores.graph.replica.file import is_usable

    if config.graph.store == "sqlite" or is_usable(config.replica_db):
        return
    place = _place(config)
    from kgfs.stores.graph.neo4j.strangers import is_closed

    if not is_closed(place.uri):
        return
    told(f"{place.uri}: nobody listens there; waiting up to {place.timeout:g} s for a server that may be starting")
    deadline = time.monotonic() + place.timeout
    while is_closed(place.uri) and time.monotonic() < deadline:
        time.sleep(LOOK)


def drop_copy_begun(config: Config) -> None:
    """Remove what a process that was copying a graph has left, unless one is at it: that hears of what left the graph in the end."""
    if config.graph.store == "sqlite":
        return
    from kgfs.stores.graph.replica.graph import being_made

    begun = being_made(config.replica_db)
    if begun.exists():
        with locked_within(_lock(config), 0.0) as alone:
            if alone:
                remove_database(begun)


def replica_stands_still(config: Config) -> Path:
    """A note, there while purges of other homes wait for a replica that this home has and does not bring on."""
    return config.run / "replica.stands-still"


def _lock(config: Config) -> Path:
    return config.run / "replica.lock"


def _origin(config: Config, haste: float = float("inf")) -> Source:
    """What replicas are made from. Nothing is asked yet, nor is the driver loaded."""
    place = _place(config)
    place = replace(place, timeout=min(place.timeout, haste))
    from kgfs.stores.graph.replica.later import Later

    def origin() -> Source:
        from kgfs.stores.graph.neo4j.origin import Origin

        return Origin(place)

    return Later(origin)


def _connecting(config: Config) -> Callable[[], SharedGraph]:
    """What opens the graph itself."""
    place = _place(config)

    def connect() -> SharedGraph:
        from kgfs.stores.graph.neo4j.graph import Neo4jGraph

        return Neo4jGraph(place)

    return connect


def _place(config: Config) -> Place:
    settings = config.graph
    need("graph.store is 'neo4j'", "neo4j")
    from kgfs.stores.graph.neo4j.place import Place

    def warn(uri: str) -> None:
        warn_of_plain_text(config, uri, "Use bolt+s:// or neo4j+s:// (graph.uri).")

    place = Place(
        uri=settings.uri,
        user=settings.user,
        password=_secret(settings.password_file),
        password_file=file_named(settings.password_file),
        database=settings.database,
        namespace=settings.namespace,
        timeout=settings.timeout,
        ca_file=file_named(settings.ca_file),
        aside=built_beside(config.graph_db),
        bookmarks=config.run / "graph.bookmarks" if settings.uri.startswith("neo4j") else None,
        told=warn,
    )
    if place.ca_file:
        trusted(place.ca_file, "graph.ca_file")
    if place.open_to_others:
        warn(place.uri)
    return place


def _secret(named: str) -> str:
    if not named:
        raise BadInputError("graph.store is 'neo4j', and graph.password_file names no file.")
    return secret_in(named, "graph.password_file")
