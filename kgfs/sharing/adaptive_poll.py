"""Adaptive polling: how often a mount polls a shared ledger, and delivers to it.

It polls seldom while nothing happens, and often while something does. A write burst is delivered when it is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kgfs.stores.catalog.contract import Catalog

LOOK = 0.05
"""Seconds between two checks whether a poll is due. The check asks no server."""
EVERY = 0.5
"""Seconds between two polls while nothing happens. Each is a request."""
AT_REST = 75.0
"""Seconds after a change, here or elsewhere, after which polls are seldom. Longer than a minute, so that changes that
come every minute are seen soon."""
SELDOM = 3.0
"""Seconds between two polls then. The first change of another home after a rest is seen within five seconds."""
LIVELY_EVERY = 0.2
"""Seconds between two polls while something happens, and between deliveries. Facts recorded in between are delivered
together."""
LIVELY = 10.0
"""Seconds after a change, here or elsewhere, during which more changes are expected."""
BURST = 20
"""Contents kept since the last delivery from which they count as a write burst of a copying program, with more to
come at once. Each costs a request, by threads that share the interpreter with the writer."""
PAUSE = 0.3
"""Seconds without a kept content after which a write burst is over."""
HELD = 5.0
"""Seconds after a delivery during which another delivery waits for the end of a write burst."""


class Rhythm:
    """Decide when to poll and when to deliver. One thread. Facts that any process of the home records after a lull
    are delivered at once."""

    def __init__(self, catalog: Catalog, kept: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        """``kept`` returns how many contents the programs that use the mount have had kept so far. ``clock`` returns
        monotonic seconds."""
        self._catalog = catalog
        self._kept = kept
        self._clock = clock
        self._known = self._begun = catalog.seq()
        """The newest fact when the last poll that delivered began (``_known``), and when the last poll of all began
        (``_begun``)."""
        self._delivered = self._kept_before = self._newest = kept()
        """Contents kept by the same two times (``_delivered``, ``_kept_before``), and when last seen
        (``_newest``)."""
        self._looked = self._moved = self._grew = clock() - LIVELY
        """When the last poll ended (``_looked``), when the last poll ended that delivered and found new facts
        (``_moved``), and when a newly kept content was seen last (``_grew``)."""

    def due(self) -> bool:
        """Return whether to poll now. Quick."""
        now, kept = self._clock(), self._kept()
        if kept != self._newest:
            self._newest, self._grew = kept, now
        if self._catalog.seq() != self._known and now - self._moved >= LIVELY_EVERY and self._delivers():
            return True
        return now - self._looked >= self._pause(now)

    def left(self) -> float:
        """Return the seconds until a poll is due, if nothing is recorded meanwhile."""
        now = self._clock()
        return max(0.0, self._looked + self._pause(now) - now)

    def _pause(self, now: float) -> float:
        still = now - self._moved
        return LIVELY_EVERY if still < LIVELY else EVERY if still < AT_REST else SELDOM

    def begin(self) -> bool:
        """Begin a poll; return whether it should also deliver."""
        self._begun, self._kept_before = self._catalog.seq(), self._kept()
        return self._delivers()

    def looked(self, *, delivered: bool = True) -> None:
        """End a poll. Facts recorded since it began may be undelivered. ``delivered`` says whether it delivered."""
        self._looked = self._clock()
        if delivered:
            if self._catalog.seq() != self._known:
                self._moved = self._looked
            self._known, self._delivered = self._begun, self._kept_before

    def _delivers(self) -> bool:
        """Return whether a poll that begins now should also deliver."""
        now = self._clock()
        burst = self._newest - self._delivered >= BURST and now - self._grew < PAUSE
        return not burst or now - self._moved >= HELD
