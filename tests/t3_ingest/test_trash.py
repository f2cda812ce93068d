"""What the trash keeps of a removed file: its newest version, whose bytes the garage has."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from kgfs.app.home import open_deposits, open_stores
from kgfs.config import load
from tests.support.peers.homes import EMBEDDED, lifecycle_of_garage

pytestmark = lifecycle_of_garage


@pytest.mark.peers(EMBEDDED, "seaweedfs", "minio")
def test_the_trash_has_the_newest_version_not_bytes_that_were_never_settled(home: Path, tmp_path: Path) -> None:
    config = load(home)
    source = tmp_path / "a.txt"
    source.write_bytes(b"the first version")
    with open_stores(config) as stores, open_deposits(config, stores) as (deposits, _):
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
