"""How often a mount looks at a ledger that it shares, and delivers: seldom while nothing happens, often while something does,
and a burst when it is over."""

from __future__ import annotations

import time
from collections.abc import Callable

from kgfs.stores.journal.contract import Journal

LOOK = 0.05
"""Seconds between questions whether a look is due, which ask no server."""
EVERY = 0.5
"""Seconds between looks while nothing happens. Each is a request."""
LIVELY_EVERY = 0.2
"""The same while something does, and between deliveries: what is done meanwhile is delivered together."""
LIVELY = 10.0
"""Seconds after something was done, here or elsewhere, for which more of it is expected."""
BURST = 20
"""Contents kept since the last delivery from which they are a program's that copies, and more are expected at once. Each is a
request, by threads that its writer shares the interpreter with."""
PAUSE = 0.3
"""Seconds without one after which a burst is over."""
HELD = 5.0
"""Seconds that one is waited for to be over, after a delivery has ended."""


class Rhythm:
    """One thread. What any process of the home records is delivered at once after a lull."""

    def __init__(self, journal: Journal, kept: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        """``kept`` tells how many contents the programs that use the mount have had kept so far."""
        self._journal = journal
        self._kept = kept
        self._clock = clock
        self._known = self._begun = journal.seq()
        """The newest fact when that look began which delivered last; and when the last of all did."""
        self._delivered = self._kept_before = self._newest = kept()
        """Contents kept by then, likewise; and as was seen last."""
        self._looked = self._moved = self._grew = clock() - LIVELY
        """When a look ended last, when one that delivered did and had something to, or found something, and when another content
        was seen to be kept."""

    def due(self) -> bool:
        """Whether to look now. Quick."""
        now, kept = self._clock(), self._kept()
        if kept != self._newest:
            self._newest, self._grew = kept, now
        if self._journal.seq() != self._known and now - self._moved >= LIVELY_EVERY and self._delivers():
            return True
        return now - self._looked >= (LIVELY_EVERY if now - self._moved < LIVELY else EVERY)

    def begin(self) -> bool:
        """A look begins; whether to deliver, too."""
        self._begun, self._kept_before = self._journal.seq(), self._kept()
        return self._delivers()

    def looked(self, *, delivered: bool = True) -> None:
        """It has ended. What was recorded since it began may not be delivered."""
        self._looked = self._clock()
        if delivered:
            if self._journal.seq() != self._known:
                self._moved = self._looked
            self._known, self._delivered = self._begun, self._kept_before

    def _delivers(self) -> bool:
        """Whether to deliver, too, where one looks now."""
        now = self._clock()
        burst = self._newest - self._delivered >= BURST and now - self._grew < PAUSE
        return not burst or now - self._moved >= HELD
