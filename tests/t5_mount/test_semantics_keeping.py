"""Claims of docs/semantics.md about what lasts: DUR, FULL, WORK, UNM, and times over a remount."""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from errno import ECONNABORTED, EIO, ENOSPC, ENOTCONN
from pathlib import Path

import pytest

from kgfs.app.home import request_settling
from kgfs.config import load
from kgfs.stores.worker_lock import worker_note
from tests.support.mounting import SETTLE, STATISTICS, Library, catalog_of, mounted_place, run, sha
from tests.support.running import Place, until
from tests.support.scenarios.filesystem import fails_with

pytestmark = pytest.mark.mounted
claim = pytest.mark.claim

NOTE = "The garbage collector is a program that reclaims memory. Reference counting is a form of garbage collection.\n"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Place]:
    """A mount that may be killed, with an ontology called A; one killed leaves a dead mount, and says so."""
    with mounted_place(tmp_path / "fresh", "--no-worker", declared=("was a dead mount",)) as place:
        place.ontology("A")
        yield place


def killed(place: Place) -> Path:
    """documents/ after a kill -9 and a remount."""
    place.kill()
    place.mount("--no-worker")
    return place.mountpoint / "A" / "documents"


def about(top: Path) -> dict[str, tuple[object, ...]]:
    return {
        str(path.relative_to(top)): (
            path.lstat().st_mode,
            path.lstat().st_ino,
            path.lstat().st_size,
            path.lstat().st_mtime_ns,
            os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "",
        )
        for path in sorted(top.rglob("*"))
    }


# ------------------------------------------------------------------------------------------- kill -9


@claim("DUR-1", "DUR-3", "TIME-1")
def test_all_that_was_acknowledged_survives_kill_9(fresh: Place) -> None:
    documents = fresh.mountpoint / "A" / "documents"
    (documents / "folder" / "deep").mkdir(parents=True)
    for number, size in enumerate((0, 1, 1000, 65_536, 65_537, 1_000_000)):
        (documents / "folder" / f"{number}.bin").write_bytes(os.urandom(size))
    (documents / "gone.txt").write_text("gone")
    (documents / "old.txt").write_text("moved")
    (documents / "link").symlink_to("folder/deep")
    os.utime(documents / "folder" / "1.bin", ns=(10**18, 10**18 + 123_456_789))
    (documents / "folder" / "2.bin").chmod(0o640)
    os.truncate(documents / "folder" / "5.bin", 500_000)
    (documents / "gone.txt").unlink()
    (documents / "old.txt").rename(documents / "folder" / "deep" / "new.txt")
    before = about(documents)
    assert about(killed(fresh)) == before
    assert len(before) == 10


@claim("DUR-2", "DUR-4")
@pytest.mark.parametrize("size", [1000, 200_000])
def test_what_was_not_acknowledged_goes_as_a_whole(fresh: Place, size: int) -> None:
    """The bytes are those of the last close or sync, never a mixture."""
    path = fresh.mountpoint / "A" / "documents" / "a.bin"
    closed, synced = b"c" * size, b"s" * size
    path.write_bytes(closed)
    descriptors = []
    for acknowledge, expected in ((None, closed), (os.fsync, synced), (os.fdatasync, b"d" * size)):
        descriptor = os.open(path, os.O_RDWR)
        descriptors.append(descriptor)
        if acknowledge is not None:
            os.pwrite(descriptor, expected, 0)
            acknowledge(descriptor)
        os.pwrite(descriptor, b"lost" * 20, size // 2)
        os.ftruncate(descriptor, size * 2)
        assert path.stat().st_size == size * 2
        found = killed(fresh) / "a.bin"
        assert found.read_bytes() == expected
    for descriptor in descriptors:
        with fails_with(ENOTCONN, EIO):
            os.write(descriptor, b"x")
        with fails_with(ENOTCONN, EIO):
            os.close(descriptor)


@claim("DUR-5")
@pytest.mark.parametrize("how", ["msync", "close"])
def test_what_was_written_through_a_map_is_kept(how: str, fresh: Place) -> None:
    path = fresh.mountpoint / "A" / "documents" / "a.bin"
    path.write_bytes(bytes(100_000))
    with path.open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    mapped[50_000:50_005] = b"hello"
    mapped.flush() if how == "msync" else mapped.close()
    expected = bytes(50_000) + b"hello" + bytes(49_995)
    with catalog_of(fresh) as catalog:
        names = catalog.names
        ontology = names.ontology_named("A")
        assert ontology is not None

        def kept() -> str:
            found = names.resolve(ontology.id, "a.bin")
            return found.sha256 if found else ""

        until(lambda: kept() == sha(expected), 20 if how == "close" else 0.01)
    assert (killed(fresh) / "a.bin").read_bytes() == expected
    mapped.close()


@claim("UNM-4")
def test_after_a_kill_everything_is_enotconn_until_it_is_mounted_again(fresh: Place) -> None:
    documents = fresh.mountpoint / "A" / "documents"
    (documents / "a.txt").write_text("a")
    held = os.open(documents / "a.txt", os.O_RDONLY)
    assert [mount["alive"] for mount in json.loads(fresh.run("status", "--json").stdout)["mounts"]] == [True]
    fresh.kill()
    assert [mount["alive"] for mount in json.loads(fresh.run("status", "--json").stdout)["mounts"]] == [False]
    assert f"{fresh.mountpoint} (knowledge, dead" in fresh.run("status").stdout
    for ask in (
        lambda: os.listdir(documents),
        lambda: os.statvfs(fresh.mountpoint),
        lambda: (documents / "new").touch(),
    ):
        with pytest.raises(OSError) as failed:
            ask()
        assert failed.value.errno in (ENOTCONN, ECONNABORTED), failed.value
    fresh.mount("--no-worker")
    assert (documents / "a.txt").read_text() == "a"
    with fails_with(ENOTCONN, EIO):
        os.pread(held, 1, 0)
    with fails_with(ENOTCONN, EIO):
        os.close(held)


# ------------------------------------------------------------------------------------------- unmounting


@claim("UNM-3")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.logs("is in use by")
def test_a_signal_unmounts_and_keeps_what_is_open(tmp_path: Path, number: signal.Signals) -> None:
    with mounted_place(tmp_path / "fresh", "--no-worker", declared=("is in use by",)) as place:
        path = place.ontology("A") / "documents" / "a.txt"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        os.write(descriptor, b"written and never closed")
        (pid,) = place.pids()
        os.kill(pid, number)
        until(lambda: not place.pids())
        assert os.listdir(place.mountpoint) == []
        with fails_with(ENOTCONN, EIO):
            os.close(descriptor)
        place.mount("--no-worker")
        assert path.read_bytes() == b"written and never closed"


# ------------------------------------------------------------------------------------------- disk full


@pytest.fixture
def cramped(tmp_path: Path) -> Iterator[Place]:
    """A home on a disk of 24 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=True)
    (tmp_path / "mnt").mkdir()
    place = Place(disk / "home", tmp_path / "mnt", {"KGFS_PIPELINE_SETTLE": str(SETTLE), **STATISTICS})
    try:
        yield place.mount("--no-worker")
    finally:
        place.close()
        until(lambda: not place.pids())
        subprocess.run(["umount", disk], check=True)


@pytest.mark.root
@claim("FULL-1", "FULL-2", "FULL-3", "SIZE-4")
def test_a_full_disk(cramped: Place) -> None:
    documents = cramped.ontology("A") / "documents"
    kept = b"k" * 1_000_000
    (documents / "kept.bin").write_bytes(kept)
    (documents / "small.txt").write_text("small and kept")
    found, real = os.statvfs(documents), os.statvfs(cramped.home)
    assert (found.f_frsize * found.f_blocks, found.f_files) == (real.f_frsize * real.f_blocks, real.f_files)
    assert abs(found.f_bavail * found.f_frsize - real.f_bavail * real.f_frsize) < 10**6
    with fails_with(ENOSPC):
        (documents / "large.bin").write_bytes(os.urandom(30_000_000))
    with fails_with(ENOSPC), (documents / "kept.bin").open("r+b", buffering=0) as file:
        for start in range(0, 30_000_000, 1_000_000):
            file.seek(start)
            file.write(b"x" * 1_000_000)
    until(lambda: (documents / "kept.bin").read_bytes() == kept)
    assert (documents / "small.txt").read_text() == "small and kept"
    ballast = cramped.home.parent / "ballast"
    with fails_with(ENOSPC), ballast.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
    with fails_with(ENOSPC):
        for number in range(1000):
            (documents / f"{number}.txt").write_bytes(b"%d" % number * 5000)
    for number in range(1000):
        path = documents / f"{number}.txt"
        if path.exists() and path.stat().st_size:
            assert path.read_bytes() == b"%d" % number * 5000
    assert (documents / "kept.bin").read_bytes() == kept
    assert "small.txt" in os.listdir(documents)
    ballast.unlink()
    # Files that are moved into the garage at this moment take their space twice for a while.
    until(lambda: _is_written(documents / "after.txt", "after"))
    until(lambda: _is_written(documents / "small.txt", "small and changed"))
    assert (documents / "after.txt").read_text() == "after"
    with catalog_of(cramped) as catalog:
        request_settling(load(cramped.home))  # what failed is tried again after 30 s, or when asked
        Library(cramped, catalog, "A").settled()
    assert (documents / "small.txt").read_text() == "small and changed"
    assert (documents / "kept.bin").read_bytes() == kept


def _is_written(path: Path, text: str) -> bool:
    try:
        path.write_text(text)
    except OSError as error:
        assert error.errno == ENOSPC
        return False
    return True


# ------------------------------------------------------------------------------------------- worker


@claim("WORK-1", "WORK-2", "WORK-3")
def test_without_a_worker_everything_but_knowledge_goes_on(tmp_path: Path) -> None:
    with mounted_place(tmp_path / "place") as place:
        documents = place.ontology("A") / "documents"
        until(lambda: place.status()["worker"]["alive"])
        (mount,) = [
            pid for pid in place.pids() if b"worker" not in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        ]
        (worker,) = set(place.pids()) - {mount}
        os.kill(worker, signal.SIGKILL)
        (documents / "a.txt").write_text(NOTE)
        (documents / "b.txt").write_text("b")
        (documents / "b.txt").unlink()
        assert (documents / "a.txt").read_text() == NOTE
        until(lambda: place.status()["worker"]["alive"] and worker not in place.pids())
        place.wait()
        until(lambda: os.listdir(place.mountpoint / "A" / "concepts"))
        assert os.getxattr(documents / "a.txt", "user.kgfs.state") == b"done"


@claim("WORK-4")
def test_a_worker_outlives_no_mount(tmp_path: Path) -> None:
    with mounted_place(tmp_path / "place", declared=("was a dead mount",)) as place:
        until(lambda: worker_note(place.home / "run").get("state") == "working")
        worker = worker_note(place.home / "run")["pid"]
        (mount,) = set(place.pids()) - {worker}
        os.kill(mount, signal.SIGKILL)
        until(lambda: not place.pids())
        place.mount()
        until(lambda: worker_note(place.home / "run").get("state") == "working")
        place.umount()
        assert not place.pids()


@claim("WORK-1")
def test_reading_never_waits_for_extraction(empty: Library) -> None:
    """With no worker at all: documents, versions and the archive are there; only concepts are not."""
    note = empty.documents / "note.txt"
    for turn in ("first", "second"):
        note.write_text(f"{NOTE}{turn}\n")
        empty.settled()
    assert os.getxattr(note, "user.kgfs.state") == b"queued"
    assert empty.history("note.txt") == [f"{NOTE}first\n".encode(), f"{NOTE}second\n".encode()]
    assert os.listdir(empty.top / "concepts") == []
    assert run(sys.executable, "-c", "import sys; print(open(sys.argv[1]).read(), end='')", note) == f"{NOTE}second\n"
