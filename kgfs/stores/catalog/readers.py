"""One reading connection for each thread, so that reads run inline and wait for no other thread."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable


class Readers:
    """Opens a reading connection for each thread that asks for one, and closes it after the thread has ended."""

    def __init__(self, open_one: Callable[[], sqlite3.Connection]) -> None:
        self._open_one = open_one
        self._local = threading.local()
        self._all: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._lock = threading.Lock()

    def mine(self) -> sqlite3.Connection:
        """Return the calling thread's connection. The first call of a thread opens it and closes those of ended
        threads."""
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        return db if db is not None else self._open()

    def _open(self) -> sqlite3.Connection:
        db = self._open_one()
        with self._lock:
            for thread, other in self._all:
                if not thread.is_alive():
                    other.close()
            self._all = [(thread, other) for thread, other in self._all if thread.is_alive()]
            self._all.append((threading.current_thread(), db))
        self._local.db = db
        return db

    def close(self) -> None:
        """Close all connections. No thread may be reading."""
        with self._lock:
            for _, db in self._all:
                db.close()
            self._all.clear()
