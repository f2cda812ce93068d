"""When facts reach the disk: syncs are counted where they are made, and kills are real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kgfs.errors import StoreError
from kgfs.stores import timing
from kgfs.stores.catalog import writer
from kgfs.stores.catalog.sqlite import Catalog
from tests.support.catalog_building import Disk, Hand, folder_below

RECORDING = """
import sys
from pathlib import Path
from kgfs.domain.identity import new_id
from kgfs.stores.catalog import facts as f
from kgfs.stores.catalog.sqlite import Catalog

catalog = Catalog(Path(sys.argv[1]))
for i in range(1_000_000):
    catalog.record(f.FolderMade(new_id(), "id-P", int(sys.argv[2]), f"f-{i}", 0o755, 0, 0, 1), synced=False)
    print(i, flush=True)
"""


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(os, "fdatasync", disk.fdatasync)
    return disk


@pytest.fixture
def path(home: Path) -> Path:
    return home / "front.sqlite"


@pytest.fixture
def catalog(path: Path, disk: Disk) -> Iterator[Catalog]:
    made = Catalog(path)
    yield made
    made.close()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_fact_costs_one_sync(catalog: Catalog, disk: Disk) -> None:
    root = Hand(catalog).root
    before = disk.syncs
    for n in range(5):
        catalog.record(folder_below(root, f"f{n}"))
    assert disk.syncs == before + 5


def test_facts_that_nobody_waits_for_are_synced_together_a_little_later(
    catalog: Catalog, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Hand(catalog).root
    assert timing.SYNC_WITHIN <= 0.9
    monkeypatch.setattr(timing, "SYNC_WITHIN", 0.05)
    until(lambda: catalog._writer._syncing is not None and catalog._writer._syncing._sleeper is None)
    for turn in range(3):
        before = disk.syncs
        disk.free.clear()
        for n in range(20):
            catalog.record(folder_below(root, f"{turn}f{n}"), synced=False)
        disk.free.set()
        until(lambda before=before: disk.syncs > before)  # type: ignore[misc]
        time.sleep(0.2)
        assert disk.syncs - before <= 3
    assert catalog.names.child(root, "2f19")


def test_one_sync_makes_durable_what_came_before_it(catalog: Catalog, disk: Disk) -> None:
    root = Hand(catalog).root
    before = disk.syncs
    for n in range(9):
        catalog.record(folder_below(root, f"f{n}"), synced=False)
    catalog.record(folder_below(root, "last"))
    assert disk.syncs == before + 1
    catalog.sync()
    assert disk.syncs == before + 2


def test_facts_are_recorded_while_the_disk_syncs_and_share_the_next_sync(catalog: Catalog, disk: Disk) -> None:
    root = Hand(catalog).root
    before = disk.syncs
    disk.free.clear()
    disk.began.clear()
    threads = [threading.Thread(target=catalog.record, args=(folder_below(root, "first"),))]
    threads[0].start()
    assert disk.began.wait(10)
    threads += [threading.Thread(target=catalog.record, args=(folder_below(root, f"f{n}"),)) for n in range(8)]
    for thread in threads[1:]:
        thread.start()
    until(lambda: len(catalog.names.children(root)) == 9)
    assert disk.syncs == before and all(thread.is_alive() for thread in threads)
    disk.free.set()
    for thread in threads:
        thread.join(20)
    assert disk.syncs == before + 2


def test_closing_syncs(path: Path, disk: Disk) -> None:
    catalog = Catalog(path)
    root = Hand(catalog).root
    catalog.record(folder_below(root, "f"), synced=False)
    before = disk.syncs
    catalog.close()
    assert disk.syncs == before + 1


def test_the_ledger_is_sent_nothing_that_the_journal_may_lose(catalog: Catalog, disk: Disk) -> None:
    root = Hand(catalog).root
    catalog.record(folder_below(root, "f"), synced=False)
    before = disk.syncs
    first, entries = catalog.unshipped()
    assert entries and disk.syncs == before + 1
    catalog.shipped(first + len(entries) - 1)
    before = disk.syncs
    assert catalog.unshipped()[1] == [] and disk.syncs == before


def test_after_a_failed_sync_nothing_is_promised_any_more(path: Path, disk: Disk) -> None:
    catalog = Catalog(path)
    root = Hand(catalog).root
    disk.broken = True
    with pytest.raises(StoreError):
        catalog.record(folder_below(root, "f"))
    disk.broken = False
    with pytest.raises(StoreError):
        catalog.record(folder_below(root, "g"))
    with pytest.raises(StoreError):
        catalog.sync()
    with pytest.raises(StoreError):
        catalog.close()
    again = Catalog(path)
    again.record(folder_below(root, "h"))
    again.close()


def test_many_commits_are_copied_to_the_database_beside_the_writers(
    path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "SYNC_WITHIN", 0.05)
    catalog = Catalog(path)
    root = Hand(catalog).root
    size = path.stat().st_size
    for n in range(writer.CHECKPOINT_AFTER + 10):
        catalog.record(folder_below(root, f"folder {n}"))
    until(lambda: path.stat().st_size > size)
    assert b"folder 0" in path.read_bytes()
    catalog.close()


def test_a_large_wal_starts_anew(path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "SYNC_WITHIN", 0.01)
    monkeypatch.setattr(writer, "CHECKPOINT_AFTER", 20)
    monkeypatch.setattr(writer, "LARGE", 100)
    catalog = Catalog(path)
    root = Hand(catalog).root
    wal = path.with_name("front.sqlite-wal")
    for n in range(20_000):
        size = wal.stat().st_size
        catalog.record(folder_below(root, f"folder {n}"))
        if size > 100 * 4096 and wal.stat().st_size == size:
            break
    else:
        pytest.fail("it only grew")
    catalog.close()


@pytest.mark.parametrize("acknowledged", [1, 60])
def test_a_kill_loses_nothing_that_nobody_waited_for(path: Path, acknowledged: int) -> None:
    catalog = Catalog(path)
    root = Hand(catalog).root
    catalog.close()
    command = [sys.executable, "-c", RECORDING, str(path), str(root)]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert worker.stdout
    for _ in range(acknowledged):
        worker.stdout.readline()
    worker.send_signal(signal.SIGKILL)
    rest = [line for line in worker.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    worker.stdout.close()
    worker.wait(10)
    again = Catalog(path)
    names = {name.name for name in again.names.children(root, limit=1_000_000)}
    assert {f"f-{i}" for i in range(acknowledged + len(rest))} <= names
    again.close()


def test_a_power_failure_takes_the_newest_facts_only(path: Path, disk: Disk, tmp_path: Path) -> None:
    """Whatever the disk has of the WAL behind the last sync, what is found again is a beginning of what was recorded."""
    catalog = Catalog(path)
    root = Hand(catalog).root
    catalog.record(folder_below(root, "synced"))
    wal = path.with_name("front.sqlite-wal")
    synced = wal.stat().st_size
    made = [f"f{n}" for n in range(8)]
    for name in made:
        catalog.record(folder_below(root, name), synced=False)
    written, main = wal.read_bytes(), path.read_bytes()
    found_lengths = set()
    for n, cut in enumerate(range(synced, len(written) + 1, 1500)):
        after = tmp_path / str(n) / "front.sqlite"
        after.parent.mkdir()
        after.write_bytes(main)
        after.with_name("front.sqlite-wal").write_bytes(written[:cut] + bytes(len(written) - cut))
        again = Catalog(after)
        found = [name.name for name in again.names.children(root)]
        assert "synced" in found
        assert sorted(set(found) - {"synced"}) == made[: len(found) - 1]
        assert again.seq() == catalog.seq() - len(made) + len(found) - 1
        found_lengths.add(len(found))
        again.close()
    assert min(found_lengths) == 1 and max(found_lengths) >= len(made)
    catalog.close()
