"""Opening a home: with the stores it was made with, or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import pytest

from kgfs.app.home import GARAGE_NOTE, as_they_are, open_stores
from kgfs.config import Config
from kgfs.config import Garage as GarageSettings
from kgfs.errors import AwayError, BadInputError, KgfsError, MachineError
from kgfs.ingest.keeping.ship import ship_once
from kgfs.stores.journal.facts import SettingChanged
from kgfs.stores.servers import need


def settings_of_nobody(folder: Path) -> GarageSettings:
    """Of a bucket where nobody answers."""
    (folder / "key").write_text("key")
    keys = {"access_key_file": str(folder / "key"), "secret_key_file": str(folder / "key")}
    return GarageSettings(store="s3", endpoint="http://127.0.0.1:1", timeout=0.1, **keys)


def test_a_home_gets_no_second_garage_by_a_forgotten_configuration(tmp_path: Path) -> None:
    files = Config(home=tmp_path / "home")
    bucket = replace(files, garage_store=GarageSettings(store="s3", endpoint="http://127.0.0.1:1", timeout=0.1))
    with open_stores(files):
        pass
    for opening in (open_stores, as_they_are):
        with pytest.raises(BadInputError, match=r"is 'files', not 's3'.*--config"), opening(bucket):
            pass
    with open_stores(files, make=False):
        pass


def test_a_home_that_could_not_be_opened_is_bound_to_nothing(tmp_path: Path) -> None:
    files = Config(home=tmp_path / "home")
    bucket = replace(files, garage_store=settings_of_nobody(tmp_path))
    with pytest.raises(KgfsError, match=r"127\.0\.0\.1:1"), open_stores(bucket):
        pass
    with open_stores(files):
        pass


def test_a_home_that_was_noted_nowhere_is_bound_to_no_place_without_its_ledger(tmp_path: Path) -> None:
    files = Config(home=tmp_path / "home")
    with open_stores(files) as stores:
        stores.journal.record(SettingChanged("", "x", "y", 1))
        ship_once(stores.journal, stores.garage.ledger)
    note = files.run / GARAGE_NOTE
    note.unlink()
    files.garage.rename(tmp_path / "elsewhere")
    for opening in (open_stores, as_they_are):
        with pytest.raises(BadInputError, match=r"not in the ledger there.*--config"), opening(files):
            pass
        assert not note.exists()
    bucket = replace(files, garage_store=settings_of_nobody(tmp_path))
    with pytest.raises(AwayError), open_stores(bucket):
        pass
    assert not note.exists()
    rmtree(files.garage)
    (tmp_path / "elsewhere").rename(files.garage)
    with open_stores(files) as stores:
        assert stores.journal.seq() == 1
    assert note.read_text() == "files"


def test_each_package_that_a_client_wants_is_named_where_it_lacks() -> None:
    need("garage.store is 's3'", "json", "sqlite3")
    with pytest.raises(
        MachineError, match=r"'s3', and the package nosuchpackage is not installed\. Install kgfs\[servers\]"
    ):
        need("garage.store is 's3'", "json", "nosuchpackage")
