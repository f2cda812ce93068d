"""What stays in a shared garage of contents that were written over, since their home was killed: found, and removed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.app.backlog import read_backlog
from kgfs.errors import UnavailableError
from kgfs.knowledge.check.kept import in_garage
from kgfs.settings import Pipeline
from kgfs.sharing.exchange import Exchange
from kgfs.sharing.left_uploads import LeftUploads
from kgfs.stores.garage.contract import Sums
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.hosts import host_id, say, strike_off
from kgfs.stores.pending_uploads import WAITING, waiting_key
from tests.fakes.garage import MemoryGarage
from tests.support.giving_up import met, while_it_waits
from tests.support.hosts import LARGE, Host, host


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgfs.sharing.timing.LEFT_UPLOADS_POLL", 0.0)


def left(host: Host) -> list[str]:
    """What is nobody's at two looks in a row; a check tells of none of it."""
    finding = LeftUploads(host.config, host.stores)
    assert finding.found() == []
    assert not [one for one in in_garage(host.stores, deep=True, progress=lambda *_: None) if one.harmless]
    return finding.found()


def sweep(host: Host) -> None:
    """As a process does that stays."""
    staying = Exchange(host.config, host.stores, grace=1.0)
    staying()
    staying()


def waits(host: Host) -> list[str]:
    return [key for key, _ in host.stores.garage.objects.keys(WAITING)]


@pytest.mark.claim("SHARE-9")
@pytest.mark.logs("kgfs history")
def test_what_a_kill_left_waiting_is_removed_and_nothing_else(here: Host, there: Host) -> None:
    name = here.file("a.txt", b"first")
    Exchange(here.config, here.stores)()
    first = here.row(name.id).sha256
    here.write(name.id, b"second")
    Exchange(here.config, here.stores)()  # of the next process: who knew what it had put was killed
    here.settle()
    there.exchange()
    there.file("unsettled.txt", b"not settled yet")
    there.exchange()
    here.write(name.id, b"one")
    there.write(name.id, b"other")
    for one in (here, there, here):
        Exchange(one.config, one.stores).meet()
    assert ("conflict", b"other") in there.history("a.txt")
    assert waiting_key(name.id, first) in waits(here)

    there.file("late.txt", b"not delivered yet")
    there.exchange.uploads.put_waiting(there.catalog.unshipped(1000)[1])  # killed behind it
    assert left(there) == [], "what this home has told of is not delivered yet"
    there.exchange()
    assert left(here) == [], "of what was delivered not all is known"
    here.exchange()
    before = waits(here)
    assert left(here) == [waiting_key(name.id, first)]
    sweep(here)
    assert set(before) - set(waits(here)) == {waiting_key(name.id, first)}
    assert left(here) == [] and there.read_at("unsettled.txt") == b"not settled yet"
    for one in (there, here, there, here):
        one.settle()
        one.exchange.meet()
    assert ("conflict", b"other") in here.history("a.txt") and there.read_at("late.txt") == b"not delivered yet"


@pytest.mark.claim("SHARE-9")
def test_what_a_home_put_that_sleeps_stays_until_it_has_reported(here: Host, there: Host) -> None:
    """It may have told of nothing yet, and have no other copy: it settled the file."""
    say(there.config, here.stores.garage.objects, 1)
    say(here.config, here.stores.garage.objects, 1)
    name = there.file("late.txt", LARGE)
    there.settle()
    key = waiting_key(name.id, name.sha256)
    looks = LeftUploads(here.config, here.stores)
    assert [looks.found() for _ in range(4)] == [[]] * 4 and key in waits(here)
    say(there.config, here.stores.garage.objects, 2)  # as a home does that told of something else
    assert looks.found() == [key]
    assert strike_off(here.stores.garage.objects, host_id(there.config))
    assert left(here) == [key]


@pytest.mark.claim("SHARE-9")
def test_what_is_spoken_of_and_not_delivered_yet_is_awaited(here: Host) -> None:
    name = here.file("a.txt", b"first")
    here.exchange.uploads.put_waiting(here.catalog.unshipped(1000)[1])
    here.write(name.id, b"second")
    assert len(waits(here)) == 1 and left(here) == []
    here.exchange()
    assert left(here) == [waiting_key(name.id, name.sha256)]


@pytest.mark.claim("SHARE-2")
def test_what_is_written_again_while_it_is_taken_away_is_in_the_bucket_when_it_is_closed(
    tmp_path: Path, garage: MemoryGarage, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By who waits for the bucket, beside the thread that looks at it."""
    strict = host(tmp_path / "strict", garage, durability="shared")
    exchange = strict.stores.exchange
    exchange.meet()
    name = strict.file("a.txt", LARGE)
    strict.write(name.id, b"other")
    strict.settle()
    Exchange(strict.config, strict.stores)()  # another process of this home
    put, looked = garage.objects.put, list[str]()

    def puts(
        key: str, content: bytes | Path, sums: Sums | None = None, *, move: bool = False, present: str = ""
    ) -> Sums:
        found = put(key, content, sums, move=move, present=present)
        if key.startswith(WAITING) and not looked:
            looked.append(key)
            exchange()
        return found

    monkeypatch.setattr(garage.objects, "put", puts)
    strict.write(name.id, LARGE)
    assert looked
    there.exchange()
    assert there.read_at("a.txt") == LARGE
    strict.session.close()
    strict.stores.close()


@pytest.mark.claim("SHARE-9")
def test_what_a_home_set_aside_that_shares_no_more_is_removed_unless_it_is_needed(here: Host) -> None:
    objects = here.stores.garage.objects
    name = here.file("a.txt", LARGE)
    here.settle()
    here.exchange()
    key = here.row(name.id).key
    say(here.config, objects, 1)
    gone, needed, own = (
        f"leaving/0123456789ab/{key}x",
        f"leaving/0123456789ab/{key}",
        f"leaving/{host_id(here.config)}/{key}x",
    )
    for copy in (gone, needed, own):
        objects.put(copy, LARGE)
    objects.delete(key)
    assert left(here) == [gone], "the others are of one who goes on, or all that is left"
    sweep(here)
    assert [copy for copy in (gone, needed, own) if objects.exists(copy)] == [needed, own]
    objects.put(key, LARGE)
    assert left(here) == [needed]
    assert strike_off(objects, host_id(here.config))
    assert left(here) == sorted([needed, own])


@pytest.mark.claim("SHARE-9")
@pytest.mark.parametrize("delivered", [False, True])
@pytest.mark.parametrize(("content", "at"), [(b"small", "garage-put"), (LARGE, "garage-put"), (LARGE, "waits-too")])
@pytest.mark.parametrize("since", ["removed", "written"])
def test_nothing_waits_of_what_is_removed_or_written_while_it_is_settled(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch, content: bytes, at: str, delivered: bool, since: str
) -> None:
    name, exchange, done = here.file("a.txt", content), here.stores.exchange, list[str]()

    def changed(border: str) -> None:
        if border == at and not done:
            done.append(border)
            if since == "removed":
                here.deposits.remove(name.id)
            else:
                here.write(name.id, b"newer")
            if delivered:
                exchange()

    with monkeypatch.context() as patch:
        patch.setattr("kgfs.ingest.storing.storage_tier.border", changed)
        here.settle()
    assert done
    for _ in range(2):
        exchange()
        here.settle()
    for _ in range(2):
        exchange()
    assert waits(here) == []
    there.exchange()
    assert since == "removed" or there.read_at("a.txt") == b"newer"


@pytest.mark.claim("SHARE-3")
@pytest.mark.logs("kgfs history")
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_a_conflict_has_its_bytes_though_another_home_wrote_the_same_and_had_taken_them_away(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """Where they wait is called by the file and the content, so it is one place for both."""
    name = here.file("a.txt", b"before")
    here.settle()
    met(here, there)
    there.write(name.id, content)

    def written_over() -> None:
        here.write(name.id, content)
        here.exchange()
        here.write(name.id, b"newer")
        here.exchange()
        here.settle()
        for _ in range(2):
            here.exchange()
        assert waits(here) == []

    while_it_waits(monkeypatch, there, written_over)
    met(there, here)
    for one in (here, there):
        assert ("conflict", content) in one.history("a.txt") and one.read_at("a.txt") == b"newer"


@pytest.mark.claim("SHARE-3")
@pytest.mark.logs("kgfs history")
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("content", [b"small", LARGE])
def test_a_conflict_has_its_bytes_though_it_is_delivered_while_another_home_takes_the_same_away(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch, content: bytes, left: bool
) -> None:
    """``left``: that had been left for another time."""
    name = here.file("a.txt", b"before")
    here.settle()
    met(here, there)
    there.write(name.id, content)
    there.exchange.uploads.put_waiting(there.catalog.unshipped(1000)[1])
    here.write(name.id, content)
    here.exchange()
    here.write(name.id, b"newer")
    here.exchange()
    here.settle()
    if left:
        Exchange(here.config, here.stores)()  # another process of this home
        monkeypatch.setattr(here.exchange, "poll", there.exchange)  # just behind it
        here.exchange()
        monkeypatch.undo()
    else:
        done: list[str] = []

        def at(border: str) -> None:
            if border == "delivered" and not done:
                done.append(border)
                there.exchange()

        with monkeypatch.context() as patch:
            patch.setattr("kgfs.sharing.exchange.border", at)
            here.exchange()
        assert done
    for one in (here, there, here):
        one.exchange()
    for one in (here, there):
        assert ("conflict", content) in one.history("a.txt") and one.read_at("a.txt") == b"newer"
    assert waits(here) == [waiting_key(name.id, sums_of(content).sha256)]


@pytest.mark.claim("SHARE-9")
@pytest.mark.logs("settle UnavailableError: just now")
@pytest.mark.parametrize(("at", "nth"), [("waits-too", 1), ("garage-put", 1), ("garage-put", 2), ("record", 1)])
def test_nothing_waits_of_what_is_removed_when_settling_it_had_failed(
    here: Host, monkeypatch: pytest.MonkeyPatch, at: str, nth: int
) -> None:
    names, seen = [here.file("a.txt", LARGE), here.file("b.txt", LARGE + b"other")], list[str]()

    def away(border: str) -> None:
        seen.append(border)
        if seen.count(at) >= nth:
            raise UnavailableError("just now")

    with monkeypatch.context() as patch:
        patch.setattr("kgfs.ingest.storing.storage_tier.border", away)
        if at == "record":
            patch.setattr(here.catalog, "record", lambda *_: away("record"))
        here.settle()
    assert at in seen and waits(here) and not any(here.row(name.id).settled for name in names)
    for name in names:
        here.deposits.remove(name.id)
    for _ in range(2):
        here.stores.exchange()
    assert waits(here) == []


@pytest.mark.claim("SHARE-9")
def test_nothing_waits_of_what_is_removed_while_a_verb_that_stays_settles_it(
    here: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, done = here.file("a.txt", LARGE), list[str]()
    here.session.close()  # who wrote it was killed
    config = replace(here.config, pipeline=Pipeline(settle=0.0))

    def removed(border: str) -> None:
        if border == "waits-too" and not done:
            done.append(border)
            here.deposits.remove(name.id)

    monkeypatch.setattr("kgfs.ingest.storing.storage_tier.border", removed)
    read_backlog(config, here.stores, lambda done, total, what: None)
    assert done and waits(here) == []
