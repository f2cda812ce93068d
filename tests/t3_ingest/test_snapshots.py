"""A new home begins with a snapshot from the bucket, and is then what it would be had it derived everything."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgfs.app import api, beginning, home, snapshots
from kgfs.app import timing as app_timing
from kgfs.app.home import open_deposits, open_stores
from kgfs.app.snapshots import put_snapshot, snapshots_in
from kgfs.app.working import run_worker
from kgfs.compute.local import LocalCompute
from kgfs.config import Config
from kgfs.errors import BusyError, NoSpaceError
from kgfs.ingest.repair.repair import repair
from kgfs.knowledge.check.snapshots import in_snapshots
from kgfs.settings import Garage as GarageSettings
from kgfs.settings import Models
from kgfs.sharing import report_progress as acknowledging
from kgfs.sharing import snapshots as making
from kgfs.sharing import timing as sharing_timing
from kgfs.sharing.apply_purges import is_obeyed
from kgfs.stores.graph.comparing import difference
from kgfs.stores.hosts import host_id, read_roll
from kgfs.stores.snapshots import layout
from kgfs.stores.snapshots.layout import MANIFEST, SNAPSHOTS
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter
from tests.fakes.garage import MemoryGarage
from tests.support.catalog_life import tables
from tests.support.running import until

TEXT = "A {0} is a form of {1}. The {0} uses a {1}. Chapter {0} ends."
WORDS = ("garbage collector", "reference counting", "memory cell", "weak reference", "root set", "tracing algorithm")


class Bucket:
    """What homes share, and the homes."""

    def __init__(self, folder: Path, models: Models) -> None:
        self.garage = MemoryGarage()
        self._folder = folder
        self._models = models
        self.model = LocalCompute(models).embedding_model

    def home(self, name: str) -> Config:
        settings = GarageSettings(store="s3", endpoint="http://localhost", shared=True)
        return Config(home=self._folder / name, garage_store=settings, models=self._models)

    def ingest(self, config: Config, *numbers: int) -> None:
        with open_stores(config) as stores, open_deposits(config, stores) as (deposits, _):
            for n in numbers:
                path = self._folder / f"{n}.txt"
                path.write_text(TEXT.format(WORDS[n % 6], WORDS[(n + 1) % 6]) + f" Number {n}.")
                deposits.ingest_file(path, "Memory")
        run_worker(config, until_idle=True)

    def forget(self, config: Config, path: str, *, purge: bool) -> None:
        assert api.forget(config, [path], "orphans", purge=purge, agree=lambda proposal: True) is not None

    def positions(self) -> list[int]:
        return [layout.position_of(folder) for folder in layout.complete(self.garage.objects)]

    def stored(self) -> list[str]:
        return [key for key, _ in self.garage.objects.keys(SNAPSHOTS)]

    def spoil(self, ending: str) -> None:
        for key in self.stored():
            if key.endswith(ending):
                self.garage.objects.delete(key)
                self.garage.objects.put(key, b"rotten")

    def derived(self, name: str) -> Config:
        """A home that began without a snapshot."""
        kept = {key: self.garage.objects.get(key) for key in self.stored()}
        for key in kept:
            self.garage.objects.delete(key)
        config = self.home(name)
        with open_stores(config, vectors_of=self.model):
            pass
        for key, raw in kept.items():
            self.garage.objects.put(key, raw)
        return config


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    made = Bucket(tmp_path, Models(embedder="none", extractor="statistics"))
    given(monkeypatch, made)
    yield made


def given(monkeypatch: pytest.MonkeyPatch, bucket: Bucket) -> None:
    for module in (home, beginning, snapshots, making):
        monkeypatch.setattr(module, "open_garage", lambda *_, **__: bucket.garage)
    monkeypatch.setattr(sharing_timing, "REPORT_EVERY", 0.0)
    monkeypatch.setattr(app_timing, "SNAPSHOT_BUSY", 0.0)


def began(config: Config, bucket: Bucket) -> bool:
    """Open a new home; whether it began with a snapshot."""
    home.make_home(config)
    begun = beginning.begin_with_snapshot(config)
    with open_stores(config, vectors_of=bucket.model):
        pass
    return begun


def rows(stores: Stores) -> list[tuple[object, ...]]:
    if stores.vectors is None:
        return []
    return [
        (row.kind, row.item, row.window, row.doc_id, row.vector.tobytes()) for row in stores.vectors.fetch(Filter())
    ]


def same(bucket: Bucket, one: Config, other: Config) -> None:
    with (
        open_stores(one, vectors_of=bucket.model) as first,
        open_stores(other, vectors_of=bucket.model) as second,
    ):
        assert tables(first.catalog) == tables(second.catalog)  # type: ignore[arg-type]
        ontologies = [found.id for found in first.catalog.names.ontologies()]
        assert ontologies
        assert difference(first.graph, second.graph, ontologies, lambda done: None) == ""
        assert first.graph.staged() == first.graph.faults() == []
        found_by = [one.graph.find_text("collector") for one in (first, second)]
        assert found_by[0] == found_by[1]
        assert rows(first) == rows(second)


def contents(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of a database."""
    with closing(sqlite3.connect(path)) as db:
        db.create_function("fact_number", 0, lambda: 0)
        names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return {name: sorted(db.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for (name,) in names}


@pytest.mark.claim("SHARE-11")
@pytest.mark.models
def test_what_begins_with_a_snapshot_and_follows_is_what_is_derived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = Bucket(tmp_path, Models(extractor="statistics"))
    given(monkeypatch, bucket)
    here, there = bucket.home("here"), bucket.home("there")
    bucket.ingest(here, 0, 1, 2)
    bucket.forget(here, "Memory/1.txt", purge=False)
    made = put_snapshot(here)
    assert {file.name for file in made.files} == {"names", "graph", "vectors"}
    assert began(there, bucket)
    same(bucket, there, bucket.derived("derived"))
    bucket.ingest(here, 3, 4)
    bucket.forget(here, "Memory/0.txt", purge=True)
    run_worker(there, until_idle=True)
    same(bucket, there, bucket.derived("later"))
    same(bucket, there, here)


@pytest.mark.claim("SHARE-11")
def test_a_snapshot_has_nothing_that_is_the_homes_own(bucket: Bucket) -> None:
    here, there = bucket.home("here"), bucket.home("there")
    bucket.ingest(here, 0, 1)
    with open_stores(here) as stores, open_deposits(here, stores) as (deposits, session):
        (ontology,) = stores.catalog.names.ontologies()
        upto = stores.catalog.seq()
        deposits.make_file(ontology.root, "mine.txt", 0o644, 0, 0)
        small = stores.catalog.record(inbox={"f" * 64: b"a secret of this home"}, session=session)
        assert small > upto
        made = put_snapshot(here)
        assert made.position == upto
        derived = contents(bucket.derived("derived").catalog_db)
    target = beginning_files(there, bucket)
    raw = (target / "names").read_bytes() + (target / "graph").read_bytes()
    for own in (
        b"mine.txt",
        b"a secret of this home",
        session.encode(),
        host_id(here).encode(),
        str(here.home).encode(),
    ):
        assert own not in raw
    assert contents(target / "names") == derived


def beginning_files(config: Config, bucket: Bucket) -> Path:
    """The files of the newest snapshot, as they are fetched."""
    folder = config.home
    folder.mkdir(parents=True)
    found = next(iter(layout.manifests(bucket.garage.objects)))
    assert isinstance(found, layout.Manifest)
    for file in found.files:
        beginning.fetch_file(bucket.garage.objects, found.folder, file, folder / file.name, lambda size: None)
    return folder


@pytest.mark.claim("SHARE-11")
@pytest.mark.parametrize("damage", ["graph.sqlite.00000", "names.sqlite.00000", MANIFEST])
def test_a_damaged_snapshot_is_passed_over(bucket: Bucket, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    here = bucket.home("here")
    bucket.ingest(here, 0)
    put_snapshot(here)
    older = bucket.positions()
    bucket.ingest(here, 1)
    put_snapshot(here)
    newest = f"{max(bucket.positions()):012}"
    for key in bucket.stored():
        if newest in key and key.endswith(damage):
            bucket.garage.objects.delete(key)
            bucket.garage.objects.put(key, b"rotten")
    assert began(bucket.home("there"), bucket)
    assert len([found for found in caplog.records if "passed over" in found.getMessage()]) == 1
    bucket.spoil(damage)
    assert not began(bucket.home("third"), bucket)
    assert older and not (bucket.home("third").run / beginning.FETCHED).exists()
    for name in ("there", "third"):
        run_worker(bucket.home(name), until_idle=True)
        same(bucket, bucket.home(name), here)


def test_one_of_another_format_is_not_used(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    here = bucket.home("here")
    bucket.ingest(here, 0)
    put_snapshot(here)
    with monkeypatch.context() as patch:
        patch.setattr(beginning, "HOME_FORMAT", 99)
        assert not began(bucket.home("there"), bucket)
    run_worker(bucket.home("there"), until_idle=True)
    same(bucket, bucket.home("there"), here)


class KilledError(BaseException):
    """In place of SIGKILL."""


@pytest.mark.claim("SHARE-11")
@pytest.mark.parametrize("border", ["snapshot-part-fetched", "snapshot-fetched", "snapshot-in-place"])
def test_a_home_that_was_killed_while_it_began_begins_again(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, border: str
) -> None:
    here, there = bucket.home("here"), bucket.home("there")
    bucket.ingest(here, 0, 1)
    put_snapshot(here)

    def dies(name: str) -> None:
        if name == border:
            raise KilledError

    asked: list[str] = []
    home.make_home(there)
    with monkeypatch.context() as patch:
        patch.setattr("kgfs.app.beginning.border", dies)
        patch.setattr("kgfs.stores.snapshots.fetching.border", dies)
        with pytest.raises(KilledError):
            beginning.begin_with_snapshot(there)
    assert not there.catalog_db.exists()
    with monkeypatch.context() as patch:
        salvage = bucket.garage.objects.salvage
        patch.setattr(bucket.garage.objects, "salvage", lambda key: (asked.append(key), salvage(key))[1])
        assert beginning.begin_with_snapshot(there)
    assert len(asked) < 2 if border != "snapshot-in-place" else True
    same(bucket, there, here)


@pytest.mark.claim("SHARE-8")
def test_a_purge_deletes_every_snapshot_from_before_it(bucket: Bucket) -> None:
    here = bucket.home("here")
    bucket.ingest(here, 0, 1)
    put_snapshot(here)
    bucket.ingest(here, 2)
    put_snapshot(here)
    assert len(bucket.positions()) == 2
    bucket.garage.objects.put(f"{SNAPSHOTS}{1:012}-{'0' * 12}-{'0' * 8}/graph.sqlite.00000", b"left by a killed home")
    bucket.forget(here, "Memory/0.txt", purge=True)
    assert bucket.stored() == []
    put_snapshot(here)
    with open_stores(here) as stores:
        acknowledging.report_progress(here, stores)
        assert read_roll(here, stores).purges == ()
    assert len(bucket.positions()) == 1
    assert began(bucket.home("there"), bucket)
    same(bucket, bucket.home("there"), here)


@pytest.mark.claim("SHARE-8")
def test_a_purge_is_owed_until_no_snapshot_has_it(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another home is putting one from before it, when the purge is carried out; and it is killed."""
    here, there = bucket.home("here"), bucket.home("there")
    bucket.ingest(here, 0, 1)
    for one in (here, there):
        with open_stores(one) as stores:
            acknowledging.report_progress(one, stores)
    run_worker(there, until_idle=True)

    def waits_for() -> list[str]:
        with open_stores(here) as stores:
            acknowledging.report_progress(here, stores)
            roll = read_roll(here, stores)
            return [found.id for purge in roll.purges for found in roll.waits_for(purge)]

    def killed(name: str) -> None:
        if name == "snapshot-put":
            bucket.forget(here, "Memory/0.txt", purge=True)
            with open_stores(there) as stores:
                acknowledging.report_progress(there, stores)
            assert waits_for() == [host_id(there)]
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(making, "border", killed)
        patch.setattr(making.layout, "delete_folder", lambda *_: None)  # a killed process deletes nothing
        with pytest.raises(KilledError):
            put_snapshot(there)
    assert waits_for() == [host_id(there)]
    run_worker(there, until_idle=True)
    with open_stores(there) as stores:
        acknowledging.report_progress(there, stores)
    assert waits_for() == [] and bucket.stored() == []


@pytest.mark.claim("SHARE-8")
def test_one_that_is_put_while_something_is_purged_does_not_stay(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = bucket.home("here"), bucket.home("there")
    bucket.ingest(here, 0, 1)
    run_worker(there, until_idle=True)

    def purged(name: str) -> None:
        if name == "snapshot-put":
            bucket.forget(here, "Memory/0.txt", purge=True)

    monkeypatch.setattr(making, "border", purged)
    with pytest.raises(BusyError, match="purged"):
        put_snapshot(there)
    assert bucket.stored() == []


def test_the_newest_two_are_kept_and_what_a_killed_home_left_goes(bucket: Bucket) -> None:
    here = bucket.home("here")
    for n in range(3):
        bucket.ingest(here, n)
        put_snapshot(here)
        bucket.garage.objects.put(f"{SNAPSHOTS}{n:012}-{'0' * 12}-{'0' * 8}/graph.sqlite.00000", b"half put")
    found = bucket.positions()
    put_snapshot(here)
    assert bucket.positions() == [found[-1], found[-1]]
    assert len(layout.folders(bucket.garage.objects)) == 2
    assert not (here.run / making.COPIES).exists()


def test_a_snapshot_is_due_after_so_many_facts(bucket: Bucket) -> None:
    here = bucket.home("here")
    bucket.ingest(here, 0)
    objects = bucket.garage.objects
    few = replace(here, garage_store=replace(here.garage_store, snapshot_facts=5))
    with open_stores(here) as stores:
        upto = stores.catalog.seq()
    assert making.is_due(few, objects, upto) and not making.is_due(here, objects, upto)
    put_snapshot(here)
    assert not making.is_due(few, objects, upto + 4) and making.is_due(few, objects, upto + 5)


def test_a_worker_makes_one_when_it_is_due(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    here = bucket.home("here")
    bucket.ingest(here, 0)
    monkeypatch.setattr(sharing_timing, "SNAPSHOT_POLL", 0.01)
    monkeypatch.setattr(making, "is_due", lambda *_: True)
    with open_stores(here) as stores, making.keeping_snapshots(here, stores):
        until(lambda: len(bucket.positions()) == 1, 30.0)


@pytest.mark.logs("snapshot NoSpaceError")
def test_a_disk_without_room_is_told_of_once(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    here = bucket.home("here")
    bucket.ingest(here, 0)
    tried: list[int] = []

    def full(*_: object) -> None:
        tried.append(1)
        raise NoSpaceError("no room")

    monkeypatch.setattr(sharing_timing, "SNAPSHOT_POLL", 0.01)
    monkeypatch.setattr(sharing_timing, "SNAPSHOT_RETRY", 0.01)
    monkeypatch.setattr(making, "is_due", lambda *_: True)
    monkeypatch.setattr(making, "leave_free", full)
    with open_stores(here) as stores, making.keeping_snapshots(here, stores):
        until(lambda: len(tried) > 3, 30.0)
    assert here.errors_log.read_text().count("no room") == 1
    assert bucket.stored() == []
    with pytest.raises(NoSpaceError):
        put_snapshot(here)


def test_a_home_with_bytes_of_its_own_obeys_every_purge(bucket: Bucket) -> None:
    """It lost its names: what its spool and cache hold may have been purged before the snapshot."""
    here, there = bucket.home("here"), bucket.home("there")
    bucket.ingest(here, 0, 1)
    put_snapshot(here)
    home.make_home(there)
    (there.garage_cache / "ab").mkdir(parents=True)
    (there.garage_cache / "ab" / ("ab" + "0" * 30)).write_bytes(b"what was purged since")
    assert beginning.begin_with_snapshot(there)
    assert not is_obeyed(there)
    with open_stores(there) as stores:
        assert is_obeyed(there) and not any(path.is_file() for path in (there.garage_cache / "ab").iterdir())
        roll = read_roll(there, stores)
        assert [host.followed for host in roll.hosts if host.id == host_id(there)] == [0]


def test_snapshots_are_listed(bucket: Bucket) -> None:
    here = bucket.home("here")
    bucket.ingest(here, 0)
    made = put_snapshot(here)
    with open_stores(here) as stores:
        assert snapshots_in(stores) == [made]


@pytest.mark.claim("SHARE-11")
def test_check_names_what_no_home_can_begin_with(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    here = bucket.home("here")
    bucket.ingest(here, 0)
    put_snapshot(here)
    half = f"{SNAPSHOTS}{1:012}-{'0' * 12}-{'0' * 8}/"
    bucket.garage.objects.put(f"{half}graph.sqlite.00000", b"half put")
    with open_stores(here) as stores:
        assert list(in_snapshots(stores, deep=True)) == []  # somebody may be at it
        monkeypatch.setattr("kgfs.knowledge.timing.SNAPSHOT_UPLOAD_NS", 0)
        assert [damage.what for damage in in_snapshots(stores, deep=True)] == [half]
        bucket.spoil("graph.sqlite.00000")
        found = list(in_snapshots(stores, deep=True))
        assert len(found) == 2 and "damaged" in found[1].detail
        assert len(list(in_snapshots(stores, deep=False))) == 1
        assert [done for _, done in repair(here, stores, found)] == ["removed"] * 2
    assert bucket.stored() == []
