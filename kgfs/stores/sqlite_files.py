"""What all SQLite files of a home have in common: the format of the home, and the write-ahead log."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from kgfs.errors import StoreError
from kgfs.stores import timing
from kgfs.stores.migrations import MIGRATIONS, migrate

HOME_FORMAT = 103
"""The format of the homes that this kgfs makes and opens. Each database keeps it as its ``user_version``, and the note that
binds a home to its garage keeps it too. Whoever changes a table, or what is stored in one, gives it the next number."""


def refusal(path: Path, found: object) -> StoreError:
    """Return the error for a home, or a database of one, whose format is ``found``."""
    return StoreError(
        f"{path}: has format {found}, and this kgfs knows only {HOME_FORMAT}: mount it with the version that made it, and"
        " copy its documents/."
    )


def refuse_other(db: sqlite3.Connection, path: Path) -> bool:
    """Return whether the database has no tables yet. One of an earlier format is brought to this one, where that is known
    how. Raises StoreError, with nothing written, if it has another format."""
    found: int = db.execute("PRAGMA user_version").fetchone()[0]
    if found in MIGRATIONS:
        found = migrate(db)
    if found not in (0, HOME_FORMAT):
        raise refusal(path, found)
    return found == 0


def fill(db: sqlite3.Connection, schema: str) -> None:
    """Create the tables in a database that has none, and note the format.

    The caller is in a transaction that holds the write lock. So only one of two processes creates them."""
    if db.execute("PRAGMA user_version").fetchone()[0] == HOME_FORMAT:
        return
    for statement in _statements(schema):
        db.execute(statement)
    db.execute(f"PRAGMA user_version={HOME_FORMAT}")


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script one by one, because ``executescript`` would commit the caller's transaction."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def use_wal(db: sqlite3.Connection) -> bool:
    """Switch the database to WAL mode and return whether it is in that mode; a file system without shared memory
    does not allow it. While another process changes a new file, SQLite refuses the switch at once, whatever the
    connection's timeout (sqlite.org/c3ref/busy_handler.html: waiting could be a deadlock). The switch is then
    retried for up to ``timing.WAL_BUSY`` seconds, after which the driver's error is raised."""
    until = time.monotonic() + timing.WAL_BUSY
    while True:
        try:
            return bool(db.execute("PRAGMA journal_mode=WAL").fetchone()[0] == "wal")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(timing.WAL_POLL)
