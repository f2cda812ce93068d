"""What the trash keeps of a removed file: its newest version, whose bytes the garage has."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.config import load
from kgfs.ingest.writing import trash
from tests.support.depositing import Desk, desk_at
from tests.support.peers.homes import EMBEDDED, lifecycle_of_garage

pytestmark = lifecycle_of_garage


@pytest.mark.peers(EMBEDDED, "seaweedfs", "minio")
def test_the_trash_has_the_newest_version_not_bytes_that_were_never_settled(home: Path, tmp_path: Path) -> None:
    config = load(home)
    source = tmp_path / "a.txt"
    source.write_bytes(b"the first version")
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
        deposits.ingest_file(source, "Test")
        [ontology] = stores.catalog.names.ontologies()
        name = stores.catalog.names.resolve(ontology.id, "a.txt")
        assert name is not None
        file = deposits.open(name.id, write=True, truncate=True)
        file.write(0, b"x" * 100_000)
        file.flush()
        file.release()
        deposits.remove(name.id)
        with sqlite3.connect(config.catalog_db) as db:
            [(place, key, size)] = db.execute("SELECT place, key, size FROM trash").fetchall()
        db.close()
        assert (place, size) == ("garage", 17)
        assert stores.garage.objects.get(key) == b"the first version"


def removed(desk: Desk, number: int) -> None:
    names = [desk.file(f"{n}.txt", b"content %d" % n) for n in range(number)]
    desk.settle()
    for name in names:
        desk.deposits.remove(name.id)


def originals(desk: Desk) -> list[str]:
    return [key for key, _ in desk.stores.garage.objects.keys("sources/")]


@pytest.mark.peers(EMBEDDED)
def test_who_settles_does_not_wait_for_all_that_is_given_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with desk_at(home) as desk:
        removed(desk, 10)
        new = desk.file("new.txt", b"new")
        seen: list[tuple[int, bool]] = []

        def between() -> None:
            desk.settle()
            seen.append((len(originals(desk)), desk.row(new.id).settled))

        monkeypatch.setattr("kgfs.ingest.writing.trash.GIVEN_UP_BATCH", 4)
        assert trash.empty(desk.stores, desk.deposits.settler, between=between) == 10
        assert seen == [(11, True), (7, True), (3, True)]
        assert originals(desk) == [desk.row(new.id).key]
        assert desk.catalog.unheld() == []


@pytest.mark.peers(EMBEDDED)
def test_each_that_is_given_up_is_looked_at_a_few_times_however_many_there_are(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with desk_at(home) as desk:
        removed(desk, 40)
        looked: list[str] = []
        unheld = desk.catalog.unheld

        def counted(*asked: Sequence[str]) -> list[str]:
            found = unheld(*asked)
            looked.extend(found)
            return found

        monkeypatch.setattr(desk.catalog, "unheld", counted)
        monkeypatch.setattr("kgfs.ingest.writing.trash.GIVEN_UP_BATCH", 2)
        trash.empty(desk.stores, desk.deposits.settler)
        assert unheld() == [] == originals(desk)
        assert len(set(looked)) == 40 and len(looked) <= 2 * 40
