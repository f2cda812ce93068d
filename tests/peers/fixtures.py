"""Real servers for the conformance suites, each started once a session on a free port and ended with it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.servers import process, qdrant_wire
from tests.required import missing


@pytest.fixture(scope="session")
def qdrant_wire_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    for package in ("qdrant_client", "qdrant_edge"):
        if importlib.util.find_spec(package) is None:
            missing("qdrant-wire", f"the package {package} is not installed")
    folder = tmp_path_factory.mktemp("qdrant-wire")
    yield f"http://127.0.0.1:{_started(qdrant_wire, folder)}"
    process.end(folder)


@pytest.fixture(scope="session")
def qdrant_url() -> str:
    """A real server that somebody runs."""
    return os.environ.get("KGFS_QDRANT_URL") or missing("qdrant", "KGFS_QDRANT_URL names no server")


def _started(server: object, folder: Path) -> int:
    return int(server.start(folder, ()).ports[0])  # type: ignore[attr-defined]
