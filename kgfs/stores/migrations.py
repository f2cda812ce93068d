"""Bringing a database that an earlier kgfs made to the tables of this one.

A schema is written once, as format ``base``, and never changed; what comes later is a migration: SQL that only adds
(columns with a default, tables, indexes). The n-th migration leads to format ``base + n``, which stands in the file's
``user_version``. Published migrations are never edited, reordered or removed: append the next one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence


def newest(base: int, migrations: Sequence[str]) -> int:
    """The format that this kgfs reads and writes."""
    return base + len(migrations)


def format_of(db: sqlite3.Connection) -> int:
    """0 for a file without tables."""
    found: int = db.execute("PRAGMA user_version").fetchone()[0]
    return found


def bring_up(db: sqlite3.Connection, schema: str, base: int, migrations: Sequence[str]) -> int:
    """Make the tables if there are none and carry out the migrations that the file lacks; its format then.

    The caller is in a transaction that has the lock to write, so that of two processes one migrates, and all or nothing
    is done. A file with a format below ``base`` or above ours is left as it is: the caller refuses it.
    """
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
    """The statements of a script one by one, since ``executescript`` would commit the transaction it is called in. The
    semicolon that ends the script may be missing."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending
