"""Machines in network namespaces: some hosts and one that has the servers, each host behind a wire of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.required import missing

WIRE = Path(__file__).with_name("wire.py")
SERVERS = "10.77.0.1"
"""The address of the machine with the servers, for every host."""


def need_namespaces() -> None:
    if os.geteuid() != 0:
        missing("netns", "only root can make network namespaces")
    for program in ("ip", "nsenter"):
        if not shutil.which(program):
            missing("netns", f"{program} is not installed")
    if subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode:
        missing("netns", "this machine makes no network namespaces")


@dataclass
class Wire:
    """Between a host and the servers."""

    process: subprocess.Popen[str]

    def __call__(self, *words: str | float) -> None:
        """``delay SECONDS``, ``loss SHARE``, ``cut``, ``join``."""
        assert self.process.stdin and self.process.stdout
        print(*words, file=self.process.stdin, flush=True)
        assert self.process.stdout.readline() == "done\n"


@dataclass
class Host:
    name: str
    wire: Wire

    @property
    def inside(self) -> tuple[str, ...]:
        return inside(self.name)


def inside(name: str) -> tuple[str, ...]:
    """The words before a command that runs there. Mounts and files are those of everybody."""
    return ("nsenter", f"--net=/run/netns/{name}", "--")


@contextmanager
def network(servers: str, names: Sequence[str]) -> Iterator[list[Host]]:
    """Namespaces of these names, each host joined with ``servers`` by a wire."""
    with ExitStack() as stack:
        bridge = f"{servers}-w"
        for name in (servers, bridge, *names):
            stack.enter_context(_namespace(name))
        # The wires' ends at the servers' side are ports of one bridge, so that the servers have one address.
        _ip("-n", bridge, "link", "add", "bridge0", "type", "bridge")
        _ip("-n", bridge, "link", "set", "bridge0", "up")
        _cable(servers, bridge, "port")
        _ip("-n", bridge, "link", "set", "port", "master", "bridge0")
        _address(servers, SERVERS)
        hosts = []
        for number, name in enumerate(names, 2):
            _cable(name, bridge, f"host{number}")
            _ip("-n", bridge, "link", "add", f"in{number}", "type", "veth", "peer", "name", f"out{number}")
            _ip("-n", bridge, "link", "set", f"in{number}", "up")
            _ip("-n", bridge, "link", "set", f"out{number}", "up", "master", "bridge0")
            _address(name, f"10.77.0.{number}")
            hosts.append(Host(name, stack.enter_context(_wire(bridge, f"host{number}", f"in{number}"))))
        yield hosts


@contextmanager
def _namespace(name: str) -> Iterator[None]:
    _ip("netns", "add", name)
    try:
        _ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        _ip("netns", "delete", name)


def _cable(machine: str, bridge: str, end: str) -> None:
    _ip("-n", bridge, "link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", machine)
    _ip("-n", bridge, "link", "set", end, "up")
    _ip("-n", machine, "link", "set", "eth0", "up")


def _address(machine: str, address: str) -> None:
    _ip("-n", machine, "address", "add", f"{address}/24", "dev", "eth0")


@contextmanager
def _wire(bridge: str, left: str, right: str) -> Iterator[Wire]:
    words = [*inside(bridge), sys.executable, str(WIRE), left, right]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        wire = Wire(process)
        try:
            wire("join")  # it answers when it runs
            yield wire
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait(10)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
