"""One owner of a bucket: another home is refused, takes over with the same tree, and the former owner writes nothing more."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.config import load
from tests.support.mounting import STATISTICS
from tests.support.peers.buckets import S3, Server, in_bucket
from tests.support.running import Place, one_line, until
from tests.support.starting import CONSTANTS
from tests.support.stopping import is_stopped
from tests.support.texts import GARBAGE, ZEN

pytestmark = pytest.mark.slow
LOST = r"belongs to the home"
SNAPSHOT_SOON = {"KGFS_GARAGE_SNAPSHOT_FACTS": "1", CONSTANTS: "kgfs.stores.timing.SNAPSHOT_POLL=0.3"}


@pytest.fixture(params=[*S3])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def places(server: Server, tmp_path: Path) -> Iterator[tuple[Place, Place]]:
    """Two machines with one configuration, and nothing in their homes."""
    place, made = server.place, []
    for name in ("old", "new"):
        home, mountpoint = tmp_path / name, tmp_path / f"{name}.mnt"
        home.mkdir(mode=0o700)
        mountpoint.mkdir()
        (home / "config.toml").write_text(
            f'[garage]\nstore = "s3"\nendpoint = "{place.endpoint}"\nprefix = "{place.prefix}"\n'
            f'access_key_file = "{place.access_key_file}"\nsecret_key_file = "{place.secret_key_file}"\ntimeout = 10\n'
        )
        made.append(Place(home, mountpoint, dict(STATISTICS)))
    yield made[0], made[1]
    for each in made:
        each.close()


def tree(top: Path) -> dict[str, bytes]:
    """What does not depend on the machine."""
    return {
        str(path.relative_to(top)): path.read_bytes()
        for folder in ("documents", "text", "concepts", "archive", "versions")
        for path in sorted((top / folder).rglob("*"))
        if path.is_file()
    }


def is_read_only(folder: Path) -> bool:
    try:
        (folder / "after").mkdir()
        (folder / "after").rmdir()
    except OSError as error:
        return error.errno == errno.EROFS
    return False


def deposit(place: Place, tmp_path: Path, name: str, content: str) -> None:
    source = tmp_path / f"source-{name}"
    source.write_text(content)
    place.run("ingest", source, "--ontology", "Zen", "--as", name)


def read(place: Place) -> None:
    place.run("worker", "--until-idle")


@pytest.mark.mounted
@pytest.mark.logs(LOST)
@pytest.mark.parametrize("snapshot", [False, True], ids=["ledger", "snapshot"])
def test_a_new_machine_takes_over_with_the_same_tree(
    places: tuple[Place, Place], tmp_path: Path, snapshot: bool
) -> None:
    old, new = places
    if snapshot:
        old.environment |= SNAPSHOT_SOON
    old.mount()
    documents = old.ontology("Zen") / "documents"
    (documents / "zen.md").write_text(ZEN)
    old.wait()
    (documents / "zen.md").write_text(ZEN + "\nA koan is a question without an answer.\n")
    (documents / "garbage.txt").write_text(GARBAGE)
    old.wait()
    if snapshot:
        config = load(old.home)
        until(lambda: any(name.endswith("manifest.json!") for name, _ in in_bucket(config)))
        old.environment |= {"KGFS_GARAGE_SNAPSHOT_FACTS": "0"}
        (documents / "later.md").write_text("Zazen is seated meditation. Zazen is the heart of zen practice.\n")
        old.wait()
    before = tree(documents.parent)
    until(lambda: old.status()["unshipped"] == 0)

    (tmp_path / "mine.md").write_text("Mine.\n")
    refused = new.run("ingest", tmp_path / "mine.md", "--ontology", "Zen", expect=5)
    assert f"belongs to the home {os.uname().nodename}:{old.home}" in one_line(refused.stderr)
    assert "kgfs mount MNT --take-over" in refused.stderr
    assert new.run("mount", new.mountpoint, expect=5)

    new.mount("--take-over")
    assert tree(new.mountpoint / "Zen") == before
    assert new.status()["taken_over_by"] == ""

    (documents / "late.md").write_text("Written on the old machine, which does not know yet.\n")
    until(lambda: old.status()["taken_over_by"])
    until(lambda: is_read_only(documents))
    assert tree(documents.parent).items() >= before.items()
    unshipped = old.run("status", "--unshipped", "-0").stdout.split("\0")[:-1]
    assert unshipped == [str(documents / "late.md")]
    other = Place(tmp_path / "other", tmp_path / "other.mnt", dict(STATISTICS))
    other.run("ingest", "--home", other.home, *unshipped, "--ontology", "Saved")
    assert json.loads(other.run("status", "--json").stdout)["ontologies"][0]["name"] == "Saved"

    (new.mountpoint / "Zen/documents/more.md").write_text("Written on the new machine.\n")
    new.wait()
    old.umount()
    old.mount()
    until(lambda: is_read_only(documents))
    assert "late.md" in os.listdir(documents)
    assert LOST in one_line(old.run("worker", "--until-idle", expect=5).stderr)
    old.umount()
    assert "never reached the bucket" in one_line(old.run("mount", old.mountpoint, "--take-over", expect=5).stderr)
    new.umount()
    assert "0 findings" in new.run("check", "--deep").stdout + new.run("check", "--deep").stderr
    shutil.rmtree(old.home / "spool")


def stopped_at(place: Place, border: str, *words: str | os.PathLike[str]) -> subprocess.Popen[str]:
    """A command that was stopped where it passes the border."""
    process = place.start(*words, env={"KGFS_STOP_AT": border})
    until(lambda: is_stopped(process.pid))
    return process


def awake(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and words of a command that goes on."""
    os.killpg(process.pid, signal.SIGCONT)
    said = process.communicate(timeout=120)[1]
    return process.returncode, said


@pytest.mark.mounted
@pytest.mark.logs(LOST)
@pytest.mark.parametrize("border", ["owner-asked", "owner-confirmed"], ids=["before-the-look", "after-the-look"])
def test_an_owner_that_slept_before_shipping_ships_nothing(
    places: tuple[Place, Place], tmp_path: Path, border: str
) -> None:
    old, new = places
    deposit(old, tmp_path, "zen.md", ZEN)
    asleep = stopped_at(old, border, "ingest", tmp_path / "source-zen.md", "--ontology", "Zen", "--as", "late.md")
    new.mount("--take-over")
    assert os.listdir(new.mountpoint / "Zen/documents") == ["zen.md"]
    awake(asleep)
    assert os.listdir(new.mountpoint / "Zen/documents") == ["zen.md"]
    assert old.status()["taken_over_by"]
    assert old.run("status", "--unshipped").stdout.splitlines() == ["Zen/documents/late.md"]
    new.umount()
    new.mount()
    assert os.listdir(new.mountpoint / "Zen/documents") == ["zen.md"]


@pytest.mark.mounted
@pytest.mark.logs(LOST)
def test_an_owner_that_slept_before_a_deletion_deletes_nothing(places: tuple[Place, Place], tmp_path: Path) -> None:
    old, new = places
    deposit(old, tmp_path, "zen.md", ZEN)
    read(old)
    before = {name for name, _ in in_bucket(load(old.home)) if name.startswith("objects/")}
    env = {"KGFS_STOP_AT": "redacted"}
    asleep = old.start("forget", "Zen/zen.md", "--purge", "--yes", env=env)
    until(lambda: is_stopped(asleep.pid))
    new.mount("--take-over")
    code, _ = awake(asleep)
    assert code == 5
    there = {name for name, _ in in_bucket(load(old.home)) if name.startswith("objects/")}
    assert there >= before


@pytest.mark.mounted
def test_of_two_that_take_over_at_once_one_is_refused(places: tuple[Place, Place], tmp_path: Path) -> None:
    old, new = places
    third = Place(tmp_path / "third", tmp_path / "third.mnt", dict(STATISTICS))
    third.home.mkdir(mode=0o700)
    third.mountpoint.mkdir()
    shutil.copy(new.home / "config.toml", third.home)
    deposit(old, tmp_path, "zen.md", ZEN)
    try:
        asleep = new.start("mount", new.mountpoint, "--take-over", env={"KGFS_STOP_AT": "taking-over"})
        until(lambda: is_stopped(asleep.pid))
        third.mount("--take-over")
        assert os.listdir(third.mountpoint / "Zen/documents") == ["zen.md"]
        code, said = awake(asleep)
        assert code == 5
        assert str(third.home) in one_line(said)
    finally:
        third.close()
