"""A database into SQLite's write-ahead log, also where several processes open a new one at once."""

from __future__ import annotations

import sqlite3
import time

BUSY_SECONDS = 30.0
"""How long other processes are waited for before a BusyError."""
PAUSE = 0.02


def use_wal(db: sqlite3.Connection) -> bool:
    """Whether it has one now; a file system that cannot share memory has none. Who changes a new file while another does is
    refused at once, whatever the time-out of the connection (sqlite.org/c3ref/busy_handler.html: where waiting could be a
    dead-lock), and asks again here."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return bool(db.execute("PRAGMA journal_mode=WAL").fetchone()[0] == "wal")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(PAUSE)
