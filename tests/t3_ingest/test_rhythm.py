"""How often a mount looks at a ledger that it shares."""

from __future__ import annotations

from itertools import pairwise

from kgfs.ingest.sharing.rhythm import EVERY, LIVELY, LIVELY_EVERY, Rhythm
from kgfs.stores.journal.facts import SettingChanged
from kgfs.stores.journal.memory import MemoryJournal


class Home:
    """By a clock that stands until it is told to go on."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.journal = MemoryJournal()
        self.rhythm = Rhythm(self.journal, lambda: self.now)

    def record(self) -> None:
        self.journal.record(SettingChanged("", "a", "b", 1))

    def looks(self, seconds: float, step: float = 0.01) -> list[float]:
        """When it looks in that time, as seconds from now."""
        begun, found = self.now, []
        while self.now < begun + seconds:
            if self.rhythm.due():
                found.append(self.now - begun)
                self.rhythm.looked()
            self.now += step
        return found


def test_it_looks_seldom_while_nothing_happens() -> None:
    home = Home()
    assert len(home.looks(60)) <= 60 / EVERY + 1


def test_what_is_recorded_after_a_lull_is_delivered_at_once() -> None:
    home = Home()
    home.looks(60 + EVERY / 2)
    home.record()
    assert home.rhythm.due()


def test_what_is_recorded_without_end_is_delivered_together() -> None:
    home = Home()
    home.looks(60)
    looks = []
    for _ in range(200):
        home.record()
        looks += [home.now for _ in home.looks(0.01)]
    assert min(later - one for one, later in pairwise(looks)) > LIVELY_EVERY - 0.02
    assert len(looks) > 0.8 * 2 / LIVELY_EVERY


def test_it_looks_often_for_a_while_after_something_came() -> None:
    home = Home()
    home.looks(60)
    while not home.rhythm.due():
        home.now += 0.01
    home.record()  # as another's fact comes, by looking
    home.rhythm.looked()
    assert len(home.looks(LIVELY)) > 0.8 * LIVELY / LIVELY_EVERY
    assert len(home.looks(60)) <= 60 / EVERY + 1
