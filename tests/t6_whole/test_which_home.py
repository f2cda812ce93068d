"""Of which home a verb speaks: of the mount that a path lies in, or that one stands in; and which mounts a home has."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.stores.mount_files import home_at, source_of
from tests.support.running import KGFS, QUICK, Place

pytestmark = pytest.mark.mounted


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Place, Place]]:
    """The home of the environment, and another one whose name and configuration are out of the way; both mounted."""
    usual = Place(tmp_path / "usual", tmp_path / "mnt", dict(QUICK))
    other = Place(
        tmp_path / "other, ünd: 100 %", tmp_path / "other mnt", {**QUICK, "KGFS_CONFIG": str(tmp_path / "other.toml")}
    )
    (tmp_path / "other.toml").write_text("[tree]\ntrash_days = 7\n")
    try:
        for place, name in ((usual, "Usual"), (other, "Other")):
            place.mountpoint.mkdir()
            place.mount("--no-worker")
            (place.ontology(name) / "documents" / f"{name}.md").write_text(f"# {name}\n\nA koan is a riddle.\n")
        yield usual, other
    finally:
        other.close()
        usual.close()


def reported(usual: Place, *words: str | os.PathLike[str], standing: Path = Path("/")) -> str:
    """Of a command in the environment of the usual home."""
    done = subprocess.run(
        [*KGFS, *words], env=usual._environment(None), cwd=standing, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.claim("HOME-1")
def test_the_home_is_that_of_the_mount(two: tuple[Place, Place], tmp_path: Path) -> None:
    usual, other = two
    inside = other.mountpoint / "Other" / "documents"
    assert f"home     {usual.home}\n" in reported(usual, "status")
    assert f"home     {other.home}\n" in reported(usual, "status", standing=inside)
    assert f"home     {usual.home}\n" in reported(usual, "status", "--home", usual.home, standing=inside)
    assert "trash_days = 7" in reported(usual, "config", "show", standing=inside), "as its mount is configured"
    assert "trash_days = 30" in reported(usual, "config", "show")
    (tmp_path / "link").symlink_to(other.mountpoint / "Other")
    for path in (inside / "Other.md", tmp_path / "link" / "Other.md"):
        assert "Other.md" in reported(usual, "status", path)
    reported(usual, "umount", other.mountpoint)
    assert [mount["mountpoint"] for mount in usual.status()["mounts"]] == [str(usual.mountpoint)]
    assert other.status()["mounts"] == []


def test_a_mount_that_was_killed_is_told_of_until_it_is_detached(two: tuple[Place, Place]) -> None:
    usual, other = two
    for place, detach in ((usual, "umount"), (other, "by hand")):
        (mount,) = place.status()["mounts"]
        os.kill(mount["pid"], signal.SIGKILL)
        while place.status()["mounts"][0]["alive"]:
            pass
        assert f"{place.mountpoint} is dead" in place.run("doctor", expect=6).stdout
        if detach == "umount":
            place.umount()
        else:
            subprocess.run(["fusermount3", "-u", "-z", place.mountpoint], check=True)
        assert place.status()["mounts"] == []
        assert str(place.mountpoint) not in place.run("doctor").stdout


def test_a_home_that_has_too_long_a_name_for_the_table_of_mounts_is_not_in_it(tmp_path: Path) -> None:
    assert source_of(Path("/x" * 1000)) == source_of(None)
    assert home_at(tmp_path) is None
