"""The life of a mount: what stands in its way, how it ends, and what is left when its daemon is killed."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

import pytest

from kgfs.errors import BusyError, MachineError, MissingError, RefusedError
from kgfs.fuse import machine, mount, probe
from kgfs.fuse.adapter import Operations
from kgfs.fuse.probe import MountState
from kgfs.tree.vfs import Vfs, space_of
from tests.support.scenarios.small_tree import Tree
from tests.support.small_mount import SmallMount, need_a_readable_project

# ------------------------------------------------------------------------------------------- before


def test_a_machine_without_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "DEVICE", tmp_path / "fuse")
    with pytest.raises(MachineError, match="modprobe fuse"):
        mount.check(tmp_path)


def test_opening_a_mount_to_others_needs_a_line_in_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "CONFIGURATION", tmp_path / "fuse.conf")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not machine.findings(allow_other=True)[-1].ok
    (tmp_path / "fuse.conf").write_text("#user_allow_other\n")
    assert not machine.findings(allow_other=True)[-1].ok
    (tmp_path / "fuse.conf").write_text("# yes\nuser_allow_other\n")
    assert machine.findings(allow_other=True)[-1].ok


@pytest.mark.root
def test_a_folder_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "access", lambda path, mode, access=os.access: path != tmp_path and access(path, mode))
    with pytest.raises(RefusedError, match="not writable"):
        mount.check(tmp_path)


@pytest.mark.mounted
def test_the_reason_of_a_failed_mount_is_told(tmp_path: Path) -> None:
    operations = Operations(Vfs(Tree().root, lambda: space_of("/")), lambda where, error: None)
    with pytest.raises(MachineError, match=r"could not be mounted: .*(No such file|bad mount point)"):
        mount._init(operations, tmp_path / "vanished", mount.MountOptions())


# ---------------------------------------------------------------------------------------------- end


@pytest.mark.mounted
def test_unmounting_from_outside_ends_the_daemon(small: SmallMount) -> None:
    probe.umount(small.path)
    assert small.process.wait(60) == 0
    with pytest.raises(MissingError, match="not mounted"):
        probe.umount(small.path)


# ----------------------------------------------------------------------------------------- dead mounts


@pytest.mark.mounted
@pytest.mark.user
def test_the_mount_of_another_user_is_not_taken_for_dead() -> None:
    need_a_readable_project()
    base = Path(tempfile.mkdtemp(prefix="kgfs-other-"))
    base.chmod(0o755)
    mountpoint = base / "mnt"
    mountpoint.mkdir()
    os.chown(mountpoint, 65534, 65534)
    theirs = SmallMount(mountpoint, before=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"])
    try:
        assert probe.standing(mountpoint) is MountState.ALIVE
        with pytest.raises(BusyError, match="kgfs mount already"):
            mount.check(mountpoint)
        probe.umount(mountpoint)
        assert theirs.process.wait(60) == 0
    finally:
        theirs.close()
        shutil.rmtree(base)


# ----------------------------------------------------------------------------------------- what fails inside


@pytest.mark.mounted
def test_a_bug_in_a_view_is_eio_and_the_mount_lives_on(small: SmallMount) -> None:
    for _ in range(3):
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            (small.path / "derived" / "broken.txt").read_bytes()
    assert (small.path / "derived" / "hello.txt").read_text() == "Hello, reader.\n"
    reported = small.reported()
    assert reported.count("ZeroDivisionError: a bug in a view\n") == 2, "one traceback, one line for the log of errors"
    assert "Traceback" in reported


@pytest.mark.mounted
def test_a_failing_store_is_eio_never_content(small: SmallMount) -> None:
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        (small.path / "derived" / "failing.txt").read_bytes()
    assert "logged fuse.read StoreError: the disk said no" in small.reported()


@pytest.mark.mounted
def test_a_slow_read_makes_nobody_else_wait(small: SmallMount) -> None:
    read: list[bytes] = []
    slow = threading.Thread(target=lambda: read.append((small.path / "derived" / "slow.txt").read_bytes()))
    slow.start()
    try:
        time.sleep(0.2)
        assert "hello.txt" in os.listdir(small.path / "derived")
        assert (small.path / "derived" / "hello.txt").read_text() == "Hello, reader.\n"
        (small.documents / "new").write_text("written meanwhile")
        assert not read
    finally:
        small.tell("free")
        slow.join()
    assert read[0].startswith(b"at last\n")


# ------------------------------------------------------------------------------------------ news
