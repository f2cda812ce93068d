"""Every implementation of the graph, for the suites that all must pass."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgfs.stores.error_log import ErrorLog
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.memory import MemoryGraph
from kgfs.stores.graph.replica.graph import Replica
from kgfs.stores.graph.replica.opening import make_replica, open_replica
from kgfs.stores.graph.replica.outage import Outage
from kgfs.stores.graph.sqlite import SqliteGraph

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.place import Place

STORES = ("sqlite", "memory", "neo4j", pytest.param("replica", id="replica-of-neo4j"))


def opened(request: pytest.FixtureRequest, path: Path | None = None) -> Graph:
    """The store that the parameter of the test's fixture names."""
    if request.param == "neo4j":
        return on_server(request.getfixturevalue("neo4j_place"))
    if request.param == "replica":
        folder = path or request.getfixturevalue("tmp_path")
        return copied(own(request.getfixturevalue("neo4j_place")), folder / "replica.sqlite")
    return SqliteGraph(path / "graph.sqlite" if path else None) if request.param == "sqlite" else MemoryGraph()


def on_server(place: Place) -> Graph:
    """A graph of its own on a server that others use too."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    return Neo4jGraph(own(place))


def own(place: Place) -> Place:
    name = f"test-{secrets.token_hex(6)}"
    return replace(place, namespace=name, aside=place.aside and place.aside.with_name(f"{name}.sqlite"))


def copied(place: Place, path: Path) -> Replica:
    """A graph on a server that is read from a copy at ``path``."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.graph.neo4j.origin import Origin

    origin, lock = Origin(place), path.with_name("replica.lock")
    outage = Outage(path.with_name("replica.away"), ErrorLog(path.with_name("errors.ndjson")))
    make_replica(origin, path, lock, lambda: Neo4jGraph(place))
    replica = open_replica(origin, path, lock, lambda: Neo4jGraph(place), outage, refill=True)
    assert replica is not None
    return replica
