"""Every implementation of the graph, for the suites that all must pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.memory import MemoryGraph
from kgfs.stores.graph.sqlite import SqliteGraph

STORES = ("sqlite", "memory")


def opened(request: pytest.FixtureRequest, path: Path | None = None) -> Graph:
    """The store that the parameter of the test's fixture names."""
    return SqliteGraph(path / "graph.sqlite" if path else None) if request.param == "sqlite" else MemoryGraph()
