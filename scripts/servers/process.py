"""A server's process: started once, found again by id and start time, ended by id alone."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HOST = os.environ.get("KGFS_SERVERS_HOST", "127.0.0.1")
"""Where servers listen: for this machine alone, unless a test of several machines says otherwise."""
_children: set[int] = set()
"""Those started by this very process, which must wait for them when they end."""


@dataclass(frozen=True)
class Running:
    """What is noted about a started server in ``FOLDER/NAME/running.json``."""

    pid: int
    started: str
    """Start time in clock ticks since boot, which tells a process from a later one with the same id."""
    ports: tuple[int, ...]
    leaves: tuple[str, ...] = ()
    """Files outside its folder that may be there when it has ended."""


def cache() -> Path:
    """Where downloads and builds are kept for every checkout of this user."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "kgfs-servers"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def running(folder: Path) -> Running | None:
    """The server of this folder, if it lives."""
    found = _note(folder)
    return found if found and _start_time(found.pid) == found.started else None


def ports_before(folder: Path) -> tuple[int, ...]:
    """Those of the server's last life, so that whoever knows them finds it again; () before the first."""
    found = _note(folder)
    return found.ports if found else ()


def _note(folder: Path) -> Running | None:
    try:
        note = json.loads((folder / "running.json").read_text())
    except FileNotFoundError:
        return None
    return Running(note["pid"], note["started"], tuple(note["ports"]), tuple(note.get("leaves", ())))


def launch(
    folder: Path,
    command: Sequence[str | Path],
    ports: Sequence[int],
    env: Mapping[str, str] = {},
    leaves: Sequence[str] = (),
) -> Running:
    """Start a server that outlives this process; what it says goes to ``FOLDER/log``."""
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **env},
            cwd=folder,
            start_new_session=True,
        )
    _children.add(process.pid)
    process.returncode = 0  # else Popen complains of what outlives this process, as it is to
    note = Running(process.pid, _start_time(process.pid) or "", tuple(ports), tuple(leaves))
    (folder / "running.json").write_text(json.dumps(asdict(note)))
    return note


def end(folder: Path, seconds: float = 30.0) -> bool:
    """End the server of this folder; whether one lived. It is asked first and killed when it does not listen."""
    found = running(folder)
    if found is None:
        if former := _note(folder):
            _wait_for(former.pid)
            _take_away(former.leaves)
        return False
    for way, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, 60.0)):
        os.kill(found.pid, way)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if _start_time(found.pid) != found.started:
                _wait_for(found.pid)
                _take_away(found.leaves)
                return True
            time.sleep(0.05)
    raise SystemExit(f"process {found.pid} does not end; see {folder / 'log'}")


def _take_away(leaves: Sequence[str]) -> None:
    for path in leaves:
        Path(path).unlink(missing_ok=True)


def _wait_for(pid: int) -> None:
    """For a child that ended, once."""
    if pid in _children:
        _children.remove(pid)
        os.waitpid(pid, 0)


def wait_for_port(folder: Path, note: Running, port: int, seconds: float = 240.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if _start_time(note.pid) != note.started:
            break
        if taken(port):
            return
        time.sleep(0.1)
    tail = (folder / "log").read_text("utf-8", "replace").splitlines()[-15:]
    raise SystemExit(f"{folder.name} does not answer on port {port}:\n" + "\n".join(tail))


def free_ports(count: int, *, below: int = 32_000) -> list[int]:
    """Ports nobody listens on, whose number + 10000 nobody has either: some servers take both. ``below`` what systems give
    to connections: looking whether a server is there could else connect to itself, and take the server's port."""
    found: list[int] = []
    while len(found) < count:
        port = 20_000 + secrets.randbelow(below - 20_000)
        with socket.socket() as probe, socket.socket() as above:
            try:
                probe.bind((HOST, port))
                above.bind((HOST, port + 10_000))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found


def taken(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0


def secret(folder: Path, name: str) -> str:
    """A password, made once and kept in ``FOLDER/NAME`` for its owner alone. Never on a command line."""
    path = folder / name
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(16))
    return path.read_text().strip()


def _start_time(pid: int) -> str | None:
    """None for a process that ended, also for one nobody has waited for yet."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]
