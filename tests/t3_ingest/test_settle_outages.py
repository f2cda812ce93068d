"""A bucket that falls silent while files are being settled: nobody waits for it who only opens or reads them, and who settles waits
once, not for each."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import pytest

from kgfs import failpoints
from kgfs.config import load
from kgfs.domain.documents import StorageTier
from kgfs.stores.blocking import inline
from scripts.servers import process
from tests.support.depositing import Desk, desk_at
from tests.support.logs import AWAY
from tests.support.outages import Peer, cached_bytes
from tests.support.peers.buckets import need
from tests.support.running import until
from tests.support.stopping import stopped

LARGE = b"0123456789abcdef" * 20_000
"""Goes through the spool."""
LONG = 60.0
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
def at_border(name: str, done: Callable[[], object]) -> Iterator[None]:
    """Who passes the border first does this there."""
    ways = {name: [failpoints._Way(signal.SIGKILL, 1)]}
    passing = mock.patch.object(signal, "pthread_kill", lambda thread, number: done())
    with passing, mock.patch.object(failpoints, "_ways", ways):
        yield


@contextmanager
def silent(bucket: Peer) -> Iterator[None]:
    found = process.running(bucket.folder)
    assert found
    with stopped(found.pid):
        yield


@pytest.mark.claim("AWAY-1", "AWAY-2", "AWAY-3")
@pytest.mark.logs(AWAY)
def test_what_has_left_the_spool_is_opened_and_read_without_the_bucket(far: Path, bucket: Peer) -> None:
    """The bucket has it, and nothing says so: it fell silent before the next one was there, with which that would have become
    known. A mount opens files where all others wait for it."""
    with ExitStack() as silence, waiting(far, 2.0) as settling, waiting(far, LONG) as mounted:
        first, second = settling.file("first.txt", LARGE), settling.file("second.txt", LARGE[::-1])
        with at_border("garage-put", lambda: silence.enter_context(silent(bucket))):
            assert settling.settle() == 0
        assert settling.spool_files() == [second.key]
        assert settling.row(first.id).place is StorageTier.SPOOL
        until(lambda: cached_bytes(far) > len(LARGE))
        begun = time.monotonic()
        opened = inline(lambda: mounted.deposits.open(first.id))
        assert opened.read(0, len(LARGE)) == LARGE
        opened.release()
        assert time.monotonic() - begun < LONG / 2
        silence.close()
        assert settling.settle() == 2
        for name, content in ((first, LARGE), (second, LARGE[::-1])):
            assert settling.row(name.id).settled and settling.row(name.id).version == 1
            assert settling.read(name.id) == mounted.read(name.id) == content


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


@pytest.mark.claim("AWAY-3")
@pytest.mark.logs(AWAY)
def test_a_clock_that_is_set_right_keeps_nothing_waiting(
    far: Path, bucket: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was an hour ahead, for which servers refuse what is said to them."""
    now = time.time_ns
    with waiting(far, 1.0) as desk:
        settler = desk.deposits.settler
        with silent(bucket):
            monkeypatch.setattr(time, "time_ns", lambda: now() + 3600 * 10**9)
            name = desk.file("a.txt", b"A stupa is a mound.")
            until(lambda: settler.run_once(time.time_ns()) or settler.away)
        monkeypatch.undo()
        until(lambda: settler.run_once(time.time_ns()), 30)
        assert desk.row(name.id).settled
