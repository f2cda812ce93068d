"""A real Neo4j, started once for all processes of a session on a free port, and ended by the last of them."""

from __future__ import annotations

import fcntl
import glob
import importlib.util
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.stores.projection.endpoint import Endpoint
from scripts.servers import neo4j, process
from tests.support.required import missing

MOST = 40 << 20
"""Bytes that a transaction may have on the server of a session; one that wants more fails."""
SETTINGS = f"""
db.memory.transaction.max={MOST}
# How long who speaks of what the server has not done yet is let wait: a test waits for that twice, by default a minute.
db.transaction.bookmark_ready_timeout=4s
"""


@pytest.fixture(scope="session")
def neo4j_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Each test takes a namespace of its own there. ``KGFS_NEO4J_FOLDER`` names the folder of one that runs already."""
    need_neo4j()
    if folder := os.environ.get("KGFS_NEO4J_FOLDER"):
        yield place_of(Path(folder))
        return
    top = tmp_path_factory.getbasetemp()
    folder = (top.parent if "PYTEST_XDIST_WORKER" in os.environ else top) / "neo4j"
    with _one_more(folder, 1) as users:
        if users == 1:
            (folder / "data").mkdir(exist_ok=True)
            (folder / "data/neo4j.conf").write_text(SETTINGS)
            neo4j.start(folder, ())
    yield place_of(folder)
    with _one_more(folder, -1) as users:
        if users == 0:
            process.end(folder, 0)


@pytest.fixture
def guest(neo4j_place: Endpoint) -> Iterator[Endpoint]:
    """A user of the test's own, with the same password: who says a wrong one three times is shut out for a while, and with it
    all tests that are the same user."""
    from neo4j import GraphDatabase

    name = f"guest{secrets.token_hex(4)}"
    made = f"CREATE USER {name} SET PASSWORD $password CHANGE NOT REQUIRED"
    with GraphDatabase.driver(neo4j_place.uri, auth=(neo4j_place.user, neo4j_place.password)) as driver:
        driver.execute_query(made, password=neo4j_place.password, database_="system")
        yield replace(neo4j_place, user=name)
        driver.execute_query(f"DROP USER {name}", database_="system")


@pytest.fixture(scope="session")
def mortal_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("mortal")
    yield folder
    process.end(folder, 0)


@pytest.fixture
def mortal(mortal_folder: Path) -> Path:
    """The folder of a running server that the test may kill, and start again: no other process asks it. Each start takes as
    long as a test, so those who kill one stay in one process (``tests.support.dealing``), and take a namespace of their own."""
    need_neo4j()
    if process.running(mortal_folder) is None:
        neo4j.start(mortal_folder, process.ports_before(mortal_folder))
    return mortal_folder


@contextmanager
def _one_more(folder: Path, step: int) -> Iterator[int]:
    """How many processes use the server now; the others wait until this is left."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "users").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        users = int(file.read() or 0) + step
        file.truncate(0)
        file.write(str(users))
        file.flush()
        yield users


def need_neo4j() -> None:
    if importlib.util.find_spec("neo4j") is None:
        missing("neo4j", "the package neo4j is not installed")
    if not any(glob.glob(f"/usr/lib/jvm/*{version}*/bin/java") for version in neo4j.VERSIONS):
        missing("neo4j", "no Java that runs it is installed")
    if not neo4j.installed() and not shutil.which("mvn"):
        missing("neo4j", "it is not installed, and neither is mvn, which would fetch it")


def place_of(folder: Path) -> Endpoint:
    """Where the server of a folder is."""
    found = process.running(folder)
    assert found is not None, f"no server runs in {folder}"
    password = (folder / "password").read_text().strip()
    uri = f"bolt://{process.HOST}:{found.ports[0]}"
    return Endpoint(uri, password=password, timeout=60.0)
