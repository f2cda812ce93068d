"""Group commit: calls that come while another commits share one transaction, and those that wait for the disk one sync."""

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
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.journal.contract import Pending
from kgfs.stores.journal.pending import Durable
from kgfs.stores.journal.schema import typed
from kgfs.stores.journal.syncing import WalSync
from kgfs.stores.wal import BUSY_SECONDS

BULK_KIB = 256 << 10
MOMENT = 0.002
"""Seconds to wait for the turn of another thread where nobody may wait: one commit ends in that time, while handing the
work to yet another thread would make those that come next find that one at work, and so on."""
SLOW = 0.05
"""Seconds for a commit, from which the disk keeps even those waiting who only write to the memory it is written from."""
REST = 0.25
"""Seconds for which nobody then commits who may not wait."""

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

    Whoever comes first does the work of all who came while the disk was busy with those before; no thread of its own,
    so a lone caller pays no switch of threads, and nothing is left running when the process ends. The event loop of a
    mount commits here itself (:meth:`run_at_once`): the many threads that it would hand its changes to would take the
    interpreter from each other at every statement."""

    def __init__(self, db: sqlite3.Connection, path: Path, syncing: WalSync | None) -> None:
        """``syncing`` makes commits durable; without it nothing is."""
        self._db = db
        self._path = path
        self._reserve = DiskReserve(path.parent)
        self._syncing = syncing
        self._turn = syncing.turn if syncing is not None else threading.Lock()
        self._waiting: deque[_Request[object]] = deque()
        self._patient = True
        """Whether the connection waits for those of other processes."""
        self._slow_until = 0.0
        self.commits = 0
        """Transactions so far, also those that failed."""

    def run_removing(self, work: Work[T], *, synced: bool = True) -> T:
        """As :meth:`run`, for work that removes, or that removing waits for: it may use the disk reserve."""
        return self._reserve.run(lambda: self.run(work, synced=synced), self._copy_log)

    def _copy_log(self) -> None:
        """Copy the WAL to the database, so that the next commit uses its pages again, in place of new ones."""
        with self._turn, suppress(sqlite3.Error):  # the commit that follows tells what the disk refuses
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def run(self, work: Work[T], *, synced: bool = True) -> T:
        """What ``work`` returns, once its changes are durable; its error, with none of its changes made. Not ``synced``
        they survive the end of every process at once, and a power failure within a second."""
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

    def run_at_once(self, work: Work[T]) -> Pending | None:
        """The same, committed and not waited for; its changes are durable within a second in any case. None, and nothing
        was done, where another process is writing, another thread for longer than a moment, or the disk was slow just
        now. Quick: it writes to the memory that the kernel keeps of the WAL."""
        began = time.monotonic()
        if began < self._slow_until or not self._turn.acquire(timeout=MOMENT):
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
        if time.monotonic() - began > SLOW:
            self._slow_until = began + REST
        return self._syncing.pending(request.commit)

    def _begin(self, *, patient: bool) -> bool:
        """Whether a transaction began; only one who is not patient can find that another process is writing."""
        if patient != self._patient:
            self._db.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000) if patient else 0}")
            self._patient = patient
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if patient or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return False
        return True

    def sync(self) -> None:
        """Everything that any process has committed is durable when this returns."""
        if self._syncing is not None:
            self._syncing.sync()

    def _commit(self, batch: list[_Request[object]], *, begun: bool = False) -> None:
        """``begun`` tells that the transaction has begun."""
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
                # The disk refused all of them together; each may still fit alone.
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
        except Exception as error:  # noqa: BLE001 - whatever ails one call is its caller's, not that of those beside it
            request.error = error
            self._db.execute(undo)

    @contextmanager
    def in_bulk(self) -> Iterator[None]:
        """For one large piece of work: more memory while it lasts, and nothing left in the WAL for those who follow."""
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
