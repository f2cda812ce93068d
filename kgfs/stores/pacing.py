"""Sync long writes piece by piece, so that they do not delay small synced writes.

The kernel keeps written data in memory until it is synced, and a sync then writes all of it. A sync of a small
file would wait for a large unsynced file of another writer. So a long write is synced as it goes."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from kgfs.stores import timing

PIECE = 8 << 20
"""Bytes of a file that are written between two syncs."""
STEPS = 10_000
"""Steps of SQLite's virtual machine between two calls of :meth:`Pacing.step`."""


class Pacing:
    """Sync the WAL of a database during long writes, in the thread that writes. Belongs to the one connection that
    writes. One thread at a time may call it."""

    def __init__(self, wal: Path) -> None:
        """Prepare for one connection. ``wal`` is the path of the log, which exists while something is written."""
        self._wal = wal
        self._descriptor = -1
        self._since = self._last = 0.0

    def go_on(self) -> None:
        """Record that a transaction begins. A pause longer than timing.WRITE_SLICE starts a new stretch of writing."""
        now = time.monotonic()
        if now - self._last > timing.WRITE_SLICE:
            self._since = now
        self._last = now

    def step(self) -> None:
        """Sync the WAL if writing has lasted longer than timing.WRITE_SLICE. SQLite's progress handler calls this often
        while statements run."""
        self._last = now = time.monotonic()
        if now - self._since < timing.WRITE_SLICE:
            return
        # An error is ignored here: the kernel reports it to SQLite's descriptor too, when SQLite syncs the WAL.
        with suppress(OSError):
            if self._descriptor < 0:
                self._descriptor = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
            os.fdatasync(self._descriptor)
        self._since = self._last = time.monotonic()

    def close(self) -> None:
        """Close the file descriptor of the WAL. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
