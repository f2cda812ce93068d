"""Two homes that share one garage: what each wrote is read by the other, whatever was cut off in between."""

from __future__ import annotations

import resource
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kgfs.app.home import open_deposits
from kgfs.domain.documents import Name
from kgfs.domain.identity import new_id
from kgfs.errors import BadInputError, NoSpaceError, StoreError, TimedOutError, UnavailableError
from kgfs.ingest.storing.settle import Settler
from kgfs.ingest.storing.storage_tier import bring_home
from kgfs.ingest.writing.trash import empty
from kgfs.knowledge.backlog import owed
from kgfs.knowledge.check.backlog import in_catalog
from kgfs.knowledge.check.kept import in_garage
from kgfs.settings import Garage as GarageSettings
from kgfs.sharing.apply_purges import is_obeyed
from kgfs.sharing.exchange import Exchange
from kgfs.sharing.report_progress import report_progress
from kgfs.stores.catalog.encoding import decode
from kgfs.stores.catalog.facts import ContentKept, ForgettingDone, ForgettingOwed, SettingChanged, TrashRestored
from kgfs.stores.catalog.sharing.follow import OVERDUE
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.damage import Kind
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage.contract import Ledger, Sums
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.graph.sqlite import Graph, build_aside, built_beside
from kgfs.stores.locks import locked
from kgfs.stores.pending_uploads import WAITING
from tests.fakes.garage import MemoryGarage
from tests.support.catalog_building import folder_below, loops
from tests.support.catalog_life import tables
from tests.support.hosts import LARGE, Host, host
from tests.support.running import until
from tests.support.small_disk import small_file_system


def test_delivering_ends_though_others_write_on(
    here: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ontology, appends = here.ontology(), count()

    def append(first: int, entries: Sequence[bytes], send: Callable[..., int] = garage.ledger.append) -> int:
        here.deposits.make_file(ontology.root, f"{next(appends)}.txt", 0o644, 0, 0)
        return send(first, entries)

    here.file("first.txt", b"first")
    monkeypatch.setattr(garage.ledger, "append", append)
    for round_ in range(3):
        recorded = here.catalog.seq()
        here.exchange.deliver()
        assert next(appends) == 2 * round_ + 1
        assert garage.ledger.last_seq() == recorded


def test_what_was_done_while_the_garage_was_away_is_read_a_few_times_however_much_it_is(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(60):
        here.file(f"{n}.txt", b"content %d" % n)
    here.settle()
    catalog, read = here.catalog, 0
    unshipped, facts = catalog.unshipped, catalog.facts
    done = len(unshipped(1 << 62)[1])

    def counted_unshipped(limit: int = 1000) -> tuple[int, list[bytes]]:
        nonlocal read
        first, entries = unshipped(limit)
        read += len(entries)
        return first, entries

    def counted_facts(after: int, limit: int = 1000, *, confirmed: bool = False) -> Any:
        nonlocal read
        found = facts(after, limit, confirmed=confirmed)
        read += len(found or ())
        return found

    monkeypatch.setattr(catalog, "unshipped", counted_unshipped)
    monkeypatch.setattr(catalog, "facts", counted_facts)
    monkeypatch.setattr("kgfs.sharing.exchange.BATCH", 10)
    here.exchange.deliver()
    assert read <= 3 * done
    assert not unshipped()[1] and not any(here.stores.garage.objects.keys(WAITING))


def test_delivering_costs_as_much_for_each_fact_however_many_are_delivered(
    here: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgfs.sharing.exchange.BATCH", 10)
    catalog = here.stores.catalog

    def deliver(portions: int) -> int:
        for _ in range(portions):
            catalog.record(
                *(folder_below(here.ontology().root, f"{new_id():x}", here.ontology().id) for _ in range(10))
            )
        spent = loops(catalog, here.exchange.deliver)
        assert not catalog.unshipped()[1]
        return spent // portions

    assert deliver(80) < 2 * deliver(8)


@pytest.mark.logs("kgfs history")
@pytest.mark.claim("SHARE-3")
def test_what_others_had_overtaken_is_a_conflict_in_whatever_portion_it_is_delivered(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgfs.sharing.exchange.BATCH", 2)
    name = here.file("a.txt", b"old")
    same(here, there)
    file = here.deposits.open(name.id, write=True)
    there.write(name.id, b"theirs")
    there.exchange()
    here.exchange.pull()
    for number in range(5):
        here.deposits.make_file(here.ontology().root, f"{number}.txt", 0o644, 0, 0)
    file.write(0, b"new")
    file.flush()
    file.release()
    assert any(OVERDUE in entry for entry in here.catalog.unshipped()[1])
    here.exchange.deliver()
    assert not any(OVERDUE in entry for _, entry in here.stores.garage.ledger.replay())
    assert ("conflict", b"new") in here.history("a.txt") and here.read_at("a.txt") == b"theirs"
    same(here, there)


def same(here: Host, there: Host) -> None:
    for one in (here, there, here):
        one.exchange.meet()
    assert tables(here.catalog) == tables(there.catalog)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [b"small", LARGE, b""])
def test_what_one_writes_the_other_reads_before_it_is_settled_and_after(
    here: Host, there: Host, content: bytes
) -> None:
    here.file("a.txt", content)
    here.exchange()
    there.exchange()
    assert there.read_at("a.txt") == content
    there.settle()
    assert there.catalog.seq() == here.catalog.seq(), "it is settled where it was written"
    here.settle()
    same(here, there)
    assert there.read_at("a.txt") == content
    assert list(here.stores.garage.objects.keys(WAITING)) == []


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A home is taken for absent sooner, and looked after more often."""
    monkeypatch.setattr("kgfs.ingest.timing.HOME_ABSENT", 0.5)
    monkeypatch.setattr("kgfs.ingest.timing.OTHER_HOMES_POLL", 0.0)


def settled_by(one: Host, path: str) -> None:
    def is_settled() -> bool:
        one.deposits.settler.run_once(time.time_ns())
        name = one.catalog.names.resolve(one.ontology().id, path)
        return name is not None and name.settled

    until(is_settled, 30)


@pytest.mark.usefixtures("soon")
@pytest.mark.claim("SHARE-6")
@pytest.mark.parametrize("content", [b"small", LARGE, b""])
def test_what_a_home_delivered_that_is_gone_for_good_is_settled_by_another(
    here: Host, there: Host, content: bytes
) -> None:
    name = here.file("a.txt", content)
    here.exchange()
    for left in (*here.spool_files(), here.config.catalog_db):
        (here.config.spool / left).unlink()  # its disk is lost
    there.exchange()
    assert there.settle() is None and not there.row(name.id).settled, "it may be there yet"
    found = owed(there.catalog)
    assert (found.unsettled, found.nothing, found.nothing_to_read) == (1, False, True)
    settled_by(there, "a.txt")
    assert [after for _, after in there.history("a.txt")] == ([content] if content else [])
    assert owed(there.catalog).unsettled == 0 and there.read_at("a.txt") == content
    there.exchange()
    assert list(there.stores.garage.objects.keys(WAITING)) == []


@pytest.mark.usefixtures("soon")
@pytest.mark.claim("SHARE-6")
@pytest.mark.parametrize("content", [b"small", LARGE, b""])
def test_what_another_settled_for_a_home_that_was_there_is_no_conflict_when_it_writes_on(
    here: Host, there: Host, content: bytes
) -> None:
    """It stood still, with the file open."""
    name = here.file("a.txt")
    file = here.deposits.open(name.id, write=True)
    file.write(0, content)
    file.flush()
    here.exchange()
    there.exchange()
    settled_by(there, "a.txt")
    there.exchange()
    file.write(len(content), b" and more")
    file.flush()
    file.release()
    for _ in range(2):  # what it decided before it knew is decided again
        here.settle()
        same(here, there)
    earlier = [("insert", content)] if content else []
    assert here.history("a.txt") == [*earlier, ("update" if content else "insert", content + b" and more")]
    assert there.read_at("a.txt") == content + b" and more"
    assert list(here.stores.garage.objects.keys(WAITING)) == []


@pytest.mark.usefixtures("soon")
def test_what_another_home_still_writes_is_left_to_it(here: Host, there: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgfs.ingest.timing.HOME_ABSENT", 1.0)
    name = here.file("a.txt")
    begun = time.monotonic()
    for number in count():
        here.write(name.id, b"%d" % number)
        here.exchange()
        there.exchange()
        there.deposits.settler.run_once(time.time_ns())
        assert not there.row(name.id).settled
        if time.monotonic() > begun + 5:
            break
        time.sleep(0.2)


@pytest.mark.parametrize("open_still", [False, True])
def test_bytes_go_before_the_fact_though_somebody_who_begins_takes_their_copy_for_left_behind(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch, open_still: bool
) -> None:
    swept: list[int] = []

    def sums(copy: Path) -> Sums:
        if not swept:
            swept.append(Settler(here.config, here.stores).sweep())
        return sums_of(copy)

    name = here.file("a.txt")
    file = here.deposits.open(name.id, write=True)
    file.write(0, LARGE)
    file.flush()
    if not open_still:
        file.release()
    monkeypatch.setattr("kgfs.sharing.waiting.sums_of", sums)
    here.exchange()
    there.exchange()
    assert there.read_at("a.txt") == LARGE and swept == [1]
    if open_still:
        file.release()
    assert here.spool_files() == [here.row(name.id).key]


@pytest.mark.logs("kgfs history", "was written elsewhere, and stays")
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("content", [b"small", LARGE])
@pytest.mark.parametrize("gone", ["replaced", "removed", "saved twice", "saved and removed"])
def test_bytes_that_left_before_they_were_settled_are_not_waited_for(
    here: Host, there: Host, gone: str, content: bytes, known: bool
) -> None:
    """Nobody has them any more, whatever others did to the path meanwhile."""
    root = here.ontology().root
    if known:
        there.file("a.txt", b"before")
        there.settle()
        there.exchange()
        here.exchange()
    name = here.catalog.names.resolve(here.ontology().id, "a.txt") or here.file("a.txt")
    if gone.startswith("saved"):
        saved = here.file("b.txt", content)
        here.deposits.move(saved.id, root, "a.txt", replace=True)
        name = saved
    else:
        here.write(name.id, content)
    if gone in ("replaced", "saved twice"):
        here.deposits.move(here.file("b.txt", b"moved over it").id, root, "a.txt", replace=True)
        here.settle()
    else:
        here.deposits.remove(name.id)
        here.deposits.copies.drop_left()
    theirs = there.catalog.names.resolve(there.ontology().id, "a.txt") or there.file("a.txt")
    there.write(theirs.id, b"theirs")
    there.settle()
    there.exchange()
    here.exchange()
    for one in (here, there, here):
        one.settle()
        one.exchange.meet()
    same(here, there)
    assert here.read_at("a.txt") == there.read_at("a.txt")


@pytest.mark.logs("lost")
@pytest.mark.claim("SHARE-3")
def test_bytes_that_are_gone_are_told_and_hold_up_nobody(here: Host, there: Host) -> None:
    name = here.file("a.txt", LARGE)
    (here.config.spool / name.key).unlink()
    here.file("b.txt", b"after it")
    there.file("a.txt", b"theirs")
    there.exchange()
    same(here, there)
    assert b"lost" in here.config.errors_log.read_bytes()
    assert (there.read_at("a.txt"), there.read_at("b.txt")) == (b"theirs", b"after it")


@pytest.mark.logs("damaged")
@pytest.mark.claim("SHARE-3")
@pytest.mark.parametrize("overtaken", [False, True])
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_bytes_that_are_damaged_are_told_and_hold_up_nobody(
    here: Host, there: Host, content: bytes, overtaken: bool
) -> None:
    name = here.file("a.txt", content)
    if content is LARGE:
        (here.config.spool / name.key).write_bytes(LARGE[:-1] + b"?")
    else:
        with closing(sqlite3.connect(here.config.catalog_db)) as db, db:
            db.execute("UPDATE inbox SET body = ?", (b"smell",))
    here.file("b.txt", b"after it")
    if overtaken:
        there.file("a.txt", b"theirs")
        there.exchange()
    same(here, there)
    assert there.read_at("b.txt") == b"after it"
    assert here.config.errors_log.read_bytes().count(b"CorruptError") == 1
    if overtaken:
        assert here.read_at("a.txt") == there.read_at("a.txt") == b"theirs"
    else:
        with pytest.raises(StoreError):
            there.read_at("a.txt")


@pytest.mark.logs("kgfs history")
@pytest.mark.claim("SHARE-5")
@pytest.mark.parametrize("killed", ["when they waited", "when they were brought home"])
def test_bytes_that_a_killed_process_had_put_in_the_garage_are_found_there(
    here: Host, there: Host, killed: str
) -> None:
    name = here.file("a.txt", LARGE)
    if killed == "when they waited":
        Exchange(here.config, here.stores).uploads.put_waiting(here.catalog.unshipped(1000)[1])
        (here.config.spool / name.key).unlink()
    else:
        bring_home(here.stores, here.config.spool, name, f"sources/{here.ontology().prefix}/{name.sha256[:32]}.txt")
    there.file("a.txt", b"theirs")
    there.exchange()
    here.exchange()
    there.exchange()
    assert there.history("a.txt") == [("conflict", LARGE)]


@pytest.mark.logs("kgfs history")
@pytest.mark.claim("SHARE-3")
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_was_settled_and_overtaken_twice_before_it_was_delivered_is_found(
    here: Host, there: Host, content: bytes
) -> None:
    """First what it replaced was renamed, and had the next version; then its path was taken."""
    root = here.ontology().root
    there.file("a.txt", b"before")
    there.settle()
    there.exchange()
    here.exchange()
    saved = here.file("b.txt", content)
    here.deposits.move(saved.id, root, "a.txt", replace=True)
    here.settle()
    before = there.catalog.names.resolve(there.ontology().id, "a.txt")
    assert before is not None
    there.deposits.move(before.id, root, "d.txt", replace=False)
    there.write(before.id, b"a second version")
    there.settle()
    there.exchange()
    here.exchange.pull()
    spoken = [fact for fact in map(decode, here.catalog.unshipped(1000)[1]) if isinstance(fact, ContentKept)]
    assert [fact.key.startswith("sources/") for fact in spoken] == [False, True], "its version did not fit"
    there.file("a.txt", b"theirs")
    there.exchange()
    here.exchange()
    same(here, there)
    assert ("conflict", content) in here.history("d.txt") == there.history("d.txt")
    assert (there.read_at("a.txt"), there.read_at("d.txt")) == (b"theirs", b"a second version")
    assert b"lost" not in here.config.errors_log.read_bytes()


@pytest.mark.logs("kgfs history")
def test_of_two_contents_of_one_name_none_is_lost(here: Host, there: Host) -> None:
    here.file("a.txt", b"ours")
    there.file("a.txt", LARGE)
    here.exchange()
    there.exchange()
    assert b"kgfs history" in there.config.errors_log.read_bytes()
    for one in (here, there, here):  # what was decided without knowing the conflict is decided again
        one.settle()
        one.exchange.meet()
    same(here, there)
    for one in (here, there):
        assert one.read_at("a.txt") == b"ours"
        assert one.history("a.txt") == [("conflict", LARGE), ("update", b"ours")]
    name = here.catalog.names.resolve(here.ontology().id, "a.txt")
    assert name is not None
    here.write(name.id, LARGE)
    here.settle()
    same(here, there)
    assert there.read_at("a.txt") == LARGE


def test_both_settle_at_once(here: Host, there: Host) -> None:
    for one, name in ((here, "a.txt"), (there, "b.txt")):
        one.file(name, b"the same bytes")
        one.settle()
    same(here, there)
    for one in (here, there):
        one.settle()
        one.exchange.meet()
    same(here, there)
    documents = here.catalog.names.documents(here.ontology().id)
    assert len({document.sha256 for document in documents}) == 1
    names = [here.catalog.names.resolve(here.ontology().id, name) for name in ("a.txt", "b.txt")]
    assert [(name.settled, name.doc_id != "") for name in names if name] == [(True, True)] * 2


@pytest.mark.logs("kgfs history")
@pytest.mark.claim("SHARE-2")
def test_a_day_without_the_bucket(here: Host, there: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {f"f{n}": b"offline %d" % n for n in range(30)}

    def away(*_: object) -> None:
        raise UnavailableError("no route")

    with monkeypatch.context() as cut:
        for name in ("append", "beyond", "replay"):
            cut.setattr(type(here.stores.garage.ledger), name, away)
        for name, content in kept.items():
            there.file(name, content)
        with pytest.raises(UnavailableError):
            there.exchange()
        assert there.read_at("f7") == b"offline 7"
    here.file("f3", b"online")
    here.exchange()
    same(here, there)
    for name, content in kept.items():
        assert here.read_at(name) == (b"online" if name == "f3" else content)
    assert here.history("f3") == [("conflict", b"offline 3")]


def test_shared_durability_delivers_before_a_file_is_closed_or_keeps_nothing(
    tmp_path: Path, garage: MemoryGarage, here: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = host(tmp_path / "strict", garage, durability="shared")
    strict.exchange()
    strict.file("a.txt", b"delivered")
    here.exchange()
    assert here.read_at("a.txt") == b"delivered"
    name = strict.catalog.names.resolve(strict.ontology().id, "a.txt")
    assert name is not None

    def away(*_: object) -> None:
        raise UnavailableError("no route")

    with monkeypatch.context() as cut:
        cut.setattr(type(garage.ledger), "append", away)
        with pytest.raises(UnavailableError):
            strict.write(name.id, b"refused")
    assert strict.read_at("a.txt") == b"delivered"
    strict.exchange()
    here.exchange()
    assert here.read_at("a.txt") == b"delivered"
    strict.session.close()
    strict.stores.close()


@pytest.mark.claim("SHARE-2")
@pytest.mark.logs("kgfs history")
def test_closing_fails_by_what_the_bucket_says_also_of_files_that_others_wrote_meanwhile(
    tmp_path: Path, garage: MemoryGarage, here: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = host(tmp_path / "strict", garage, durability="shared")
    strict.exchange()
    names = [strict.file(f"{n}.txt", b"before") for n in range(2)]
    here.exchange()
    opened = [strict.deposits.open(name.id, write=True) for name in names]
    for name in names:
        here.write(name.id, b"theirs")
    same(here, strict)
    known = strict.catalog.seq()

    def away(*_: object, **__: object) -> None:
        until(lambda: strict.catalog.seq() >= known + 2)
        raise UnavailableError("no route")

    with monkeypatch.context() as cut, ThreadPoolExecutor(2) as several:
        cut.setattr(garage.objects, "put", away)
        for file in opened:
            assert file.write(0, b"ours too") == 8
        for closed in [several.submit(file.flush) for file in opened]:
            with pytest.raises((UnavailableError, TimedOutError)):
                closed.result()
    assert [strict.row(name.id).sha256 for name in names] == [here.row(name.id).sha256 for name in names]
    for file in opened:
        file.flush()
        file.release()
    same(here, strict)
    for name in names:
        assert here.read(name.id) == strict.read(name.id) == b"theirs"
        assert here.history(name.name) == [("overwritten", b"before"), ("conflict", b"ours too")]
    strict.session.close()
    strict.stores.close()


@pytest.mark.claim("SHARE-2")
def test_who_waits_for_a_silent_bucket_waits_for_one_attempt_however_many_wait(
    tmp_path: Path, garage: MemoryGarage, here: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = host(tmp_path / "strict", garage, durability="shared")
    strict.exchange()
    names = [strict.file(f"{n}.txt", b"before") for n in range(12)]
    attempts, waiting, going_on = [], list[float](), threading.Event()
    append, alone = type(garage.ledger).append, Exchange._alone

    def silent(*_: object) -> None:
        attempts.append(threading.get_ident())
        going_on.wait(60)
        raise TimedOutError("no answer in time")

    def counted(exchange: Exchange, patience: float) -> AbstractContextManager[None]:
        waiting.append(patience)
        return alone(exchange, patience)

    def refused(name: Name) -> bool:
        with pytest.raises(TimedOutError):
            strict.write(name.id, b"refused")
        return True

    with monkeypatch.context() as cut, ThreadPoolExecutor(12) as closing_files:
        cut.setattr(type(garage.ledger), "append", silent)
        cut.setattr(Exchange, "_alone", counted)
        closed = [closing_files.submit(refused, name) for name in names]
        until(lambda: len(attempts) == 1 and len(waiting) == len(names))
        strict.deposits.make_folder(strict.ontology().root, "made meanwhile", 0o755, 1, 1)
        going_on.set()
        assert all(done.result() for done in closed) and len(attempts) == 1
    assert all(strict.read(name.id) == b"before" for name in names)
    monkeypatch.setattr(type(garage.ledger), "append", append)
    strict.write(names[0].id, b"after")
    same(here, strict)
    assert here.read_at("0.txt") == b"after" and here.read_at("1.txt") == b"before"
    strict.session.close()
    strict.stores.close()


@pytest.mark.claim("SHARE-2")
def test_who_waits_for_others_of_this_home_waits_no_longer_than_for_the_bucket(
    tmp_path: Path, garage: MemoryGarage, here: Host
) -> None:
    strict = host(tmp_path / "strict", garage, durability="shared")
    strict.exchange()
    name = strict.file("a.txt", b"before")
    impatient = replace(strict.config, garage_store=replace(strict.config.garage_store, timeout=0.2))
    strict.deposits.copies.elsewhere = Exchange(impatient, strict.stores)
    with locked(strict.config.run / "exchange.lock"), pytest.raises(TimedOutError, match="timeout"):
        strict.write(name.id, LARGE)
    assert strict.read(name.id) == b"before"
    strict.write(name.id, LARGE)
    here.exchange()
    assert here.read_at("a.txt") == LARGE
    strict.session.close()
    strict.stores.close()


@pytest.mark.claim("SHARE-2")
@pytest.mark.parametrize("durability", ["local", "shared"])
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_was_delivered_though_nobody_heard_so_is_there_once(
    tmp_path: Path,
    garage: MemoryGarage,
    here: Host,
    monkeypatch: pytest.MonkeyPatch,
    durability: str,
    content: bytes,
) -> None:
    there = host(tmp_path / "there", garage, durability=durability)
    there.exchange()
    name = there.file("a.txt", b"before")
    there.exchange()
    append = type(garage.ledger).append

    def unheard(ledger: Ledger, first: int, entries: Sequence[bytes]) -> int:
        append(ledger, first, entries)  # type: ignore[arg-type]
        raise TimedOutError("no answer in time")

    with monkeypatch.context() as cut:
        cut.setattr(type(garage.ledger), "append", unheard)
        with pytest.raises(TimedOutError):
            there.write(name.id, content)
            there.exchange()
    for written in (content, b"after"):
        there.write(name.id, written)
        same(here, there)
        for one in (here, there):
            assert one.read_at("a.txt") == written
        there.settle()
    same(here, there)
    assert [kept for _, kept in here.history("a.txt")] == [content, b"after"]
    assert list(here.stores.garage.objects.keys(WAITING)) == []
    there.session.close()
    there.stores.catalog.close()


@pytest.mark.claim("FULL-3")
def test_a_disk_that_is_full_where_turns_are_taken_is_told_as_one(here: Host, tmp_path: Path) -> None:
    """So it is written down and tried again, and what waits for its delivery is taken back."""
    before = here.config.run.rename(tmp_path / "run before")
    here.file("a.txt", b"a")
    with small_file_system(tmp_path, "64k") as point:
        here.config.run.symlink_to(point)
        with pytest.raises(OSError, match="No space left"):
            (point / "fill").write_bytes(bytes(1 << 20))
        with pytest.raises(NoSpaceError):
            here.exchange()
        (point / "fill").unlink()
        here.exchange()
        assert not here.catalog.unshipped(1)[1]
        here.config.run.unlink()
    here.config.run.symlink_to(tmp_path / "gone")
    with pytest.raises(StoreError, match="acknowledged"):
        report_progress(here.config, here.stores)
    here.config.run.unlink()
    before.rename(here.config.run)
    report_progress(here.config, here.stores)


def test_settings_of_sharing_are_for_a_bucket() -> None:
    settings = GarageSettings(store="s3", endpoint="http://localhost", shared=True)
    assert replace(settings, durability="shared").durability == "shared"
    for wrong in ({"shared": True}, {"store": "s3", "durability": "shared"}, {"durability": "both"}):
        with pytest.raises(BadInputError, match=r"garage\.(shared|durability)"):
            GarageSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.logs("kgfs history")
@pytest.mark.claim("SHARE-3")
def test_a_file_that_stays_open_while_another_host_writes_it(here: Host, there: Host) -> None:
    name = here.file("a.txt", b"old")
    same(here, there)
    open_here = here.deposits.open(name.id, write=True)
    open_here.read(0, 10)
    there.write(name.id, b"theirs")
    same(here, there)
    open_here.write(0, b"our")
    open_here.flush()
    open_here.release()
    seq = here.catalog.seq()
    same(here, there)
    assert here.catalog.seq() > seq
    assert here.read_at("a.txt") == there.read_at("a.txt") == b"theirs"
    assert there.history("a.txt")[-1] == ("conflict", b"our")


@pytest.mark.logs("another document")
@pytest.mark.claim("SHARE-7")
def test_a_purge_of_another_host_is_obeyed(here: Host, there: Host) -> None:
    secret = b"the word is xyzzy"
    name = here.file("a.txt", secret)
    here.exchange()
    there.exchange()
    here.settle()
    same(here, there)
    row = here.row(name.id)
    cached = there.config.garage_cache / "ab/object"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(secret)
    (there.config.spool / "dead-0123").write_bytes(secret)
    (there.config.home / "graph.sqlite.new-wal").write_bytes(secret)
    there.config.logs.mkdir(exist_ok=True)
    for log in ("worker.log", "mount.log"):
        (there.config.logs / log).write_text(
            f"2026-11-23 00:00:00,000 ERROR {row.doc_id}: it failed\n\tValueError: xyzzy\n"
        )
    for about in (f"{row.doc_id}: xyzzy", "another document"):
        ErrorLog(there.config.errors_log).add("read", about)
    there.catalog.record(SettingChanged("", "x", "y", 1), inbox={row.sha256: secret})
    here.deposits.record(ForgettingOwed("order", (name.id,), (row.doc_id,), "all", True, (), (), 5))
    here.deposits.record(ForgettingDone("order", (row.doc_id,), "all", True, "commit", (), "redaction", 6))
    same(here, there)
    assert there.catalog.names.document(row.doc_id) is None
    left = [path for path in there.config.home.rglob("*") if path.is_file() and b"xyzzy" in path.read_bytes()]
    assert left == []
    assert "another document" in there.config.errors_log.read_text()
    assert not (there.config.home / "purged.json").exists()


@pytest.mark.claim("SHARE-7")
def test_a_purge_is_not_obeyed_while_a_derivation_may_have_its_words(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = here.file("a.txt", b"secret")
    here.settle()
    same(here, there)
    row = here.row(name.id)
    built = build_aside(built_beside(there.config.graph_db))
    here.deposits.record(ForgettingOwed("order", (name.id,), (row.doc_id,), "all", True, (), (), 5))
    here.deposits.record(ForgettingDone("order", (row.doc_id,), "all", True, "commit", (), "redaction", 6))
    same(here, there)
    assert (there.config.home / "purged.json").exists()
    assert built_beside(there.config.graph_db).exists()
    built.forget("goes on", [], 7)
    with closing(Graph(there.config.graph_db)) as graph:
        graph.adopt(built)
        assert graph.published("goes on")
    built.close()
    monkeypatch.setattr("kgfs.sharing.timing.PURGES_RETRY", 0.0)
    there.exchange()
    assert not (there.config.home / "purged.json").exists()
    assert not built_beside(there.config.graph_db).exists()


@pytest.mark.logs("purged elsewhere")
def test_what_was_purged_elsewhere_is_not_brought_back(here: Host, there: Host) -> None:
    name = here.file("a.txt", b"secret")
    here.settle()
    same(here, there)
    row = here.row(name.id)
    there.file("copy.txt", b"secret")
    here.deposits.record(ForgettingOwed("order", (name.id,), (row.doc_id,), "all", True, (), (), 5))
    here.deposits.record(ForgettingDone("order", (row.doc_id,), "all", True, "commit", (), "redaction", 6))
    here.exchange()
    same(there, here)
    assert b"purged elsewhere" in there.config.errors_log.read_bytes()
    copy = there.catalog.names.resolve(there.ontology().id, "copy.txt")
    assert copy is not None and copy.size == 0
    assert all(b"secret" not in path.read_bytes() for path in there.config.home.rglob("*.sqlite*"))
    assert list(there.stores.garage.objects.keys(WAITING)) == []


@pytest.mark.logs("purged elsewhere", "sharing BusyError")
def test_what_is_written_before_a_purge_is_obeyed_to_its_end_stays(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = here.file("a.txt", LARGE)
    here.settle()
    same(here, there)
    row = here.row(name.id)
    there.file("copy.txt", LARGE)
    here.deposits.record(ForgettingOwed("order", (name.id,), (row.doc_id,), "all", True, (), (), 5))
    here.deposits.record(ForgettingDone("order", (row.doc_id,), "all", True, "commit", (), "redaction", 6))
    here.stores.garage.objects.delete(row.key)
    here.exchange()
    with closing(sqlite3.connect(there.config.catalog_db)) as reader:
        monkeypatch.setattr("kgfs.stores.timing.WAL_BUSY", 0.1)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM name").fetchone()
        there.exchange()
    assert there.spool_files() == [] and not is_obeyed(there.config)
    monkeypatch.setattr("kgfs.sharing.timing.PURGES_RETRY", 0.0)
    there.file("again.txt", LARGE)
    for content in (b"one", b"another"):
        there.exchange()
        here.file(f"{content!r}.txt", content)
        here.exchange()
    there.exchange()
    assert not (there.config.home / "purged.json").exists()
    assert there.read_at("again.txt") == here.read_at("again.txt") == LARGE


def test_one_look_brings_all_that_others_did_however_much_and_others_write_meanwhile(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much of this home's own is carried over, it is so no more often than the others' facts are many times as many."""
    root = there.ontology().root
    made = iter(range(10**6))
    there.deposits.record(*(SettingChanged("", f"t{n}", "x", 1) for n in range(4500)))
    here.deposits.record(*(SettingChanged("", f"h{n}", "x", 1) for n in range(3000)))
    there.exchange.deliver()
    follow, told = type(here.catalog).follow, []

    def followed(catalog: Catalog, entries: Sequence[tuple[int, bytes]], *words: Any) -> list[str]:
        notes = follow(catalog, entries, *words)
        told.append(len(entries))
        with ThreadPoolExecutor(1) as writer:
            writer.submit(here.deposits.make_folder, root, f"made meanwhile {next(made)}", 0o755, 1, 1).result()
        return notes

    monkeypatch.setattr(Catalog, "follow", followed)
    here.exchange.pull()
    assert here.catalog.unshipped(1)[0] - 1 == here.stores.garage.ledger.last_seq()
    assert len(told) == 2 and sum(told) >= 4500
    monkeypatch.undo()
    same(here, there)
    assert len(there.catalog.names.children(root)) == 2


def test_nothing_waits_in_the_bucket_that_was_written_again_or_removed(here: Host, there: Host) -> None:
    name, gone = here.file("a.txt", b"first"), here.file("b.txt", b"gone soon")
    here.exchange()
    here.write(name.id, b"second")
    here.exchange()
    assert len(list(here.stores.garage.objects.keys(WAITING))) == 3
    here.deposits.remove(gone.id)
    here.settle()
    same(here, there)
    assert list(here.stores.garage.objects.keys(WAITING)) == []
    assert there.read_at("a.txt") == b"second"


@pytest.mark.claim("SHARE-9")
@pytest.mark.parametrize("gone", ["settled", "removed", "forgotten"])
@pytest.mark.parametrize("by", ["this process", "another one of the home"])
def test_nothing_waits_in_the_bucket_that_gave_way(here: Host, there: Host, gone: str, by: str) -> None:
    root = here.ontology().root
    saved = here.file("a.txt", b"first")
    for content in (b"second", LARGE):
        here.exchange()
        here.exchange()
        again = here.file("a.tmp", content)
        here.deposits.move(again.id, root, "a.txt", replace=True)
        saved = again
    here.exchange()
    here.write(saved.id, b"last")
    here.exchange()
    if gone == "removed":
        here.deposits.remove(saved.id)
    elif gone == "forgotten":
        here.deposits.record(ForgettingOwed("order", (saved.id,), (), "orphans", False, (), (), 5))
    else:
        here.settle()
    worker = Exchange(here.config, here.stores)
    if by != "this process":
        worker()
    here.exchange()
    assert list(here.stores.garage.objects.keys(WAITING)) == []
    assert here.exchange.uploads.put == worker.uploads.put == {}
    same(here, there)
    assert gone != "settled" or there.read_at("a.txt") == b"last"


def test_nothing_waits_in_the_bucket_that_a_process_put_which_ends(here: Host) -> None:
    with open_deposits(here.config, here.stores) as (deposits, _):
        one = replace(here, deposits=deposits, exchange=here.stores.exchange)
        name = one.file("a.txt", b"first")
        one.exchange()
        one.write(name.id, b"second")
        one.exchange()
        one.settle()
    assert list(here.stores.garage.objects.keys(WAITING)) == []


@pytest.mark.claim("SHARE-9")
def test_nothing_waits_in_the_bucket_of_what_was_carried_over_to_another_name(here: Host, there: Host) -> None:
    here.file("b.txt", b"before")
    for _ in range(2):
        here.exchange()
    there.file("a.txt")
    here.file("a.txt", b"ours")
    here.exchange.uploads.put_waiting(here.catalog.unshipped(1000)[1])
    there.exchange()
    for _ in range(2):
        here.exchange()
    here.settle()
    here.exchange()
    assert list(here.stores.garage.objects.keys(WAITING)) == []
    same(here, there)
    assert there.read_at("a.txt") == b"ours"


@pytest.mark.logs("kgfs history")
@pytest.mark.claim("SHARE-9")
def test_nothing_waits_in_the_bucket_of_a_version_that_was_overtaken(here: Host, there: Host) -> None:
    """Where it had waited, too, since another home might have been giving the same bytes up."""
    here.file("b.txt", b"the same")
    here.settle()
    same(here, there)
    there.file("a.txt", b"theirs")
    there.settle()
    there.exchange()
    here.file("a.txt", b"the same")
    here.settle()
    for _ in range(2):
        here.exchange()
    assert here.history("a.txt")[-1] == ("conflict", b"the same")
    assert list(here.stores.garage.objects.keys(WAITING)) == []


def test_what_was_given_up_is_taken_away_once_the_bucket_is_back(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = here.file("a.txt", b"first")
    here.exchange()
    here.write(name.id, b"second")
    here.exchange()
    here.exchange()
    here.settle()

    def away(*_: object) -> bool:
        raise UnavailableError("no route")

    with monkeypatch.context() as cut:
        cut.setattr(type(here.stores.garage.objects), "delete", away)
        with pytest.raises(UnavailableError):
            here.exchange()
    here.exchange()
    assert list(here.stores.garage.objects.keys(WAITING)) == []
    same(here, there)
    assert there.read_at("a.txt") == b"second"


def test_what_is_written_after_a_version_waits_on_when_that_is_taken_away(here: Host, there: Host) -> None:
    name = here.file("a.txt", b"first")
    here.exchange()
    here.settle()
    here.write(name.id, b"second")
    here.exchange()  # the version of the one and the content of the other at once
    there.exchange()
    assert there.read_at("a.txt") == b"second"
    here.settle()
    same(here, there)
    assert list(here.stores.garage.objects.keys(WAITING)) == []


@pytest.mark.logs("kgfs history")
def test_what_another_process_of_the_home_took_away_is_put_there_again(here: Host, there: Host) -> None:
    worker = Exchange(here.config, here.stores)
    name = here.file("a.txt", LARGE)
    for content in (b"second", b"third"):
        here.exchange()
        here.settle()
        worker()
        here.write(name.id, content)
    here.exchange()
    here.settle()
    worker()
    there.exchange()
    there.write(name.id, b"theirs")
    there.exchange()
    here.write(name.id, LARGE)
    here.exchange()
    for one in (here, there, here):
        one.settle()
        one.exchange.meet()
    assert ("conflict", LARGE) in here.history("a.txt")
    assert ("conflict", LARGE) in there.history("a.txt")


def test_what_another_home_has_not_settled_yet_is_not_lost(here: Host, there: Host) -> None:
    """It waits in the bucket, and in the spool of the other home alone: for long, where that one is stopped."""
    name = there.file("a.txt", LARGE)
    same(here, there)
    assert here.catalog.names.name(name.id) is not None
    assert list(in_catalog(here.config, here.stores, [], worker=True)) == []


def test_what_another_home_keeps_is_nobodys_only_once_all_is_known_and_it_is_old(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def orphans() -> list[str]:
        found = in_garage(here.stores, deep=False, progress=lambda *_: None)
        return [damage.what for damage in found if damage.kind is Kind.ORPHAN]

    there.file("a.txt", LARGE)
    there.settle()
    assert orphans() == [], "put, and not delivered yet"
    monkeypatch.setattr("kgfs.knowledge.timing.OTHER_HOME_RECORDS_NS", 0)
    key = there.key_at("a.txt")
    assert orphans() == [key], "what nobody delivers for a day"
    there.exchange()
    assert orphans() == [], "delivered, and not learnt yet"
    same(here, there)
    assert orphans() == []


def test_a_disk_without_room_for_a_copy_is_told_as_one_and_all_goes_on_when_there_is(here: Host, there: Host) -> None:
    name = here.file("a.txt")
    file = here.deposits.open(name.id, write=True)
    file.write(0, LARGE)
    file.flush()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        with pytest.raises(StoreError):
            here.exchange()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in here.config.spool.glob("copy-*")] == []
    here.exchange()
    there.exchange()
    assert there.read_at("a.txt") == LARGE
    file.release()


def test_an_original_goes_only_once_nobody_can_have_restored_it(here: Host, there: Host) -> None:
    name = here.file("a.txt", b"kept")
    here.settle()
    same(here, there)
    key = here.row(name.id).key
    there.deposits.remove(name.id)
    same(there, here)
    empty(there.stores, there.deposits.settler)
    assert there.stores.garage.objects.exists(key), "what was emptied is not delivered yet"
    root = here.ontology()
    here.deposits.record(TrashRestored(name.id, root.id, root.root, "a.txt", 5))
    same(here, there)
    empty(there.stores, there.deposits.settler)
    assert here.read_at("a.txt") == there.read_at("a.txt") == b"kept"
    here.deposits.remove(name.id)
    same(here, there)
    for _ in range(2):
        empty(there.stores, there.deposits.settler)
        there.exchange.meet()
    assert not there.stores.garage.objects.exists(key)


def test_an_original_that_was_given_up_when_it_was_counted_on_is_made_again(here: Host, there: Host) -> None:
    name = here.file("a.txt", LARGE)
    here.exchange()
    here.settle()
    here.stores.garage.objects.delete(
        here.row(name.id).key
    )  # as another home may do until it knows of this one's version
    same(here, there)
    assert there.read_at("a.txt") == LARGE
