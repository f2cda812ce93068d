"""Switch a database to SQLite's write-ahead log, also when several processes open a new file at the same time."""

from __future__ import annotations

import sqlite3
import time

from kgfs.stores import timing


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
