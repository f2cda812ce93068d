"""MinIO, built from source by the Go toolchain, once. A peer of tests, never a dependency (AGPL)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from scripts.servers import s3
from scripts.servers.fetching import fetch
from scripts.servers.process import HOST, Running, cache, free_ports, launch, wait_for_port

VERSION = "v0.0.0-20260212201848-7aac2a2c5b7c"
GO = "1.24"
"""What its go.mod asks for. Debian 13 has that as golang-go; the one of Debian 12, 1.19, cannot even read that file."""
HOW_TO_GET = "https://go.dev/dl, or apt-get install golang-go from Debian 13 on"
QUICK = ("-gcflags=all=-N -l -dwarf=false", "-ldflags=-s -w")
"""Without optimising and without what debuggers want, for a server that lives for minutes: under four minutes of one core."""


def install() -> Path:
    """The program."""
    folder = cache() / f"minio-{VERSION}"
    if not (folder / "minio").exists():
        if not shutil.which("go"):
            raise SystemExit(f"MinIO is built from source by Go {GO} or later, which is not installed: {HOW_TO_GET}.")
        build = {**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0", "GOGC": "400"}
        what = f"github.com/minio/minio@{VERSION}"
        fetch(f"MinIO {VERSION}", ["go", "install", *QUICK, what], build, how="built from source")
    return folder / "minio"


def start(folder: Path, ports: tuple[int, ...]) -> Running:
    program = install()
    port, console = ports or free_ports(2)
    user, password = s3.keys(folder)
    words = ["server", folder / "data", "--address", f"{HOST}:{port}", "--console-address", f"{HOST}:{console}"]
    if certificates := s3.certified(folder):
        words += ["--certs-dir", certificates]
    env = {
        "MINIO_ROOT_USER": user,
        "MINIO_ROOT_PASSWORD": password,
        "MINIO_BROWSER": "off",
        "MINIO_DOMAIN": s3.DOMAIN,
    }
    note = launch(folder, [program, *words], [port, console], env)
    wait_for_port(folder, note, port)
    return note


def settings(folder: Path, ports: tuple[int, ...]) -> str:
    return s3.settings(folder, ports[0])
