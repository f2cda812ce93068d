"""MinIO, built from source by the Go toolchain (2 to 4 minutes, once). A peer of tests, never a dependency (AGPL)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from scripts.servers import s3
from scripts.servers.process import HOST, Running, cache, free_ports, launch, wait_for_port

VERSION = "v0.0.0-20260212201848-7aac2a2c5b7c"


def install() -> Path:
    """The program."""
    folder = cache() / f"minio-{VERSION}"
    if not (folder / "minio").exists():
        build = {**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0"}
        subprocess.run(["go", "install", f"github.com/minio/minio@{VERSION}"], check=True, env=build)
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
