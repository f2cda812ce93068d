"""``kgfs check`` as a user runs it: while mounted and reading, and after damage."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.knowledge_of import knowledge_of
from tests.support.peers.homes import lifecycle
from tests.support.running import LOOK_AGAIN_AT_ONCE, QUICK, Place
from tests.support.texts import GARBAGE, ZEN

pytestmark = lifecycle


@pytest.mark.mounted
def test_what_is_under_way_is_no_damage(place: Place) -> None:
    place.environment |= QUICK
    place.mount()
    documents = place.ontology("Test") / "documents"
    for number in range(60):
        (documents / f"{number}.txt").write_text(GARBAGE * (number * 5) + ZEN + str(number))
        if number % 20 == 10:
            reported = place.run("check", "--deep")
            assert reported.stdout == "", reported.stdout
    for number in range(0, 60, 3):
        (documents / f"{number}.txt").unlink()
    assert place.run("check").stdout == ""
    place.wait()
    assert place.run("check", "--deep").stderr == "0 findings.\n"


@pytest.mark.files("damage")
@pytest.mark.claim("DERIVE-2")
@pytest.mark.mounted
def test_damage_is_told_and_mended_while_mounted(place: Place, tmp_path: Path) -> None:
    place.environment |= QUICK
    place.mount()
    documents = place.ontology("Test") / "documents"
    (documents / "zen.md").write_text(ZEN)
    (documents / "garbage.txt").write_text(GARBAGE)
    place.wait()
    before = knowledge_of(place.home)
    for path in (place.home / "garage/objects/sources").rglob("*.md"):
        os.chmod(path, 0o600)
        path.write_bytes(path.read_bytes().replace(b"Zen", b"Zan", 1))
    assert place.run("check").returncode == 0, "a quick look reads no bytes"
    found = json.loads(place.run("check", "--deep", "--json", expect=1).stdout)
    assert [(line["kind"], line["done"]) for line in found] == [("rotten original", "")]
    assert "quarantined; the original is missing now" in place.run("check", "--deep", "--repair", expect=None).stdout
    place.run("check", expect=1)
    (documents / "again.md").write_text(ZEN)
    place.wait()
    (documents / "again.md").unlink()
    assert place.run("check", "--deep").stderr == "0 findings.\n"
    assert (documents / "zen.md").read_text() == ZEN
    assert knowledge_of(place.home) == before


@pytest.mark.claim("DERIVE-4")
def test_what_only_takes_room_is_no_damage_and_nothing_is_done_unasked(place: Place, tmp_path: Path) -> None:
    (tmp_path / "zen.md").write_text(ZEN)
    place.environment |= QUICK | LOOK_AGAIN_AT_ONCE
    place.run("ingest", tmp_path / "zen.md", "--ontology", "Test", "--no-wait")
    with closing(sqlite3.connect(place.home / "front.sqlite", isolation_level=None)) as front:
        front.execute(f"INSERT INTO inbox VALUES ('{'0' * 64}', x'41')")
    reported = place.run("check")
    assert reported.stdout == f"left inbox row: {'0' * 64}: takes room and nothing else; --repair drops it\n"
    assert reported.stderr == "1 finding, 1 harmless.\n"
    spool = place.home / "spool" / "deadbeef-1"
    spool.write_bytes(b"somebody's")
    reported = place.run("check", expect=1)
    assert "left spool file: deadbeef-1 (10 bytes): --repair quarantines it\n" in reported.stdout
    assert spool.exists()
    found = json.loads(place.run("check", "--json", expect=1).stdout)
    assert sorted((line["kind"], line["harmless"], line["done"]) for line in found) == [
        ("left inbox row", True, ""),
        ("left spool file", False, ""),
    ]
    reported = place.run("check", "--repair")
    assert sorted(line.rpartition(": ")[2] for line in reported.stdout.splitlines()) == ["dropped", "quarantined"]
    assert reported.stderr == "2 findings, 1 harmless, 2 dealt with.\n"
    assert place.run("check").stderr == "0 findings.\n"


@pytest.mark.files("damage")
def test_an_original_and_the_graph_are_lost_together(place: Place, tmp_path: Path) -> None:
    (tmp_path / "zen.md").write_text(ZEN)
    place.environment |= QUICK
    place.run("ingest", tmp_path / "zen.md", "--ontology", "One")
    for path in (*place.home.glob("graph.sqlite*"), *(place.home / "garage/objects/sources/One").rglob("*.md*")):
        path.unlink()
    assert "take it from a backup" in place.run("rebuild", "--yes", expect=4).stderr
