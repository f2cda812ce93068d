"""Group commit: calls that arrive during a commit share the next transaction, and calls that wait for the disk share
one sync.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, TypeVar

from kgfs.errors import StoreError
from kgfs.stores import timing
from kgfs.stores.catalog.pending import Durable, Pending
from kgfs.stores.catalog.schema import typed
from kgfs.stores.catalog.syncing import WalSync
from kgfs.stores.disk_reserve import DiskReserve

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
