"""The graph that a configuration names."""

from __future__ import annotations

import logging
from pathlib import Path

from kgfs.config import Config
from kgfs.errors import BadInputError, MachineError
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.sqlite import SqliteGraph

LOG = logging.getLogger("kgfs.graph")


def open_graph(config: Config) -> Graph:
    """A server is asked at once, and its constraints are made where it has none."""
    settings = config.graph
    if settings.store == "sqlite":
        return SqliteGraph(config.graph_db)
    try:
        from kgfs.stores.graph.neo4j.graph import Neo4jGraph
        from kgfs.stores.graph.neo4j.place import Place
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
        ca_file=Path(settings.ca_file).expanduser().absolute() if settings.ca_file else None,
        bookmarks=config.run / "graph.bookmarks" if settings.uri.startswith("neo4j") else None,
    )
    if place.open_to_others:
        LOG.warning(f"{place.uri}: password and knowledge go there unencrypted. Use bolt+s:// or neo4j+s://.")
    return Neo4jGraph(place)


def _secret(named: str) -> str:
    if not named:
        raise BadInputError("graph.store is 'neo4j', and graph.password_file names no file.")
    path = Path(named).expanduser()
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path}: the password (graph.password_file) cannot be read: {error}") from error
