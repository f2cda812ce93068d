"""What a new user can run into on the machine: each says what to do in one line, and nothing is lost."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.required import missing
from tests.support.running import QUICK, Place, one_line
from tests.support.stopping import stopped
from tests.support.texts import ZEN

AS_NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--")


@pytest.fixture
def place(place: Place) -> Place:
    place.environment |= QUICK
    return place


@pytest.fixture
def nobody() -> Iterator[Place]:
    """A home of an ordinary user, in a folder that this user can reach."""
    top = Path(tempfile.mkdtemp(prefix="kgfs-nobody-", dir="/tmp"))
    top.chmod(0o755)
    place = Place(top / "home", top / "mnt", {"HOME": str(top), **QUICK}, AS_NOBODY)
    for folder in (place.home, place.mountpoint):
        folder.mkdir(mode=0o700)
        shutil.chown(folder, "nobody", "nogroup")
    readable = subprocess.run([*AS_NOBODY, sys.executable, "-c", "import kgfs.cli"], capture_output=True, check=False)
    if readable.returncode:
        missing("user", f"an ordinary user cannot use this environment: {readable.stderr.decode()[-200:]}")
    yield place
    place.close()
    shutil.rmtree(top)


# ------------------------------------------------------------------------------------- ordinary users


@pytest.mark.user
def test_an_unreadable_source_is_named_and_the_others_are_kept(nobody: Place) -> None:
    top = nobody.home.parent
    (top / "secret.txt").write_text("not for you")
    (top / "secret.txt").chmod(0o600)
    (top / "closed").mkdir(mode=0o700)
    (top / "open.txt").write_text(ZEN)
    bad = [top / "secret.txt", top / "closed/inside.txt"]
    reported = nobody.run("ingest", *bad, top / "open.txt", "--ontology", "A", "--no-wait", expect=3)
    lines = reported.stderr.splitlines()
    assert [str(path) in line and "Permission denied" in line for path, line in zip(bad, lines, strict=True)] == [
        True
    ] * 2
    assert reported.stdout.startswith("open.txt\t")
    assert nobody.status()["documents"] == {"queued": 1}


@pytest.mark.user
def test_a_home_that_cannot_be_written_is_named(nobody: Place) -> None:
    closed = nobody.home.parent / "closed"
    closed.mkdir(mode=0o755)
    for words in (("mount", nobody.mountpoint), ("ingest", __file__, "--ontology", "A"), ("worker",)):
        reported = nobody.run(*words, "--home", closed / "home", expect=7)
        assert str(closed / "home") in one_line(reported.stderr)
    reported = nobody.run("doctor", "--home", closed / "home", expect=6)
    assert "cannot be written" in reported.stdout
    assert "KGFS_HOME" in reported.stdout


@pytest.mark.user
@pytest.mark.mounted
def test_an_ordinary_user_mounts_reads_and_unmounts(nobody: Place) -> None:
    nobody.run("mount", nobody.mountpoint)
    script = 'cd "$1"; mkdir A; cat > A/documents/zen.md; "$2" -m kgfs wait --timeout 60; cat A/zen.concept/concept.md'
    user = subprocess.run(
        [*AS_NOBODY, "sh", "-euc", script, "sh", nobody.mountpoint, sys.executable],
        input=ZEN.encode(),
        capture_output=True,
        env={**os.environ, "KGFS_HOME": str(nobody.home)},
        check=False,
    )
    assert user.returncode == 0, user.stderr
    assert b"school of Buddhism" in user.stdout
    nobody.umount()
    assert nobody.pids() == []


# ---------------------------------------------------------------------------------------- mount points


@pytest.mark.mounted
def test_mount_points_that_will_not_do(place: Place, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/thing").touch()
    (tmp_path / "file").touch()
    cases = [("missing", 4, "mkdir -p"), ("full", 5, "empty folder"), ("file", 3, "not a folder")]
    for name, exit_code, remedy in cases:
        for options in ((), ("--foreground",)):
            reported = place.run("mount", tmp_path / name, *options, expect=exit_code)
            line = one_line(reported.stderr)
            assert str(tmp_path / name) in line
            assert remedy in line
    assert (tmp_path / "full/thing").exists()
    assert place.pids() == []


@pytest.mark.mounted
def test_another_home_over_a_mount_is_refused(place: Place, tmp_path: Path) -> None:
    place.mount()
    other = Place(tmp_path / "other-home", place.mountpoint)
    reported = other.run("mount", place.mountpoint, expect=5)
    assert str(place.mountpoint) in one_line(reported.stderr)
    assert "kgfs umount" in reported.stderr
    assert "README.md" in os.listdir(place.mountpoint)
    assert other.pids() == []


@pytest.mark.mounted
@pytest.mark.parametrize("way", ["umount", "mount over it"])
@pytest.mark.logs("was a dead mount")
def test_a_dead_mount(place: Place, way: str) -> None:
    place.mount()
    path = place.ontology("A") / "documents/zen.md"
    path.write_text(ZEN)
    place.kill()
    with pytest.raises(OSError) as dead:
        os.listdir(place.mountpoint)
    assert dead.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)  # the latter just after the kill
    reported = place.run("doctor", expect=6)
    assert f"kgfs umount {place.mountpoint}" in reported.stdout
    if way == "umount":
        place.umount()
        assert os.listdir(place.mountpoint) == []
        assert place.run("doctor").stdout.count(" is dead") == 0, "what is put right is not complained about"
    place.run("mount", place.mountpoint)
    assert path.read_text() == ZEN
    place.wait()
    assert "zen.concept" in os.listdir(place.mountpoint / "A/concepts")
    mounts = Path("/proc/self/mountinfo").read_text().count(f" {place.mountpoint} ")
    assert mounts == 1, "mounted once, not over the dead one"


@pytest.mark.mounted
def test_a_mount_that_hangs_is_named_and_detached(place: Place) -> None:
    place.mount("--no-worker")
    (pid,) = place.pids()
    with stopped(pid):
        reported = place.run("mount", place.mountpoint, expect=5)
        assert f"kgfs umount --lazy {place.mountpoint}" in one_line(reported.stderr)
        assert "hung" in place.run("doctor", expect=6).stdout
    assert "README.md" in os.listdir(place.mountpoint)


def test_without_fusermount3(place: Place) -> None:
    """As on a machine that lacks the package fuse3."""
    nothing = place.home.parent / "nothing"
    nothing.mkdir()
    env = {"PATH": str(nothing)}
    reported = place.run("mount", place.mountpoint, expect=6, env=env)
    assert "Install the package fuse3" in one_line(reported.stderr)
    reported = place.run("doctor", expect=6, env=env)
    assert "Install the package fuse3" in reported.stdout
    assert os.listdir(place.mountpoint) == []


# ------------------------------------------------------------------------------------------- disk full


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.root
def test_ingest_into_a_full_home(small_disk: Path, tmp_path: Path) -> None:
    place = Place(small_disk / "home", tmp_path / "mnt")
    (tmp_path / "large.bin").write_bytes(os.urandom(30 << 20))
    (tmp_path / "zen.md").write_text(ZEN)
    reported = place.run("ingest", tmp_path / "large.bin", tmp_path / "zen.md", "--ontology", "A", expect=7)
    line = one_line(reported.stderr)
    assert str(tmp_path / "large.bin") in line
    assert "no space left" in line
    assert reported.stdout.startswith("zen.md\t"), "the other is kept"
    assert place.status()["documents"] == {"done": 1}
