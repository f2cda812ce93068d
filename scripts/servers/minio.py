"""MinIO, built from source by the Go toolchain, once. A peer of tests, never a dependency (AGPL)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from scripts.servers import s3
from scripts.servers.fetching import fetch
from scripts.servers.process import HOST, Running, cache, free_ports, launch, wait_for_port

VERSION = "v0.0.0-20260212201848-7aac2a2c5b7c"
GO = "1.24"
"""What its go.mod asks for. Debian 13 has that as golang-go; the one of Debian 12, 1.19, cannot even read that file."""
FETCHES_ANOTHER = (1, 21)
"""From here on it fetches the one that is asked for, or says itself which that is."""
NONE = (0, 0)
HOW_TO_GET = "https://go.dev/dl, or apt-get install golang-go from Debian 13 on"
QUICK = ("-gcflags=all=-N -l -dwarf=false", "-ldflags=-s -w")
"""Without optimising and without what debuggers want, for a server that lives for minutes: under four minutes of one core."""


def install() -> Path:
    """The program."""
    folder = cache() / f"minio-{VERSION}"
    if not (folder / "minio").exists():
        if (found := _go()) < FETCHES_ANOTHER:
            there = "none is installed" if found == NONE else f"installed is {found[0]}.{found[1]}"
            raise SystemExit(f"MinIO is built from source by Go {GO} or later, and {there}: {HOW_TO_GET}.")
        build = {**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0", "GOGC": "400"}
        what = f"github.com/minio/minio@{VERSION}"
        fetch(f"MinIO {VERSION}", ["go", "install", *QUICK, what], build, how="built from source")
    return folder / "minio"


def _go() -> tuple[int, int]:
    """The version of the Go that is installed; ``NONE`` where none is."""
    if not shutil.which("go"):
        return NONE
    said = subprocess.run(["go", "version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\bgo(\d+)\.(\d+)", said)
    return (
        (int(found[1]), int(found[2])) if found else FETCHES_ANOTHER
    )  # built from its own source: nobody knows how new


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
