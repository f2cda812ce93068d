"""Every server that a test is given stands in the test's id, so that no result is read as another's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

PEERS = {
    "neo4j_place": "neo4j",
    "mortal": "neo4j",
    "seaweedfs": "seaweedfs",
    "minio": "minio",
    "qdrant_wire_url": "qdrant-wire",
}
"""What ids call the servers of these fixtures."""


def name_peers(metafunc: pytest.Metafunc) -> None:
    """Those that a test's fixtures ask for in any case. Where a parameter decides, its id is to name them."""
    asked = {peer: None for fixture, peer in PEERS.items() if fixture in metafunc.fixturenames}
    if asked:
        metafunc.parametrize("_peers_named", ["-".join(asked)], indirect=True)


@pytest.fixture(autouse=True)
def _peers_named(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    named = request.node.name.partition("[")[2]
    given = {peer for fixture, peer in PEERS.items() if fixture in request.fixturenames}
    assert {peer for peer in given if peer not in named} == set(), "servers that the test's id does not name"
