"""A graph in a database of another name than the server's usual one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgfs.errors import LostLeaseError, StoreError
from scripts.servers import neo4j as server
from scripts.servers import process
from tests.support.graph_building import publish
from tests.support.graph_stores import copied, own
from tests.support.peers.knowledge_server import need_neo4j, place_of
from tests.t1_stores.test_graph_replica import WAY, ZEN, shown

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.place import Place

NAME = "knowledge"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    need_neo4j()
    folder = tmp_path / "neo4j"
    (folder / "data").mkdir(parents=True)
    (folder / "data/neo4j.conf").write_text(f"initial.dbms.default_database={NAME}\n")
    server.start(folder, ())
    yield replace(own(place_of(folder)), database=NAME)
    process.end(folder, 0)


@pytest.mark.slow
def test_a_graph_is_kept_leased_and_copied_in_the_database_that_is_named(place: Place, tmp_path: Path) -> None:
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.graph.neo4j.origin import Origin

    with closing(Neo4jGraph(place)) as graph, closing(Origin(place)) as origin:
        publish(graph, ZEN)
        standing = origin.standing()
        assert standing and standing.epoch == 1
        with closing(copied(place, tmp_path / "replica.sqlite")) as replica, closing(graph.leases(30.0)) as leases:
            assert shown(replica) == shown(graph)
            lease = leases.take("publish", "one", 60)
            assert lease and leases.take("publish", "another", 60) is None
            publish(graph.fenced(lease), WAY)
            leases.release(lease)
            with pytest.raises(LostLeaseError):
                publish(graph.fenced(lease), ZEN, at=3000)
            replica.refresh()
            assert shown(replica) == shown(graph)
            assert replica.counts()["documents"] == 2
        graph.clear()
        assert graph.counts()["documents"] == 0
    with pytest.raises(StoreError, match=r"no database 'neo4j'.*\[graph\] database"):
        Neo4jGraph(replace(place, database="neo4j", timeout=20.0))
