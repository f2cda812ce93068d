"""Open the graph of a home."""

from __future__ import annotations

from kgfs.config import Config
from kgfs.stores.graph.sqlite import Graph


def open_graph(config: Config) -> Graph:
    """Open the graph in the home's own file, creating the file if it is missing. Asks no server."""
    return Graph(config.graph_db)
