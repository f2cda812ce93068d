"""How often the disk is waited for: once for a file that is written and closed, and never for a name."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from kgfs.config import Config
from kgfs.domain.documents import Name
from kgfs.settings import Tree
from kgfs.stores.thread_slots import WouldBlock, inline
from tests.support.depositing import Desk, desk_at


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
def disk(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Disk:
    desk.ontology()
    monkeypatch.setattr("kgfs.stores.timing.SYNC_WITHIN", 3600.0)
    monkeypatch.setattr("kgfs.stores.timing.SLOW_COMMIT", 3600.0)
    return Disk(monkeypatch)


def test_a_small_file_costs_one_sync(desk: Desk, disk: Disk) -> None:
    for n in range(3):
        desk.file(f"{n}.txt", b"small")
        assert disk.of() == ["front.sqlite-wal"]


def test_a_large_file_costs_its_own_sync_before_that(desk: Desk, disk: Disk) -> None:
    desk.file("large.txt", b"x" * 100_000)
    own, spool, catalog = disk.of()
    assert own.count("-") == 1 and (spool, catalog) == ("spool", "front.sqlite-wal")


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


def test_who_cannot_wait_keeps_a_small_file_at_once_and_hears_when_the_disk_has_it(desk: Desk, disk: Disk) -> None:
    made = inline(lambda: desk.deposits.make_file(desk.ontology().root, "a.txt", 0o644, 0, 0))
    assert disk.of() == []
    file = desk.deposits.open(made.id, write=True, known=made)
    file.write(0, b"small")
    other = desk.deposits.open(made.id, write=True)
    pending = inline(file.flush)
    assert not pending.durable and disk.of() == []
    assert desk.row(made.id).size == 5
    # Nothing is left to keep, but what was kept is not on the disk yet: every close() waits for that.
    assert inline(other.flush) is pending
    heard = threading.Event()
    pending.then(lambda error: heard.set())
    assert heard.wait(20) and pending.durable
    assert disk.of() == ["front.sqlite-wal"]
    other.flush()
    assert disk.of() == []
    inline(file.release)
    inline(other.release)


def test_a_flush_that_finds_nothing_to_keep_waits_for_what_was_kept_at_once(desk: Desk, disk: Disk) -> None:
    made = desk.file("a.txt")
    disk.of()
    file = desk.deposits.open(made.id, write=True)
    file.write(0, b"small")
    inline(file.flush)
    file.flush()
    assert disk.of() == ["front.sqlite-wal"]
    file.release()
    assert disk.of() == []


def test_what_costs_more_than_one_commit_is_not_kept_at_once(desk: Desk, disk: Disk) -> None:
    large, small = desk.file("large.txt", b"x" * 100_000), desk.file("small.txt")
    disk.of()
    for name, content in ((small, b"x" * 100_000), (large, b"small")):
        file = desk.deposits.open(name.id, write=True, truncate=True)
        file.write(0, content)
        seq = desk.catalog.seq()
        with pytest.raises(WouldBlock):
            inline(file.flush)
        assert (desk.catalog.seq(), disk.of()) == (seq, [])
        file.flush()
        assert desk.row(name.id).size == len(content)
        file.release()
        disk.of()
    reader = desk.deposits.open(small.id)
    pending = inline(reader.flush)
    assert pending.durable
    reader.release()


def test_where_duplicates_are_refused_nothing_is_kept_at_once(home: Path) -> None:
    with desk_at(home, Config(home, tree=Tree(on_duplicate="refuse"))) as desk:
        made = desk.file("a.txt")
        file = desk.deposits.open(made.id, write=True)
        file.write(0, b"small")
        with pytest.raises(WouldBlock):
            inline(file.flush)
        file.release()
        assert desk.row(made.id).size == 5
