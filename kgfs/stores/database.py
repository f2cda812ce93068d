"""One SQLite file shared by threads and processes. Readers never wait; writers run one at a time.

The file is in WAL mode, so each reader sees a whole commit. Each thread reads through a connection of its own. All
threads write through one connection of the object, serialised by a lock within the process and by SQLite between
processes. Every error of the driver is raised as a StoreError or another error of ``kgfs.errors``."""

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

from kgfs.domain.dates import own_date
from kgfs.domain.identity import norm_hash
from kgfs.domain.word_forms import without_joiners
from kgfs.errors import BadInputError, BusyError, KgfsError, NoSpaceError, StoreError, from_os_error
from kgfs.render.words import below_size
from kgfs.stores import timing
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.garage.durable import STEPS, Pacing
from kgfs.stores.sqlite_files import fill, refuse_other, use_wal

T = TypeVar("T")
_DRIVER_ERRORS = (sqlite3.Error, UnicodeEncodeError, UnicodeDecodeError)
"""UnicodeDecodeError: from damaged text that SQLite quotes in its message."""


class Database:
    """One SQLite file. ``schema`` creates the tables of a new file. A file of another format (``kgfs.stores.sqlite_files``)
    is refused with a StoreError. ``remedy`` ends the messages about damage.

    Committed transactions survive ``kill -9``. A transaction marked ``durable`` survives a power failure, with
    everything committed before it. A power failure may undo the other transactions, together, as if they had never
    been."""

    def __init__(self, path: Path, schema: str, remedy: str) -> None:
        self._path = path
        self._remedy = remedy
        self._reserve = DiskReserve(path.parent)
        self._local = threading.local()
        self._readers: weakref.WeakSet[_Reader] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Closing a descriptor of a file that this process has open already would drop its locks on it, and another
            # process, taking itself for the last one, would delete the log from under it.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise from_os_error(error, str(path)) from error
        self._writer = self._connect()
        self._pacing = Pacing(path.with_name(f"{path.name}-wal"))
        try:
            self._reserve.run(lambda: self._prepare(schema))
        except BaseException:
            self._writer.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        # check_same_thread is off because the thread that closes the store closes the connections of all threads.
        connection = sqlite3.connect(
            self._path, timeout=timing.WAL_BUSY, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.create_function("norm_hash", 1, norm_hash, deterministic=True)
        connection.create_function("own_date", 1, own_date, deterministic=True)
        connection.create_function("below_size", 2, below_size, deterministic=True)
        connection.create_function("without_joiners", 1, without_joiners, deterministic=True)
        return connection

    def _prepare(self, schema: str) -> None:
        with self.translated():
            is_new = refuse_other(self._writer, self._path)
            if not use_wal(self._writer):
                raise StoreError(
                    f"{self._path}: this file system cannot share a database. Put the home on a local disk."
                )
            self._writer.execute("PRAGMA wal_autocheckpoint=2000")
            self._writer.execute("PRAGMA cache_size=-32000")
        self._writer.set_progress_handler(self._pacing.step, STEPS)
        # Only a new file is written, so that opening never waits for a writer and works on a full disk.
        if is_new:
            with self.write(durable=True) as connection:
                fill(connection, schema)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Return a context in which errors of the driver become those of ``kgfs.errors``."""
        try:
            yield
        except _DRIVER_ERRORS as error:
            raise self._typed(error) from error

    def _typed(self, error: sqlite3.Error | UnicodeEncodeError | UnicodeDecodeError) -> KgfsError:
        return typed(error, self._path, self._remedy)

    @property
    def reader(self) -> sqlite3.Connection:
        """Return the calling thread's connection. Use it only for reading."""
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
        """Return all rows of a query, read by the calling thread's connection."""
        try:
            return self._mine().cursor.execute(sql, parameters).fetchall()
        except _DRIVER_ERRORS as error:
            raise self._typed(error) from error

    def row(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Return the first row of a query, or None. All rows are fetched, so ``sql`` should select few."""
        found = self.rows(sql, parameters)
        return found[0] if found else None

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Return a context in which all reads of the calling thread see the same commit."""
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
        """Return a context that is one write transaction: it commits when the block ends, and rolls back if the block
        raises. Waits for other writers; BusyError if another process writes for longer than ``timing.WAL_BUSY``
        seconds."""
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
                # After some errors (a full disk) SQLite has rolled back already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if _is_full(error):
                    self._give_back()
                raise

    def removing(self, work: Callable[[], T]) -> T:
        """Return the result of ``work``, a function that deletes rows. On a full disk, ``work`` runs again with
        space from the folder's disk reserve, so ``work`` must be safe to run twice."""
        return self._reserve.run(work, self._copy_log)

    def _copy_log(self) -> None:
        """Checkpoint the log into the file, so that the next transaction reuses the log's pages instead of
        appending."""
        with self._lock, suppress(sqlite3.Error):  # a full disk makes the next transaction fail, which reports it
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")

    @contextmanager
    def attached(self, path: Path, name: str) -> Iterator[None]:
        """Return a context in which another database file is attached to the writing connection under the schema
        ``name``."""
        with self._lock, self.translated():
            self._writer.execute(f"ATTACH DATABASE ? AS {name}", (str(path),))
        try:
            yield
        finally:
            with self._lock, self.translated():
                self._writer.execute(f"DETACH DATABASE {name}")

    def shorten_log(self) -> None:
        """Truncate the log to free the space that a large transaction took. Does nothing while a reader needs the
        log. Call it before a large transaction too: commits that are still only in the log would otherwise keep a
        log that filled the disk from being truncated."""
        with self._lock, self.translated():
            self._shorten()

    def _shorten(self) -> None:
        self._writer.execute("PRAGMA busy_timeout=0")
        try:
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._writer.execute(f"PRAGMA busy_timeout={int(timing.WAL_BUSY * 1000)}")

    def _give_back(self) -> None:
        """Truncate the log after a transaction that filled the disk. SQLite would keep the space for the next
        transaction, and nothing could be written meanwhile."""
        with suppress(sqlite3.Error):  # the caller reports the full disk; earlier commits stay in the log
            self._shorten()

    def scrub(self) -> None:
        """Erase everything that was deleted from the file and from its log. See :func:`scrub`."""
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
        """Return the bytes of the file and the bytes of its log, by which the file may grow."""
        log = self._path.with_name(f"{self._path.name}-wal")
        return self._path.stat().st_size, log.stat().st_size if log.exists() else 0

    def close(self) -> None:
        """Close all connections. Idempotent. No other thread may be reading."""
        with self._lock:
            self._closed = True
            for reader in list(self._readers):
                reader.connection.close()
            self._local = threading.local()
            self._pacing.close()
            self._writer.close()


def typed(error: sqlite3.Error | UnicodeEncodeError | UnicodeDecodeError, path: Path, remedy: str) -> KgfsError:
    """Return the error of ``kgfs.errors`` for an error of the driver."""
    if isinstance(error, UnicodeEncodeError):
        return BadInputError(f"{path}: text with a lone surrogate is neither kept nor found: {error}.")
    if isinstance(error, UnicodeDecodeError):
        return StoreError(f"{path}: damaged (text that is none: {error}). {remedy}")
    if _is_full(error):
        return NoSpaceError(f"{path}: no space left on the device. Free space, then try again.")
    if _is(error, "SQLITE_BUSY", "SQLITE_LOCKED"):
        return BusyError(f"{path}: another process has been writing for {timing.WAL_BUSY:.0f} s. Try again.")
    if is_damaged(error):
        return StoreError(f"{path}: damaged ({error}). {remedy}")
    return StoreError(f"{path}: {error}")


def is_damaged(error: BaseException) -> bool:
    """Return whether an error of the driver means that the file is damaged or not a database."""
    return _is(error, "SQLITE_CORRUPT", "SQLITE_NOTADB")


def _is_full(error: BaseException) -> bool:
    return _is(error, "SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")


def _is(error: BaseException, *names: str) -> bool:
    return (getattr(error, "sqlite_errorname", "") or "").startswith(names)


def fault_of(path: Path, *, deep: bool = False) -> str:
    """Return what is wrong with a database file, '' if nothing. Checks the structure of the pages; with ``deep``,
    every index entry too. Reads the whole file in either case."""
    try:
        with closing(
            sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=timing.WAL_BUSY)
        ) as connection:
            rows = connection.execute(f"PRAGMA {'integrity' if deep else 'quick'}_check({1 << 30})")
            found: str = next((row for (row,) in rows if row != "ok" and not row.startswith(_NO_FAULT)), "")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return f"damaged ({error})"
    return f"damaged ({found.strip()})" if found else ""


_NO_FAULT = "NULL value in "
"""SQLite 3.40 confuses columns here for tables WITHOUT ROWID whose key columns are not the first ones."""


def scrub(connection: sqlite3.Connection, path: Path) -> None:
    """Erase everything that was deleted from a database, and empty its log. The database is rewritten by VACUUM; if the
    disk has no space for two more copies of it, deleted data is overwritten in place. Raises BusyError if readers of
    other processes use the log for ``timing.WAL_BUSY`` seconds. Disk blocks that the file frees are not overwritten."""
    if _may_be_copied(path):
        try:
            connection.execute("VACUUM")
            empty_log(connection, path)
            return
        except sqlite3.Error as error:
            if not _is_full(error):
                raise
    empty_log(connection, path)
    from kgfs.stores.page_scrub import scrub_pages  # needed by purges only

    scrub_pages(path)


def _may_be_copied(path: Path) -> bool:
    """Return whether the disk has space for a second copy of the database and for a log of the same size, with
    half the database's size to spare."""
    disk = os.statvfs(path.parent)
    return disk.f_bavail * disk.f_frsize > path.stat().st_size * 5 // 2


def empty_log(connection: sqlite3.Connection, path: Path) -> None:
    """Checkpoint all commits into the file and truncate its log. Raises BusyError if readers keep the log in use
    for ``timing.WAL_BUSY`` seconds."""
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise BusyError(
            f"{path}: another process has been reading for {timing.WAL_BUSY:.0f} s, so its log cannot be emptied."
        )


def copy_database(source: Path, target: Path) -> None:
    """Copy a database as of one commit to one file of mode 0600. The copy is durable when this returns. Other
    connections may read and write the source meanwhile."""
    os.close(os.open(target, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    try:
        with (
            closing(
                sqlite3.connect(f"file:{quote(str(source))}?mode=ro", uri=True, timeout=timing.WAL_BUSY)
            ) as original,
            closing(sqlite3.connect(target)) as copy,
        ):
            copy.execute("PRAGMA synchronous=FULL")
            original.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        raise StoreError(f"{source}: cannot be copied: {error}.") from error


def remove_database(path: Path) -> None:
    """Delete a database file and the files that SQLite keeps beside it. Harmless if there are none."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


class _Reader:
    """A reading connection of one thread. It is closed when its thread ends, which drops the last reference to it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.cursor = connection.cursor()
        """The cursor for all reads that fetch their rows at once. The driver remembers each of the last 200
        cursors. New cursors for each page of a long listing would each hold a page of memory long after the
        listing."""

    def __del__(self) -> None:
        self.connection.close()
