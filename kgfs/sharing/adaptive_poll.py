"""Adaptive polling: how often a mount polls a shared ledger, and delivers to it.

It polls seldom while nothing happens, and often while something does. A write burst is delivered when it is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kgfs.sharing import timing
from kgfs.stores.catalog.sqlite import Catalog

BURST = 20
"""Contents kept since the last delivery from which they count as a write burst of a copying program, with more to
come at once. Each costs a request, by threads that share the interpreter with the writer."""


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
        self._polled = self._moved = self._grew = clock() - timing.LIVELY
        """When the last poll ended (``_polled``), when the last poll ended that delivered and found new facts
        (``_moved``), and when a newly kept content was seen last (``_grew``)."""

    def due(self) -> bool:
        """Return whether to poll now. Quick."""
        now, kept = self._clock(), self._kept()
        if kept != self._newest:
            self._newest, self._grew = kept, now
        if self._catalog.seq() != self._known and now - self._moved >= timing.POLL_LIVELY and self._delivers():
            return True
        return now - self._polled >= self._pause(now)

    def left(self) -> float:
        """Return the seconds until a poll is due, if nothing is recorded meanwhile."""
        now = self._clock()
        return max(0.0, self._polled + self._pause(now) - now)

    def _pause(self, now: float) -> float:
        still = now - self._moved
        return (
            timing.POLL_LIVELY
            if still < timing.LIVELY
            else timing.POLL_EVERY
            if still < timing.POLL_AT_REST
            else timing.POLL_SELDOM
        )

    def begin(self) -> bool:
        """Begin a poll; return whether it should also deliver."""
        self._begun, self._kept_before = self._catalog.seq(), self._kept()
        return self._delivers()

    def polled(self, *, delivered: bool = True) -> None:
        """End a poll. Facts recorded since it began may be undelivered. ``delivered`` says whether it delivered."""
        self._polled = self._clock()
        if delivered:
            if self._catalog.seq() != self._known:
                self._moved = self._polled
            self._known, self._delivered = self._begun, self._kept_before

    def _delivers(self) -> bool:
        """Return whether a poll that begins now should also deliver."""
        now = self._clock()
        burst = self._newest - self._delivered >= BURST and now - self._grew < timing.BURST_PAUSE
        return not burst or now - self._moved >= timing.DELIVERY_HELD
