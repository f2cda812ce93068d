"""What an event loop records without waiting, and how it learns that the disk has it."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.errors import ExistsError, StoreError
from kgfs.stores import timing
from kgfs.stores.catalog.pending import Pending
from kgfs.stores.catalog.sqlite import Catalog
from tests.support.catalog_building import Disk, Hand, folder_below


class Told:
    """What a pending fact said."""

    def __init__(self, pending: Pending | None) -> None:
        assert pending is not None
        self.errors: list[StoreError | None] = []
        self._heard = threading.Event()
        pending.then(self._hear)

    def _hear(self, error: StoreError | None) -> None:
        self.errors.append(error)
        self._heard.set()

    def wait(self) -> StoreError | None:
        assert self._heard.wait(20)
        assert len(self.errors) == 1
        return self.errors[0]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, it is not taken for a slow disk."""
    monkeypatch.setattr(timing, "SLOW_COMMIT", 3600.0)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(os, "fdatasync", disk.fdatasync)
    monkeypatch.setattr("kgfs.stores.timing.SYNC_WITHIN", 3600.0)
    return disk


@pytest.fixture
def path(home: Path) -> Path:
    return home / "front.sqlite"


@pytest.fixture
def catalog(path: Path, disk: Disk) -> Iterator[Catalog]:
    made = Catalog(path)
    yield made
    made.close()


@pytest.fixture(params=["unsynced", "durable"])
def any_catalog(request: pytest.FixtureRequest, home: Path) -> Iterator[Catalog]:
    made = Catalog(home / "front.sqlite" if request.param == "durable" else None)
    yield made
    made.close()


def test_what_is_recorded_at_once_is_as_what_is_recorded(any_catalog: Catalog) -> None:
    hand = Hand(any_catalog)
    seq = any_catalog.seq()
    pending = any_catalog.record_nowait(folder_below(hand.root, "a"), folder_below(hand.root, "b"), session="mount")
    assert [name.name for name in hand.names.children(hand.root)] == ["a", "b"]
    assert any_catalog.seq() == seq + 2
    assert Told(pending).wait() is None
    assert pending is not None and pending.durable
    with pytest.raises(ExistsError):
        any_catalog.record_nowait(folder_below(hand.root, "c"), folder_below(hand.root, "b"))
    assert any_catalog.seq() == seq + 2 and hand.names.child(hand.root, "c") is None


def test_it_is_seen_before_the_disk_has_it_and_all_that_come_meanwhile_share_one_sync(
    catalog: Catalog, disk: Disk
) -> None:
    root = Hand(catalog).root
    before = disk.syncs
    disk.free.clear()
    first = catalog.record_nowait(folder_below(root, "first"))
    told = [Told(first)]
    time.sleep(0.1)  # so that its sync is under way
    pending = [catalog.record_nowait(folder_below(root, f"f{n}")) for n in range(8)]
    told += [Told(one) for one in pending]
    assert len(catalog.names.children(root)) == 9
    assert not any(one.errors for one in told)
    assert all(one is not None and not one.durable for one in pending)
    disk.free.set()
    assert [one.wait() for one in told] == [None] * 9
    assert all(one is not None and one.durable for one in pending)
    assert disk.syncs <= before + 2


def test_a_failed_sync_is_told_to_all_who_wait_and_to_all_who_come(path: Path, disk: Disk) -> None:
    catalog = Catalog(path)
    root = Hand(catalog).root
    disk.broken = True
    told = [Told(catalog.record_nowait(folder_below(root, f"f{n}"))) for n in range(3)]
    assert all(isinstance(one.wait(), StoreError) for one in told)
    disk.broken = False
    assert isinstance(Told(catalog.record_nowait(folder_below(root, "g"))).wait(), StoreError)
    with pytest.raises(StoreError):
        catalog.close()


def test_nobody_is_waited_for(catalog: Catalog, path: Path) -> None:
    """Another process that writes, or another thread: then it is for a thread to do."""
    root = Hand(catalog).root
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    assert catalog.record_nowait(folder_below(root, "a")) is None
    assert time.monotonic() - began < 5  # an ordinary writer waits for half a minute
    other.execute("ROLLBACK")
    other.close()
    with catalog._writer._turn:
        assert catalog.record_nowait(folder_below(root, "a")) is None
    assert catalog.names.children(root) == []
    catalog.record(folder_below(root, "a"))
    assert catalog.record_nowait(folder_below(root, "b")) is not None
    assert [name.name for name in catalog.names.children(root)] == ["a", "b"]


def test_an_ordinary_writer_still_waits_for_other_processes(catalog: Catalog, path: Path) -> None:
    root = Hand(catalog).root
    assert catalog.record_nowait(folder_below(root, "a")) is not None
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.3, lambda: other.execute("ROLLBACK"))
    timer.start()
    catalog.record(folder_below(root, "b"))
    timer.join()
    other.close()
    assert len(catalog.names.children(root)) == 2


def test_after_a_slow_commit_others_are_left_to_threads_for_a_while(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Hand(catalog).root
    monkeypatch.setattr(timing, "SLOW_COMMIT", 0.0)
    assert catalog.record_nowait(folder_below(root, "slow")) is not None
    assert catalog.record_nowait(folder_below(root, "later")) is None
    catalog.record(folder_below(root, "later"))
    time.sleep(timing.AFTER_SLOW_COMMIT)
    assert catalog.record_nowait(folder_below(root, "again")) is not None


def test_closing_tells_all(path: Path, disk: Disk) -> None:
    catalog = Catalog(path)
    root = Hand(catalog).root
    told = [Told(catalog.record_nowait(folder_below(root, f"f{n}"))) for n in range(5)]
    catalog.close()
    assert [one.errors for one in told] == [[None]] * 5
