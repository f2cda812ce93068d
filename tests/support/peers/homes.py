"""A home's stores in files, or on the servers that the test's id names: the same scenarios for both.

``@anywhere`` over a test gives its ``home`` both in turn, ``@pytest.mark.peers`` what it says. With ``KGFS_EVERYWHERE=1``
all tests of a file that is marked as one of the lifecycle run on the servers that the mark names, but those that say in a
word why they cannot: ``@pytest.mark.files("damage")`` where a home's own files are damaged by hand, ``"path"`` where one of
them is named, ``"refused"`` what is not for homes on servers, ``"shipped"`` what who repairs such a home has done before he
looks. The home's own ``config.toml`` says where its stores are, so a test opens it by :func:`kgfs.config.load`, and a command
finds it by itself.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EMBEDDED = "embedded"
SERVERS = "seaweedfs"
"""Peers are servers with spaces between; what is not on one of them is in files. For scenarios without an embedding model,
which keep no vectors: no id names what was not asked."""
SERVERS_AND_VECTORS = "seaweedfs qdrant-wire"
anywhere = pytest.mark.peers(EMBEDDED, SERVERS)
lifecycle = pytest.mark.lifecycle(SERVERS, "minio")
"""For files of tests."""
lifecycle_of_garage = pytest.mark.lifecycle("seaweedfs", "minio")
"""For those that open no graph."""
EVERYWHERE = os.environ.get("KGFS_EVERYWHERE") == "1"


def peers_of(metafunc: pytest.Metafunc) -> None:
    """One test for each of the peers that it is to run on."""
    for fixture in ("home", "home_of_file"):
        if fixture in metafunc.fixturenames and (peers := _peers(metafunc.definition)):
            metafunc.parametrize(fixture, peers, indirect=True)


def _peers(test: pytest.Item) -> list[Any]:
    marked, everywhere = test.get_closest_marker("peers"), test.get_closest_marker("lifecycle")
    if EVERYWHERE and everywhere:
        if alone := test.get_closest_marker("files"):
            return [pytest.param(EMBEDDED, marks=pytest.mark.skip(reason=f"[files] {alone.args[0]}"), id=EMBEDDED)]
        marked = everywhere
    return [pytest.param(peer, id=peer.replace(" ", "-")) for peer in marked.args] if marked else []


def home_in(folder: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """An empty home with places on the servers that the parameter of its fixture names, which nobody used yet; in the end,
    nothing of it may be in files that its id says to be on them."""
    home, servers = folder / "home", getattr(request, "param", EMBEDDED).split()
    home.mkdir(mode=0o700)
    if servers != [EMBEDDED]:
        (home / "config.toml").write_text("".join(_SECTIONS[server](home, request) for server in servers))
    yield home
    assert not [name for server in servers for name in _IN_FILES.get(server, ()) if (home / name).exists()]


def _bucket(name: str, request: pytest.FixtureRequest) -> str:
    place = request.getfixturevalue(name).place
    return (
        f'[garage]\nstore = "s3"\nendpoint = "{place.endpoint}"\nprefix = "{place.prefix}"\n'
        f'access_key_file = "{place.access_key_file}"\nsecret_key_file = "{place.secret_key_file}"\n'
    )


def _graph(home: Path, request: pytest.FixtureRequest) -> str:
    place = request.getfixturevalue("neo4j_place")
    password = home.with_name("neo4j-password")
    password.write_text(place.password)
    return (
        f'[graph]\nstore = "neo4j"\nuri = "{place.uri}"\npassword_file = "{password}"\n'
        f'namespace = "test-{secrets.token_hex(6)}"\ntimeout = 60\n'
    )


def _vectors(home: Path, request: pytest.FixtureRequest) -> str:
    url = request.getfixturevalue("qdrant_wire_url")
    return f'[vectors]\nstore = "qdrant"\nurl = "{url}"\nprefix = "test-{secrets.token_hex(6)}"\n'


_SECTIONS = {
    "neo4j": _graph,
    "seaweedfs": lambda home, request: _bucket("seaweedfs", request),
    "minio": lambda home, request: _bucket("minio", request),
    "qdrant-wire": _vectors,
}
_IN_FILES = {
    "seaweedfs": ("garage/objects", "garage/ledger"),
    "minio": ("garage/objects", "garage/ledger"),
    "qdrant-wire": ("vectors.sqlite",),
}
