"""documents/ over real stores on a real mount: the scenarios, a log that grows, and a kill."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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
