"""Open the graph of a home."""

from __future__ import annotations

from kgfs.config import Config
from kgfs.stores.database import remove_database
from kgfs.stores.graph.sqlite import Graph

FORMER_COPY = "replica.sqlite"
"""The file in which homes of a former version kept a copy of a graph on a server, in place of a graph of their
own."""


def open_graph(config: Config) -> Graph:
    """Open the graph in the home's own file, creating the file if it is missing. Deletes the copy of a former
    version. Asks no server."""
    remove_database(config.home / FORMER_COPY)
    return Graph(config.graph_db)
