"""When settling stays out of the way of those who write."""

from __future__ import annotations

from collections.abc import Callable

BUSY = 20.0
"""Contents kept in a second from which writers are in a hurry: programs that copy, not people who save."""
PATIENCE = 10 * 10**9
"""Nanoseconds that a quiet name waits at most for the end of such a hurry."""


class Lull:
    """Settling costs the disk several times what keeping does, and nobody waits for it; so it is put off while many
    contents are being kept, within bounds. One thread at a time."""

    def __init__(self, kept: Callable[[], int]) -> None:
        """``kept`` tells how many contents were kept so far."""
        self._kept = kept
        self._seen = kept()
        self._at = 0

    def over(self, now: int) -> bool:
        """Whether writers have been in a hurry since this was last asked, at ``now`` (nanoseconds)."""
        kept, before, at = self._kept(), self._seen, self._at
        self._seen, self._at = kept, now
        return (kept - before) * 1e9 > BUSY * max(now - at, 1)
