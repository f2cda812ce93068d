"""The life of a mount: what stands in its way, how it ends, and what is left when its daemon is killed."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kgfs.errors import BusyError, MachineError, MissingError, NotAFolderError, NotEmptyError, RefusedError
from kgfs.fuse import machine, mount, probe
from kgfs.fuse.adapter import Operations
from kgfs.fuse.probe import MountState
from kgfs.tree.vfs import Vfs, space_of
from tests.support.scenarios.small_tree import Tree
from tests.support.seeing import in_time
from tests.support.small_mount import SmallMount, need_a_readable_project
from tests.support.stopping import stopped

MountSmall = Callable[..., SmallMount]


@contextmanager
def process_in(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose working folder is inside the mount."""
    process = subprocess.Popen(["sleep", "60"], cwd=folder)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


# ------------------------------------------------------------------------------------------- before


def test_a_missing_mountpoint_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="mkdir -p"):
        mount.check(tmp_path / "missing")


def test_a_file_is_no_mountpoint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotAFolderError, match="not a folder"):
        mount.check(tmp_path / "file")


def test_a_folder_with_content_is_not_hidden(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious").write_text("x")
    with pytest.raises(NotEmptyError, match="not empty"):
        mount.check(tmp_path / "full")


def test_a_machine_without_fusermount3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="fuse3"):
        mount.check(tmp_path)


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


@pytest.mark.mounted
def test_a_second_mount_at_the_same_place(small: SmallMount) -> None:
    with pytest.raises(BusyError, match="kgfs mount already"):
        mount.check(small.path)


# ---------------------------------------------------------------------------------------------- end


@pytest.mark.mounted
@pytest.mark.parametrize("number", mount.STOP_SIGNALS, ids=lambda number: number.name)
def test_a_signal_unmounts(small: SmallMount, number: signal.Signals) -> None:
    assert probe.standing(small.path) is MountState.ALIVE
    assert small.end(number) == 0
    assert probe.standing(small.path) is MountState.ABSENT
    assert os.listdir(small.path) == []


@pytest.mark.mounted
def test_unmounting_from_outside_ends_the_daemon(small: SmallMount) -> None:
    probe.umount(small.path)
    assert small.process.wait(60) == 0
    with pytest.raises(MissingError, match="not mounted"):
        probe.umount(small.path)


@pytest.mark.mounted
def test_a_busy_mount_names_its_holders(small: SmallMount) -> None:
    with process_in(small.documents) as holder, pytest.raises(BusyError, match=rf"sleep \(pid {holder.pid}, cwd\)"):
        probe.umount(small.path)
    (small.documents / "held").write_text("x")
    with (
        open(small.documents / "held") as held,
        subprocess.Popen(["sleep", "60"], stdin=held) as holder,
        pytest.raises(BusyError, match=rf"pid {holder.pid}, .*/documents/held"),
    ):
        try:
            probe.umount(small.path)
        finally:
            holder.kill()
    assert probe.standing(small.path) is MountState.ALIVE


@pytest.mark.mounted
def test_lazy_detaches_a_busy_mount(small: SmallMount) -> None:
    with process_in(small.documents):
        probe.umount(small.path, lazy=True)
        assert probe.standing(small.path) is MountState.ABSENT
    assert small.process.wait(60) == 0


@pytest.mark.mounted
def test_a_signal_detaches_a_busy_mount(small: SmallMount) -> None:
    (small.documents / "open").write_text("x")
    held = os.open(small.documents / "open", os.O_RDONLY)
    try:
        with process_in(small.documents):
            assert small.end() == 0
            assert probe.standing(small.path) is MountState.ABSENT
            with pytest.raises(OSError, match=os.strerror(errno.ENOTCONN)):
                os.statvfs(held)
    finally:
        with suppress(OSError):  # close() says that the mount is gone
            os.close(held)
    assert "is in use by" in small.reported()


@pytest.mark.mounted
def test_a_signal_does_not_wait_for_a_slow_read(small: SmallMount) -> None:
    reader = subprocess.Popen(
        [sys.executable, "-c", READ_SLOWLY, str(small.path / "derived" / "slow.txt")], stdout=subprocess.PIPE
    )
    try:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"opened\n"
        time.sleep(0.2)
        assert small.end() == 0
        assert reader.wait(60) == errno.ENOTCONN, "it was not read to its end"
    finally:
        reader.kill()
        reader.wait()
        reader.stdout.close() if reader.stdout else None
    assert probe.standing(small.path) is MountState.ABSENT


READ_SLOWLY = """
import os, sys
descriptor = os.open(sys.argv[1], os.O_RDONLY)
print("opened", flush=True)
try:
    os.read(descriptor, 100)
except OSError as error:
    sys.exit(error.errno)
"""


# ----------------------------------------------------------------------------------------- dead mounts


@pytest.mark.mounted
def test_a_killed_daemon_leaves_a_dead_mount_that_is_replaced(mount_small: MountSmall) -> None:
    first = mount_small()
    os.stat(first.path)
    first.end(signal.SIGKILL)
    assert probe.standing(first.path) is MountState.DEAD
    second = mount_small(at=first.path)
    assert probe.standing(second.path) is MountState.ALIVE
    assert (second.path / "derived" / "hello.txt").read_text() == "Hello, reader.\n"
    assert sum(one.path == str(second.path) for one in probe.mounts()) == 1


@pytest.mark.mounted
def test_a_dead_mount_is_unmounted_without_force(small: SmallMount) -> None:
    small.end(signal.SIGKILL)
    probe.umount(small.path)
    assert probe.standing(small.path) is MountState.ABSENT


@pytest.mark.mounted
def test_a_hung_mount_is_noticed_in_time(small: SmallMount) -> None:
    with stopped(small.process.pid):
        begun = time.monotonic()
        assert probe.standing(small.path, deadline=0.5) is MountState.HUNG
        with pytest.raises(BusyError, match="--lazy"):
            mount.check(small.path)
        assert time.monotonic() - begun < 20, "nobody waits for what hangs"
        probe.umount(small.path)
        assert probe.standing(small.path) is MountState.ABSENT
    assert small.process.wait(60) == 0


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


@pytest.mark.mounted
def test_changes_from_outside_are_seen_in_time(small: SmallMount) -> None:
    path = small.documents / "shared"
    assert not path.exists()
    assert not path.exists()
    small.tell("put shared one")
    in_time(path.exists)
    assert path.read_bytes() == b"one"
    inode = path.stat().st_ino
    with open(path, "rb") as held:
        small.tell("put shared two")
        in_time(lambda: path.read_bytes() == b"two")
        assert path.stat().st_ino != inode
        assert held.read() == b"one", "no handle shows two contents"
    assert os.listdir(small.documents) == ["shared"]
    small.tell("take shared")
    in_time(lambda: not path.exists())
    assert os.listdir(small.documents) == []


@pytest.mark.mounted
def test_the_kernel_answers_by_itself_until_there_is_news(small: SmallMount) -> None:
    path = small.documents / "quiet"
    path.write_text("x")
    path.stat()
    (small.documents / "absent").exists()

    def asked() -> dict[str, int]:
        lines = (line.rsplit(" ", 1) for line in small.tell("metrics") if line.startswith("kgfs_fuse_requests_total"))
        return {name: int(number) for name, number in lines}

    in_time(lambda: any('"release"' in name for name in asked()), 5)  # of the writing; the kernel waits for none
    before = asked()
    for _ in range(100):
        path.stat()
        (small.documents / "absent").exists()
    assert asked() == before
