"""A full disk is freed from inside: what removes works where no byte is free, and gives bytes back."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.running import LET_GO_SOON, QUICK, Place, one_line, shell, until
from tests.support.small_disk import fill, free, small_file_system
from tests.support.texts import GARBAGE, ZEN
from tests.support.traces import told, traces

pytestmark = [pytest.mark.root, pytest.mark.claim("FULL-4")]
MIB = 1 << 20
LARGE = 3 * MIB


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A home on a small disk, with a mount point elsewhere."""
    with small_file_system(tmp_path, "48m") as disk:
        made = Place(disk / "home", tmp_path / "mnt", dict(QUICK))
        made.mountpoint.mkdir()
        yield made
        made.close()


def filled(place: Place, tmp_path: Path) -> Path:
    """A mounted home with four large files, some notes with secrets, and not one free byte; its documents/."""
    place.mount()
    documents = place.ontology("A") / "documents"
    for n in range(4):
        (documents / f"large{n}.bin").write_bytes(os.urandom(LARGE))
    (documents / "notes").mkdir()
    for n in range(30):
        (documents / f"notes/{n}.md").write_text(f"# {n}\n\n{GARBAGE * 9}")
    (documents / "zen.md").write_text(ZEN)
    (documents / "secret.md").write_text(told("quxsecret") * 20)
    place.wait()
    fill(place.home.parent)
    time.sleep(1.5)  # what was under way takes what a checkpoint gave back
    fill(place.home.parent)
    return documents


def goes_on(place: Place, documents: Path) -> None:
    """Where there is room again, writing, reading and a deep check find nothing amiss."""
    (place.home.parent / "ballast").unlink(missing_ok=True)
    (documents / "after.md").write_text(told("quxafter"))
    place.wait()
    assert "quxafter-abbot.concept" in os.listdir(place.mountpoint / "A/concepts")
    assert (documents / "zen.md").read_text() == ZEN
    place.run("check", "--deep")
    assert place.status()["reserve"] == {"held": 4 * MIB, "wanted": 4 * MIB}


@pytest.mark.mounted
@pytest.mark.logs("NoSpaceError")
def test_rm_and_the_emptying_of_the_trash(place: Place, tmp_path: Path) -> None:
    documents, disk = filled(place, tmp_path), place.home.parent
    # More than the log of a database may have room for that it keeps.
    (tmp_path / "new.bin").write_bytes(os.urandom(2 * MIB))
    refused = shell("cp", tmp_path / "new.bin", documents / "new.bin")
    assert b"No space left on device" in refused.stderr
    (documents / "new.bin").unlink(missing_ok=True)
    for words in (["rm", documents / "large0.bin"], ["rm", "-r", documents / "notes"]):
        done = shell(*words)
        assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(documents)) == ["large1.bin", "large2.bin", "large3.bin", "secret.md", "zen.md"]
    until(lambda: place.status()["owed"] == 0)  # the worker takes what they taught out of the graph
    assert "garbage-collection.concept" not in os.listdir(place.mountpoint / "A/concepts")
    fill(disk)
    place.run("trash", "empty", "--yes")
    assert free(disk) >= LARGE - MIB, "the rest fills the reserve"
    goes_on(place, documents)


@pytest.mark.mounted
@pytest.mark.logs("NoSpaceError")
def test_a_purge(place: Place, tmp_path: Path) -> None:
    documents, disk = filled(place, tmp_path), place.home.parent
    place.run("forget", documents / "secret.md", "--purge", "--yes")
    assert traces(place.home, "quxsecret") == []
    fill(disk)
    place.run("forget", documents / "large1.bin", documents / "notes", "--purge", "--yes")
    assert free(disk) >= LARGE - MIB
    fill(disk)
    place.run("forget", documents / "large2.bin", "--yes")
    place.run("trash", "empty", "--yes")
    assert free(disk) >= LARGE - MIB
    goes_on(place, documents)


@pytest.mark.mounted
@pytest.mark.logs("NoSpaceError")
def test_what_is_not_settled_is_removed_too(place: Place, tmp_path: Path) -> None:
    place.environment["KGFS_PIPELINE_SETTLE"] = "600"
    place.mount()
    documents, disk = place.ontology("A") / "documents", place.home.parent
    for name, content in (("small.md", told("quxsmall").encode()), ("large.bin", os.urandom(LARGE))):
        (documents / name).write_bytes(content)
        (documents / f"other-{name}").write_bytes(content[::-1])
    fill(disk)
    place.run("forget", documents / "small.md", "--purge", "--yes")
    assert traces(place.home, "quxsmall") == []
    fill(disk)
    for name in ("large.bin", "other-small.md", "other-large.bin"):
        done = shell("rm", documents / name)
        assert done.returncode == 0, done.stderr
    place.run("trash", "empty", "--yes")
    assert free(disk) >= 2 * LARGE - MIB
    (documents / "zen.md").write_text(ZEN)
    goes_on(place, documents)


@pytest.mark.mounted
@pytest.mark.logs("NoSpaceError")
def test_a_home_that_is_not_mounted(place: Place, tmp_path: Path) -> None:
    """SQLite makes its companions anew then, and the processes their notes."""
    documents, disk = filled(place, tmp_path), place.home.parent
    place.umount()
    fill(disk)
    place.run("forget", "A/large1.bin", "--yes")
    fill(disk)
    place.run("trash", "empty", "--yes")
    assert free(disk) >= LARGE - MIB
    fill(disk)
    place.run("forget", "A/secret.md", "--purge", "--yes")
    assert traces(place.home, "quxsecret") == []
    fill(disk)
    place.mount()
    assert shell("rm", "-r", documents / "notes").returncode == 0
    place.run("forget", "A/large0.bin", "--purge", "--yes")
    goes_on(place, documents)


@pytest.mark.mounted
@pytest.mark.logs("NoSpaceError")
def test_a_disk_that_kgfs_filled_itself(place: Place, tmp_path: Path) -> None:
    place.mount()
    documents, disk = place.ontology("A") / "documents", place.home.parent
    (documents / "zen.md").write_text(ZEN)
    (tmp_path / "piece").write_bytes(os.urandom(MIB))
    kept = []
    for n in range(60):
        if shell("cp", tmp_path / "piece", documents / f"{n}.bin").returncode:
            break
        kept.append(f"{n}.bin")
        with open(tmp_path / "piece", "r+b") as file:
            file.write(os.urandom(64))
    else:
        raise AssertionError("the disk never filled")
    for n in range(2000):
        (tmp_path / "note").write_text(f"{n}\n{GARBAGE * 9}")
        if shell("cp", tmp_path / "note", documents / f"{n}.md").returncode:
            break
    for name in kept[::2]:
        done = shell("rm", documents / name)
        assert done.returncode == 0, done.stderr
    place.run("trash", "empty", "--yes")
    assert free(disk) > len(kept) // 2 * MIB - 6 * MIB
    until(lambda: place.status()["unsettled"] == 0)
    for name in kept[1::2]:
        assert len((documents / name).read_bytes()) == MIB
    goes_on(place, documents)


@pytest.mark.mounted
@pytest.mark.logs("NoSpaceError", "was a dead mount")
@pytest.mark.parametrize("border", ["redacted", "scrubbed"])
def test_a_purge_that_is_killed_on_a_full_disk(place: Place, tmp_path: Path, border: str) -> None:
    documents, disk = filled(place, tmp_path), place.home.parent
    place.umount()
    fill(disk)
    killing = LET_GO_SOON | {"KGFS_FAIL_AT": border}
    words = ("forget", "A/secret.md", "A/large3.bin", "--purge", "--yes")
    place.run(*words, expect=-signal.SIGKILL, env=killing)
    fill(disk)
    place.run("worker", "--until-idle")
    assert traces(place.home, "quxsecret") == []
    assert place.status()["forgettings"] == 0
    place.mount()
    goes_on(place, documents)


@pytest.mark.mounted
def test_status_and_doctor_tell_of_a_reserve_that_is_used_up(place: Place, tmp_path: Path) -> None:
    (tmp_path / "zen.md").write_text(ZEN)
    place.run("ingest", tmp_path / "zen.md", "--ontology", "A")
    place.mount("--no-worker")
    assert "reserve" not in place.run("status").stdout
    os.truncate(place.home / "reserve", 0)
    ballast = fill(place.home.parent)
    assert "0 of 4 MiB" in place.run("status").stdout
    assert "kgfs trash empty" in place.run("doctor", expect=None).stdout
    reported = place.run("forget", "A/zen.md", "--yes", expect=7)
    assert "no space left" in one_line(reported.stderr)
    ballast.unlink()
    place.run("status")
    assert (place.home / "reserve").stat().st_size == 4 * MIB
