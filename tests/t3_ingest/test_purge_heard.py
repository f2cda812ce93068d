"""Bytes that were purged, and are deposited anew by who has heard of that, while another home only just hears of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgfs.ingest.lifecycle.forget import carry_out
from kgfs.sharing.apply_purges import is_obeyed
from kgfs.sharing.exchange import Exchange
from kgfs.sharing.report_progress import report_progress
from kgfs.stores.catalog.facts import ContentKept, Fact, ForgettingOwed
from kgfs.stores.garage.contract import Sums
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.graph.sqlite import build_aside, built_beside
from kgfs.stores.hosts import host_id, read_roll
from kgfs.stores.pending_uploads import WAITING, waiting_key
from tests.fakes.garage import MemoryGarage
from tests.support.giving_up import (
    BORDERS,
    KilledError,
    give_up,
    given_up_by,
    kept,
    met,
    purged_by,
    purged_of,
    unheld_by,
    while_it_waits,
)
from tests.support.hosts import LARGE, Host, host, joining


@pytest.fixture
def third(tmp_path: Path, garage: MemoryGarage, there: Host) -> Iterator[Host]:
    yield from joining(tmp_path / "third", garage)


def purged(there: Host, here: Host, third: Host, content: bytes) -> None:
    """By ``there``; ``here`` has heard of it, and ``third`` has not."""
    there.file("b.txt", content)
    there.settle()
    met(there, here, third)
    purged_by(there, "b.txt")
    met(here, there)
    assert here.catalog.names.resolve(here.ontology().id, "b.txt") is None


@pytest.mark.claim("SHARE-1", "SHARE-7")
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_is_deposited_anew_is_read_by_all_though_a_third_home_obeys_the_purge_just_then(
    here: Host, there: Host, third: Host, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    purged(there, here, third, content)
    here.file("again.txt", content)
    while_it_waits(monkeypatch, here, third.exchange)
    met(there, third)
    assert there.read_at("again.txt") == third.read_at("again.txt") == content
    here.settle()
    met(here, there, third)
    assert kept(here) == [here.key_at("again.txt")]


@pytest.mark.claim("SHARE-3", "SHARE-7")
@pytest.mark.logs("kgfs history")
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_is_deposited_anew_and_becomes_a_conflict_stays_though_a_third_home_obeys_the_purge_just_then(
    here: Host, there: Host, third: Host, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    name = here.file("a.txt", b"before")
    here.settle()
    met(here, third)
    purged(there, here, third, content)
    here.write(name.id, content)

    def overtaken() -> None:
        third.write(name.id, b"theirs")
        third.exchange()

    while_it_waits(monkeypatch, here, overtaken)
    met(here, there, third)
    here.deposits.settler.sweep()
    for one in (here, there, third):
        assert ("conflict", content) in one.history("a.txt") and one.read_at("a.txt") == b"theirs"


@pytest.mark.claim("SHARE-5", "SHARE-7")
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_is_settled_anew_stays_though_a_third_home_obeys_the_purge_and_another_gives_the_same_up(
    here: Host, there: Host, third: Host, content: bytes
) -> None:
    purged(there, here, third, content)
    ours = here.file("again.txt", content)
    here.settle()
    third.exchange()
    key = given_up_by(there, "c.txt", content)
    met(here, there, third)
    assert here.row(ours.id).key == key
    assert here.read(ours.id) == there.read_at("again.txt") == third.read_at("again.txt") == content
    assert kept(here) == [key]


@pytest.mark.claim("SHARE-7")
@pytest.mark.logs("purged elsewhere")
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_a_home_had_put_before_it_heard_is_taken_away_though_it_is_killed_on_the_way(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    here.file("a.txt", content)
    there.file("b.txt", content)
    there.settle()
    there.exchange()
    purged_by(there, "b.txt")

    def killed(name: str) -> None:
        if name == "followed":
            raise KilledError

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr("kgfs.sharing.exchange.border", killed)
        here.exchange()
    assert len(kept(here)) == 1, "nothing speaks of it any more"
    Exchange(here.config, here.stores)()
    assert kept(here) == []


@pytest.mark.claim("SHARE-7")
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_was_written_over_before_the_purge_goes_with_it(here: Host, there: Host, content: bytes) -> None:
    name = here.file("a.txt", content)
    here.exchange()
    here.write(name.id, b"newer")
    there.file("b.txt", content)
    there.settle()
    there.exchange()
    purged_by(there, "b.txt")
    for _ in range(2):
        here.exchange()
    assert kept(here) == [waiting_key(name.id, here.row(name.id).sha256)] and is_obeyed(here.config)


@pytest.mark.claim("SHARE-1", "SHARE-7")
@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("since", ["written", "removed"])
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_others_are_promised_is_read_by_them_until_what_was_done_since_is_delivered_though_it_was_purged(
    here: Host, there: Host, content: bytes, since: str, killed: bool
) -> None:
    name = here.file("a.txt", content)
    here.exchange()
    there.exchange()
    if since == "written":
        here.write(name.id, b"newer")
    else:
        here.deposits.remove(name.id)
    there.file("b.txt", content)
    there.settle()
    there.exchange()
    purged_by(there, "b.txt")
    here.exchange.pull()
    assert there.read_at("a.txt") == content and not is_obeyed(here.config)
    if killed:
        here.exchange = Exchange(here.config, here.stores)
    for one in (here, here, there):
        one.exchange()
    assert kept(here) == ([waiting_key(name.id, here.row(name.id).sha256)] if since == "written" else [])
    assert is_obeyed(here.config)


@pytest.mark.claim("SHARE-1", "SHARE-7", "SHARE-8")
@pytest.mark.logs(r"sharing StoreError: .*worker\.log: what it says of purged documents cannot be removed")
def test_a_purge_that_cannot_be_obeyed_yet_is_told_once_and_keeps_nothing_else_from_being_learnt_and_delivered(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = there.config.logs / "worker.log"
    log.mkdir(parents=True)  # as little to be written to as one that is another user's
    here.file("a.txt", b"secret")
    here.settle()
    met(here, there)
    report_progress(there.config, there.stores)
    before = followed_by(there)
    purged_by(here, "a.txt")
    there.file("ours.txt", b"ours")
    there.exchange()
    here.file("later.txt", b"later")
    met(here, there)
    assert here.read_at("ours.txt") == b"ours" and there.read_at("later.txt") == b"later"
    assert there.config.errors_log.read_text().count("worker.log") == 1
    (there.config.run / "acknowledged").unlink()
    report_progress(there.config, there.stores)
    assert not is_obeyed(there.config) and followed_by(there) == before
    log.rmdir()
    monkeypatch.setattr("kgfs.sharing.timing.PURGES_RETRY", 0.0)
    there.exchange.poll()
    assert is_obeyed(there.config)


def followed_by(host: Host) -> int:
    """The last fact that it said it has followed."""
    [reported] = [one for one in read_roll(host.config, host.stores).hosts if one.id == host_id(host.config)]
    return reported.followed


@pytest.mark.claim("SHARE-2", "SHARE-7")
@pytest.mark.parametrize("at", ["put", "recorded"])
def test_what_is_closed_is_in_the_bucket_though_a_purge_that_could_not_be_obeyed_yet_is_just_then(
    tmp_path: Path, garage: MemoryGarage, there: Host, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """A derivation that lives has it obeyed again and again, beside those who wait for the bucket."""
    strict = host(tmp_path / "strict", garage, durability="shared")
    exchange = strict.stores.exchange
    exchange.meet()
    there.file("b.txt", LARGE)
    there.settle()
    met(there, strict)
    built = build_aside(built_beside(strict.config.graph_db))
    purged_by(there, "b.txt")
    exchange.meet()
    assert not is_obeyed(strict.config)
    monkeypatch.setattr("kgfs.sharing.timing.PURGES_RETRY", 0.0)
    put, record, looked = garage.objects.put, strict.catalog.record, list[str]()

    def puts(key: str, content: bytes | Path, sums: Sums | None = None, **more: Any) -> Sums:
        found = put(key, content, sums, **more)
        if key.startswith(WAITING) and at == "put" and not looked:
            looked.append(at)
            exchange.poll()
        return found

    def recorded(*facts: Fact, **more: Any) -> None:
        if isinstance(facts[0], ContentKept) and at == "recorded" and not looked:
            looked.append(at)
            exchange.poll()
        record(*facts, **more)

    with monkeypatch.context() as patch:
        patch.setattr(garage.objects, "put", puts)
        patch.setattr(strict.catalog, "record", recorded)
        again = strict.file("again.txt", LARGE)
    assert looked and kept(strict) == [waiting_key(again.id, again.sha256)]
    built.close()
    exchange.poll()
    assert is_obeyed(strict.config) and kept(strict) == [waiting_key(again.id, again.sha256)]
    met(there)
    assert there.read_at("again.txt") == LARGE
    strict.session.close()
    strict.stores.close()


@pytest.mark.claim("SHARE-1", "SHARE-5")
@pytest.mark.logs("kgfs history")
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_waits_to_be_settled_stays_though_a_conflict_with_the_same_bytes_was_purged_and_is_given_up(
    here: Host, there: Host, third: Host, content: bytes
) -> None:
    """Of a history out of which something is purged the conflicts go too."""
    name = here.file("a.txt", b"before")
    here.settle()
    met(here, there, third)
    before = here.row(name.id).doc_id
    here.write(name.id, b"ours")
    there.write(name.id, content)
    met(here, there, third)
    here.settle()
    met(here, there, third)
    conflict = waiting_key(name.id, sums_of(content).sha256)
    assert ("conflict", content) in third.history("a.txt") and third.stores.garage.objects.exists(conflict)
    purged_of(there, before)
    met(there, here, third)
    assert third.catalog.unheld() == [conflict]
    here.write(name.id, content)
    met(here, there, third)
    give_up(third)
    assert third.read_at("a.txt") == there.read_at("a.txt") == content
    here.settle()
    met(here, there, third)
    for one in (here, there, third):
        give_up(one)
        assert one.catalog.unheld() == []
    assert third.read_at("a.txt") == content and kept(here) == sorted(
        version.key for version in here.catalog.names.versions(name.id)
    )


@pytest.mark.claim("SHARE-5")
@pytest.mark.logs(r"forgetting\.done was not carried out")
@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_is_deposited_anew_stays_though_one_home_gives_it_up_and_another_purges_it_just_then(
    here: Host, there: Host, third: Host, monkeypatch: pytest.MonkeyPatch, content: bytes, killed: bool
) -> None:
    """All that is left of it is what the one has set aside, when the other comes."""
    key = unheld_by(there, here, content)
    document = here.catalog.names.document_with(here.ontology().id, sums_of(content).sha256)
    assert document is not None
    here.deposits.record(ForgettingOwed("0123456789abcdef", (), (document.doc_id,), "orphans", True, (), (), 5))
    met(here, there, third)
    third.file("again.txt", content)
    third.settle()
    seen: list[str] = []

    def at(name: str) -> None:
        seen.append(name)
        if name == "original-aside":
            third.exchange()
        elif name == "original-gone" and not killed:
            carry_out(here.config, here.stores)
        elif name == "original-gone":
            with monkeypatch.context() as patch, pytest.raises(KilledError):
                patch.setattr("kgfs.ingest.lifecycle.purge.border", erased)
                carry_out(here.config, here.stores)

    def erased(name: str) -> None:
        if name == "erased":
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr("kgfs.stores.two_phase_delete.border", at)
        give_up(there)
    assert seen == list(BORDERS)
    met(here, there, third)
    carry_out(here.config, here.stores)
    met(here, there, third)
    assert here.read_at("again.txt") == there.read_at("again.txt") == third.read_at("again.txt") == content
    for one in (here, there, third):
        give_up(one)
    assert kept(here) == [key]


@pytest.mark.claim("SHARE-5")
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_what_is_given_up_when_it_is_counted_on_is_made_again_though_the_same_bytes_are_purged_elsewhere(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """In another ontology, where they are another Document."""
    key = unheld_by(there, here, content)
    other = there.file("b.txt", content, there.ontology("Other").root)
    there.settle()
    met(there, here)
    here.file("again.txt", content)
    here.settle()
    give_up(there)
    assert not there.stores.garage.objects.exists(key)
    doc_id = there.row(other.id).doc_id

    def at(name: str) -> None:
        if name == "delivered":
            patch.undo()
            there.exchange()
            purged_of(there, doc_id, other.id)

    with monkeypatch.context() as patch:
        patch.setattr("kgfs.sharing.exchange.border", at)
        here.exchange.deliver()
    met(here, there)
    assert here.catalog.names.document(doc_id) is None
    assert here.read_at("again.txt") == there.read_at("again.txt") == content
    assert kept(here) == [key]
