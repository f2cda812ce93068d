"""Query the file of a catalog, or an unused copy of it, without opening it as a catalog."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from kgfs.stores.catalog.schema import typed


def newest_fact(path: Path) -> int:
    """Return the number of the newest fact that the file knows of: recorded in it, or in the ledger for certain."""
    newest: int = _rows(path, "SELECT max(coalesce((SELECT max(seq) FROM entry), 0), (SELECT upto FROM shipped))")[0][0]
    return newest


def working_copies(path: Path) -> Iterator[str]:
    """Return the names of the spool files that live files and the trash need."""
    sql = "SELECT key FROM name WHERE place = 'spool' UNION SELECT key FROM trash WHERE place = 'spool'"
    return (key for (key,) in _rows(path, sql))


def _rows(path: Path, sql: str) -> list[Any]:
    try:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute(sql).fetchall()
    except sqlite3.Error as error:
        raise typed(error, path) from error
