"""What a flush acknowledged is there, whatever happens to the process; what it refused is not half there."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kgfs.domain.documents import StorageTier
from kgfs.errors import NoSpaceError
from kgfs.stores.spool_file import SpoolFile
from tests.support.depositing import Desk, desk_at, open_desk

BIG = b"0123456789abcdef" * 20_000


def test_a_flush_without_writes_records_nothing(desk: Desk) -> None:
    name = desk.file(content=b"bytes")
    file = desk.deposits.open(name.id, write=True)
    before = desk.catalog.seq()
    file.flush()
    file.flush()
    file.write(0, b"other")
    file.flush()
    assert desk.catalog.seq() == before + 1
    file.flush()
    file.release()
    assert desk.catalog.seq() == before + 1


def test_release_keeps_what_was_written_after_the_last_flush(desk: Desk) -> None:
    name = desk.file()
    file = desk.deposits.open(name.id, write=True)
    file.write(0, b"one")
    file.flush()
    file.write(3, b" two")
    file.release()
    file.release()
    assert desk.row(name.id).sha256 == hashlib.sha256(b"one two").hexdigest()
    assert desk.read(name.id) == b"one two"


def test_truncating_at_open_counts_as_a_write(desk: Desk) -> None:
    name = desk.file(content=b"bytes")
    desk.deposits.open(name.id, write=True, truncate=True).release()
    row = desk.row(name.id)
    assert (row.size, row.sha256, row.place) == (0, "", StorageTier.NONE)


def test_times_that_were_set_win_over_those_of_the_writes_before(desk: Desk) -> None:
    """cp -p sets times before close(), rsync and tar after it."""
    name = desk.file()
    file = desk.deposits.open(name.id, write=True)
    file.write(0, b"bytes")
    desk.deposits.set_attributes(name.id, mtime=12_345, atime=6_789)
    shown = desk.deposits.shown(name.id)
    assert shown is not None
    assert (shown.mtime, shown.size) == (12_345, 5)
    file.flush()
    file.release()
    assert (desk.row(name.id).mtime, desk.row(name.id).atime) == (12_345, 6_789)
    desk.deposits.set_attributes(name.id, mtime=99)
    desk.settle()
    assert desk.row(name.id).mtime == 99
    file = desk.deposits.open(name.id, write=True)
    file.write(0, b"B")
    file.release()
    assert desk.row(name.id).mtime > 99


def test_attributes_copy_nothing_and_unsettle_nothing(desk: Desk) -> None:
    name = desk.file(content=BIG)
    desk.settle()
    desk.deposits.set_attributes(name.id, mode=0o600, mtime=5, atime=6)
    row = desk.row(name.id)
    assert (row.mode, row.mtime, row.atime, row.settled) == (0o600, 5, 6, True)
    assert desk.spool_files() == []


def test_an_open_file_that_was_removed_goes_on_and_records_nothing(desk: Desk) -> None:
    name = desk.file(content=b"bytes")
    file = desk.deposits.open(name.id, write=True)
    file.write(5, b" more")
    desk.deposits.remove(name.id)
    before = desk.catalog.seq()
    reader = file
    assert reader.read(0, 20) == b"bytes more"
    file.write(0, BIG)
    file.flush()
    assert file.read(0, len(BIG)) == BIG
    shown = desk.deposits.shown(name.id)
    assert shown is not None
    assert shown.size == len(BIG)
    file.release()
    assert desk.catalog.seq() == before
    assert desk.deposits.shown(name.id) is None
    assert desk.spool_files() == []


def test_readers_of_a_removed_file_outlive_its_writer(desk: Desk) -> None:
    name = desk.file(content=b"bytes")
    reader = desk.deposits.open(name.id)
    writer = desk.deposits.open(name.id, write=True)
    writer.write(0, BIG)
    desk.deposits.remove(name.id)
    writer.release()
    assert reader.read(0, len(BIG)) == BIG
    reader.release()
    assert desk.spool_files() == []


@pytest.mark.parametrize("size", [10, 300_000])
def test_a_refused_flush_leaves_what_was_kept_before(desk: Desk, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """The errors of the disk itself are tried on a real full one in the rung of whole commands."""
    before, after = b"B" * size, b"A" * (size + 100_000)
    name = desk.file(content=before)
    file = desk.deposits.open(name.id, write=True)
    file.write(0, after)

    def full(self: SpoolFile) -> None:
        raise NoSpaceError("no space")

    with monkeypatch.context() as patched:
        patched.setattr(SpoolFile, "sync", full)
        with pytest.raises(NoSpaceError):
            file.flush()
        assert file.read(0, len(after)) == after
        reader = desk.deposits.open(name.id)
        with pytest.raises(NoSpaceError):
            file.release()
    shown = desk.deposits.shown(name.id)
    assert shown is not None
    assert shown.size == size
    assert reader.read(0, len(after)) == before
    reader.release()
    assert desk.read(name.id) == before
    desk.settle()
    assert desk.read(name.id) == before
    assert desk.spool_files() == []


def test_a_flush_may_succeed_after_it_was_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    name = desk.file()
    file = desk.deposits.open(name.id, write=True)
    file.write(0, BIG)

    def full(self: SpoolFile) -> None:
        raise NoSpaceError("no space")

    with monkeypatch.context() as patched:
        patched.setattr(SpoolFile, "sync", full)
        with pytest.raises(NoSpaceError):
            file.flush()
    file.flush()
    file.release()
    assert desk.read(name.id) == BIG


def test_a_write_that_the_disk_refuses_changes_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    name = desk.file()
    file = desk.deposits.open(name.id, write=True)
    file.write(0, BIG)
    real = os.pwrite
    calls = iter([1000])

    def nearly_full(descriptor: int, data: bytes, offset: int) -> int:
        for allowed in calls:
            return real(descriptor, bytes(data[:allowed]), offset)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", nearly_full)
        with pytest.raises(NoSpaceError):
            file.write(len(BIG), b"x" * 5000)
    file.truncate(len(BIG) + 5)
    file.release()
    assert desk.read(name.id) == BIG + bytes(5)


@pytest.mark.root
def test_a_full_disk_is_the_error_of_the_write(tmp_path: Path) -> None:
    """On a real file system without space."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], check=True)
    try:
        with desk_at(disk / "home") as desk:
            name = desk.file(content=b"kept before")
            desk.settle()
            file = desk.deposits.open(name.id, write=True)
            with pytest.raises(NoSpaceError) as caught:
                for number in range(100):
                    file.write(number * 131072, b"x" * 131072)
            assert caught.value.errno == errno.ENOSPC
            file.truncate(0)
            file.write(0, b"smaller")
            file.flush()
            file.release()
            assert desk.read(name.id) == b"smaller"
            source = tmp_path / "source"
            source.write_bytes(bytes(5_000_000))
            with pytest.raises(NoSpaceError):
                desk.deposits.ingest_file(source, "Notes")
            assert desk.spool_files() == []
            assert desk.read(name.id) == b"smaller"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.root
def test_names_that_no_longer_fit_are_refused_and_the_others_stay(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], check=True)
    try:
        with desk_at(disk / "home") as desk:
            ballast = disk / "ballast"
            ballast.write_bytes(bytes(500_000))
            victim = desk.file("victim.txt", b"kept before")
            kept: dict[int, bytes] = {victim.id: b"kept before"}
            with pytest.raises(NoSpaceError):
                for number in range(200):
                    content = b"%04d" % number * 10_000
                    kept[desk.file(f"{number}.txt", content).id] = content
            with pytest.raises(NoSpaceError):
                for letter in (b"v", b"w", b"x"):
                    desk.write(victim.id, letter * 60_000)
                    kept[victim.id] = letter * 60_000
            assert len(kept) > 10
            for name_id, content in kept.items():
                assert desk.read(name_id) == content
            desk.settle()
            ballast.unlink()
            for name_id, content in kept.items():
                assert desk.read(name_id) == content
            desk.write(victim.id, b"new")
            assert desk.read(victim.id) == b"new"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


_KILLED = """
import os, signal, sys
from pathlib import Path
from tests.support.depositing import open_desk
desk = open_desk(Path(sys.argv[1]))
size = int(sys.argv[2])
name = desk.file("kept.txt")
file = desk.deposits.open(name.id, write=True)
file.write(0, b"k" * size)
file.flush()
print(name.id, flush=True)
file.write(size, b"never flushed" * 1000)
file.write(0, b"nor this")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("size", [1, 1000, 65_536, 65_537, 3_000_000])
def test_what_was_flushed_survives_a_kill(home: Path, size: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(home), str(size)], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    name_id = int(done.stdout)
    with desk_at(home) as desk:
        assert desk.read(name_id) == b"k" * size
        assert desk.settle() == 1
        assert desk.row(name_id).place is StorageTier.GARAGE
        assert desk.read(name_id) == b"k" * size
        desk.deposits.settler.sweep()
        assert desk.spool_files() == []


@pytest.mark.parametrize("how", ["written", "ingested"])
def test_what_may_be_true_though_its_sync_failed_keeps_its_bytes(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The disk refuses behind the commit, as a full one may that finds room when it writes."""
    before, after = b"B" * 100_000, b"A" * 200_000
    (tmp_path / "a.txt").write_bytes(after)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    desk = open_desk(home)
    name, root = desk.file("a.txt", before), desk.ontology().root
    file = desk.deposits.open(name.id, write=True, truncate=True) if how == "written" else None
    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", full)
        with pytest.raises(NoSpaceError):
            if file is None:
                desk.deposits.ingest_file(tmp_path / "a.txt", "Notes")
            else:
                file.write(0, after)
                file.flush()
        if file is not None:
            with pytest.raises(NoSpaceError):
                file.release()
    with pytest.raises(NoSpaceError):
        desk.close()  # it can do nothing more
    with desk_at(home) as desk:
        found = desk.catalog.names.child(root, "a.txt")
        assert found is not None
        assert desk.read(found.id) in (before, after)
        desk.deposits.settler.run_once(time.time_ns())
        desk.settle()
        assert desk.read(found.id) in (before, after)
