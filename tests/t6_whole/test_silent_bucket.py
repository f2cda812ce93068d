"""A bucket that is silent under a mount, and many who wait for it: nobody else does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from scripts.servers import process
from tests.support.logs import AWAY
from tests.support.outages import Peer, read_anew
from tests.support.peers.buckets import need
from tests.support.running import QUICK, Place, drop_cache, until
from tests.support.starting import CONSTANTS
from tests.support.stopping import stopped

pytestmark = [pytest.mark.mounted, pytest.mark.slow]

MANY = 24
"""More than there are places for questions, or for changes."""
SILENT = 30
"""Seconds that the bucket may be silent: longer than all that is to wait for nothing takes, on a busy machine."""
LARGE = 300_000
"""Bytes that no look into memory finds: who reads them has a thread for that."""


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """Of its own: others are not to notice that it is silent."""
    need("seaweedfs")
    found = Peer("seaweedfs", tmp_path_factory.mktemp("seaweedfs"))
    found.start()
    yield found
    found.end()


@pytest.fixture
def far(place: Place, bucket: Peer) -> Place:
    place.environment |= QUICK | {"KGFS_GARAGE_TIMEOUT": str(SILENT)}
    (place.home / "config.toml").write_text(bucket.settings())
    return place


def content(name: str) -> bytes:
    return f"{name}.\n".encode() * (LARGE // 10 if name.startswith("large") else 1)


def append(path: Path) -> bytes:
    with path.open("ab") as file:
        file.write(b"more")
    return b""


def forget_pages(folder: Path) -> None:
    """What the kernel has read, or is about to write, of all files below."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def begun(far: Place, source: Path, names: list[str], cached: list[str]) -> Path:
    """The documents/ of a mount of a home that has these files in its bucket, and some of them also here, on the disk."""
    source.mkdir()
    for name in (*names, *cached):
        (source / name).write_bytes(content(name))
    far.run("ingest", *sorted(source.iterdir()), "--ontology", "Notes", "--no-wait")
    drop_cache(far.home)
    far.mount("--no-worker")
    documents = far.mountpoint / "Notes/documents"
    (documents / "first.txt").write_bytes(b"The first change waits until the ledger was asked.\n")
    for name in cached:
        assert read_anew(documents / name) == content(name)
    until(lambda: sum(path.is_file() for path in (far.home / "cache").glob("*/*")) >= len(cached))
    forget_pages(far.home / "cache")
    return documents


@contextmanager
def silent(bucket: Peer) -> Iterator[None]:
    server = process.running(bucket.folder)
    assert server
    with stopped(server.pid):
        yield


@pytest.mark.claim("AWAY-1", "AWAY-2", "AWAY-10")
@pytest.mark.logs(AWAY)
@pytest.mark.parametrize("how", ["read", "append"])
def test_many_wait_for_it_and_nobody_waits_for_them(far: Place, bucket: Peer, tmp_path: Path, how: str) -> None:
    awaited = [f"far-{n:02}.txt" for n in range(MANY)]
    changed = ["mode.txt", "moved.txt", "cut.txt"]
    cached = ["large-0.txt", "large-1.txt", "cached.txt"]
    documents = begun(far, tmp_path / "source", [*awaited, *changed], cached)
    waits: dict[str, list[Callable[[], bytes]]] = {
        "read": [(documents / name).read_bytes for name in awaited],
        "append": [partial(append, documents / name) for name in awaited],
    }
    steps: dict[str, Callable[[], object]] = {
        **{f"read {name}": partial(read_anew, documents / name) for name in cached},
        "chmod": lambda: (documents / "mode.txt").chmod(0o600),
        "rename": lambda: (documents / "moved.txt").rename(documents / "renamed.txt"),
        "truncate": lambda: os.truncate(documents / "cut.txt", 0),
        "make a folder": (documents / "folder").mkdir,
        "write": lambda: (documents / "folder/new.txt").write_bytes(b"new"),
        "make an ontology": (far.mountpoint / "Other").mkdir,
    }
    waiting: list[Future[bytes]] = []
    with ThreadPoolExecutor(len(waits[how])) as pool:
        with silent(bucket):
            for wait in waits[how]:
                waiting.append(pool.submit(wait))
                time.sleep(0.05)  # in this order: who opens a file finds it being read
            took = {}
            for name, step in steps.items():
                before = time.monotonic()
                step()
                took[name] = time.monotonic() - before
            assert not any(one.done() for one in waiting), f"somebody waited for those who wait for the bucket: {took}"
        for one, name in zip(waiting, awaited, strict=True):
            assert one.result() == (b"" if how == "append" else content(name))
    assert read_anew(documents / "cut.txt") == b""
    assert read_anew(documents / "renamed.txt") == content("moved.txt")


@pytest.mark.claim("GAR-1", "GAR-3")
def test_the_garage_in_a_bucket_is_shown_as_it_is_kept(far: Place, tmp_path: Path) -> None:
    """More entries in one folder than are asked for together; and what comes and grows is seen."""
    (tmp_path / "source").mkdir()
    for number in range(60):
        (tmp_path / "source" / f"{number}.txt").write_bytes(content(f"n{number}"))
    far.run("ingest", *(tmp_path / "source").iterdir(), "--ontology", "Notes", "--no-wait")
    far.mount("--view", "garage")
    top = far.mountpoint
    shown = sorted(path.read_bytes() for path in (top / "sources/Notes").iterdir())
    assert shown == sorted(content(f"n{number}") for number in range(60))
    with os.scandir(top / "sources/Notes") as found:
        assert all(entry.stat().st_size == len(Path(entry).read_bytes()) for entry in found)
    [segment] = (top / "ledger").iterdir()
    assert len(segment.read_bytes()) == segment.stat().st_size
    assert not (top / "sources/Other").exists()
    with pytest.raises(OSError, match="No data available"):
        os.getxattr(segment, "user.kgfs.sha256")
    (tmp_path / "late.txt").write_bytes(b"late")
    far.run("ingest", tmp_path / "late.txt", "--ontology", "Other", "--no-wait")
    until(lambda: b"late.txt" in segment.read_bytes() and segment.stat().st_size == len(segment.read_bytes()))
    [late] = (top / "sources/Other").iterdir()
    assert (late.read_bytes(), os.getxattr(late, "user.kgfs.ontology")) == (b"late", b"Other")


@pytest.mark.claim("GAR-5")
@pytest.mark.logs(AWAY)
def test_who_asks_the_garage_as_it_is_kept_waits_alone(far: Place, bucket: Peer, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    for name in ("large-0.txt", "far.txt"):
        (tmp_path / "source" / name).write_bytes(content(name))
    far.run("ingest", *sorted((tmp_path / "source").iterdir()), "--ontology", "Notes", "--no-wait")
    drop_cache(far.home)
    far.mount("--view", "garage")
    top = far.mountpoint
    [segment] = (top / "ledger").iterdir()
    by_size = {path.stat().st_size: path for path in (top / "sources/Notes").iterdir()}
    cached, beside = by_size[len(content("large-0.txt"))], by_size[len(content("far.txt"))]
    assert sorted(os.listxattr(beside)) == sorted(f"user.kgfs.{one}" for one in ("sha256", "doc_id", "ontology", "key"))
    assert read_anew(cached) == content("large-0.txt")
    until(lambda: any(path.is_file() for path in (far.home / "cache").glob("*/*")))
    forget_pages(far.home / "cache")
    with ThreadPoolExecutor(1) as pool:
        with silent(bucket):
            waiting = pool.submit((top / "readings").exists)
            time.sleep(2)  # by then the mount has asked for what may have grown
            before = time.monotonic()
            assert read_anew(cached) == content("large-0.txt")
            assert cached.stat().st_size == len(content("large-0.txt"))
            took = time.monotonic() - before
            assert not waiting.done(), f"it was answered after {took:.1f} s"
            assert took < SILENT / 3
        waiting.result()
    assert beside.read_bytes() == content("far.txt")
    assert segment.read_bytes().count(b"\n") > 1


@pytest.mark.claim("UNM-1", "AWAY-1")
@pytest.mark.logs(AWAY)
def test_a_mount_ends_without_asking_a_silent_bucket_anew(far: Place, bucket: Peer) -> None:
    """What was asked before is waited for once, and whoever unmounts is told nothing wrong meanwhile."""
    limit = 15.0
    far.environment |= {"KGFS_GARAGE_TIMEOUT": f"{limit:g}", CONSTANTS: "kgfs.cli.progress.MOUNT_END=1"}
    far.mount("--no-worker")
    documents = far.ontology("Notes") / "documents"
    (documents / "first.txt").write_bytes(b"first")
    until(lambda: far.status()["unsettled"] == 0)
    with silent(bucket):
        (documents / "second.txt").write_bytes(b"second")
        time.sleep(3)  # by then it is being settled
        begun = time.monotonic()
        reported = far.run("umount", far.mountpoint).stderr
        until(lambda: not far.pids(), 6 * limit)
        took = time.monotonic() - begun
    assert "is still ending, and may wait for" in reported
    assert "anything open" not in reported
    assert took < limit + 8
    far.mount("--no-worker")
    assert (documents / "second.txt").read_bytes() == b"second"
    until(lambda: far.status()["unsettled"] == 0)
