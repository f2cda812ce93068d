"""Copies of a home's databases for a snapshot: what the ledger says up to a position, and nothing of the home's own.

Each copy is made by ``VACUUM INTO``, which reads the database as of one moment while others go on writing, and copies no page that
is free: what was removed before is not in it. Room on the disk is the caller's matter.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from kgfs.errors import BusyError
from kgfs.stores.database import typed
from kgfs.stores.graph.editions import remove_some
from kgfs.stores.graph.rows import LEAVING, SHOWN
from kgfs.stores.journal.sharing import undo
from kgfs.stores.wal import BUSY_SECONDS

STEPS = 10_000
"""Steps of SQLite's machine between two looks whether to stop: a millisecond or so."""
REMEDY = "Nothing is lost: it is a copy, and is made again."

_OWN_NAMES = ("inbox", "undo", "withdrawn", "renumbered", "united")
"""Tables of the names database that hold what is this home's own."""

Stop = Callable[[], bool]
"""Is asked often whether to give up."""


def copy_names(source: Path, target: Path, stop: Stop) -> int:
    """Copy the names database; return the number of the last fact that the copy holds, which is the last one that the ledger is
    known to have. Facts behind it are taken back in the copy, and what is the home's own is removed: bytes of the inbox, sessions,
    claims of jobs, numbers that were given anew."""
    _vacuum_into(source, target, stop)
    with _opened(target, stop) as db:
        undo.FactNumber(db)  # the triggers call its function
        db.execute("BEGIN")
        upto: int = db.execute("SELECT upto FROM shipped").fetchone()[0]
        undo.take_back(db, upto)
        for table in _OWN_NAMES:
            db.execute(f"DELETE FROM {table}")
        db.execute("UPDATE entry SET session = '' WHERE session != ''")
        db.execute("UPDATE name SET session = '' WHERE session != ''")
        db.execute("UPDATE shipped SET changed_elsewhere = 0")
        db.execute(
            "UPDATE job SET attempts = 0, state = 'queued', stage = '', progress = 0, reason = '', worker = '',"
            " not_before = 0, lease_until = 0"
        )
        db.execute("COMMIT")
        db.execute("VACUUM")  # what was removed may be somebody's text
    return upto


def copy_graph(source: Path, target: Path, stop: Stop) -> int:
    """Copy the graph: editions that are shown, without the feed of changes, which begins anew at the copy's epoch. Return the number
    of the last fact that it has followed; BusyError where it has followed none yet."""
    _vacuum_into(source, target, stop)
    with _opened(target, stop) as db:
        left = db.execute(f"UPDATE document SET state = {LEAVING} WHERE state != {SHOWN}").rowcount
        while db.execute(f"SELECT 1 FROM document WHERE state = {LEAVING} LIMIT 1").fetchone():
            remove_some(db, 1 << 30)
        told = db.execute("DELETE FROM change").rowcount
        db.execute("UPDATE meta SET value = (SELECT value FROM meta WHERE name = 'epoch') WHERE name = 'changes_above'")
        followed = db.execute("SELECT value FROM meta WHERE name = 'followed'").fetchone()
        if left or told > _MANY:
            db.execute("VACUUM")
    if followed is None:
        raise BusyError("The graph is still to be derived. Try again later.")
    return int(followed[0])


_MANY = 100_000
"""Changes whose room in the file is worth writing it once more."""


def copy_vectors(source: Path, target: Path, model: str, stop: Stop) -> None:
    """Copy the vectors of one embedding model."""
    _vacuum_into(source, target, stop)
    with _opened(target, stop) as db:
        removed = 0
        for (key,) in db.execute("SELECT key FROM model WHERE name != ?", (model,)).fetchall():
            for table in ("gone", "vector", "row"):
                removed += db.execute(f"DELETE FROM {table} WHERE model = ?", (key,)).rowcount
            db.execute("DELETE FROM model WHERE key = ?", (key,))
        if removed:
            db.execute("VACUUM")


def schema_in(path: Path) -> int:
    """Return the format of the tables in a database that no process writes."""
    return _number(path, "PRAGMA user_version")


def _number(path: Path, sql: str) -> int:
    with _opened(path, lambda: False) as db:
        found: int = db.execute(sql).fetchone()[0]
        return found


def _vacuum_into(source: Path, target: Path, stop: Stop) -> None:
    """``target`` is absent, or an empty file; it is 0600 whatever the umask."""
    os.close(os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    address = f"file:{quote(str(source))}?mode=ro"
    with _translated(source), closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as db:
        db.set_progress_handler(lambda: stop(), STEPS)
        db.execute("PRAGMA cache_size=-8000")
        db.execute("VACUUM INTO ?", (str(target),))


@contextmanager
def _opened(path: Path, stop: Stop) -> Iterator[sqlite3.Connection]:
    """Open a copy that only this process knows of, in autocommit mode. It is not synced: after a crash it is made again."""
    with _translated(path), closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.set_progress_handler(lambda: stop(), STEPS)
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA journal_mode=MEMORY")
        yield db


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Raise the project's errors in place of the driver's; BusyError where ``stop`` said so."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname == "SQLITE_INTERRUPT":
            raise BusyError(f"{path}: the copy was given up, since this process is to end.") from error
        raise typed(error, path, REMEDY) from error
    except sqlite3.DatabaseError as error:
        raise typed(error, path, REMEDY) from error
