"""Writing much without keeping the disk from those who write little and wait for it.

What a process writes stays in the kernel's memory until somebody syncs it, and then goes to the disk in one piece: the
sync of a small file that comes meanwhile waits for all of it. So who writes much syncs it as it goes.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

PIECE = 8 << 20
"""Bytes of a file that are written before they are synced."""
SLICE = 0.03
"""Seconds for which a database is written to before what was written is synced."""
STEPS = 10_000
"""Of SQLite's machine, between looks at the clock."""


class Pacing:
    """Of the one connection that writes to a database: what a long streak of writing left in the WAL is synced bit by
    bit, by who writes it. One thread at a time."""

    def __init__(self, wal: Path) -> None:
        """``wal`` exists while something is written."""
        self._wal = wal
        self._descriptor = -1
        self._since = self._last = 0.0

    def go_on(self) -> None:
        """A transaction begins."""
        now = time.monotonic()
        if now - self._last > SLICE:
            self._since = now
        self._last = now

    def step(self) -> None:
        """Called often while statements run: for SQLite's progress handler."""
        self._last = now = time.monotonic()
        if now - self._since < SLICE:
            return
        # What fails here SQLite is told too, when it syncs the WAL itself: the kernel tells each descriptor.
        with suppress(OSError):
            if self._descriptor < 0:
                self._descriptor = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
            os.fdatasync(self._descriptor)
        self._since = self._last = time.monotonic()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
