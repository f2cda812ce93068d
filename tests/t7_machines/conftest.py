from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import pytest

from scripts.servers import process
from tests.support.mounting import STATISTICS
from tests.support.network import SERVERS, Host, inside, need_namespaces, network
from tests.support.peers.knowledge_server import need_neo4j
from tests.support.running import ROOT, Place

PEERS = ("neo4j", "seaweedfs")
TIMEOUT = 5.0
"""Seconds that hosts give a server: what they say when it is silent is to come within some of these."""


@dataclass
class Machines:
    """Two hosts and the servers' machine."""

    hosts: list[Host]
    servers: str
    """The namespace of their machine."""
    folder: Path
    """Of the servers."""

    def start(self, *names: str) -> None:
        """Those that do not run, with the data and the ports that they had."""
        words = (sys.executable, "-m", "scripts.servers", "start", *names, "--folder", str(self.folder))
        subprocess.run(
            [*inside(self.servers), *words],
            env={**os.environ, "KGFS_SERVERS_HOST": SERVERS},
            cwd=ROOT,
            check=True,
            capture_output=True,
            timeout=300,
        )

    def settings(self, prefix: str) -> str:
        """For a home whose garage is a part of the bucket, and whose graph is one of its own, that no other test has."""
        found = tomllib.loads((self.folder / "kgfs.toml").read_text())
        found["garage"] |= {"prefix": prefix, "shared": True, "timeout": TIMEOUT}
        found["graph"] |= {"namespace": prefix, "timeout": TIMEOUT}
        return "".join(
            f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
            for name, table in found.items()
        )


@pytest.fixture(scope="session", params=["-".join(PEERS)])
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    need_namespaces()
    need_neo4j()
    tag = f"kg{os.getpid() % 100_000}"
    folder = tmp_path_factory.mktemp("servers")
    with network(f"{tag}s", (f"{tag}a", f"{tag}b")) as hosts:
        found = Machines(hosts, f"{tag}s", folder)
        try:
            found.start(*PEERS)
            yield found
        finally:
            for name in PEERS:
                process.end(folder / name, 0)


@pytest.fixture
def homes(machines: Machines, tmp_path: Path) -> Iterator[list[Place]]:
    """A home on each host, of one garage and one graph."""
    prefix = token_hex(6)
    found = []
    for host in machines.hosts:
        home = tmp_path / host.name[-1] / "home"
        home.mkdir(parents=True, mode=0o700)
        (home / "config.toml").write_text(machines.settings(prefix))
        place = Place(home, tmp_path / host.name[-1] / "mnt", dict(STATISTICS), before=host.inside)
        place.mountpoint.mkdir()
        found.append(place)
    yield found
    for host in machines.hosts:
        host.wire("join")
        host.wire("delay", 0)
        host.wire("loss", 0)
    for place in found:
        place.close()
