"""A home's stores in files, or on the servers that the test's id names: the same scenarios for both.

``@anywhere`` over a test gives its ``home`` both in turn, ``@pytest.mark.peers`` what it says. The home's own
``config.toml`` says where its stores are, so a test opens it by :func:`kgfs.config.load`, and a command finds it by itself.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

EMBEDDED = "embedded"
SERVERS = "neo4j seaweedfs"
"""Peers are servers with spaces between; what is not on one of them is in files. For scenarios without an embedding model,
which keep no vectors: no id names what was not asked."""
SERVERS_AND_VECTORS = "neo4j seaweedfs qdrant-wire"
anywhere = pytest.mark.peers(EMBEDDED, SERVERS)


def peers_of(metafunc: pytest.Metafunc) -> None:
    """One test for each of the peers that it is marked with."""
    marked = metafunc.definition.get_closest_marker("peers")
    if marked and "home" in metafunc.fixturenames:
        metafunc.parametrize("home", marked.args, indirect=True, ids=[peer.replace(" ", "-") for peer in marked.args])


def settle_home(home: Path, request: pytest.FixtureRequest) -> None:
    """Tell an empty home of places on the servers that the parameter of its fixture names, which nobody used yet."""
    servers = getattr(request, "param", EMBEDDED).split()
    if servers != [EMBEDDED]:
        (home / "config.toml").write_text("".join(_SECTIONS[server](request) for server in servers))


def _bucket(name: str, request: pytest.FixtureRequest) -> str:
    place = request.getfixturevalue(name).place
    return (
        f'[garage]\nstore = "s3"\nendpoint = "{place.endpoint}"\nprefix = "{place.prefix}"\n'
        f'access_key_file = "{place.access_key_file}"\nsecret_key_file = "{place.secret_key_file}"\n'
    )


def _graph(request: pytest.FixtureRequest) -> str:
    place = request.getfixturevalue("neo4j_place")
    password = request.getfixturevalue("tmp_path") / "neo4j-password"
    password.write_text(place.password)
    return (
        f'[graph]\nstore = "neo4j"\nuri = "{place.uri}"\npassword_file = "{password}"\n'
        f'namespace = "test-{secrets.token_hex(6)}"\ntimeout = 60\n'
    )


def _vectors(request: pytest.FixtureRequest) -> str:
    url = request.getfixturevalue("qdrant_wire_url")
    return f'[vectors]\nstore = "qdrant"\nurl = "{url}"\nprefix = "test-{secrets.token_hex(6)}"\n'


_SECTIONS = {
    "neo4j": _graph,
    "seaweedfs": lambda request: _bucket("seaweedfs", request),
    "minio": lambda request: _bucket("minio", request),
    "qdrant-wire": _vectors,
}
