"""Sync commits to the disk: at once and together for calls that wait, within half a second for the others.

SQLite commits to its WAL without syncing (``synchronous=NORMAL``); the sync is made here, outside SQLite's write
lock. So commits go on during a sync, and the next sync covers them all. SQLite recovers the frames of a WAL in order,
as far as they are whole. So a power failure loses at most the newest commits, and a synced commit makes all commits
before it durable, those of other processes too.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from kgfs.errors import StoreError, from_os_error
from kgfs.stores import timing
from kgfs.stores.catalog.pending import Coming, Pending, Telling

CHECKPOINT_AFTER = 500
"""Commits after which the WAL is copied to the database, beside the writers."""
LARGE = 8_000
"""Pages of a WAL from which it is copied to its end while writers wait, so that the WAL starts anew: only then does
it stop growing."""


class WalSync:
    """Syncs the commits of one writing connection, numbered from 1. Any thread may call. The object starts a daemon
    thread while something is to be done later."""

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        """``path`` is the database. Its WAL must exist, and stays while the writing connection is open. ``connect``
        opens a connection for checkpoints."""
        self.turn = threading.Lock()
        """The lock that a thread holds while it writes to the connection."""
        self._path = path
        self._connect = connect
        self._committed = self._synced = self._checkpointed = 0
        self._syncing = threading.Lock()
        self._later = threading.Lock()
        self._sleeper: threading.Thread | None = None
        self._stop = threading.Event()
        self._failure: OSError | None = None
        self._telling = Telling(self.wait_for)
        try:
            self._wal = os.open(f"{path}-wal", os.O_RDONLY | os.O_CLOEXEC)
            _sync_name(path)
        except OSError as error:
            raise from_os_error(error, str(path)) from error

    def committed(self) -> int:
        """Count one more commit and return its number. Call this from one thread at a time."""
        self._committed += 1
        return self._committed

    def pending(self, commit: int) -> Pending:
        """Return the commit as a ``Pending``, for callers that cannot block."""
        return Coming(commit, self.is_durable, self._telling.tell)

    def is_durable(self, commit: int) -> bool:
        return commit <= self._synced

    def wait_for(self, commit: int) -> None:
        """Return once that commit is durable. Raises StoreError if the disk fails. The commit may or may not survive
        then, and every later sync fails, since the next sync does not write what a failed one did not write."""
        self._wait_for(commit)
        if self._committed - self._checkpointed >= CHECKPOINT_AFTER:
            self.soon()

    def _wait_for(self, commit: int) -> None:
        with self._syncing:
            if commit > self._synced:
                self._sync()

    def sync(self) -> None:
        """Make durable what any process has committed until now. Raises StoreError as ``wait_for`` does."""
        with self._syncing:
            self._sync()

    def _sync(self) -> None:
        goal = self._committed
        try:
            if self._failure is not None:
                raise self._failure
            os.fdatasync(self._wal)
        except OSError as error:
            self._failure = error
            raise from_os_error(error, f"{self._path}: syncing") from error
        self._synced = goal

    def soon(self) -> None:
        """Make the present commits durable within a second, in a background thread. Returns at once."""
        with self._later:
            if self._sleeper is None and not self._stop.is_set():
                self._sleeper = threading.Thread(target=self._tidy, name="kgfs-catalog-sync", daemon=True)
                self._sleeper.start()

    def _tidy(self) -> None:
        while True:
            self._stop.wait(timing.SYNC_WITHIN)
            done = self._tidy_once()
            with self._later:
                if done or self._stop.is_set() or not self._something_to_do():
                    self._sleeper = None
                    return

    def _something_to_do(self) -> bool:
        return self._committed > self._synced or self._committed - self._checkpointed >= CHECKPOINT_AFTER

    def _tidy_once(self) -> bool:
        """Sync, and checkpoint if it is time. Return True if the disk failed and no further attempt makes sense."""
        try:
            self._wait_for(self._committed)
            if self._committed - self._checkpointed >= CHECKPOINT_AFTER:
                self._checkpointed = self._committed
                self._checkpoint()
        except (StoreError, sqlite3.Error):
            return True  # the next call that waits for a sync gets the error; SQLite makes a late checkpoint itself
        return False

    def _checkpoint(self) -> None:
        """Copy the WAL to the database while writers go on: the sync of the database may wait long for other
        programs' writes."""
        db = self._connect()
        try:
            pages = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
            if pages >= LARGE:
                with self.turn:
                    db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        finally:
            db.close()

    def close(self) -> None:
        """Make everything durable and close the WAL, or raise StoreError. No commit may follow."""
        self._telling.close()
        self._stop.set()
        with self._later:
            sleeper = self._sleeper
        if sleeper is not None:
            sleeper.join()
        try:
            self._wait_for(self._committed)
        finally:
            os.close(self._wal)


def _sync_name(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
