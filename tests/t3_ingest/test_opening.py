"""Opening a home: with the stores it was made with, or not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from shutil import copytree, rmtree

import pytest

from kgfs.app.binding import NOTE, bind, is_bound, refuse_others
from kgfs.app.home import as_they_are, make_home, open_home, open_to_read
from kgfs.app.mounting import Confirming
from kgfs.app.upkeep import check_home
from kgfs.config import Config
from kgfs.errors import (
    BadInputError,
    KgfsError,
    MachineError,
    MissingError,
    OlderCopyError,
    StoreError,
    UnavailableError,
)
from kgfs.settings import Garage as GarageSettings
from kgfs.stores.catalog.facts import SettingChanged
from kgfs.stores.servers import need
from kgfs.stores.ship import ship_once
from tests.support.library import library_at


def settings_of_nobody(folder: Path) -> GarageSettings:
    """Of a bucket where nobody answers."""
    (folder / "key").write_text("key")
    keys = {"access_key_file": str(folder / "key"), "secret_key_file": str(folder / "key")}
    return GarageSettings(store="s3", endpoint="http://127.0.0.1:1", timeout=0.1, **keys)


def test_a_home_gets_no_second_garage_by_a_forgotten_configuration(tmp_path: Path) -> None:
    files = Config(home=tmp_path / "home")
    bucket = replace(files, garage_store=GarageSettings(store="s3", endpoint="http://127.0.0.1:1", timeout=0.1))
    with open_home(files):
        pass
    for opening in (open_home, as_they_are):
        with pytest.raises(BadInputError, match=r"is 'files', not 's3'.*--config"), opening(bucket):
            pass
    with open_home(files, make=False):
        pass


IN_A_BUCKET = GarageSettings(store="s3", endpoint="http://127.0.0.1:1", bucket="ours", prefix="/a/", timeout=0.1)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"garage_store": replace(IN_A_BUCKET, bucket="theirs")}, "garage.bucket of this home is 'ours', not 'theirs'"),
        ({"garage_store": replace(IN_A_BUCKET, prefix="b")}, "garage.prefix of this home is 'a', not 'b'"),
        ({"garage_store": GarageSettings()}, "garage.store of this home is 's3', not 'files'"),
    ],
)
def test_a_home_is_opened_in_no_other_place_than_its_own(tmp_path: Path, other: dict[str, object], named: str) -> None:
    own = Config(home=tmp_path / "home", garage_store=IN_A_BUCKET)
    make_home(own)
    bind(own)
    strange = replace(own, **other)  # type: ignore[arg-type]
    for opening in (open_home, as_they_are):
        with pytest.raises(BadInputError, match=rf"{named}\. .*--config"), opening(strange):
            pass
    with pytest.raises(BadInputError, match=named):
        check_home(strange, deep=False, mend=True, progress=lambda *_: None)
    assert is_bound(own)


@pytest.mark.parametrize("noted", [{"garage.store": "files"}, {"garage.store": "files", "format": "99"}])
def test_a_home_of_another_format_is_refused_and_left_as_it_is(tmp_path: Path, noted: dict[str, str]) -> None:
    files = Config(home=tmp_path / "home")
    files.run.mkdir(parents=True)
    (files.run / NOTE).write_text(json.dumps(noted))
    before = [*tmp_path.rglob("*")]
    for opening in (open_home, as_they_are):
        with (
            pytest.raises(StoreError, match=r"mount it with the version that made it, and copy its documents/\.$"),
            opening(files),
        ):
            pass
    assert [*tmp_path.rglob("*")] == before
    assert json.loads((files.run / NOTE).read_text()) == noted


def test_of_two_that_open_a_home_first_the_second_goes_by_what_the_first_bound_it_to(tmp_path: Path) -> None:
    ours = Config(home=tmp_path / "home", garage_store=IN_A_BUCKET)
    theirs = replace(ours, garage_store=replace(IN_A_BUCKET, bucket="theirs"))
    for one in (ours, theirs):
        make_home(one)
    bind(ours)
    with pytest.raises(BadInputError, match=r"garage\.bucket of this home is 'ours'"):
        bind(theirs)
    assert is_bound(ours)


def test_a_home_that_was_mounted_before_it_was_bound_is_bound_by_its_ledger_alone(tmp_path: Path) -> None:
    files, other = Config(home=tmp_path / "home"), Config(home=tmp_path / "other")
    with open_home(other) as empty, open_home(files) as stores:
        stores.catalog.record(SettingChanged("", "x", "y", 1))
        ship_once(stores.catalog, stores.garage.ledger)
        bucket = replace(files, garage_store=IN_A_BUCKET)
        (files.run / NOTE).unlink()
        elsewhere = replace(stores, garage=empty.garage)
        with pytest.raises(BadInputError, match="not in the ledger there"):
            Confirming(bucket, elsewhere).ask()
        assert not (files.run / NOTE).exists()
        Confirming(bucket, stores).ask()
        assert is_bound(bucket)
        Confirming(bucket, elsewhere).ask()  # its own bucket, which was emptied


def test_one_who_only_asks_is_told_of_an_older_copy_and_finds_a_lost_graph(tmp_path: Path) -> None:
    config = Config(home=tmp_path / "home")
    with library_at(config.home) as library:
        library.add("Zen/documents/zen.txt", b"A koan is a riddle.\n", {"koan": ["A koan is a riddle"]})
        ship_once(library.stores.catalog, library.stores.garage.ledger)
    with open_to_read(config) as stores:
        assert stores.graph.counts()["documents"] == 1
    copytree(config.home, tmp_path / "before")
    for path in config.home.glob("graph.sqlite*"):
        path.unlink()
    with pytest.raises(MissingError, match="kgfs mount MNT, or kgfs worker"), open_to_read(config):
        pass
    with open_home(config):  # which derives it again
        pass
    with open_to_read(config) as stores:
        assert stores.graph.counts()["documents"] == 1
    with library_at(config.home) as library:
        library.write("Zen/documents/more.txt", b"More.\n")
        ship_once(library.stores.catalog, library.stores.garage.ledger)
    for path in config.home.glob("front.sqlite*"):
        path.unlink()
    for path in (tmp_path / "before").glob("front.sqlite*"):
        path.rename(config.home / path.name)
    with pytest.raises(MissingError, match="older than the ledger"), open_to_read(config):
        pass
    with pytest.raises(OlderCopyError), open_home(config):
        pass


def test_a_server_may_move(tmp_path: Path) -> None:
    own = Config(home=tmp_path / "home", garage_store=IN_A_BUCKET)
    make_home(own)
    bind(own)
    elsewhere = replace(IN_A_BUCKET, endpoint="http://127.0.0.1:2", prefix="a", region="eu")
    moved = replace(own, garage_store=elsewhere)
    refuse_others(moved)
    assert is_bound(moved)


def test_a_home_that_could_not_be_opened_is_bound_to_nothing(tmp_path: Path) -> None:
    files = Config(home=tmp_path / "home")
    bucket = replace(files, garage_store=settings_of_nobody(tmp_path))
    with pytest.raises(KgfsError, match=r"127\.0\.0\.1:1"), open_home(bucket):
        pass
    with open_home(files):
        pass


def test_what_a_first_opening_in_vain_leaves_is_no_home_to_those_who_only_ask(tmp_path: Path) -> None:
    """They were given another configuration, say: it would be bound to that."""
    files = Config(home=tmp_path / "home")
    bucket = replace(files, garage_store=settings_of_nobody(tmp_path))
    with pytest.raises(UnavailableError), open_home(bucket):
        pass
    before = sorted(files.home.rglob("*"))
    for opening in (open_to_read, as_they_are):
        with pytest.raises(MissingError, match="no home of kgfs is there yet"), opening(files):
            pass
    assert sorted(files.home.rglob("*")) == before
    with pytest.raises(UnavailableError), open_home(bucket):
        pass


def test_a_home_that_was_noted_nowhere_is_bound_to_no_place_without_its_ledger(tmp_path: Path) -> None:
    files = Config(home=tmp_path / "home")
    with open_home(files) as stores:
        stores.catalog.record(SettingChanged("", "x", "y", 1))
        ship_once(stores.catalog, stores.garage.ledger)
    note = files.run / NOTE
    note.unlink()
    files.garage.rename(tmp_path / "elsewhere")
    for opening in (open_home, as_they_are):
        with pytest.raises(BadInputError, match=r"not in the ledger there.*--config"), opening(files):
            pass
        assert not note.exists()
    bucket = replace(files, garage_store=settings_of_nobody(tmp_path))
    with pytest.raises(UnavailableError), open_home(bucket):
        pass
    assert not note.exists()
    rmtree(files.garage)
    (tmp_path / "elsewhere").rename(files.garage)
    with open_home(files) as stores:
        assert stores.catalog.seq() == 1
    assert is_bound(files)


def test_each_package_that_a_client_wants_is_named_where_it_lacks() -> None:
    need("garage.store is 's3'", "json", "sqlite3")
    with pytest.raises(
        MachineError, match=r"'s3', and the package nosuchpackage is not installed\. Install kgfs\[servers\]"
    ):
        need("garage.store is 's3'", "json", "nosuchpackage")
