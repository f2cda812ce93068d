from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import pytest

from scripts.servers import process
from tests.support.machines import PEERS, Machines
from tests.support.mounting import STATISTICS
from tests.support.network import need_namespaces, network
from tests.support.running import Place


@pytest.fixture(scope="session", params=["-".join(PEERS)])
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    need_namespaces()
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
    """A home on each host, of one garage."""
    prefix = token_hex(6)
    found = []
    for host in machines.hosts:
        home = tmp_path / host.name[-1] / "home"
        home.mkdir(parents=True, mode=0o700)
        (home / "config.toml").write_text(machines.settings(prefix))
        place = Place(home, tmp_path / host.name[-1] / "mnt", dict(STATISTICS), before=host.inside)
        place.mountpoint.mkdir()
        found.append(place)
    found[0].run("doctor", "--create", "--quiet")
    yield found
    for host in machines.hosts:
        host.wire("join")
        host.wire("delay", 0)
        host.wire("loss", 0)
    for place in found:
        place.close()
