"""How often a mount looks at a ledger that it shares."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from kgfs.sharing import timing
from kgfs.sharing.adaptive_poll import BURST, Rhythm
from kgfs.stores.catalog.facts import SettingChanged
from kgfs.stores.catalog.sqlite import Catalog


class Home:
    """By a clock that stands until it is told to go on."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.catalog = Catalog(None)
        self.kept = 0
        self.rhythm = Rhythm(self.catalog, lambda: self.kept, lambda: self.now)
        self.delivered: list[float] = []

    def record(self) -> None:
        self.catalog.record(SettingChanged("", "a", "b", 1))

    def looks(self, seconds: float, step: float = 0.01) -> list[float]:
        """When it looks in that time, as seconds from now."""
        begun, found = self.now, []
        while self.now < begun + seconds:
            if self.rhythm.due():
                found.append(self.now - begun)
                self.look()
            self.now += step
        return found

    def look(self, while_delivering: Callable[[], None] = lambda: None) -> None:
        if delivers := self.rhythm.begin():
            self.delivered.append(self.now)
            while_delivering()
        self.rhythm.polled(delivered=delivers)

    def keep(self) -> None:
        self.record()
        self.kept += 1

    def copy(self, seconds: float, a_second: int = 400, write: Callable[[Home], None] = keep) -> None:
        """As a program does that copies."""
        end = self.now + seconds
        while self.now < end:
            for _ in range(round(a_second * timing.POLL_CHECK)):
                write(self)
            if self.rhythm.due():
                self.look()
            self.now += timing.POLL_CHECK


def test_it_looks_seldom_while_nothing_happens() -> None:
    home = Home()
    assert len(home.looks(60)) <= 60 / timing.POLL_EVERY + 1


def test_it_looks_more_seldom_after_a_rest_of_more_than_a_minute() -> None:
    home = Home()
    assert max(after - before for before, after in pairwise(home.looks(65))) < 0.6
    home.looks(timing.POLL_AT_REST - 60)
    rested = home.looks(60)
    assert len(rested) <= 60 / timing.POLL_SELDOM + 1
    assert max(after - before for before, after in pairwise(rested)) < 4
    assert 0 <= home.rhythm.left() <= timing.POLL_SELDOM
    home.record()
    assert home.rhythm.due()


def test_what_is_recorded_after_a_lull_is_delivered_at_once() -> None:
    home = Home()
    home.looks(60 + timing.POLL_EVERY / 2)
    home.record()
    assert home.rhythm.due()


def test_what_is_recorded_without_end_is_delivered_together() -> None:
    home = Home()
    home.looks(60)
    looks = []
    for _ in range(200):
        home.record()
        looks += [home.now for _ in home.looks(0.01)]
    assert min(later - one for one, later in pairwise(looks)) > timing.POLL_LIVELY - 0.02
    assert len(looks) > 0.8 * 2 / timing.POLL_LIVELY


def test_a_burst_is_delivered_when_it_is_over() -> None:
    home = Home()
    home.looks(60)
    home.record()
    home.looks(timing.POLL_CHECK)
    home.delivered = []
    home.copy(timing.DELIVERY_HELD / 2)
    assert not home.delivered
    over = home.now
    assert len(home.looks(10 * timing.POLL_LIVELY)) >= 5, "others are looked at as ever"
    assert over < home.delivered[0] <= over + timing.BURST_PAUSE + timing.POLL_LIVELY + timing.POLL_CHECK


def test_a_burst_without_end_is_delivered_now_and_then() -> None:
    home = Home()
    home.looks(60)
    home.delivered = []
    home.copy(10 * timing.DELIVERY_HELD)
    waited = [later - one for one, later in pairwise(home.delivered)]
    assert max(waited) <= timing.DELIVERY_HELD + 2 * timing.POLL_LIVELY
    assert 9 <= len(waited) <= 11


def test_what_is_kept_while_one_delivers_is_not_taken_for_delivered() -> None:
    """Of a program that copies slowly, to a slow server: it goes on."""
    home = Home()
    home.looks(60)

    def copies(seconds: float = 1.0) -> None:
        for _ in range(round(seconds / timing.POLL_CHECK)):
            for _ in range(BURST // 10):
                home.keep()
            home.now += timing.POLL_CHECK

    home.record()
    home.look(copies)
    home.delivered = []
    over = home.now + timing.DELIVERY_HELD
    while home.now < over - 2 * timing.POLL_CHECK:
        if home.rhythm.due():
            home.look(copies)
        copies(timing.POLL_CHECK)
    assert home.delivered == []


def test_what_is_recorded_while_one_delivers_is_delivered_next() -> None:
    home = Home()
    home.looks(60)
    home.record()
    home.look(home.record)
    home.delivered = []
    home.looks(timing.POLL_LIVELY + 2 * timing.POLL_CHECK)
    assert len(home.delivered) == 1


@pytest.mark.parametrize(
    ("a_second", "write"), [(BURST, Home.keep), (400, Home.record)], ids=["a person", "settling, renaming"]
)
def test_what_no_program_copies_is_no_burst(a_second: int, write: Callable[[Home], None]) -> None:
    home = Home()
    home.looks(60)
    home.delivered = []
    home.copy(2.0, a_second, write)
    assert len(home.delivered) > 0.8 * 2.0 / (timing.POLL_LIVELY + timing.POLL_CHECK)


def test_it_looks_often_for_a_while_after_something_came() -> None:
    home = Home()
    home.looks(60)
    while not home.rhythm.due():
        home.now += 0.01
    home.look(home.record)  # as another's fact comes
    assert len(home.looks(timing.LIVELY)) > 0.8 * timing.LIVELY / timing.POLL_LIVELY
    assert len(home.looks(60)) <= 60 / timing.POLL_EVERY + 1
