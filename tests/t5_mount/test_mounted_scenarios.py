"""The filesystem scenarios on a real mount of the small tree, as whoever runs the tests, and as an ordinary user."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.required import missing
from tests.support.scenarios.filesystem import SCENARIOS, Scenario
from tests.support.scenarios.mounted import MountDriver
from tests.support.small_mount import NOBODY, ROOT, SmallMount, need_a_readable_project

pytestmark = pytest.mark.mounted


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallMount]:
    mountpoint = tmp_path_factory.mktemp("mounted") / "mnt"
    mountpoint.mkdir()
    mounted = SmallMount(mountpoint)
    yield mounted
    mounted.close()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_scenario(scenario: Scenario, mounted: SmallMount) -> None:
    folder = mounted.documents / scenario.__name__
    folder.mkdir()
    scenario(MountDriver(folder))


def test_as_an_ordinary_user() -> None:
    """The scenarios and the life of a mount once more, mounting and acting as a user without any right."""
    if os.getuid() != 0:
        pytest.skip("[root] run by an ordinary user already")
    if shutil.which("setpriv") is None:
        missing("user", "setpriv is not installed")
    need_a_readable_project()
    base = Path(tempfile.mkdtemp(prefix="kgfs-user-"))
    try:
        os.chown(base, NOBODY, NOBODY)
        done = subprocess.run(
            [
                *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"),
                *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={base / 'tmp'}"),
                *("-k", "not as_an_ordinary_user", __file__, str(Path(__file__).with_name("test_life.py"))),
            ],
            cwd=ROOT,
            env={**os.environ, "HOME": str(base), "PYTHONDONTWRITEBYTECODE": "1", "KGFS_REQUIRE": "fuse"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        passed = re.search(r"(\d+) passed", done.stdout)
        assert passed and int(passed[1]) > len(SCENARIOS) + 5, done.stdout
    finally:
        shutil.rmtree(base, ignore_errors=True)
