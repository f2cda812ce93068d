"""How often the disk is waited for: once for a file that is written and closed, and never for a name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.domain import Name
from tests.t3_ingest.depositing import Desk, desk_at


class Disk:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.syncs: list[str] = []
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._sync)

    def _sync(self, descriptor: int) -> None:
        self.syncs.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    def of(self) -> list[str]:
        """What was synced since this was last asked."""
        syncs, self.syncs = self.syncs, []
        return syncs


@pytest.fixture
def desk(home: Path) -> Iterator[Desk]:
    with desk_at(home) as desk:
        yield desk


@pytest.fixture
def disk(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Disk:
    desk.ontology()
    monkeypatch.setattr("kgfs.stores.journal.syncing.SOON", 3600.0)
    return Disk(monkeypatch)


def test_a_small_file_costs_one_sync(desk: Desk, disk: Disk) -> None:
    for n in range(3):
        desk.file(f"{n}.txt", b"small")
        assert disk.of() == ["front.sqlite-wal"]


def test_a_large_file_costs_its_own_sync_before_that(desk: Desk, disk: Disk) -> None:
    desk.file("large.txt", b"x" * 100_000)
    own, spool, journal = disk.of()
    assert own.count("-") == 1 and (spool, journal) == ("spool", "front.sqlite-wal")


def test_names_and_attributes_wait_for_no_disk(desk: Desk, disk: Disk) -> None:
    deposits, root = desk.deposits, desk.ontology().root
    file = desk.file("a.txt")
    folder = deposits.make_folder(root, "folder", 0o755, 0, 0)
    deposits.make_link(root, "link", "a.txt", 0, 0)
    deposits.set_attributes(file.id, mtime=1, mode=0o600)
    deposits.move(file.id, folder.id, "b.txt", replace=True)
    deposits.remove(file.id)
    assert disk.of() == []
    deposits.sync()
    assert disk.of() == ["front.sqlite-wal"]


def test_fsync_makes_the_name_durable_also_where_nothing_was_written(desk: Desk, disk: Disk) -> None:
    file = desk.deposits.open(desk.file("a.txt").id, write=True)
    file.flush()
    assert disk.of() == []
    file.sync()
    assert disk.of() == ["front.sqlite-wal"]
    file.write(0, b"bytes")
    file.sync()
    assert disk.of() == ["front.sqlite-wal"]
    file.release()


@pytest.mark.parametrize("how", ["removed", "replaced", "overwritten"])
def test_a_spool_file_goes_only_after_the_fact_that_gives_it_up_is_durable(
    desk: Desk, disk: Disk, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = desk.file("large.txt", b"x" * 100_000)
    other = desk.file("other.txt")
    disk.of()
    before: list[list[str]] = []
    leave = desk.deposits.copies.leave

    def leaving(gone: Name, after: Name | None = None) -> None:
        before.append(disk.of())
        leave(gone, after)

    monkeypatch.setattr(desk.deposits.copies, "leave", leaving)
    if how == "removed":
        desk.deposits.remove(large.id)
    elif how == "replaced":
        desk.deposits.move(other.id, large.parent, "large.txt", replace=True)
    else:
        desk.write(large.id, b"small")
    assert before == [["front.sqlite-wal"]]
    assert desk.spool_files() == []
