"""Backups as a user makes them: while mounted and reading, again and again, interrupted, onto another disk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.knowledge_of import knowledge_of
from tests.support.peers.homes import lifecycle
from tests.support.running import QUICK, Place, contents, one_line
from tests.support.texts import GARBAGE, ZEN

pytestmark = [lifecycle, pytest.mark.files("refused")]


@pytest.fixture
def filled(place: Place, tmp_path: Path) -> Place:
    place.environment |= QUICK
    (tmp_path / "zen.md").write_text(ZEN)
    (tmp_path / "large.txt").write_text(GARBAGE * 400)
    place.run("ingest", tmp_path / "zen.md", "--ontology", "Zen")
    place.run("ingest", tmp_path / "large.txt", "--ontology", "Large", "--no-wait")
    return place


@contextmanager
def restored(place: Place, folder: Path, *words: str) -> Iterator[Place]:
    other = Place(place.home.with_name(f"other{len(words)}"), place.mountpoint.with_name("othermnt"), dict(QUICK))
    other.mountpoint.mkdir(exist_ok=True)
    try:
        other.run("restore", folder, *words)
        yield other
    finally:
        other.close()


@pytest.mark.mounted
def test_mounted_again_from_a_backup_it_is_the_same_tree(filled: Place, tmp_path: Path) -> None:
    filled.mount()
    filled.wait()
    documents = filled.mountpoint / "Zen/documents"
    (documents / "zen.md").write_text(ZEN + "\nZazen is sitting.\n")
    (documents / "empty").touch()
    filled.wait()
    filled.run("backup", tmp_path / "backups")
    with restored(filled, tmp_path / "backups") as other:
        other.mount("--no-worker")
        assert contents(other.mountpoint) == contents(filled.mountpoint)
        assert knowledge_of(other.home) == knowledge_of(filled.home)


@pytest.mark.claim("DERIVE-3")
@pytest.mark.mounted
def test_each_backup_made_while_it_is_written_and_read_can_be_restored(filled: Place, tmp_path: Path) -> None:
    filled.mount()
    folder = filled.ontology("New") / "documents"
    names = []
    for number in range(3):
        for part in range(5):
            (folder / f"{number}-{part}.txt").write_text(f"Thing {number} {part} is a kind of thing. " * 4 * 5**part)
        names.append(filled.run("backup", tmp_path / "backups").stdout.strip())
    filled.wait()
    with restored(filled, tmp_path / "backups", "--snapshot", names[1]) as other:
        other.run("worker", "--until-idle")
        other.mount()
        other.wait()
        found = {path.name for path in (other.mountpoint / "New/documents").iterdir()}
        assert found == {f"{number}-{part}.txt" for number in (0, 1) for part in range(5)}
        for name in found:
            assert (other.mountpoint / "New/documents" / name).read_bytes() == (folder / name).read_bytes()
        assert other.status()["documents"] == {"done": 12}


def test_the_second_copies_what_is_new(filled: Place, tmp_path: Path) -> None:
    filled.run("worker", "--until-idle")
    folder = tmp_path / "backups"
    first = filled.run("backup", folder)
    count = int(first.stderr.split()[0])
    assert f"{count} objects, {count} of them new." in first.stderr
    assert f"{count} objects, 0 of them new." in filled.run("backup", folder).stderr
    (tmp_path / "more.txt").write_text(GARBAGE)
    filled.run("ingest", tmp_path / "more.txt", "--ontology", "Zen")
    kept = filled.run("backup", folder, "--keep", "1").stdout.strip()
    assert [path.name for path in (folder / "snapshots").iterdir()] == [kept]
    with restored(filled, folder) as other:
        assert knowledge_of(other.home) == knowledge_of(filled.home)


def test_the_newest_is_the_last_also_where_the_clock_was_set_back(filled: Place, tmp_path: Path) -> None:
    filled.run("worker", "--until-idle")
    folder = tmp_path / "backups"
    made = folder / "snapshots" / filled.run("backup", folder).stdout.strip()
    manifest = json.loads((made / "manifest.json").read_text())
    later = made.rename(made.with_name("2199-12-31T235959.999999Z"))  # made while the clock was wrong
    (later / "manifest.json").write_text(json.dumps({**manifest, "name": later.name}))
    (tmp_path / "more.txt").write_text(GARBAGE)
    filled.run("ingest", tmp_path / "more.txt", "--ontology", "Zen")
    kept = filled.run("backup", folder, "--keep", "1").stdout.strip()
    assert [path.name for path in (folder / "snapshots").iterdir()] == [kept]
    with restored(filled, folder) as other:
        assert knowledge_of(other.home) == knowledge_of(filled.home)


@pytest.mark.claim("DERIVE-3")
def test_an_interrupted_backup_leaves_the_earlier_one_and_an_interrupted_restore_nothing(
    filled: Place, tmp_path: Path
) -> None:
    filled.run("worker", "--until-idle")
    folder = tmp_path / "backups"
    name = filled.run("backup", folder).stdout.strip()
    before = knowledge_of(filled.home)
    (tmp_path / "more.txt").write_text(GARBAGE)
    filled.run("ingest", tmp_path / "more.txt", "--ontology", "Zen")
    filled.run("backup", folder, expect=-9, env={"KGFS_FAIL_AT": "snapshot-copied"})
    with restored(filled, folder) as other:
        assert knowledge_of(other.home) == before
    again = Place(tmp_path / "again", tmp_path / "mnt", dict(QUICK))
    again.run("restore", folder, expect=-9, env={"KGFS_FAIL_AT": "restored-aside"})
    assert not again.home.exists()
    again.run("restore", folder)
    assert knowledge_of(again.home) == before
    newer = filled.run("backup", folder).stdout.strip()
    assert sorted(path.name for path in (folder / "snapshots").iterdir()) == [name, newer]


def test_what_is_refused(filled: Place, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    assert "no backup is there" in one_line(Place(tmp_path / "x", tmp_path).run("restore", folder, expect=4).stderr)
    filled.run("backup", folder)
    assert "is not empty" in one_line(filled.run("restore", folder, expect=5).stderr)
    assert "within the home" in one_line(filled.run("backup", filled.home / "b", expect=7).stderr)
    found = next(path for path in (folder / "objects/sources").rglob("*.md") if path.is_file())
    os.chmod(found, 0o600)
    found.write_bytes(found.read_bytes().replace(b"Zen", b"Zan", 1))
    other = Place(tmp_path / "other", tmp_path)
    reported = one_line(other.run("restore", folder, expect=7).stderr)
    assert "sources/Zen/" in reported
    assert not other.home.exists()


def test_what_is_rotten_is_named_and_what_is_not_is_backed_up(filled: Place, tmp_path: Path) -> None:
    found = next(path for path in (filled.home / "garage/objects/sources").rglob("*.md") if path.is_file())
    right = found.read_bytes()
    os.chmod(found, 0o600)
    found.write_bytes(right.replace(b"Zen", b"Zan", 1))
    assert "sources/Zen/" in filled.run("backup", tmp_path / "backups", expect=7).stderr
    found.write_bytes(right)
    filled.run("backup", tmp_path / "backups")
    found.write_bytes(right.replace(b"Zen", b"Zan", 1))
    filled.run("backup", tmp_path / "backups")
    with restored(filled, tmp_path / "backups") as other:
        same = next(path for path in (other.home / "garage/objects/sources").rglob("*.md") if path.is_file())
        assert same.read_bytes() == right, "an earlier backup had it"
