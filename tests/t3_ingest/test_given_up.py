"""Originals that one home gives up, for nothing promises them any more, while another counts on them again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import pytest

from kgfs.app.shipping import shipping
from kgfs.domain.documents import Name, Ontology
from kgfs.errors import CorruptError, TimedOutError
from kgfs.ingest.lifecycle import purge
from kgfs.ingest.lifecycle.forget import carry_out
from kgfs.ingest.storing.identify import Identity, identity
from kgfs.ingest.writing.trash import drop_unheld, empty
from kgfs.sharing import timing
from kgfs.sharing.exchange import Exchange
from kgfs.stores.catalog.facts import ForgettingDone, ForgettingOwed
from kgfs.stores.garage.embedded import OBJECTS, FileGarage
from kgfs.stores.hosts import host_id, read_roll
from kgfs.stores.pending_uploads import LEAVING, WAITING
from kgfs.stores.two_phase_delete import TwoPhaseDelete
from tests.fakes.garage import MemoryGarage
from tests.support.giving_up import (
    BORDERS,
    KilledError,
    called,
    give_up,
    give_up_while,
    given_up_by,
    hook,
    kept,
    met,
    purged_by,
    unheld_by,
)
from tests.support.hosts import LARGE, Host, host


@pytest.mark.parametrize(("content", "waited"), [(b"small", False), (b"small", True), (LARGE, False)])
@pytest.mark.parametrize("at", [("sources/", "before"), ("sources/", "after"), (LEAVING, "before"), (LEAVING, "after")])
def test_what_another_home_counts_on_while_it_is_given_up_stays(
    here: Host,
    there: Host,
    garage: MemoryGarage,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    waited: bool,
    at: tuple[str, str],
) -> None:
    key = unheld_by(there, here, content)
    here.file("again.txt", content)
    if waited:
        here.exchange()
    here.settle()
    with monkeypatch.context() as patch:
        hook(patch, garage, at[0], here.exchange, at[1])
        give_up(there)
    met(here, there)
    assert here.read_at("again.txt") == there.read_at("again.txt") == content
    give_up(there)
    assert kept(here) == [key]


@pytest.mark.logs("rotten")
def test_what_cannot_be_given_up_since_what_rests_on_it_is_rotten_stays_until_it_can(
    here: Host, there: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, deleted = unheld_by(there, here, LARGE), garage.objects.delete

    def fails(which: str) -> bool:
        if which == key:
            raise CorruptError(f"{key}: rotten.")
        return deleted(which)

    with monkeypatch.context() as patch:
        patch.setattr(garage.objects, "delete", fails)
        give_up(there)
    assert kept(there) == [key] == there.catalog.unheld()
    give_up(there)
    assert kept(there) == []


@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_a_third_home_deleted_and_another_deposited_anew_stays(
    here: Host, there: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """No copy of it stands aside, so nothing could bring it back."""
    key = unheld_by(there, here, content)
    garage.objects.delete(key)
    here.file("again.txt", content)
    give_up_while(there, monkeypatch, "original-aside", here)
    met(here, there)
    assert here.read_at("again.txt") == there.read_at("again.txt") == content
    give_up(there)
    assert kept(here) == [key]


def test_what_one_who_knew_nothing_of_it_counts_on_stays(here: Host, there: Host) -> None:
    """It settles them before it hears what the others did."""
    key = ""
    gone = there.file("a.txt", LARGE)
    there.settle()
    key = there.row(gone.id).key
    there.deposits.remove(gone.id)
    empty(there.stores, there.deposits.settler)
    there.exchange()
    again = here.file("again.txt", LARGE)
    here.settle()
    assert here.row(again.id).key == key
    give_up(there)
    assert not there.stores.garage.objects.exists(key)
    met(here, there)
    here.settle()
    met(here, there)
    assert here.read_at("again.txt") == there.read_at("again.txt") == LARGE
    assert kept(here) == [key]


def test_who_settles_does_not_wait_for_all_that_is_given_up(
    here: Host, there: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up = [here.file(f"{n}.txt", b"content %d" % n) for n in range(40)]
    here.settle()
    met(here, there)
    for name in given_up:
        here.deposits.remove(name.id)
    met(here, there)
    empty(here.stores, here.deposits.settler)
    met(here, there)
    assert len(there.catalog.unheld()) == 40
    new, settling = there.file("new.txt", b"new"), Thread(target=there.settle)
    there.exchange()
    begun: list[bool] = []
    settled_after: list[int] = []

    def slow(name: str) -> None:
        if name == "original-aside":
            begun.append(True)
            if len(begun) == 1:
                settling.start()
            sleep(0.02)
            if there.row(new.id).settled:
                settled_after.append(len(begun))

    monkeypatch.setattr("kgfs.ingest.writing.trash.GIVEN_UP_BATCH", 4)
    monkeypatch.setattr("kgfs.stores.two_phase_delete.border", slow)
    drop_unheld(there.stores, there.deposits.settler, there.exchange)
    settling.join()
    assert settled_after, "it was settled between two portions"
    met(there, here)
    give_up(there)
    assert there.catalog.unheld() == []
    assert here.read_at("new.txt") == b"new"
    assert kept(here) == [there.row(new.id).key]


def test_of_what_is_given_up_each_is_looked_at_a_few_times_however_many_there_are(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [here.file(f"{n}.txt", b"content %d" % n) for n in range(40)]:
        here.settle()
        here.deposits.remove(name.id)
    empty(here.stores, here.deposits.settler)
    met(here, there)
    looked: list[str] = []
    unheld = there.catalog.unheld

    def counted(*asked: Sequence[str]) -> list[str]:
        found = unheld(*asked)
        looked.extend(found)
        return found

    monkeypatch.setattr(there.catalog, "unheld", counted)
    monkeypatch.setattr("kgfs.ingest.writing.trash.GIVEN_UP_BATCH", 2)
    drop_unheld(there.stores, there.deposits.settler)
    assert unheld() == [] == kept(there)
    assert len(set(looked)) == 40 and len(looked) <= 2 * 40


def test_who_settles_does_not_wait_for_all_that_stands_aside(
    here: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside = f"{LEAVING}{host_id(here.config)}/"
    for n in range(10):
        garage.objects.put(f"{aside}sources/Notes/{n:032x}.txt", b"content %d" % n)
    new = here.file("new.txt", b"new")
    here.exchange()
    seen: list[tuple[int, bool]] = []

    def between() -> None:
        here.settle()
        seen.append((len(list(garage.objects.keys(aside))), here.row(new.id).settled))

    monkeypatch.setattr("kgfs.stores.two_phase_delete.CONCLUDED_BATCH", 4, raising=False)
    drop_unheld(here.stores, here.deposits.settler, between)
    assert seen == [(10, True), (6, True), (2, True)]
    here.exchange()
    assert kept(here) == [here.row(new.id).key]


@pytest.mark.claim("SHARE-5")
@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_nobody_had_when_it_was_settled_stays_though_another_home_gives_up_the_same_before_it_is_delivered(
    here: Host, there: Host, content: bytes, killed: bool
) -> None:
    ours = here.file("a.txt", content)
    here.settle()
    key = given_up_by(there, "b.txt", content)
    if killed:
        here.exchange = Exchange(here.config, here.stores)
    met(here, there)
    here.settle()
    met(here, there)
    assert here.row(ours.id).key == key
    assert here.stores.garage.objects.get(key) == here.read(ours.id) == there.read_at("a.txt") == content
    assert kept(here) == [key]


@pytest.mark.claim("SHARE-5")
@pytest.mark.logs("kgfs history")
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_was_settled_and_became_a_conflict_of_another_homes_file_stays_though_it_is_given_up(
    here: Host, there: Host, content: bytes
) -> None:
    """Where it waits is called by the name that this home had given it."""
    here.file("a.txt", content)
    here.settle()
    key = given_up_by(there, "a.txt", content)
    there.file("a.txt", b"theirs")
    there.exchange()
    met(here, there)
    assert there.history("a.txt") == here.history("a.txt") == [("conflict", content)]
    for one in (there, here, there):
        one.settle()
        one.exchange.meet()
    assert [one for one in kept(here) if one != there.key_at("a.txt")] == [key]


@pytest.mark.parametrize("since", ["written", "removed"])
def test_a_version_that_was_written_over_before_it_was_delivered_stays(here: Host, there: Host, since: str) -> None:
    key = unheld_by(there, here, LARGE)
    again = here.file("again.txt", LARGE)
    here.settle()
    if since == "written":
        here.write(again.id, b"newer")
    else:
        here.deposits.remove(again.id)
    give_up(there)
    assert not here.stores.garage.objects.exists(key)
    met(here, there)
    assert there.stores.garage.objects.get(key) == LARGE


def test_what_is_removed_while_it_is_settled_is_not_put_to_wait(here: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, stays = here.file("a.txt", b"gone"), here.file("b.txt", b"stays")

    def removed(ontology: Ontology, path: str, *about: Any) -> Identity:
        if path == "a.txt":
            here.deposits.remove(gone.id)
            here.catalog.drop_inbox([gone.sha256])
        return identity(ontology, path, *about)

    monkeypatch.setattr("kgfs.ingest.storing.settling_batch.identity", removed)
    here.settle()
    here.exchange()
    assert kept(here) == [here.row(stays.id).key]


def test_what_is_settled_while_what_is_left_is_taken_away_goes_on_waiting(
    here: Host, there: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = unheld_by(there, here, LARGE)
    first, again = here.file("first.txt", b"first"), here.file("again.txt", LARGE)
    here.exchange()
    here.deposits.settler.settle([first])
    Exchange(here.config, here.stores)()  # another process of this home
    with monkeypatch.context() as patch:
        hook(patch, garage, WAITING, here.settle, "before")
        here.exchange()
    assert here.row(again.id).key == key and here.catalog.unshipped()[1]
    give_up(there)
    assert not garage.objects.exists(key)
    met(here, there)
    assert here.read_at("again.txt") == there.read_at("again.txt") == LARGE
    assert key in kept(here) and not any(left.startswith(WAITING) for left in kept(here))


def test_what_is_delivered_later_waits_on_when_the_first_of_it_is(
    here: Host, there: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = unheld_by(there, here, LARGE)
    again = here.file("again.txt", b"first")
    here.settle()
    here.write(again.id, LARGE)
    here.settle()
    give_up(there)
    there.file("theirs.txt", b"before it")
    there.exchange()
    assert not garage.objects.exists(key)
    monkeypatch.setattr("kgfs.sharing.exchange.BATCH", 3)
    here.exchange()
    met(there, here)
    assert here.read_at("again.txt") == there.read_at("again.txt") == LARGE
    for one in (here, there):
        one.settle()
        met(one)
    assert key in kept(here) and not any(left.startswith(WAITING) for left in kept(here))


@pytest.mark.parametrize("cut", ["unheard", "delivered", "confirmed"])
def test_a_delivery_that_was_cut_off_is_looked_at_again(
    here: Host, there: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    key = unheld_by(there, here, LARGE)
    here.file("again.txt", LARGE)
    here.settle()
    give_up(there)
    append = garage.ledger.append

    def unheard(first: int, entries: Sequence[bytes]) -> int:
        append(first, entries)
        raise TimedOutError("no answer in time")

    def killed(name: str) -> None:
        if name == cut:
            raise KilledError

    with monkeypatch.context() as patch, pytest.raises((TimedOutError, KilledError)):
        if cut == "unheard":
            patch.setattr(garage.ledger, "append", unheard)
        patch.setattr("kgfs.sharing.exchange.border", killed)
        here.exchange.deliver()
    Exchange(here.config, here.stores).meet()
    met(here, there)
    assert garage.objects.get(key) == LARGE
    assert cut == "confirmed" or kept(here) == [key]


@pytest.mark.parametrize("counted_on", [False, True])
@pytest.mark.parametrize("at", BORDERS)
def test_who_is_killed_while_giving_up_goes_on(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch, at: str, counted_on: bool
) -> None:
    key = unheld_by(there, here, LARGE)
    if counted_on:
        here.file("again.txt", LARGE)
        here.settle()

    def killed(name: str) -> None:
        if name == at:
            raise KilledError

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr("kgfs.stores.two_phase_delete.border", killed)
        give_up(there)
    here.exchange()
    there.file("not delivered.txt", b"")
    give_up(there)
    met(there, here)
    give_up(there)
    assert kept(here) == ([key] if counted_on else [])
    assert there.catalog.unheld() == []
    if counted_on:
        assert here.read_at("again.txt") == there.read_at("again.txt") == LARGE


@pytest.mark.claim("SHARE-5")
@pytest.mark.logs("kgfs history")
def test_what_another_home_counts_on_stays_though_who_was_giving_it_up_goes_on_before_it_learns_of_that(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a conflict, so no Document vouches for it."""
    name = here.file("a.txt", b"mine")
    here.settle()
    here.exchange()
    there.file("a.txt", LARGE)
    there.settle()
    met(there, here)
    here.deposits.remove(name.id)
    met(here, there)
    empty(there.stores, there.deposits.settler)
    met(there, here)
    keys = there.catalog.unheld()
    assert len(keys) == 2

    def counted_on(name: str) -> None:
        if name == "original-aside":
            here.file("again.txt", LARGE)
            here.settle()
            here.exchange()
        elif name == "original-gone":
            raise KilledError

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr("kgfs.stores.two_phase_delete.border", counted_on)
        give_up(there)
    assert not any(there.stores.garage.objects.exists(key) for key in keys)
    give_up(there)
    met(here, there)
    assert here.read_at("again.txt") == there.read_at("again.txt") == LARGE
    give_up(there)
    assert kept(here) == [here.key_at("again.txt")]


@pytest.mark.claim("SHARE-7")
@pytest.mark.parametrize("is_last", [True, False])
def test_a_purge_takes_what_a_killed_one_was_giving_up(
    here: Host, there: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch, is_last: bool
) -> None:
    """Where that home may be purging the same just now, it stands aside there, too, until that one goes on."""
    called(here, "f00000000000" if is_last else "000000000000")
    called(there, "800000000000")
    key = unheld_by(there, here, LARGE)
    document = here.catalog.names.document_with(here.ontology().id, here.stores.garage.objects.stat(key).sha256)
    assert document is not None
    garage.objects.copy(key, f"{LEAVING}{host_id(there.config)}/{key}")
    purge._erase_objects(here.config, here.stores, document.doc_id, {document.doc_id})
    assert kept(here) == [f"{LEAVING}{host_id(one.config)}/{key}" for one in ((here,) if is_last else (here, there))]
    garage.objects.put(f"{LEAVING}{host_id(there.config)}/{key}", LARGE)  # stopped in between
    here.deposits.record(ForgettingOwed("order", (), (document.doc_id,), "all", True, (), (), 5))
    here.deposits.record(ForgettingDone("order", (document.doc_id,), "all", True, "commit", (), "redaction", 6))
    met(here, there)
    assert there.catalog.unheld() == [], "who deposits the same bytes again has nothing given up"
    give_up(there)
    give_up(here)
    assert kept(here) == []


@pytest.mark.claim("SHARE-5")
@pytest.mark.parametrize("is_last", [True, False])
def test_of_what_two_homes_purge_at_once_one_has_a_copy_aside(
    here: Host, there: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch, is_last: bool
) -> None:
    """For a third one's deposit may overrule them both."""
    called(here, "f00000000000" if is_last else "000000000000")
    called(there, "800000000000")
    key = unheld_by(there, here, LARGE)
    of_here, of_there = (TwoPhaseDelete(one.stores, one.config) for one in (here, there))
    garage.objects.copy(key, of_here.aside + key)
    garage.objects.copy(key, of_there.aside + key)
    garage.objects.delete(key)
    done: list[str] = []

    def at_once() -> None:
        if not done:
            done.append(key)
            of_there.take_out([], [key])

    with monkeypatch.context() as patch:
        hook(patch, garage, LEAVING, at_once, "before")
        of_here.take_out([], [key])
    at_once()
    assert kept(here) == [(of_here if is_last else of_there).aside + key]
    for one in (of_here, of_there):
        assert one.bring_back(key) and garage.objects.get(key) == LARGE
        garage.objects.delete(key)


@pytest.mark.claim("SHARE-5")
@pytest.mark.parametrize(
    "rotten", [["here"], ["there"], pytest.param(["here", "there"], marks=pytest.mark.logs("trash CorruptError"))]
)
def test_what_is_counted_on_again_comes_from_a_whole_copy_whoever_set_that_aside(
    tmp_path: Path, rotten: list[str]
) -> None:
    garage = FileGarage(tmp_path / "garage")
    with ExitStack() as stack:
        homes = {name: host(tmp_path / name, garage) for name in ("here", "there")}
        for one in homes.values():
            stack.callback(one.catalog.close)
            stack.callback(one.session.close)
        giving = {name: TwoPhaseDelete(one.stores, one.config) for name, one in homes.items()}
        key = "sources/Notes/0123456789abcdef0123456789abcdef.txt"
        for name, one in giving.items():
            garage.objects.put(one.aside + key, LARGE)
            if name in rotten:
                (found,) = (tmp_path / "garage" / OBJECTS / one.aside).rglob("*.txt")
                found.chmod(0o600)
                found.write_bytes(b"X" + LARGE[1:])
        assert giving["here"].bring_back(key) is (len(rotten) < 2) is garage.objects.exists(key)
        assert len(rotten) == 2 or garage.objects.get(key) == LARGE
        log = homes["here"].config.errors_log
        assert log.exists() is (len(rotten) == 2) and (not log.exists() or b"CorruptError" in log.read_bytes())


@pytest.mark.claim("SHARE-7")
@pytest.mark.logs("purged")
@pytest.mark.parametrize("settled", ["never", "before", "after"])
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_was_written_of_bytes_that_another_home_purges_before_it_is_delivered_is_nowhere(
    here: Host, there: Host, content: bytes, settled: str
) -> None:
    ours = here.file("a.txt", content)
    if settled == "before":
        here.settle()
    there.file("b.txt", content)
    there.settle()
    there.exchange()
    purged_by(there, "b.txt")
    if settled == "after":
        here.settle()
    met(here, there)
    assert here.read(ours.id) == there.read_at("a.txt") == b""
    for one in (here, there):
        give_up(one)
    assert kept(here) == [] == here.spool_files()
    assert here.catalog.inbox(ours.sha256) is None


@pytest.mark.claim("SHARE-7")
def test_what_was_delivered_unheard_and_purged_by_another_home_is_not_made_again(
    here: Host, there: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.file("a.txt", LARGE)
    here.exchange()
    here.settle()
    append = garage.ledger.append

    def unheard(first: int, entries: Sequence[bytes]) -> int:
        append(first, entries)
        raise TimedOutError("no answer in time")

    with monkeypatch.context() as patch, pytest.raises(TimedOutError):
        patch.setattr(garage.ledger, "append", unheard)
        here.exchange.deliver()
    assert len(kept(here)) == 2, "it waits yet"
    there.exchange()
    purged_by(there, "a.txt")
    here.exchange = Exchange(here.config, here.stores)
    met(here, there)
    assert kept(here) == [] and here.catalog.names.resolve(here.ontology().id, "a.txt") is None


@pytest.mark.claim("SHARE-7")
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_another_home_purges_just_when_it_is_delivered_is_not_made_again(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    here.file("a.txt", content)
    here.settle()

    with monkeypatch.context() as patch:

        def purged(name: str) -> None:
            if name == "delivered":
                patch.undo()
                there.exchange()
                purged_by(there, "a.txt")
                there.exchange()

        patch.setattr("kgfs.sharing.exchange.border", purged)
        here.exchange.deliver()
    met(here, there)
    assert kept(here) == [] and here.catalog.names.resolve(here.ontology().id, "a.txt") is None


@pytest.mark.logs(r"forgetting\.done was not carried out")
@pytest.mark.claim("GONE-7")
@pytest.mark.parametrize("content", [b"small", LARGE])
@pytest.mark.parametrize(("begins", "when"), [("sources/", "before"), ("sources/", "after"), ("texts/", "before")])
def test_what_another_home_deposits_while_it_is_purged_stays(
    here: Host,
    there: Host,
    garage: MemoryGarage,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    begins: str,
    when: str,
) -> None:
    key, reading = purging(here, there, content)
    again: list[Name] = []

    def deposited() -> None:
        if not again:
            again.append(there.file("again.txt", content))
            there.settle()
            there.exchange()

    with monkeypatch.context() as patch:
        hook(patch, garage, begins, deposited, when)
        carry_out(here.config, here.stores)
    met(here, there)
    assert here.read_at("again.txt") == there.read_at("again.txt") == content
    assert garage.objects.get(reading) == b"what was read"
    assert kept(here) == [key]
    carry_out(here.config, here.stores)
    met(here, there)
    assert garage.objects.get(reading) == b"what was read" and kept(here) == [key]
    assert here.catalog.names.forgettings() == there.catalog.names.forgettings() == []


@pytest.mark.claim("GONE-6")
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_when_a_purge_ends_nothing_stands_aside(here: Host, there: Host, garage: MemoryGarage, content: bytes) -> None:
    _, reading = purging(here, there, content)
    carry_out(here.config, here.stores)
    assert kept(here) == [] and not garage.objects.exists(reading)
    met(there, here)
    assert kept(there) == [] == there.catalog.names.forgettings()


@pytest.mark.parametrize("at", ["erased", "forgetting-done"])
def test_a_purge_that_was_killed_leaves_nothing(
    here: Host, there: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    key, reading = purging(here, there, LARGE)

    def killed(name: str) -> None:
        if name == at:
            raise KilledError

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr("kgfs.ingest.lifecycle.purge.border", killed)
        patch.setattr("kgfs.ingest.lifecycle.forget.border", killed)
        carry_out(here.config, here.stores)
    assert not garage.objects.exists(key) and not garage.objects.exists(reading)
    give_up(here)
    assert garage.objects.exists(key) is garage.objects.exists(reading) is (at == "erased"), "it is owed"
    carry_out(here.config, here.stores)
    met(here, there)
    give_up(here)
    assert kept(here) == [] and not garage.objects.exists(reading)


@pytest.mark.claim("GONE-6", "SHARE-8")
@pytest.mark.parametrize("is_settling", [False, True])
def test_a_purge_that_was_killed_is_said_to_be_obeyed_only_when_nothing_stands_aside(
    here: Host, there: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch, is_settling: bool
) -> None:
    monkeypatch.setattr(timing, "REPORT_EVERY", 0.0)
    for one in (here, there):
        shipping(one.config, one.stores)()
    _, reading = purging(here, there, LARGE)

    def killed(name: str) -> None:
        if name == "forgetting-done":
            raise KilledError

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr("kgfs.ingest.lifecycle.forget.border", killed)
        carry_out(here.config, here.stores)
    if is_settling:
        with here.deposits.settler.alone():
            shipping(here.config, here.stores)()
        (purged,) = read_roll(here.config, here.stores).purges
        assert host_id(here.config) in [one.id for one in read_roll(here.config, here.stores).waits_for(purged)]
        assert kept(here)
    shipping(here.config, here.stores)()
    assert kept(here) == [] and not garage.objects.exists(reading)
    (purged,) = read_roll(here.config, here.stores).purges
    assert [one.id for one in read_roll(here.config, here.stores).waits_for(purged)] == [host_id(there.config)]


def purging(here: Host, there: Host, content: bytes) -> tuple[str, str]:
    """A file that ``here`` is to purge: the keys of its original, and of something that was read of it."""
    name = here.file("a.txt", content)
    here.settle()
    met(here, there)
    row = here.row(name.id)
    reading = f"texts/{row.doc_id}/0123.txt"
    here.stores.garage.objects.put(reading, b"what was read")
    here.deposits.record(ForgettingOwed("0123456789abcdef", (name.id,), (row.doc_id,), "orphans", True, (), (), 5))
    met(here, there)
    return row.key, reading
