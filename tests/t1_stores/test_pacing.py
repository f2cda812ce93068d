"""Whoever writes much syncs it bit by bit: the small file of somebody else waits for one bit only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.stores import timing
from kgfs.stores.database import Database
from kgfs.stores.garage import durable
from kgfs.stores.garage.files import FileObjects

MB = 1 << 20


class Syncs:
    """The files that were synced, and how many bytes each had got since the sync before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.grown: list[tuple[str, int]] = []
        self._sizes: dict[str, int] = {}
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._sync)

    def _sync(self, descriptor: int) -> None:
        name, size = os.readlink(f"/proc/self/fd/{descriptor}"), os.fstat(descriptor).st_size
        self.grown.append((name, size - self._sizes.get(name, 0)))
        self._sizes[name] = size

    def of(self, name: str) -> list[int]:
        return [grown for path, grown in self.grown if path.endswith(name)]


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> Syncs:
    return Syncs(monkeypatch)


@pytest.fixture
def database(home: Path) -> Iterator[Database]:
    made = Database(home / "some.sqlite", "CREATE TABLE row (id INTEGER PRIMARY KEY, body TEXT);", "")
    yield made
    made.close()


def insert(database: Database, count: int) -> None:
    with database.write(durable=False) as connection:
        for n in range(count):
            connection.execute("INSERT INTO row (body) VALUES (?)", (f"{n} " * 500,))


def test_a_long_transaction_is_synced_while_it_is_written(
    database: Database, syncs: Syncs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "WRITE_SLICE", 0.0)
    insert(database, 20_000)  # 50 MB, more than is kept in memory until the commit
    assert len(syncs.of("some.sqlite-wal")) > 5
    assert database.row("SELECT count(*) FROM row") == (20_000,)


def test_short_transactions_are_not(database: Database, syncs: Syncs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "WRITE_SLICE", 3600.0)
    for _ in range(20):
        insert(database, 100)
    assert syncs.grown == []


def test_a_sync_that_fails_is_told_by_the_database_itself(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(descriptor: int) -> None:
        raise OSError("broken")

    monkeypatch.setattr(timing, "WRITE_SLICE", 0.0)
    monkeypatch.setattr(os, "fdatasync", fails)
    insert(database, 20_000)
    assert database.row("SELECT count(*) FROM row") == (20_000,)


@pytest.mark.parametrize("size", [3 * MB, 20 * MB, 24 * MB + 1])
@pytest.mark.parametrize("kind", ["bytes", "file"])
def test_a_large_object_is_synced_in_pieces(size: int, kind: str, home: Path, syncs: Syncs) -> None:
    objects = FileObjects(home / "objects")
    content = os.urandom(MB) * (size // MB) + b"x" * (size % MB)
    source = home / "source"
    source.write_bytes(content)
    objects.put("sources/a/b.txt", content if kind == "bytes" else source)
    pieces = [grown for _, grown in syncs.grown if grown >= MB]
    assert sum(grown for _, grown in syncs.grown if grown > 0) >= size
    assert max(pieces) <= durable.PIECE
    assert objects.get("sources/a/b.txt") == content
