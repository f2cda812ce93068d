"""Real servers for the conformance suites, each started once a session on a free port and ended with it."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from scripts.servers import process, qdrant_wire
from tests.support.required import missing

MEMORY = Path("/dev/shm")


def need_qdrant_wire() -> None:
    for package in ("qdrant_client", "qdrant_edge"):
        if importlib.util.find_spec(package) is None:
            missing("qdrant-wire", f"the package {package} is not installed")


@pytest.fixture(scope="session")
def qdrant_wire_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    need_qdrant_wire()
    folder = tmp_path_factory.mktemp("qdrant-wire")
    # Nobody kills this one, and on a disk it waits seconds for each collection that a test makes.
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 1 << 30
    with TemporaryDirectory(dir=MEMORY if roomy else folder) as data:
        (folder / "data").symlink_to(data)
        yield f"http://127.0.0.1:{_started(qdrant_wire, folder)}"
        process.end(folder)


@pytest.fixture(scope="session")
def qdrant_url() -> str:
    """A real server that somebody runs."""
    return os.environ.get("KGFS_QDRANT_URL") or missing("qdrant", "KGFS_QDRANT_URL names no server")


def _started(server: object, folder: Path) -> int:
    return int(server.start(folder, ()).ports[0])  # type: ignore[attr-defined]
