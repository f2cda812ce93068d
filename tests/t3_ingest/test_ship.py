"""Facts reach the ledger whole, once and in order, and a catalog is made anew from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kgfs.errors import NoSpaceError, StoreError, UnavailableError
from kgfs.ingest import timing
from kgfs.ingest.storing.settle import BATCH
from kgfs.ingest.writing import trash
from kgfs.ingest.writing.trash import Chores
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage.opening import FileGarage
from kgfs.stores.ship import entries, restore_catalog, ship_once
from tests.support.depositing import Desk, desk_at


def test_everything_is_shipped_once(desk: Desk) -> None:
    for number in range(5):
        desk.file(f"{number}.txt", b"%d" % number)
    ledger = desk.stores.garage.ledger
    recorded = desk.catalog.seq()
    assert ship_once(desk.catalog, ledger) == recorded == ledger.last_seq()
    assert ship_once(desk.catalog, ledger) == 0
    desk.settle()
    assert ship_once(desk.catalog, ledger) == 5
    assert [seq for seq, _ in ledger.replay()] == list(range(1, recorded + 6))


def test_shippers_do_not_disturb_each_other(desk: Desk) -> None:
    ontology = desk.ontology()
    ledger = desk.stores.garage.ledger

    def make(number: int) -> None:
        desk.deposits.make_file(ontology.root, f"{number}.txt", 0o644, 0, 0)
        ship_once(desk.catalog, ledger)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(make, range(60)))
    assert ledger.last_seq() == desk.catalog.seq() == 61
    assert [seq for seq, _ in ledger.replay()] == list(range(1, 62))


def test_a_lost_journal_comes_back(home: Path) -> None:
    with desk_at(home) as desk:
        folder = desk.deposits.make_folder(desk.ontology().root, "sub", 0o750, 1, 2)
        small = desk.file("small.txt", b"small", folder.id)
        large = desk.file("large.txt", b"large" * 100_000)
        desk.settle()
        ship_once(desk.catalog, desk.stores.garage.ledger)
        before = [desk.row(name.id) for name in (folder, small, large)]
        seq = desk.catalog.seq()
    for path in home.glob("front.sqlite*"):
        path.unlink()
    with desk_at(home) as desk:
        assert restore_catalog(desk.catalog, desk.stores.garage.ledger) == seq
        assert restore_catalog(desk.catalog, desk.stores.garage.ledger) == 0
        assert [desk.row(name.id) for name in before] == before
        assert desk.read(small.id) == b"small"
        assert desk.read(large.id) == b"large" * 100_000
        assert ship_once(desk.catalog, desk.stores.garage.ledger) == 0


def test_a_journal_older_than_its_ledger_is_refused(home: Path, tmp_path: Path) -> None:
    with desk_at(home) as desk:
        desk.file("a.txt", b"a")
        ship_once(desk.catalog, desk.stores.garage.ledger)
    with desk_at(tmp_path / "elsewhere") as desk:
        desk.ontology()
        with pytest.raises(StoreError, match="older copy"):
            restore_catalog(desk.catalog, FileGarage(home / "garage").ledger)
        with pytest.raises(StoreError, match="older copy"):
            ship_once(desk.catalog, FileGarage(home / "garage").ledger)
        assert desk.catalog.unshipped()[0] == 1


def test_all_facts_are_told_also_when_they_are_shipped_meanwhile(desk: Desk) -> None:
    catalog, ledger = desk.catalog, desk.stores.garage.ledger
    desk.file("a.txt")
    ship_once(catalog, ledger)
    desk.file("b.txt")
    told = entries(catalog, ledger)
    seen = [next(told)]
    ledger_read = list(ledger.replay())
    for _ in ledger_read[1:]:
        seen.append(next(told))
    ship_once(catalog, ledger)
    seen.extend(told)
    assert len(seen) == catalog.seq()


def test_a_large_folder_that_is_settled_does_not_hold_up_the_shipping(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "SHIP_EVERY", 0.0)
    for number in range(2 * BATCH):
        desk.file(f"{number}.txt", b"%d" % number)
    request = desk.config.run / "settle.request"
    request.touch()
    shipped: list[int] = []
    ledger = desk.stores.garage.ledger
    monkeypatch.setattr(
        ledger, "append", lambda *entries, send=ledger.append: shipped.append(send(*entries)) or shipped[-1]
    )

    def ship() -> int:
        return ship_once(desk.catalog, ledger)

    Chores(desk.stores, desk.deposits.settler, ErrorLog(desk.config.errors_log), request, trash_days=30, ship=ship)()
    unsettled = 1 + 2 * 2 * BATCH
    assert shipped == [unsettled, unsettled + BATCH, unsettled + 2 * BATCH]


def test_shipping_ends_though_others_write_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each of their files is sent alone, as quickly as a server takes it, by a thread that the writers wait for."""
    ontology, ledger, appends = desk.ontology(), desk.stores.garage.ledger, count()

    def append(first: int, entries: Sequence[bytes], send: Callable[..., int] = ledger.append) -> int:
        desk.deposits.make_file(ontology.root, f"{next(appends)}.txt", 0o644, 0, 0)
        return send(first, entries)

    monkeypatch.setattr(ledger, "append", append)
    for round_ in range(3):
        recorded = desk.catalog.seq()
        assert ship_once(desk.catalog, ledger) and next(appends) == 2 * round_ + 1
        assert ledger.last_seq() == recorded


def test_what_cannot_be_shipped_is_told_once_while_it_lasts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "SHIP_EVERY", 0.0)
    monkeypatch.setattr(timing, "CHORE_RETRY", 0.05)
    request = desk.config.run / "settle.request"
    away = True

    def ship() -> None:
        if away:
            raise UnavailableError("The bucket is away.")

    errors = ErrorLog(desk.config.errors_log)
    chores = Chores(desk.stores, desk.deposits.settler, errors, request, trash_days=30, ship=ship)
    for told in (1, 2):
        away = True
        for number in range(6):
            desk.file(f"{told}-{number}.txt", b"%d %d" % (told, number))
            request.touch()
            chores()
            time.sleep(0.06)
        assert errors.read().count(b"The bucket is away.") == told
        away = False
        chores()
    desk.config.errors_log.unlink()


def test_what_cannot_be_settled_while_the_trash_is_emptied_is_told_once_while_it_lasts(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "TRASH_EVERY", 0.0)
    errors, request = ErrorLog(desk.config.errors_log), desk.config.run / "settle.request"
    chores = Chores(desk.stores, desk.deposits.settler, errors, request, trash_days=0, ship=lambda: None)
    empty, run_once, full = trash.empty, desk.deposits.settler.run_once, True
    emptying = False

    def emptied(*about: Any) -> int:
        nonlocal emptying
        emptying = True
        try:
            return empty(*about)
        finally:
            emptying = False

    def settle(*about: Any, **more: Any) -> int:
        if emptying and full:
            raise NoSpaceError("The disk is full.")
        return run_once(*about, **more)

    monkeypatch.setattr(trash, "empty", emptied)
    monkeypatch.setattr(desk.deposits.settler, "run_once", settle)
    for told in (1, 2):
        for number in range(3):
            removed = desk.file(f"{told}-{number}.txt", b"%d %d" % (told, number))
            desk.deposits.settler.settle([removed])
            desk.deposits.remove(removed.id)
            chores()
        assert errors.read().count(b"The disk is full.") == told
        full = False
        chores()
        full = True
    desk.config.errors_log.unlink()


def test_nothing_that_is_kept_is_removed_before_the_names_are_known_to_be_current(desk: Desk) -> None:
    current = False
    chores = Chores(
        desk.stores,
        desk.deposits.settler,
        ErrorLog(desk.config.errors_log),
        desk.config.run / "settle.request",
        trash_days=0,
        ship=lambda: ship_once(desk.catalog, desk.stores.garage.ledger),
        is_current=lambda: current,
    )
    (desk.config.spool / "deadbeef-00").write_bytes(b"what only newer names speak of")
    removed = desk.file("removed.txt", b"in the trash")
    desk.deposits.settler.settle_now()
    desk.deposits.remove(removed.id)
    assert desk.catalog.names.trash()
    chores()
    assert desk.spool_files() == ["deadbeef-00"] and desk.catalog.names.trash()
    current = True
    chores()
    assert desk.spool_files() == [] and not desk.catalog.names.trash()
