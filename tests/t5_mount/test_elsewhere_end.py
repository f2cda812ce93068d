"""How a mount ends when others use it, when it waits, and when it is killed: holders, signals, dead mounts."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.mounting import mounted_place
from tests.support.running import Place, one_line, until
from tests.support.small_mount import SmallMount
from tests.support.starting import CONSTANTS
from tests.support.texts import GARBAGE, ZEN

pytestmark = pytest.mark.mounted


@pytest.fixture
def alone(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    """A mount without a worker, of this test alone."""
    declared = tuple(pattern for marker in request.node.iter_markers("logs") for pattern in marker.args)
    with mounted_place(tmp_path, "--no-worker", declared=declared) as place:
        yield place


@contextmanager
def client(program: str, *words: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A program that says a line when it has begun, and is ended whatever happens."""
    process = subprocess.Popen(
        [sys.executable, "-c", "import os, sys\n" + program, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        yield process
    finally:
        process.kill()
        process.communicate()


HOLD = "descriptor = os.open(sys.argv[1], {flags})\nprint('begun', flush=True)\nsys.stdin.read()"


# ------------------------------------------------------------------------------------------------ busy


@pytest.mark.logs(
    r"fuse_release\(\): fuse_reply_\* failed with No such file"
)  # nobody waits for it when it was detached
@pytest.mark.claim("UNM-1", "UNM-2")
def test_umount_names_every_holder_and_lazy_detaches(alone: Place) -> None:
    documents = alone.ontology("A") / "documents"
    (documents / "read.txt").write_text(GARBAGE)
    with (
        client(HOLD.format(flags="os.O_RDONLY"), documents / "read.txt") as reader,
        client(HOLD.format(flags="os.O_WRONLY | os.O_CREAT"), documents / "written.txt") as writer,
        client(HOLD.format(flags="os.O_RDONLY"), documents) as looker,
        client("os.chdir(sys.argv[1])\nprint('begun', flush=True)\nsys.stdin.read()", documents) as stander,
    ):
        reported = one_line(alone.run("umount", alone.mountpoint, expect=5).stderr)
        for holder in (reader, writer, looker, stander):
            assert f"pid {holder.pid}," in reported
        assert "--lazy" in reported
        assert (documents / "read.txt").read_text() == GARBAGE, "nothing changed"
        (pid,) = alone.pids()
        assert f"pid {pid} ends when" in alone.run("umount", "--lazy", alone.mountpoint).stderr
        assert os.listdir(alone.mountpoint) == []
        assert alone.pids() == [pid], "who has something open goes on with it"
        alone.mount("--no-worker")
        assert (documents / "read.txt").read_text() == GARBAGE, "mounted again meanwhile"
    until(lambda: pid not in alone.pids())
    assert (documents / "read.txt").read_text() == GARBAGE


def test_what_was_being_written_when_the_mount_was_detached_is_kept(alone: Place) -> None:
    documents = alone.ontology("A") / "documents"
    program = (
        "descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\nos.write(descriptor, b'half a sentence')\n"
        "print('begun', flush=True)\nsys.stdin.read()"
    )
    (pid,) = alone.pids()
    with client(program, documents / "draft.txt"):
        alone.run("umount", "--lazy", alone.mountpoint)
    until(lambda: pid not in alone.pids())
    alone.mount("--no-worker")
    assert (documents / "draft.txt").read_text() == "half a sentence"


# --------------------------------------------------------------------------------------------- signals


def test_a_signal_while_a_question_waits(mount_small: Callable[..., SmallMount]) -> None:
    small = mount_small()
    program = (
        "descriptor = os.open(sys.argv[1], os.O_RDONLY)\nprint('begun', flush=True)\n"
        "try: os.read(descriptor, 100)\nexcept OSError as error: sys.exit(error.errno)"
    )
    with client(program, small.path / "derived/slow.txt") as reader:
        time.sleep(0.2)
        assert small.end(signal.SIGTERM) == 0
        assert reader.wait(60) == errno.ENOTCONN, "it was not read to its end"
    assert os.listdir(small.path) == []


@pytest.mark.logs("is in use by")
def test_a_signal_while_a_change_waits(alone: Place) -> None:
    """Somebody else holds the database. What the program is told is what a new mount shows."""
    documents = alone.ontology("A") / "documents"
    program = (
        "print('begun', flush=True)\n"
        "try:\n    with open(sys.argv[1], 'xb', buffering=0) as file: file.write(b'kept?')\n"
        "except OSError as error: sys.exit(error.errno)"
    )
    (pid,) = alone.pids()
    with closing(sqlite3.connect(alone.home / "front.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with client(program, documents / "late.txt") as writer:
            time.sleep(0.5)
            assert writer.poll() is None
            os.kill(pid, signal.SIGTERM)
            time.sleep(1)
            other.execute("ROLLBACK")
            told = writer.wait(60)
    until(lambda: alone.pids() == [])
    assert os.listdir(alone.mountpoint) == []
    alone.mount("--no-worker")
    kept = documents / "late.txt"
    if told == 0:
        assert kept.read_bytes() == b"kept?"
    else:
        assert told in (errno.ENOTCONN, errno.ECONNABORTED, errno.EIO)
        assert not kept.exists() or kept.read_bytes() in (b"", b"kept?")


def test_the_processes_of_a_mount_keep_no_folder_busy(tmp_path: Path) -> None:
    with mounted_place(tmp_path) as place:
        until(lambda: place.status()["worker"]["alive"])
        assert [os.readlink(f"/proc/{pid}/cwd") for pid in place.pids()] == ["/", "/"]


def test_a_signal_ends_mount_and_worker(tmp_path: Path) -> None:
    with mounted_place(tmp_path) as place:
        until(lambda: place.status()["worker"]["alive"])
        worker = place.status()["worker"]["note"]["pid"]
        (mount,) = [pid for pid in place.pids() if pid != worker]
        os.kill(mount, signal.SIGTERM)
        until(lambda: place.pids() == [])
        assert os.listdir(place.mountpoint) == []
        assert list((place.home / "run").glob("mount-*")) == []


# ----------------------------------------------------------------------------------------- dead mounts


@pytest.mark.logs("was a dead mount")
def test_every_verb_beside_a_dead_mount(alone: Place, tmp_path: Path) -> None:
    """After kill -9 none hangs, none shows a traceback, work goes on, and mounting again puts it right."""
    path = alone.ontology("A") / "documents/zen.md"
    path.write_text(ZEN)
    (tmp_path / "gc.txt").write_text(GARBAGE)
    alone.kill()
    with pytest.raises(OSError) as dead:
        os.listdir(alone.mountpoint)
    assert dead.value.errno in (errno.ENOTCONN, errno.ECONNABORTED), "aborted: at the very moment of the kill"

    assert alone.status()["documents"] == {}, "not settled yet"
    assert f"kgfs umount {alone.mountpoint}" in alone.run("doctor", expect=6).stdout
    assert "settle" in alone.run("config", "show").stdout
    reported = alone.run("ingest", alone.mountpoint / "A/documents/zen.md", "--ontology", "B", "--no-wait", expect=None)
    assert reported.returncode != 0
    assert str(alone.mountpoint) in one_line(reported.stderr)
    alone.run("ingest", tmp_path / "gc.txt", "--ontology", "A", "--no-wait")
    alone.run("wait", "--timeout", "240", expect=9, env={CONSTANTS: "kgfs.app.timing.NO_WORKER=1"})
    alone.run("worker", "--until-idle")
    alone.run("wait", "--timeout", "240")
    assert alone.status()["documents"] == {"done": 2}
    below = alone.run("mount", alone.mountpoint / "A", expect=None)
    assert below.returncode != 0
    one_line(below.stderr)
    one_line(alone.run("umount", tmp_path / "elsewhere", expect=4).stderr)

    alone.mount("--no-worker")
    assert path.read_text() == ZEN
    assert "zen.concept" in os.listdir(alone.mountpoint / "A/concepts")
    assert Path("/proc/self/mountinfo").read_text().count(f" {alone.mountpoint} ") == 1
    assert alone.run("doctor").stdout.count(f"{alone.mountpoint} answers") == 1, "the dead one is not counted"


def test_a_shell_that_stands_in_a_dead_mount_can_put_it_right(alone: Place) -> None:
    documents = alone.ontology("A") / "documents"
    (documents / "a.txt").write_text(GARBAGE)
    kgfs = f"{sys.executable} -P -m kgfs"  # without -P python looks for modules where it stands
    script = (
        f"read go; {kgfs} status && {kgfs} umount {alone.mountpoint} && {kgfs} mount --no-worker {alone.mountpoint}"
    )
    shell = subprocess.Popen(
        ["sh", "-c", script],
        cwd=documents,
        env={**os.environ, **alone.environment, "KGFS_HOME": str(alone.home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    alone.kill()
    _, err = shell.communicate("go\n", timeout=60)
    assert (shell.returncode, err) == (0, "")
    assert (documents / "a.txt").read_text() == GARBAGE


def test_an_impatient_signal_changes_nothing(tmp_path: Path) -> None:
    """Ctrl-C twice, or a service manager's signal while the mount is ending: what is open is kept, the worker ended."""
    with mounted_place(tmp_path, "--no-worker") as place:
        place.umount()
        mount = place.start("mount", place.mountpoint, "--foreground")
        until(lambda: os.path.ismount(place.mountpoint))
        until(lambda: place.status()["worker"]["alive"])
        path = place.ontology("A") / "documents/open.txt"
        with open(path, "w") as held:
            held.write("not closed yet")
            held.flush()
            for _ in range(20):
                with suppress(ProcessLookupError):
                    mount.send_signal(signal.SIGTERM)
                time.sleep(0.05)
            _, reported = mount.communicate(timeout=30)
            with suppress(OSError):  # the mount is gone
                held.close()
        assert mount.returncode in (0, -signal.SIGTERM), "Python itself hears it again when it has done all it was told"
        assert "Traceback" not in reported
        assert place.pids() == [], "no worker is left behind"
        place.mount("--no-worker")
        assert path.read_text() == "not closed yet"
