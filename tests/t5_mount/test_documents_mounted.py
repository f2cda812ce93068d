"""documents/ over real stores on a real mount: the scenarios, a log that grows, and a kill."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.depositing import desk_at
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


def test_what_cp_wrote_survives_a_kill_of_the_mount(tmp_path: Path) -> None:
    for name in ("mnt", "again", "source"):
        (tmp_path / name).mkdir()
    source = tmp_path / "source"
    (source / "small.txt").write_bytes(b"small\n")
    os.utime(source / "small.txt", ns=(10**18, 10**18 + 123_456_789))
    (source / os.fsdecode(b"odd \xff\nname")).write_bytes(b"odd")
    (source / "huge.bin").write_bytes(os.urandom(1 << 20) * 8)
    wanted = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in source.iterdir() if path.is_file()}
    killed = DocumentsMount(tmp_path / "mnt", tmp_path / "home")
    try:
        for name in wanted:
            subprocess.run(["cp", "-p", source / name, killed.documents], check=True, timeout=120)
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
