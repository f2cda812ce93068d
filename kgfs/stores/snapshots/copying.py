"""Copy a home's databases for a snapshot: the facts of the ledger up to a position, and nothing private to the
home.

Each copy is made by ``VACUUM INTO``. It reads one snapshot of the database while other connections write, and
copies no free pages, so the copy does not contain removed data. The caller checks that the disk has enough space."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from kgfs.errors import BusyError
from kgfs.stores import timing
from kgfs.stores.catalog.fact_number import FactNumber
from kgfs.stores.catalog.sharing import undo
from kgfs.stores.database import typed
from kgfs.stores.graph.removing import remove_some
from kgfs.stores.graph.rows import LEAVING, SHOWN

STEPS = 10_000
"""Steps of SQLite's virtual machine between two calls of ``stop``: about a millisecond."""
REMEDY = "Nothing is lost: it is a copy, and is made again."

_OWN_NAMES = ("inbox", "undo", "withdrawn", "renumbered", "united")
"""Tables of the names database with rows that are private to this home."""

Stop = Callable[[], bool]
"""A callback that is called often and returns true if the copy is to be given up."""


def copy_names(source: Path, target: Path, stop: Stop) -> int:
    """Copy the names database. Return the number of the last fact that the copy holds, which is the last fact
    known to be in the ledger. In the copy, later facts are undone, and data private to the home is removed: bytes
    of the inbox, sessions, claims of jobs, renumbered facts."""
    _vacuum_into(source, target, stop)
    with _opened(target, stop) as db:
        FactNumber(db)  # registers the SQL function that the triggers call
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
        db.execute("VACUUM")  # the removed rows may contain text
    return upto


def copy_graph(source: Path, target: Path, stop: Stop) -> int:
    """Copy the graph: the visible editions, without the change feed, which begins again at the copy's epoch.
    Return the number of the last fact that the graph has followed. Raises BusyError if it has followed none yet."""
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
"""The number of changes above which the copy is vacuumed again, to free the space that they took."""


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
    """Copy the database into ``target``, which is absent or is overwritten. Its mode is 0600 whatever the umask."""
    os.close(os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    address = f"file:{quote(str(source))}?mode=ro"
    with _translated(source), closing(sqlite3.connect(address, uri=True, timeout=timing.WAL_BUSY)) as db:
        db.set_progress_handler(lambda: stop(), STEPS)
        db.execute("PRAGMA cache_size=-8000")
        db.execute("VACUUM INTO ?", (str(target),))


@contextmanager
def _opened(path: Path, stop: Stop) -> Iterator[sqlite3.Connection]:
    """Open a copy that only this process uses, in autocommit mode. The copy is not synced: after a crash it is
    made again."""
    with _translated(path), closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.set_progress_handler(lambda: stop(), STEPS)
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA journal_mode=MEMORY")
        yield db


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Convert errors of the driver into those of ``kgfs.errors``; BusyError if ``stop`` returned true."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname == "SQLITE_INTERRUPT":
            raise BusyError(f"{path}: the copy was given up, since this process is to end.") from error
        raise typed(error, path, REMEDY) from error
    except sqlite3.DatabaseError as error:
        raise typed(error, path, REMEDY) from error
