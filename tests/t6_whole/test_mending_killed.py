"""Verbs that mend or put back, killed at every border: repeated, they end as if undisturbed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.knowledge_of import knowledge_of
from tests.support.peers.homes import lifecycle
from tests.support.running import LOOK_AGAIN_AT_ONCE, QUICK, Place
from tests.support.texts import GARBAGE, ZEN

ALWAYS = 20
"""More often than any verb here passes one border."""

pytestmark = [lifecycle, pytest.mark.files("damage")]


@pytest.fixture
def filled(place: Place, tmp_path: Path) -> Place:
    place.environment |= QUICK | LOOK_AGAIN_AT_ONCE
    for name, text in (("zen.md", ZEN), ("garbage.txt", GARBAGE)):
        (tmp_path / name).write_text(text)
    place.run("ingest", tmp_path / "zen.md", tmp_path / "garbage.txt", "--ontology", "Test")
    return place


def objects(place: Place, folder: str, suffix: str = "") -> list[Path]:
    top = place.home / "garage" / "objects" / folder
    return [p for p in sorted(top.rglob(f"*{suffix}")) if p.is_file() and not p.name.endswith("@sums")]


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    os.chmod(path, 0o600)
    path.write_bytes(raw)


def damage(place: Place) -> None:
    flip(objects(place, "records")[0])
    objects(place, "decisions")[1].unlink()
    (place.home / "spool" / "deadbeef-0123456789abcdef").write_text("left")


def truncate_front(place: Place) -> None:
    os.truncate(place.home / "front.sqlite", 20_000)


def lose_vectors_and_graph(place: Place) -> None:
    for path in place.home.glob("graph.sqlite*"):
        path.unlink()
    (place.home / "graph.sqlite").write_bytes(b"no database" * 1000)


@pytest.mark.long
@pytest.mark.parametrize(
    ("harm", "verb", "borders"),
    [
        (damage, ("check", "--deep", "--repair"), ["quarantined", "mended"]),
        (truncate_front, ("check", "--repair"), ["quarantined"]),
        (lose_vectors_and_graph, ("rebuild", "--yes"), ["staged", "built-aside"]),
    ],
    ids=["check", "front", "rebuild"],
)
@pytest.mark.claim("DERIVE-2")
def test_killed_at_every_border_a_repeat_mends_all(
    filled: Place, tmp_path: Path, harm: Callable[[Place], None], verb: tuple[str, ...], borders: list[str]
) -> None:
    before = knowledge_of(filled.home)
    originals = {path.name: path.read_bytes() for path in objects(filled, "sources")}
    harm(filled)
    shutil.copytree(filled.home, tmp_path / "harmed", symlinks=True)
    for border in borders:
        for time in range(1, ALWAYS):
            killed = filled.run(*verb, expect=None, env={"KGFS_FAIL_AT": f"{border}:{time}"})
            if killed.returncode == -9:
                filled.run(*verb)
                filled.run("worker", "--until-idle")
                assert filled.run("check", "--deep").stderr == "0 findings.\n", f"{border}:{time}"
                assert {path.name: path.read_bytes() for path in objects(filled, "sources")} == originals
                assert knowledge_of(filled.home) == before, f"{border}:{time}"
            shutil.rmtree(filled.home)
            shutil.copytree(tmp_path / "harmed", filled.home, symlinks=True)
            if killed.returncode != -9:
                assert killed.returncode == 0, f"{border}:{time}: {killed.stderr}"
                assert time > 1, f"the verb never passed {border}"
                break


@pytest.mark.claim("DERIVE-3")
def test_a_restore_that_was_killed_is_repeated(filled: Place, tmp_path: Path) -> None:
    before = knowledge_of(filled.home)
    filled.run("backup", tmp_path / "backups")
    for border in ("restored-files", "staged:2", "built-aside", "restored-aside"):
        again = Place(tmp_path / "again", tmp_path / "mnt", dict(QUICK))
        again.run("restore", tmp_path / "backups", expect=-9, env={"KGFS_FAIL_AT": border})
        assert not again.home.exists(), border
    again.run("restore", tmp_path / "backups")
    assert knowledge_of(again.home) == before
    assert again.run("check", "--deep").stderr == "0 findings.\n"
    assert not again.home.with_name("again.restoring").exists()
    done = Place(tmp_path / "done", tmp_path / "mnt", dict(QUICK))
    done.run("restore", tmp_path / "backups", expect=-9, env={"KGFS_FAIL_AT": "restored"})
    assert knowledge_of(done.home) == before, "it was there already, and a repeat says so"
    done.run("restore", tmp_path / "backups", expect=5)
