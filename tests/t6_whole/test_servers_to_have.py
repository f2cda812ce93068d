"""What ``make servers`` and ``make servers-stop`` call: real servers, started once, found again, ended by their process ids."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kgfs.config import load
from scripts.servers import process, seaweedfs
from tests.support.peers.buckets import need
from tests.support.peers.fixtures import need_qdrant_wire
from tests.support.running import PATIENCE, ROOT

Servers = Callable[..., dict[str, tuple[int, int]]]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """The command; it answers process and port of each server that it names."""
    need("seaweedfs")
    need_qdrant_wire()

    def command(*words: str) -> dict[str, tuple[int, int]]:
        done = subprocess.run(
            [sys.executable, "-m", "scripts.servers", *words, "--folder", str(tmp_path / "servers")],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        found = re.findall(r"^(\S+)\tprocess (\d+)\tport (\d+)$", done.stdout, re.MULTILINE)
        return {name: (int(pid), int(port)) for name, pid, port in found}

    yield command
    command("stop")


@pytest.mark.parametrize("both", [("qdrant-wire", "seaweedfs")], ids="-".join)
def test_started_twice_they_are_the_same_and_ended_they_come_back_at_their_ports(
    servers: Servers, both: tuple[str, str], tmp_path: Path
) -> None:
    settings = tmp_path / "servers/kgfs.toml"
    found = servers("start", *both)
    assert set(found) == set(both)
    assert servers("start", *both) == found
    config, written = load(tmp_path / "home", settings, {}), settings.read_text()
    assert config.garage_store.endpoint == f"http://127.0.0.1:{found['seaweedfs'][1]}"
    assert config.vectors.url == f"http://127.0.0.1:{found['qdrant-wire'][1]}"
    assert all(process.taken(port) for _, port in found.values())

    servers("stop")
    assert servers("show") == {}
    assert not any(process.taken(port) for _, port in found.values())

    again = servers("start", "seaweedfs")
    assert again["seaweedfs"][0] != found["seaweedfs"][0]
    assert again["seaweedfs"][1] == found["seaweedfs"][1]
    assert settings.read_text() == written, "one that is ended now is away: a home on it is to find no other"


def test_a_killed_seaweedfs_leaves_nothing_that_keeps_another_user_from_its_ports(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid, _ = servers("start", "seaweedfs")["seaweedfs"]
    ports = process.ports_before(tmp_path / "servers/seaweedfs")
    os.kill(pid, signal.SIGKILL)
    assert any(Path(path).is_socket() for path in seaweedfs.sockets(ports))
    assert seaweedfs.chosen_ports(ports) == ports
    with monkeypatch.context() as another:
        another.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert not {*seaweedfs.chosen_ports(ports)} & {*ports}
    servers("stop")
    assert not any(Path(path).exists() for path in seaweedfs.sockets(ports))
