"""Settling gives way to writers who are in a hurry, and not for ever."""

from __future__ import annotations

import time

import pytest

from kgfs.ingest import timing
from kgfs.ingest.storing import settle
from kgfs.ingest.storing.settle import HURRY, SECOND, Lull
from tests.support.depositing import Desk


def test_a_few_contents_are_no_hurry() -> None:
    kept = 0
    lull = Lull(lambda: kept)
    for tenth in range(100):
        kept += tenth % 2
        assert not lull.over(SECOND * tenth // 10)


def test_a_hurry_is_seen_at_once_and_its_end_within_two_seconds() -> None:
    kept = 0
    lull = Lull(lambda: kept)
    assert not lull.over(5 * SECOND)
    for tenth in range(51, 80):
        kept += 10
        if tenth > 52:
            assert lull.over(SECOND * tenth // 10)
    told = [lull.over(SECOND * tenth // 10) for tenth in range(80, 130)]
    assert told[0] and not any(told[20:])


def test_many_names_wait_while_writers_are_in_a_hurry(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    settler, now = desk.deposits.settler, time.time_ns()
    names = [desk.file(f"{n}.txt", b"content %d" % n) for n in range(2 * HURRY)]
    later = now + 5 * SECOND
    monkeypatch.setattr(settler, "_lull", Lull(lambda: desk.deposits.copies.times_kept))
    monkeypatch.setattr(settler._lull, "_before", 0)
    monkeypatch.setattr(settler._lull, "_since", time.monotonic_ns())
    assert len(settler.due(later)) == len(names)
    assert settler.run_once(later) == 0
    assert settler.run_once(later + timing.BURST_WAIT_NS) == len(names)


def test_no_more_than_a_backlog_waits(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    settler, later = desk.deposits.settler, time.time_ns() + 5 * SECOND
    monkeypatch.setattr(settler._lull, "over", lambda now: True)
    monkeypatch.setattr(settle, "BACKLOG", 3)
    for n in range(3):
        desk.file(f"{n}.txt", b"content %d" % n)
    assert settler.run_once(later) == 0
    desk.file("one more.txt", b"content")
    assert settler.run_once(later) == 4


def test_settling_under_way_gives_way_to_a_hurry(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(5):
        desk.file(f"{n}.txt", b"content %d" % n)
    monkeypatch.setattr(settle, "BATCH", 2)
    settler, later = desk.deposits.settler, time.time_ns() + 5 * SECOND
    hurries = iter([False, False, True])
    monkeypatch.setattr(settler._lull, "over", lambda now: next(hurries))
    assert settler.run_once(later) == 2
    monkeypatch.setattr(settler._lull, "over", lambda now: False)
    assert settler.run_once(later) == 3


def test_who_asks_for_settling_gets_it_in_any_hurry(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.file("a.txt", b"content")
    monkeypatch.setattr(desk.deposits.settler._lull, "over", lambda now: True)
    assert desk.deposits.settler.settle_now() == 1
