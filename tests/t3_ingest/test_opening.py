"""Opening a home: with the stores it was made with, or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.app.home import as_they_are, open_stores
from kgfs.config import Config
from kgfs.config import Garage as GarageSettings
from kgfs.errors import BadInputError, KgfsError


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
    (tmp_path / "key").write_text("key")
    keys = {"access_key_file": str(tmp_path / "key"), "secret_key_file": str(tmp_path / "key")}
    bucket = replace(files, garage_store=GarageSettings(store="s3", endpoint="http://127.0.0.1:1", timeout=0.1, **keys))
    with pytest.raises(KgfsError, match=r"127\.0\.0\.1:1"), open_stores(bucket):
        pass
    with open_stores(files):
        pass
