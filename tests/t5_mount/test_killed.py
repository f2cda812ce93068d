"""A mount that is killed while a thread of it waits in the kernel for a client that waits for the mount: nobody waits for good."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kgfs.fuse import connection, machine, probe
from kgfs.fuse.probe import MountState
from kgfs.stores.mount_files import MountNote, mount_notes
from kgfs.stores.processes import has_ended, is_stuck, main_thread
from tests.support.running import QUICK, Place
from tests.support.scenarios.small_tree import SLOW
from tests.support.seeing import in_time
from tests.support.small_mount import NOBODY, SmallMount, need_a_readable_project
from tests.support.stopping import stopped

pytestmark = pytest.mark.mounted
MountSmall = Callable[..., SmallMount]

FREED = 2.0
"""Seconds after a kill in which all who wait for the mount are told that it is gone."""
LATE = 8.0
"""More, for a machine that does much else."""


def threads_in(pid: int, state: str) -> list[int]:
    """The threads of a process that are in this state, one letter as in ``ps``."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it ended meanwhile
            if (task / "stat").read_text().rpartition(")")[2].split()[0] == state:
                found.append(int(task.name))
    return found


def watchers_of(pid: int) -> list[int]:
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if connection.WATCHER.encode() in words and str(pid).encode() in words[-4:]:
                found.append(int(process.name))
    return found


@contextmanager
def waiting_for(mount: SmallMount, *before: str) -> Iterator[subprocess.Popen[bytes]]:
    """A client that has locked a folder and waits for the mount, for which a thread of the mount waits."""
    number = connection.number_of(mount.path)
    assert number is not None
    client = subprocess.Popen([*before, sys.executable, "-c", MAKE_A_FILE, str(mount.documents / SLOW)])
    try:
        mount.tell("entered")
        mount.tell("put news from-outside")
        in_time(lambda: threads_in(mount.process.pid, "D"), 5)
        yield client
    finally:
        if client.poll() is None:  # else the number may be another mount's by now
            with suppress(OSError):
                (connection.CONTROL / str(number) / "abort").write_text("1")
        client.kill()
        client.wait()


MAKE_A_FILE = """
import os, sys
try:
    os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
except OSError as error:
    sys.exit(error.errno)
"""


def kill_all(mount: SmallMount) -> MountNote:
    """Kill the mount and its watcher; return the note of the mount, which hangs."""
    pids = [*watchers_of(mount.process.pid), mount.process.pid]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(subprocess.TimeoutExpired):
        mount.process.wait(0.5)
    (note,) = (note for note in mount_notes(mount.path.parent / "run") if note.pid == mount.process.pid)
    return note


@pytest.mark.claim("UNM-5")
def test_a_killed_mount_frees_those_who_wait_for_it(small: SmallMount) -> None:
    with waiting_for(small) as client:
        begun = time.monotonic()
        small.process.kill()
        assert client.wait(LATE) != 0, "its file was not made"
        small.process.wait(LATE)
        assert probe.standing(small.path) is MountState.DEAD
        print(f"free after {time.monotonic() - begun:.1f} s of {FREED} s")
    in_time(lambda: not watchers_of(small.process.pid), 5)


@pytest.mark.claim("UNM-5")
@pytest.mark.parametrize("verb", ["umount", "mount", "status", "worker"])
def test_a_verb_frees_those_who_wait_for_a_mount_that_was_killed_with_its_watcher(
    mount_small: MountSmall, tmp_path: Path, verb: str
) -> None:
    home = Place(tmp_path, tmp_path / "mnt", dict(QUICK))
    home.run("ingest", __file__, "--ontology", "Made")
    small = mount_small("--noted", str(home.home / "run"))
    words = {"umount": [small.path], "mount": [small.path, "--no-worker"], "worker": ["--until-idle"]}.get(verb, [])
    with waiting_for(small) as client:
        note = kill_all(small)
        assert client.poll() is None
        assert (note.alive, note.stuck) == (False, True)
        assert f"{small.path} is dead, and programs wait for it" in home.run("doctor", expect=6).stdout
        told = home.run(verb, *words).stderr
        assert f"{small.path} (pid {small.process.pid}) was killed and kept programs waiting; they are free." in told
        assert client.wait(5) != 0, "its file was not made"
        small.process.wait(5)
    shown = [(mount["mountpoint"], mount["alive"]) for mount in home.status()["mounts"]]
    assert shown == {"umount": [], "mount": [(str(small.path), True)]}.get(verb, [(str(small.path), False)])
    if verb != "umount":
        home.run("umount", small.path)


def test_a_verb_frees_those_who_wait_for_a_mount_that_was_detached(mount_small: MountSmall, tmp_path: Path) -> None:
    home = Place(tmp_path, tmp_path / "mnt", dict(QUICK))
    home.run("ingest", __file__, "--ontology", "Made")
    small = mount_small("--noted", str(home.home / "run"))
    with waiting_for(small) as client:
        kill_all(small)
        probe.detach(small.path)
        assert client.poll() is None
        home.run("umount", small.path)
        assert client.wait(5) != 0
    assert home.status()["mounts"] == []
    assert "is not mounted" in home.run("umount", small.path, expect=None).stderr


@pytest.mark.user
@pytest.mark.claim("UNM-5")
def test_a_killed_mount_of_an_ordinary_user_frees_those_who_wait_for_it(tmp_path: Path) -> None:
    need_a_readable_project()
    base = Path(tempfile.mkdtemp(prefix="kgfs-killed-"))
    base.chmod(0o755)
    mountpoint = base / "mnt"
    mountpoint.mkdir()
    os.chown(mountpoint, NOBODY, NOBODY)
    if not connection.is_mounted():
        subprocess.run(connection.MOUNT_CONTROL.split(), check=True)
    as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
    theirs = SmallMount(mountpoint, before=as_nobody)
    try:
        with waiting_for(theirs, *as_nobody) as client:
            theirs.process.kill()
            assert client.wait(LATE) != 0
            theirs.process.wait(LATE)
    finally:
        theirs.close()
        shutil.rmtree(base)


def test_the_watcher_outlives_the_process_group_and_not_the_mount(small: SmallMount) -> None:
    (watcher,) = watchers_of(small.process.pid)
    assert os.getsid(watcher) == watcher != os.getsid(small.process.pid)
    links = [os.readlink(file) for file in Path(f"/proc/{watcher}/fd").iterdir() if int(file.name) > 3]
    assert links == [str(connection.CONTROL / str(connection.number_of(small.path)) / "abort")], "no /dev/fuse"
    assert Path(f"/proc/{watcher}/environ").read_bytes() == b""
    small.end()
    assert not watchers_of(small.process.pid)


def test_a_watcher_does_no_harm_to_the_next_connection_of_that_number(mount_small: MountSmall) -> None:
    first = mount_small()
    number = connection.number_of(first.path)
    (watcher,) = watchers_of(first.process.pid)
    with stopped(watcher):
        first.process.kill()
        first.process.wait()
        probe.umount(first.path)
        # The kernel takes the lowest number that is free: the first time, where nobody else mounts at the same time.
        later = [mount_small()]
        while connection.number_of(later[-1].path) != number and len(later) < 5:
            later.append(mount_small())
    in_time(lambda: not watchers_of(first.process.pid), 5)
    assert [probe.standing(mount.path) for mount in later] == [MountState.ALIVE] * len(later)


def test_what_is_told_of_processes() -> None:
    started = main_thread(os.getpid())
    assert started is not None
    assert not has_ended(os.getpid(), started[1])
    assert has_ended(os.getpid(), started[1] + 1), "another process that was given the id"
    child = subprocess.Popen(["sleep", "60"])
    running = main_thread(child.pid)
    assert running is not None
    assert not is_stuck(child.pid, running[1])
    child.kill()
    in_time(lambda: has_ended(child.pid, running[1]))
    assert is_stuck(child.pid, running[1]), "until it is waited for"
    child.wait()
    assert main_thread(child.pid) is None
    assert not is_stuck(child.pid, running[1])


def test_an_ordinary_user_is_told_where_no_connection_can_be_aborted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert machine.control().ok, "root mounts what is missing"
    monkeypatch.setattr(connection, "CONTROL", tmp_path / "connections")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    finding = machine.control()
    assert not finding.ok
    assert "mount -t fusectl" in finding.remedy
    with caplog.at_level("INFO"):
        assert connection.watch(1) is None
    assert "mount -t fusectl" in caplog.text
