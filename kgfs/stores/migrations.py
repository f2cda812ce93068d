"""Migrate a database of an earlier version of kgfs to the tables of this one.

A schema is written once, as format ``base``, and never changed. Later changes are migrations: SQL that only adds
(columns with a default, tables, indexes). The n-th migration leads to format ``base + n``, which is stored in the
file's ``user_version``. Published migrations are never edited, reordered or removed: append a new one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence


def newest(base: int, migrations: Sequence[str]) -> int:
    """Return the format that this version of kgfs reads and writes."""
    return base + len(migrations)


def format_of(db: sqlite3.Connection) -> int:
    """Return the format of a database; 0 for a file without tables."""
    found: int = db.execute("PRAGMA user_version").fetchone()[0]
    return found


def bring_up(db: sqlite3.Connection, schema: str, base: int, migrations: Sequence[str]) -> int:
    """Create the tables if there are none, run the migrations that the file lacks, and return the resulting
    format.

    The caller is in a transaction that holds the write lock. So only one of two processes migrates, and the
    migration is atomic. A file with a format below ``base`` or above the newest is left unchanged, and the caller
    refuses it."""
    found = format_of(db)
    if found == 0:
        _run(db, schema)
        found = base
    elif not base <= found < newest(base, migrations):
        return found
    for migration in migrations[found - base :]:
        _run(db, migration)
    found = newest(base, migrations)
    db.execute(f"PRAGMA user_version={found}")
    return found


def _run(db: sqlite3.Connection, script: str) -> None:
    for statement in statements(script):
        db.execute(statement)


def statements(script: str) -> Iterator[str]:
    """Yield the statements of a script one by one, because ``executescript`` would commit the caller's
    transaction. The semicolon at the end of the script may be missing."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending
