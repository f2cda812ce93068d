"""How often a mount looks at a ledger that it shares: seldom while nothing happens, often while something does."""

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


class Rhythm:
    """One thread. What any process of the home records is delivered at once after a lull."""

    def __init__(self, journal: Journal, clock: Callable[[], float] = time.monotonic) -> None:
        self._journal = journal
        self._clock = clock
        self._known = journal.seq()
        self._looked = self._moved = clock() - LIVELY
        """When a look ended last, and when one that found something to do."""

    def due(self) -> bool:
        """Whether to look, and deliver, now. Quick."""
        now = self._clock()
        if self._journal.seq() != self._known and now - self._moved >= LIVELY_EVERY:
            return True
        return now - self._looked >= (LIVELY_EVERY if now - self._moved < LIVELY else EVERY)

    def looked(self) -> None:
        """A look has ended."""
        self._looked, newest = self._clock(), self._journal.seq()
        if newest != self._known:
            self._known, self._moved = newest, self._looked
