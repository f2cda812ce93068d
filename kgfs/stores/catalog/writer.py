"""Group commit: calls that arrive during a commit share the next transaction, and calls that wait for the disk share
one sync.

Commits are synced to the disk at once and together for calls that wait, within half a second for the others. SQLite
commits to its WAL without syncing (``synchronous=NORMAL``); the sync is made here, outside SQLite's write lock. So
commits go on during a sync, and the next sync covers them all. SQLite recovers the frames of a WAL in order, as far
as they are whole. So a power failure loses at most the newest commits, and a synced commit makes all commits before
it durable, those of other processes too.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, TypeVar

from kgfs.errors import StoreError, from_os_error
from kgfs.stores import timing
from kgfs.stores.catalog.pending import Coming, Durable, Pending, Telling
from kgfs.stores.catalog.schema import typed
from kgfs.stores.disk_reserve import DiskReserve

CHECKPOINT_AFTER = 500
"""Commits after which the WAL is copied to the database, beside the writers."""
LARGE = 8_000
"""Pages of a WAL from which it is copied to its end while writers wait, so that the WAL starts anew: only then does
it stop growing."""

BULK_KIB = 256 << 10

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


class _Request(Generic[T]):
    __slots__ = ("commit", "done", "error", "result", "work")

    def __init__(self, work: Work[T]) -> None:
        self.work = work
        self.done = False
        self.commit = 0
        self.result: T | None = None
        self.error: BaseException | None = None


class Writer:
    """Runs pieces of work on the one writing connection. Any thread may call.

    The first caller to get the turn does the work of all callers that came while the disk was busy with the work
    before. There is no writing thread, so a lone caller pays for no thread switch, and nothing is left running when
    the process ends. The event loop of a mount commits here itself (:meth:`run_nowait`): many threads that did its
    changes instead would take the interpreter from each other at every statement."""

    def __init__(self, db: sqlite3.Connection, path: Path, syncing: WalSync | None) -> None:
        """``syncing`` makes commits durable; without it no commit is."""
        self._db = db
        self._path = path
        self._reserve = DiskReserve(path.parent)
        self._syncing = syncing
        self._turn = syncing.turn if syncing is not None else threading.Lock()
        self._waiting: deque[_Request[object]] = deque()
        self._patient = True
        """Whether the connection waits for write locks of other processes."""
        self._slow_until = 0.0
        self.commits = 0
        """Transactions so far, including failed ones."""

    def run_removing(self, work: Work[T], *, synced: bool = True) -> T:
        """Run work as :meth:`run` does, with the disk reserve if needed. For work that removes something, or that a
        removal waits for."""
        return self._reserve.run(lambda: self.run(work, synced=synced), self._copy_log)

    def _copy_log(self) -> None:
        """Copy the WAL to the database, so that the next commit reuses its pages in place of new ones."""
        with self._turn, suppress(sqlite3.Error):  # the commit that follows reports what the disk refuses
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def run(self, work: Work[T], *, synced: bool = True) -> T:
        """Run ``work`` in a transaction and return its result once its changes are durable. Raises the error of
        ``work``, with none of its changes made.

        Without ``synced`` the call does not wait for the disk: the changes survive the end of every process at once,
        and a power failure within a second. Blocks while other threads or processes write. Raises NoSpaceError or
        StoreError if the disk fails."""
        request = _Request(work)
        self._waiting.append(request)  # type: ignore[arg-type]
        with self._turn:
            if not request.done:
                batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
                try:
                    self._commit(batch)
                except BaseException:
                    for other in batch:
                        if not other.done:
                            other.done, other.error = True, StoreError(f"{self._path}: writing was interrupted.")
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                    raise
        if request.error is not None:
            raise request.error
        if self._syncing is not None:
            if synced:
                self._syncing.wait_for(request.commit)
            else:
                self._syncing.soon()
        return request.result  # type: ignore[return-value]

    def run_nowait(self, work: Work[T]) -> Pending | None:
        """Run ``work`` in a transaction as :meth:`run` does, without waiting for the disk. The changes are durable
        within a second in any case.

        Returns None, with nothing done, where another process is writing, another thread keeps the turn for longer than
        ``timing.WRITE_TURN``, or the disk was slow just now. Quick: it writes only to the kernel's page cache of the
        WAL.
        """
        began = time.monotonic()
        if began < self._slow_until or not self._turn.acquire(timeout=timing.WRITE_TURN):
            return None
        try:
            if not self._begin(patient=False):
                return None
            request = _Request(work)
            self._commit([request], begun=True)  # type: ignore[list-item]
        except sqlite3.Error as error:
            raise typed(error, self._path) from error
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._turn.release()
        if request.error is not None:
            raise request.error
        if self._syncing is None:
            return Durable()
        self._syncing.soon()
        if time.monotonic() - began > timing.SLOW_COMMIT:
            self._slow_until = began + timing.AFTER_SLOW_COMMIT
        return self._syncing.pending(request.commit)

    def _begin(self, *, patient: bool) -> bool:
        """Begin a transaction and return whether it began. Without ``patient`` it returns False if another process is
        writing; with ``patient`` it waits up to ``timing.WAL_BUSY``."""
        if patient != self._patient:
            self._db.execute(f"PRAGMA busy_timeout={int(timing.WAL_BUSY * 1000) if patient else 0}")
            self._patient = patient
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if patient or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return False
        return True

    def sync(self) -> None:
        """Make durable what any process has committed until now. Blocks."""
        if self._syncing is not None:
            self._syncing.sync()

    def _commit(self, batch: list[_Request[object]], *, begun: bool = False) -> None:
        """Run a batch of requests in one transaction and mark each as done, with its result or error. ``begun`` tells
        that the transaction has begun already."""
        try:
            begun = begun or self._begin(patient=True)
            if len(batch) == 1:
                self._try(batch[0], "ROLLBACK")
            else:
                for request in batch:
                    self._db.execute("SAVEPOINT request")
                    self._try(request, "ROLLBACK TO request")
                    self._db.execute("RELEASE request")
            if self._db.in_transaction:
                self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if begun and len(batch) > 1:
                # The disk refused the requests together; each may still fit alone.
                for request in batch:
                    self._commit([request])
                return
            for request in batch:
                request.error = typed(error, self._path)
        self.commits += 1
        commit = self._syncing.committed() if self._syncing is not None else 0
        for request in batch:
            request.commit = commit
            request.done = True

    def _try(self, request: _Request[object], undo: str) -> None:
        request.error = None
        try:
            request.result = request.work(self._db)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - the caller gets it; the rest of the batch goes on
            request.error = error
            self._db.execute(undo)

    @contextmanager
    def in_bulk(self) -> Iterator[None]:
        """Prepare for one large piece of work: use more memory while it lasts, and empty the WAL afterwards."""
        with self._turn:
            self._db.execute(f"PRAGMA cache_size={-BULK_KIB}")
        try:
            yield
            with self._turn:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise typed(error, self._path) from error
        finally:
            with self._turn:
                self._db.execute("PRAGMA cache_size=-2000")

    def close(self) -> None:
        try:
            if self._syncing is not None:
                self._syncing.close()
        finally:
            with self._turn:
                self._db.close()


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
