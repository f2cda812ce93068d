"""When settling stays out of the way of those who write."""

from __future__ import annotations

from collections.abc import Callable

SECOND = 10**9
HURRY = 20
"""Contents kept in a second from which writers are in a hurry: programs that copy, not people who save."""
PATIENCE = 60 * SECOND
"""How long a quiet name waits at most for the end of such a hurry."""
BACKLOG = 20_000
"""So many names wait at most: what they have written stands in the inbox, up to 64 KiB each, and is to leave it."""


class Lull:
    """Settling costs the disk several times what keeping does, and nobody waits for it; so it is put off while many
    contents are being kept, within bounds. One thread at a time."""

    def __init__(self, kept: Callable[[], int]) -> None:
        """``kept`` tells how many contents were kept so far."""
        self._kept = kept
        self._before = kept()
        self._since = 0
        self._hurry = False

    def over(self, now: int) -> bool:
        """Whether writers are in a hurry at ``now`` (nanoseconds): in this second so far, or in the one before."""
        kept, seconds = self._kept() - self._before, (now - self._since) / SECOND
        if seconds >= 1:
            self._hurry = kept >= HURRY * seconds
            self._before, self._since = self._before + kept, now
        return self._hurry or kept >= HURRY
