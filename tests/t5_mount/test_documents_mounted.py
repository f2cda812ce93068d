"""documents/ over real stores on a real mount: the scenarios, and the tools people use."""

from __future__ import annotations

import hashlib
import mmap
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.depositing import desk_at
from tests.support.required import missing
from tests.support.scenarios.filesystem import SCENARIOS, Scenario
from tests.support.scenarios.mounted import MountDriver
from tests.support.small_mount import ROOT, SmallMount

pytestmark = pytest.mark.mounted


class DocumentsMount(SmallMount):
    """The same with another server."""

    def __init__(self, mountpoint: Path, home: Path) -> None:
        self.path = mountpoint
        self.errors = mountpoint.with_name(mountpoint.name + ".errors")
        with open(self.errors, "ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.serve_documents", str(mountpoint), str(home)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self._out.readline() == b"ready\n", self.reported()


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallMount]:
    base = tmp_path_factory.mktemp("documents")
    (base / "mnt").mkdir()
    mounted = DocumentsMount(base / "mnt", base / "home")
    yield mounted
    errors = mounted.tell("errors")
    mounted.close()
    assert errors == []


@pytest.fixture
def folder(mounted: SmallMount, request: pytest.FixtureRequest) -> Path:
    folder = mounted.documents / request.node.name.replace("[", "-").replace("]", "")
    folder.mkdir()
    return folder


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_scenario(scenario: Scenario, folder: Path) -> None:
    scenario(MountDriver(folder))


def run(*command: str | Path, at: Path | None = None) -> str:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    done = subprocess.run(command, cwd=at, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def need(tool: str) -> None:
    if shutil.which(tool) is None:
        missing("programs", f"{tool} is not installed")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small tree with everything a copy should keep."""
    source = tmp_path / "source"
    (source / "sub" / "deep").mkdir(parents=True)
    (source / "small.txt").write_bytes(b"small\n")
    (source / "sub" / "large.bin").write_bytes(bytes(range(256)) * 3000)
    (source / "sub" / "deep" / "empty").touch()
    (source / "sub" / "link").symlink_to("../small.txt")
    (source / "sub" / "dangling").symlink_to("nowhere")
    (source / b"odd \xff\nname".decode("utf-8", "surrogateescape")).write_bytes(b"odd")
    (source / "small.txt").chmod(0o640)
    # Long ago: rsync does not set the time of a folder that differs by less than the second it was made in.
    for path in (*source.rglob("*"), source):
        os.utime(path, ns=(10**18, 10**18 + 123_456_789), follow_symlinks=False)
    return source


def seen(tree: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(tree.rglob("*")):
        about = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        time = 0 if path.is_symlink() else about.st_mtime_ns
        found[str(path.relative_to(tree))] = (about.st_mode, about.st_uid, about.st_gid, time, content)
    return found


def test_cp_keeps_everything(source: Path, folder: Path) -> None:
    run("cp", "-a", source, folder / "copy")
    assert seen(folder / "copy") == seen(source)
    run("diff", "-r", "--no-dereference", source, folder / "copy")


def test_rsync_sends_nothing_the_second_time(source: Path, folder: Path) -> None:
    need("rsync")
    first = run("rsync", "-a", "--itemize-changes", f"{source}/", f"{folder}/copy/")
    assert "small.txt" in first
    assert seen(folder / "copy") == seen(source)
    assert run("rsync", "-a", "--itemize-changes", f"{source}/", f"{folder}/copy/") == ""
    (source / "small.txt").write_bytes(b"changed\n")
    assert "small.txt" in run("rsync", "-a", "--itemize-changes", "--inplace", f"{source}/", f"{folder}/copy/")
    assert run("rsync", "-ac", "--itemize-changes", f"{source}/", f"{folder}/copy/") == ""


def test_tar_there_and_back(source: Path, folder: Path, tmp_path: Path) -> None:
    run("tar", "--format=posix", "-C", source, "-cf", folder / "a.tar", ".")
    (folder / "copy").mkdir()
    run("tar", "-C", folder / "copy", "-xpf", folder / "a.tar")
    assert seen(folder / "copy") == seen(source)
    run("tar", "--format=posix", "-C", folder / "copy", "-cf", tmp_path / "b.tar", ".")
    run("tar", "-C", source, "--compare", "-f", tmp_path / "b.tar")


def test_git_works_inside(folder: Path) -> None:
    need("git")
    run("git", "init", "-q", ".", at=folder)
    for turn in range(3):
        (folder / "notes.txt").write_text(f"turn {turn}\n" * 100)
        run("git", "add", ".", at=folder)
        run("git", "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", str(turn), at=folder)
    assert len(run("git", "log", "--oneline", at=folder).splitlines()) == 3
    run("git", "fsck", "--strict", at=folder)
    assert run("git", "status", "--short", at=folder) == ""


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_works_inside(folder: Path, mode: str) -> None:
    db = sqlite3.connect(folder / "a.sqlite")
    db.execute(f"PRAGMA journal_mode={mode}")
    db.execute("CREATE TABLE t (n INTEGER, body BLOB)")
    for number in range(40):
        with db:
            db.execute("INSERT INTO t VALUES (?, ?)", (number, bytes(5000)))
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    db = sqlite3.connect(folder / "a.sqlite")
    assert db.execute("SELECT count(*) FROM t").fetchone() == (40,)
    db.close()


def test_memory_maps_are_kept(folder: Path) -> None:
    path = folder / "mapped.bin"
    path.write_bytes(bytes(200_000))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[100_000:100_005] = b"hello"
        mapped.flush()
    content = bytearray(200_000)
    content[100_000:100_005] = b"hello"
    assert path.read_bytes() == content


def test_a_log_that_is_appended_and_read_at_once(folder: Path) -> None:
    path = folder / "app.log"
    with path.open("ab", buffering=0) as log, path.open("rb") as reader:
        expected = b""
        for number in range(60):
            line = b"%04d " % number + b"x" * 2000 + b"\n"
            log.write(line)
            if number % 10 == 0:
                os.fsync(log.fileno())
            expected += line
            assert path.stat().st_size == len(expected)
            assert reader.read() == line
    assert path.read_bytes() == expected


def test_copying_within_and_removing_all(source: Path, folder: Path) -> None:
    run("cp", "-a", source, folder / "one")
    run("cp", "-a", folder / "one", folder / "two")
    run("mv", folder / "two", folder / "one" / "sub" / "moved")
    assert seen(folder / "one" / "sub" / "moved") == seen(source)
    run("rm", "-rf", folder / "one")
    assert list(folder.iterdir()) == []


def test_what_cp_wrote_survives_a_kill_of_the_mount(source: Path, tmp_path: Path) -> None:
    for name in ("mnt", "again"):
        (tmp_path / name).mkdir()
    (source / "huge.bin").write_bytes(os.urandom(1 << 20) * 8)
    wanted = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in source.iterdir() if path.is_file()}
    killed = DocumentsMount(tmp_path / "mnt", tmp_path / "home")
    try:
        for name in wanted:
            run("cp", "-p", source / name, killed.documents)
        killed.end(signal.SIGKILL)
    finally:
        killed.close()
    again = DocumentsMount(tmp_path / "again", tmp_path / "home")
    try:
        found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in again.documents.iterdir()}
        assert found == wanted
        assert (again.documents / "small.txt").stat().st_mtime_ns == (source / "small.txt").stat().st_mtime_ns
    finally:
        again.close()
    with desk_at(tmp_path / "home") as desk:
        desk.deposits.settler.settle_now()
        desk.deposits.settler.sweep()
        assert desk.spool_files() == []
        assert desk.catalog.jobs.owed() == len(wanted)
        assert not desk.config.errors_log.exists()
