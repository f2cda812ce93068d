"""When commits reach the disk: at once for those who wait, together; within half a second for the others.

SQLite commits to its WAL without syncing (``synchronous=NORMAL``); the sync is made here, outside its write lock. So
commits go on while one is under way, and the next covers them all. A WAL is recovered as far as its frames are whole,
in order: a power failure loses the newest commits at most, and a synced commit makes all before it durable, those of
other processes too.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from kgfs.errors import StoreError, from_os_error
from kgfs.stores.journal.contract import Pending
from kgfs.stores.journal.pending import Coming, Telling

SOON = 0.5
"""Seconds until a commit is synced that nobody waits for; the promise is one second."""
CHECKPOINT_AFTER = 500
"""Commits after which the WAL is copied to the database, beside the writers."""
LARGE = 8_000
"""Pages of a WAL that is copied to its end while writers wait, so that it starts anew: only then does it stop growing."""


class WalSync:
    """Of one writing connection's commits, numbered from 1. Any thread may call. It starts a thread while there is
    something to do later, and none that keeps a process from ending."""

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        """``path`` is the database, its WAL exists and stays while the writing connection is open."""
        self.turn = threading.Lock()
        """Held by whoever writes to the connection."""
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
        """Note one more commit; its number. One thread at a time."""
        self._committed += 1
        return self._committed

    def pending(self, commit: int) -> Pending:
        """That commit, for one who cannot wait for it."""
        return Coming(commit, self.is_durable, self._telling.tell)

    def is_durable(self, commit: int) -> bool:
        return commit <= self._synced

    def wait_for(self, commit: int) -> None:
        """Return once that commit is durable. StoreError if the disk fails: it may or may not survive then, and from
        now on every call fails, since what a sync failed to write is not written by the next one."""
        self._wait_for(commit)
        if self._committed - self._checkpointed >= CHECKPOINT_AFTER:
            self.soon()

    def _wait_for(self, commit: int) -> None:
        with self._syncing:
            if commit > self._synced:
                self._sync()

    def sync(self) -> None:
        """Make durable what any process has committed until now. StoreError as above."""
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
        """See to it that what is committed becomes durable within a second."""
        with self._later:
            if self._sleeper is None and not self._stop.is_set():
                self._sleeper = threading.Thread(target=self._tidy, name="kgfs-journal-sync", daemon=True)
                self._sleeper.start()

    def _tidy(self) -> None:
        while True:
            self._stop.wait(SOON)
            done = self._tidy_once()
            with self._later:
                if done or self._stop.is_set() or not self._something_to_do():
                    self._sleeper = None
                    return

    def _something_to_do(self) -> bool:
        return self._committed > self._synced or self._committed - self._checkpointed >= CHECKPOINT_AFTER

    def _tidy_once(self) -> bool:
        """Whether nothing more is to be tried."""
        try:
            self._wait_for(self._committed)
            if self._committed - self._checkpointed >= CHECKPOINT_AFTER:
                self._checkpointed = self._committed
                self._checkpoint()
        except (StoreError, sqlite3.Error):
            return True  # told to the next who waits for a sync; a checkpoint SQLite makes itself when it is late
        return False

    def _checkpoint(self) -> None:
        """Writers go on meanwhile: the sync of the database may wait long for what other programs write."""
        db = self._connect()
        try:
            pages = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
            if pages >= LARGE:
                with self.turn:
                    db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        finally:
            db.close()

    def close(self) -> None:
        """Everything is durable, or StoreError. Nobody may commit any more."""
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
