"""A new home on a bucket that others use, through the command line: it begins with a snapshot, also after kills."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.knowledge_of import knowledge_of
from tests.support.logs import AWAY
from tests.support.peers.buckets import Server
from tests.support.running import Place, until
from tests.support.sharing import corpus

SEEN = 60.0
pytestmark = [pytest.mark.slow, pytest.mark.logs(AWAY)]


@pytest.fixture
def homes(seaweedfs: Server, tmp_path: Path) -> Iterator[list[Place]]:
    place = seaweedfs.place
    settings = (
        f'[garage]\nstore = "s3"\nshared = true\nendpoint = "{place.endpoint}"\nprefix = "{place.prefix}"\ntimeout = 30\n'
        f'access_key_file = "{place.access_key_file}"\nsecret_key_file = "{place.secret_key_file}"\nsnapshot_facts = 10\n'
        '[models]\nextractor = "statistics"\nembedder = "none"\n'
    )
    made = []
    for name in ("here", "there", "third"):
        one = Place(tmp_path / name / "home", tmp_path / name / "mnt")
        one.home.mkdir(parents=True)
        (one.home / "config.toml").write_text(settings)
        made.append(one)
    yield made
    for one in made:
        one.close()


def snapshots(place: Place) -> list[dict[str, int]]:
    found: list[dict[str, int]] = json.loads(place.run("hosts", "--json").stdout)["snapshots"]
    return found


@pytest.mark.mounted
@pytest.mark.claim("SHARE-8", "SHARE-11")
def test_a_new_home_begins_with_a_snapshot_and_a_purge_deletes_it(homes: list[Place], tmp_path: Path) -> None:
    here, there, third = homes
    (tmp_path / "documents").mkdir()
    here.run("ingest", "--ontology", "Memory", *corpus(tmp_path / "documents"))
    here.run("worker", "--until-idle")
    made = here.run("hosts", "--snapshot").stdout
    assert len([line for line in made.splitlines() if line.startswith("snapshot\t")]) == len(snapshots(here)) == 1

    there.mountpoint.mkdir()
    killed = {"KGFS_FAIL_AT": "snapshot-part-fetched"}
    there.run("mount", there.mountpoint, "--no-worker", env=killed, expect=-signal.SIGKILL)
    assert not (there.home / "front.sqlite").exists()
    seen = there.mount("--no-worker").mountpoint / "Memory"
    assert not (there.home / "run/snapshot.fetched").exists()
    assert sorted(os.listdir(seen / "documents")) == sorted(f"{n:02}.txt" for n in range(8))
    first = sorted(os.listdir(seen / "concepts"))[0]
    assert (seen / "concepts" / first / "concept.md").read_text()
    assert here.run("search", "garbage collector").stdout == there.run("search", "garbage collector").stdout
    there.umount()
    assert knowledge_of(there.home) == knowledge_of(here.home)

    here.run("forget", "Memory/00.txt", "--purge", "--yes")
    assert snapshots(here) == []
    here.run("check", "--deep")
    third.run("worker", "--until-idle")
    assert knowledge_of(third.home) == knowledge_of(here.home)


@pytest.mark.mounted
@pytest.mark.claim("SHARE-11")
def test_the_worker_of_a_mount_makes_them(homes: list[Place]) -> None:
    here, there, _ = homes
    here.mountpoint.mkdir()
    written = here.mount(env={"KGFS_PIPELINE_SETTLE": "0.2"}).ontology("Memory")
    for n in range(4):
        (written / f"documents/{n}.txt").write_text(f"A garbage collector is a form of memory management. Number {n}.")
    here.wait()
    until(lambda: len(snapshots(here)) >= 1, SEEN)
    here.umount()
    there.run("worker", "--until-idle")
    assert set(knowledge_of(there.home)) == {"Memory"}
