"""The file of a replica: the tables of the embedded graph, and what is noted about whose it is."""

from __future__ import annotations

import re
import sqlite3
import zlib
from contextlib import closing
from dataclasses import asdict, fields
from importlib import resources
from pathlib import Path
from typing import Any

from kgfs.stores.database import Database, is_damaged, typed
from kgfs.stores.graph.migrations import MIGRATIONS
from kgfs.stores.graph.replica.standing import Standing
from kgfs.stores.migrations import format_of
from kgfs.stores.wal import BUSY_SECONDS

REMEDY = "It is a replica of the graph on the server: remove the file, kgfs mount makes it again."

SCRUB_OWED = "scrub_owed"
"""Noted with 1 from when names were hidden until the file was written anew without them."""

_NOTES = """
CREATE TABLE replica_note (
    name  TEXT PRIMARY KEY,
    value                                         -- INTEGER or TEXT
) WITHOUT ROWID;"""


def _schema() -> str:
    graph = resources.files("kgfs.stores.graph").joinpath("schema.sql").read_text("utf-8")
    return "\n".join((graph, *(f"{migration.rstrip().rstrip(';')};" for migration in MIGRATIONS), _NOTES))


SCHEMA = _schema()


def format_for(schema: str) -> int:
    """Another number for other tables; of comments and spaces nothing depends on it."""
    said = " ".join(re.sub(r"--[^\n]*", "", schema).split())
    return zlib.crc32(said.encode()) & 0x7FFFFFFF or 1


FORMAT = format_for(SCHEMA)
"""Another one with every change of the tables: a replica is never migrated but made again, since only the server knows
what stands in new columns."""


def open_file(path: Path) -> Database:
    """Made if it is not there. StoreError for one of another format."""
    return Database(path, SCHEMA, FORMAT, REMEDY)


def is_usable(path: Path) -> bool:
    """Whether there is a file of this format. Errors as of a ``Database`` where that cannot be told, for the disk is full, say, or
    another process keeps it: what is not usable is removed and copied anew, which takes long, and the server."""
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
            return format_of(connection) == FORMAT
    except sqlite3.Error as error:
        if is_damaged(error):
            return False
        raise typed(error, path, REMEDY) from error


class Notes:
    """What a replica knows of itself, in its own file, so that it is noted in the transaction that makes it true."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, Any]:
        return dict(self._database.rows("SELECT name, value FROM replica_note"))

    def standing(self) -> Standing | None:
        """Up to where the server was followed; None where the replica was just begun."""
        notes = self.all()
        names = [item.name for item in fields(Standing)]
        return Standing(**{name: notes[name] for name in names}) if all(name in notes for name in names) else None


def note(connection: Any, **values: int | str) -> None:
    """In a transaction of the caller."""
    connection.executemany("INSERT OR REPLACE INTO replica_note VALUES (?, ?)", list(values.items()))


def note_standing(connection: Any, standing: Standing) -> None:
    note(connection, **asdict(standing))
