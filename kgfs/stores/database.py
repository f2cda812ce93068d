"""One SQLite file shared by threads and processes: readers never wait, writers take turns.

WAL, so each reader sees one whole commit. Reads go through a connection of the calling thread, writes through one of the
object, serialised by a lock here and by SQLite between processes. Every error of the driver leaves as a StoreError.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from kgfs.domain.identity import norm_hash
from kgfs.errors import BadInputError, BusyError, FullError, KgfsError, StoreError, from_os_error
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.migrations import bring_up, format_of, newest
from kgfs.stores.pacing import STEPS, Pacing
from kgfs.stores.page_scrub import scrub_pages
from kgfs.stores.wal import BUSY_SECONDS, use_wal

T = TypeVar("T")
_DRIVER_ERRORS = (sqlite3.Error, UnicodeEncodeError, UnicodeDecodeError)
"""UnicodeDecodeError: damaged text that SQLite quotes when it complains."""


class Database:
    """``schema`` is run when the file is new and makes format ``version``; then the ``migrations`` that the file lacks
    (see ``kgfs.stores.migrations``). The format stands in its header; a file with an unknown one is refused.

    Committed transactions survive ``kill -9``. Those marked ``durable`` survive power loss with everything committed
    before them; the others may be lost together, as if they had never been.
    """

    def __init__(self, path: Path, schema: str, version: int, remedy: str, migrations: Sequence[str] = ()) -> None:
        self._path = path
        self._remedy = remedy
        self._reserve = DiskReserve(path.parent)
        self._local = threading.local()
        self._readers: weakref.WeakSet[_Reader] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._rehearsing = 0
        """The thread that rehearses; 0 for none."""
        self._closed = False
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise from_os_error(error, str(path)) from error
        self._writer = self._connect()
        self._pacing = Pacing(path.with_name(f"{path.name}-wal"))
        try:
            self._reserve.run(lambda: self._prepare(schema, version, migrations))
        except BaseException:
            self._writer.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        # Connections are closed by whoever closes the store, so they may not be bound to their thread.
        connection = sqlite3.connect(
            self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.create_function("norm_hash", 1, norm_hash, deterministic=True)
        return connection

    def _prepare(self, schema: str, base: int, migrations: Sequence[str]) -> None:
        with self.translated():
            if not use_wal(self._writer):
                raise StoreError(
                    f"{self._path}: this file system cannot share a database. Put the home on a local disk."
                )
            self._writer.execute("PRAGMA wal_autocheckpoint=2000")
            self._writer.execute("PRAGMA cache_size=-32000")
            found = format_of(self._writer)
        self._writer.set_progress_handler(self._pacing.step, STEPS)
        wanted = newest(base, migrations)
        # Only a new or an older file is written to, so that opening never waits for a writer and works on a full disk.
        if found == 0 or base <= found < wanted:
            with self.write(durable=True) as connection:
                found = bring_up(connection, schema, base, migrations)
        if found != wanted:
            raise StoreError(f"{self._path}: has format {found}, this kgfs needs {wanted}. {self._remedy}")

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turns errors of the driver into those of ``kgfs.errors``."""
        try:
            yield
        except _DRIVER_ERRORS as error:
            raise self._typed(error) from error

    def _typed(self, error: sqlite3.Error | UnicodeEncodeError | UnicodeDecodeError) -> KgfsError:
        return typed(error, self._path, self._remedy)

    @property
    def reader(self) -> sqlite3.Connection:
        """The calling thread's connection. It must only read."""
        return self._mine().connection

    def _mine(self) -> _Reader:
        held: _Reader | None = getattr(self._local, "reader", None)
        if held is None:
            if self._closed:
                raise StoreError(f"{self._path}: closed.")
            held = _Reader(self._connect())
            held.connection.execute("PRAGMA query_only=ON")
            self._local.reader = held
            self._readers.add(held)
        return held

    def rows(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        try:
            return self._mine().cursor.execute(sql, parameters).fetchall()
        except _DRIVER_ERRORS as error:
            raise self._typed(error) from error

    def row(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """The first row, or None; ``sql`` asks for few."""
        found = self.rows(sql, parameters)
        return found[0] if found else None

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Several reads that see one commit."""
        with self.translated():
            connection = self.reader
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    @contextmanager
    def write(self, *, durable: bool) -> Iterator[sqlite3.Connection]:
        """One transaction: all of the block or, if it raises, nothing. Waits for other writers."""
        if self.rehearses:
            with self.translated():
                yield self._writer
            return
        with self._lock, self.translated():
            if self._closed:
                raise StoreError(f"{self._path}: closed.")
            connection = self._writer
            self._pacing.go_on()
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                # SQLite has rolled back by itself after some errors (a full disk).
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if _is_full(error):
                    self._give_back()
                raise

    def removing(self, work: Callable[[], T]) -> T:
        """Return what ``work`` returns, which writes to this database and may be done twice: it removes, and may use the disk
        reserve of the folder."""
        if self.rehearses:
            return work()
        return self._reserve.run(work, self._copy_log)

    def _copy_log(self) -> None:
        """Copy the log to the file, so that the next transaction uses its pages again, in place of new ones."""
        with self._lock, suppress(sqlite3.Error):  # the transaction that follows tells what the disk refuses
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")

    @property
    def rehearses(self) -> bool:
        """Whether the calling thread is in :meth:`rehearse`."""
        return self._rehearsing == threading.get_ident()

    @contextmanager
    def rehearse(self) -> Iterator[None]:
        """Undo at the end of the block everything that the calling thread writes in it. Only that thread reads it meanwhile;
        other writers wait. Not to be nested."""
        with self.write(durable=False) as connection:
            before = self._mine()
            self._local.reader, self._local.before = _Reader(connection, owned=False), before
            self._rehearsing = threading.get_ident()
            try:
                yield
            finally:
                self._rehearsing = 0
                self._local.reader, self._local.before = before, None
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                connection.execute("BEGIN")  # what write() is to end

    @contextmanager
    def before_rehearsal(self) -> Iterator[None]:
        """Let the calling thread read what others read."""
        if not self.rehearses:
            yield
            return
        rehearsing = self._local.reader
        self._local.reader = self._local.before
        try:
            yield
        finally:
            self._local.reader = rehearsing

    @contextmanager
    def attached(self, path: Path, name: str) -> Iterator[None]:
        """Another database under a name of its own, for the transactions of the block."""
        with self._lock, self.translated():
            self._writer.execute(f"ATTACH DATABASE ? AS {name}", (str(path),))
        try:
            yield
        finally:
            with self._lock, self.translated():
                self._writer.execute(f"DETACH DATABASE {name}")

    def shorten_log(self) -> None:
        """Give back the room that a large transaction took beside the file, unless a reader needs it just now. To be called before
        one, too: what was committed before and is not in the file yet keeps the log of one that fills the disk."""
        with self._lock, self.translated():
            self._shorten()

    def _shorten(self) -> None:
        self._writer.execute("PRAGMA busy_timeout=0")
        try:
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._writer.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")

    def _give_back(self) -> None:
        """What a transaction took beside the file that filled the disk: SQLite would keep it for the next one, and nobody could
        write anything meanwhile."""
        with suppress(sqlite3.Error):  # what is full is told by who met it; what was committed before stays in the log
            self._shorten()

    def empty_log(self) -> None:
        """All that was committed is in the file itself, which may be renamed once it is closed. BusyError if readers of other
        processes keep the log in use for BUSY_SECONDS."""
        with self._lock, self.translated():
            empty_log(self._writer, self._path)

    def scrub(self) -> None:
        """Nothing of what was removed is left in the file, nor in the log beside it. See :func:`scrub`."""
        self.removing(self._scrub)

    def _scrub(self) -> None:
        with self._lock, self.translated():
            self._shorten()
            try:
                scrub(self._writer, self._path)
            except sqlite3.Error as error:
                if _is_full(error):
                    self._give_back()
                raise

    def sizes(self) -> tuple[int, int]:
        """Bytes of the file, and of the log beside it, which the file may grow by."""
        log = self._path.with_name(f"{self._path.name}-wal")
        return self._path.stat().st_size, log.stat().st_size if log.exists() else 0

    def close(self) -> None:
        """Idempotent. No other thread may be reading."""
        with self._lock:
            self._closed = True
            for reader in list(self._readers):
                reader.connection.close()
            self._local = threading.local()
            self._pacing.close()
            self._writer.close()


def typed(error: sqlite3.Error | UnicodeEncodeError | UnicodeDecodeError, path: Path, remedy: str) -> KgfsError:
    """What the driver says of a database, as one of ``kgfs.errors``."""
    if isinstance(error, UnicodeEncodeError):
        return BadInputError(f"{path}: text with a lone surrogate is neither kept nor found: {error}.")
    if isinstance(error, UnicodeDecodeError):
        return StoreError(f"{path}: damaged (text that is none: {error}). {remedy}")
    if _is_full(error):
        return FullError(f"{path}: no space left on the device. Free space, then try again.")
    if _is(error, "SQLITE_BUSY", "SQLITE_LOCKED"):
        return BusyError(f"{path}: another process has been writing for {BUSY_SECONDS:.0f} s. Try again.")
    if is_damaged(error):
        return StoreError(f"{path}: damaged ({error}). {remedy}")
    return StoreError(f"{path}: {error}")


def is_damaged(error: BaseException) -> bool:
    return _is(error, "SQLITE_CORRUPT", "SQLITE_NOTADB")


def _is_full(error: BaseException) -> bool:
    return _is(error, "SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")


def _is(error: BaseException, *names: str) -> bool:
    return (getattr(error, "sqlite_errorname", "") or "").startswith(names)


def fault_of(path: Path, *, deep: bool = False) -> str:
    """What is wrong with the pages of a database, '' if nothing. Looks at its structure, with ``deep`` at every index
    entry too; either way it reads the whole file."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as connection:
            rows = connection.execute(f"PRAGMA {'integrity' if deep else 'quick'}_check({1 << 30})")
            found: str = next((row for (row,) in rows if row != "ok" and not row.startswith(_NO_FAULT)), "")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return f"damaged ({error})"
    return f"damaged ({found.strip()})" if found else ""


_NO_FAULT = "NULL value in "
"""SQLite 3.40 takes the columns of tables without rowid for others here, where the key is not in front of the rest."""


def scrub(connection: sqlite3.Connection, path: Path) -> None:
    """Write a database anew without what was removed from it, and empty its log; where the disk has not the room for two more of
    it, overwrite what was removed in its place. BusyError if readers of other processes keep the log in use for
    BUSY_SECONDS. The blocks of the disk that are given back are not overwritten."""
    if _may_be_copied(path):
        try:
            connection.execute("VACUUM")
            empty_log(connection, path)
            return
        except sqlite3.Error as error:
            if not _is_full(error):
                raise
    empty_log(connection, path)
    scrub_pages(path)


def _may_be_copied(path: Path) -> bool:
    """Whether the disk has room for the database, and as much for its log, and leaves others a quarter of that."""
    disk = os.statvfs(path.parent)
    return disk.f_bavail * disk.f_frsize > path.stat().st_size * 5 // 2


def empty_log(connection: sqlite3.Connection, path: Path) -> None:
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise BusyError(
            f"{path}: another process has been reading for {BUSY_SECONDS:.0f} s, so its log cannot be emptied."
        )


def copy_database(source: Path, target: Path) -> None:
    """A durable copy, as of one moment, in one file of 0600; others may read and write the source meanwhile."""
    os.close(os.open(target, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(str(source))}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as original,
            closing(sqlite3.connect(target)) as copy,
        ):
            copy.execute("PRAGMA synchronous=FULL")
            original.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        raise StoreError(f"{source}: cannot be copied: {error}.") from error


def remove_database(path: Path) -> None:
    """With the files that SQLite keeps beside it. Harmless if there is none."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


class _Reader:
    """Closes its connection when its thread ends and takes the thread's last reference with it."""

    def __init__(self, connection: sqlite3.Connection, *, owned: bool = True) -> None:
        self.connection = connection
        self._owned = owned
        self.cursor = connection.cursor()
        """For all reads that are finished at once. The driver keeps a note of each of the last 200 cursors: made anew for
        every page of a long listing, they would hold a page of memory each, long after the listing."""

    def __del__(self) -> None:
        if self._owned:
            self.connection.close()
