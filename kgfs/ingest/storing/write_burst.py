"""Postpone settling during write bursts."""

from __future__ import annotations

from collections.abc import Callable

SECOND = 10**9
HURRY = 20
"""Contents kept per second from which it counts as a write burst: a program that copies, not a person who saves."""
BACKLOG = 20_000
"""Number of unsettled names above which settling is not postponed. Their contents fill the inbox, with up to 64 KiB
each."""


class Lull:
    """Detect write bursts.

    Settling costs the disk several times what keeping does, and no caller waits for it. So it is postponed, within
    bounds, while many contents are being kept. One thread at a time may call.
    """

    def __init__(self, kept: Callable[[], int]) -> None:
        """``kept`` returns how many contents were kept so far."""
        self._kept = kept
        self._before = kept()
        self._since = 0
        self._hurry = False

    def over(self, now: int) -> bool:
        """Return whether a write burst is under way at ``now`` (monotonic nanoseconds): in this second so far, or in
        the one before."""
        kept, seconds = self._kept() - self._before, (now - self._since) / SECOND
        if seconds >= 1:
            self._hurry = kept >= HURRY * seconds
            self._before, self._since = self._before + kept, now
        return self._hurry or kept >= HURRY
