"""The number of the fact that is being applied, for the triggers of a catalog that is shared (``sharing.undo``)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


class FactNumber:
    """The number of the fact that is being applied on one connection, for the triggers; 0 while no fact is."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.now = 0
        db.create_function("fact_number", 0, lambda: self.now)
        db.execute("PRAGMA recursive_triggers=1")  # else no trigger fires for rows that REPLACE deletes

    @contextmanager
    def being(self, seq: int) -> Iterator[None]:
        self.now = seq
        try:
            yield
        finally:
            self.now = 0
