"""A file that grew, by the command line: its versions are backed up and restored, checked and purged like all others."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.config import load
from kgfs.stores.garage.opening import open_garage
from tests.support.peers.homes import anywhere, lifecycle
from tests.support.running import LET_GO_SOON, Place
from tests.support.traces import told, traces

pytestmark = lifecycle

FILLER = b"Zen practice uses koans to exhaust the mind. Direct experience comes before words.\n\n"


@pytest.fixture
def grown(place: Place, tmp_path: Path) -> tuple[Place, list[bytes]]:
    """A home whose ``log.md`` has three versions, each the beginning of the next; the first is that of ``first.md``,
    too."""
    place.environment |= {"KGFS_MODELS_EXTRACTOR": "statistics", "KGFS_MODELS_EMBEDDER": "none"}
    versions = [FILLER * 1000]
    versions += [versions[0] + told("quxadded").encode()]
    versions += [versions[1] + told("quxlast").encode()]
    for content in versions:
        (tmp_path / "source").write_bytes(content)
        place.run("ingest", tmp_path / "source", "--ontology", "Notes", "--as", "log.md")
    (tmp_path / "source").write_bytes(versions[0])
    place.run("ingest", tmp_path / "source", "--ontology", "Notes", "--as", "first.md")
    return place, versions


def stored(place: Place, prefix: str) -> list[int]:
    return [size for _, size in open_garage(load(place.home)).objects.stored.keys(prefix)]


@anywhere("seaweedfs")
@pytest.mark.parametrize("border", ["", "prefix-written"])
def test_purging_the_file_leaves_its_first_version_where_that_is_another_files(
    grown: tuple[Place, list[bytes]], border: str
) -> None:
    place, versions = grown
    assert stored(place, "sources/") == [len(versions[2])]
    place.run("check", "--deep")
    words = ("forget", "Notes/log.md", "--purge", "--yes")
    if border:
        place.run(*words, env={"KGFS_FAIL_AT": border, **LET_GO_SOON}, expect=-signal.SIGKILL)
    place.run(*(("worker", "--until-idle") if border else words), env=LET_GO_SOON)
    assert stored(place, "sources/") == [len(versions[0])]
    assert not traces(place.home, "quxadded", "quxlast")
    mounted = place.mount("--no-worker")
    assert (mounted.mountpoint / "Notes/documents/first.md").read_bytes() == versions[0]
    place.umount()
    place.run("check", "--deep")


def test_a_backup_takes_as_much_as_the_home_and_has_every_version(
    grown: tuple[Place, list[bytes]], tmp_path: Path
) -> None:
    place, versions = grown
    place.run("backup", tmp_path / "backup")
    taken = sum(path.stat().st_size for path in (tmp_path / "backup/objects/sources").rglob("*") if path.is_file())
    assert taken < 1.1 * len(versions[2])
    restored = replace(place, home=tmp_path / "restored", environment={**place.environment})
    restored.environment["KGFS_HOME"] = str(restored.home)
    restored.run("restore", tmp_path / "backup")
    assert len(json.loads(restored.run("history", "Notes/log.md", "--json").stdout)) == 3
    objects = open_garage(load(restored.home)).objects
    kept = sorted((objects.get(key) for key, _ in objects.keys("sources/")), key=len)
    assert kept == versions
    restored.run("check", "--deep")
