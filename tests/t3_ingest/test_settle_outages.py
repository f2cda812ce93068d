"""A bucket that falls silent while files are being settled: nobody waits for it who only opens or reads them, and who settles waits
once, not for each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kgfs.config import load
from scripts.servers import process
from tests.support.depositing import Desk, desk_at
from tests.support.logs import AWAY
from tests.support.outages import Peer
from tests.support.peers.buckets import need
from tests.support.stopping import stopped

"""Goes through the spool."""
"""Seconds that a bucket may be silent: longer than all takes that waits for nobody, on a busy machine."""


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """Of its own: others are not to notice that it is silent."""
    need("seaweedfs")
    found = Peer("seaweedfs", tmp_path_factory.mktemp("seaweedfs"))
    found.start()
    yield found
    found.end()


@pytest.fixture
def far(home: Path, bucket: Peer) -> Path:
    (home / "config.toml").write_text(bucket.settings())
    return home


@contextmanager
def waiting(home: Path, seconds: float) -> Iterator[Desk]:
    """A process of the home that has the bucket be silent for so long."""
    with desk_at(home, load(home, environ={"KGFS_GARAGE_TIMEOUT": f"{seconds:g}"})) as desk:
        yield desk


@contextmanager
def silent(bucket: Peer) -> Iterator[None]:
    found = process.running(bucket.folder)
    assert found
    with stopped(found.pid):
        yield


@pytest.mark.claim("AWAY-3")
@pytest.mark.logs(AWAY)
def test_who_settles_many_small_files_waits_once(far: Path, bucket: Peer) -> None:
    """So does whoever waits for that one, to settle something else, or for a mount to end."""
    with waiting(far, 2.0) as desk:
        names = [desk.file(f"{number}.txt", b"Note %d." % number) for number in range(64)]
        assert desk.stores.garage.ledger.last_seq() == 0  # the client is loaded, and a connection open
        with silent(bucket):
            begun = time.monotonic()
            assert desk.settle() == 0
            took = time.monotonic() - begun
        assert took < 8, "one of eight after the other took sixteen seconds"
        assert desk.settle() == len(names)
        assert all(desk.row(name.id).version == 1 for name in names)
