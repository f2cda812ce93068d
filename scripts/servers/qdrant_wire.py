"""Qdrant's wire in front of Qdrant's own engine: a test's stand-in, since the server is in no package registry."""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.servers.process import HOST, Running, free_ports, launch, wait_for_port
from scripts.servers.s3 import certified

ROOT = Path(__file__).parents[2]


def install() -> Path:
    """Nothing to fetch: the engine is one of the packages for development."""
    return Path(sys.executable)


def start(folder: Path, ports: tuple[int, ...]) -> Running:
    program = install()
    (port,) = ports or free_ports(1)
    words = ["-m", "tests.support.peers.qdrant_wire", "--folder", folder / "data", "--port", port]
    env = {
        "PYTHONPATH": str(ROOT),
        "QDRANT__SERVICE__API_KEY": key.read_text() if (key := _key(folder)).exists() else "",
    }
    if certificates := certified(folder):
        env |= {
            "QDRANT__TLS__CERT": str(certificates / "public.crt"),
            "QDRANT__TLS__KEY": str(certificates / "private.key"),
        }
    note = launch(folder, [program, *words], [port], env)
    wait_for_port(folder, note, port)
    return note


def settings(folder: Path, ports: tuple[int, ...]) -> str:
    key = f'api_key_file = "{_key(folder)}"\n' if _key(folder).exists() else ""
    scheme = "https" if certified(folder) else "http"
    return f'[vectors]\nstore = "qdrant"\nurl = "{scheme}://{HOST}:{ports[0]}"\n{key}'


def _key(folder: Path) -> Path:
    """Where it is there, nobody is answered without what stands in it."""
    return folder / "api_key"
