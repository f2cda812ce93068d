"""A file whose settling was killed when its bytes were in the garage, and in the spool no more, and nothing said so yet: verbs that
come before it is settled neither take it for lost nor what the garage has for nobody's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.peers.homes import EMBEDDED
from tests.support.running import LOOK_AGAIN_AT_ONCE, QUICK, Place
from tests.support.texts import GARBAGE

pytestmark = [pytest.mark.mounted, pytest.mark.slow, pytest.mark.peers(EMBEDDED, "seaweedfs")]

LARGE = GARBAGE * 400
"""Goes through the spool."""


def ingest(place: Place, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LARGE)
    place.run("ingest", tmp_path / name, "--ontology", "Test", "--no-wait")


def ingest_in_part(place: Place, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LARGE)
    words = ("ingest", tmp_path / name, "--ontology", "Test", "--no-wait")
    place.run(*words, env={"KGFS_FAIL_AT": "garage-put"}, expect=-9)
    assert not list((place.home / "spool").iterdir())


def is_whole(place: Place, name: str) -> bool:
    """Once it is settled and read."""
    place.mount()
    place.wait()
    found = (place.mountpoint / "Test/documents" / name).read_text()
    place.umount()
    assert place.run("check", "--deep").stderr == "0 findings.\n"
    return found == LARGE


@pytest.fixture(autouse=True)
def quick(place: Place) -> None:
    place.environment |= QUICK | LOOK_AGAIN_AT_ONCE


@pytest.mark.claim("DERIVE-2", "DERIVE-4")
def test_a_check_finds_no_damage_and_takes_nothing_away(place: Place, tmp_path: Path) -> None:
    ingest_in_part(place, tmp_path, "large.txt")
    found = json.loads(place.run("check", "--repair", "--json").stdout)
    assert [(line["kind"], line["done"]) for line in found] == [("facts not in the ledger", "shipped")]
    assert place.run("check", "--deep").stderr == "0 findings.\n"
    assert is_whole(place, "large.txt")


def test_a_purge_leaves_what_was_deposited_again(place: Place, tmp_path: Path) -> None:
    ingest(place, tmp_path, "before.txt")
    place.run("worker", "--until-idle")
    place.run("forget", "Test/before.txt", "--yes")
    ingest_in_part(place, tmp_path, "again.txt")
    place.run("forget", "Test/before.txt", "--purge", "--yes")
    assert is_whole(place, "again.txt")
