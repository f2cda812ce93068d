"""Taking facts back: triggers write, beside every change that a fact makes to a row, the SQL that undoes it.

Only what facts do is noted, and only until it is confirmed: leases, the inbox and what was shipped are of the moment.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

FOLDED = (
    *("ontology", "removed_ontology", "setting", "search", "name", "trash", "version", "departed", "document", "shown"),
    *("tally", "job", "forgetting", "forgetting_document", "tombstone", "suppression", "unheld"),
)
"""The tables that are a fold of the facts."""


class FactNumber:
    """The number of the fact that is being applied on one connection, for the triggers; 0 where none is."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.now = 0
        db.create_function("fact_number", 0, lambda: self.now)
        db.execute("PRAGMA recursive_triggers=1")  # else rows that REPLACE removes are not told of

    @contextmanager
    def being(self, seq: int) -> Iterator[None]:
        self.now = seq
        try:
            yield
        finally:
            self.now = 0


def install(db: sqlite3.Connection) -> None:
    """From now on what facts do can be taken back. In a transaction."""
    for name, wanted in _lacking(db):
        db.execute(f"DROP TRIGGER IF EXISTS {name}")
        db.execute(wanted)


def installed(db: sqlite3.Connection) -> bool:
    return not _lacking(db)


def _lacking(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """Triggers that are not there, or of a table that has got columns since."""
    known = set(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())
    return [trigger for trigger in _triggers(db) if trigger not in known]


def _triggers(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    for table in FOLDED:
        about = db.execute(f"PRAGMA table_info({table})").fetchall()
        columns = [row[1] for row in about]
        key = [row[1] for row in about if row[5]]
        values = _joined(columns, ",", "quote(old.{0})")
        found = _joined(key, " AND ", "'{0}='||quote(new.{0})")
        assigned = _joined(columns, ",", "'{0}='||quote(old.{0})")
        yield _trigger(table, "INSERT", f"'DELETE FROM {table} WHERE '||{found}")
        yield _trigger(table, "UPDATE", f"'UPDATE {table} SET '||{assigned}||' WHERE '||{found}")
        yield _trigger(table, "DELETE", f"'INSERT OR REPLACE INTO {table}({','.join(columns)})VALUES('||{values}||')'")


def _joined(columns: list[str], between: str, form: str) -> str:
    return f"||'{between}'||".join(form.format(column) for column in columns)


def _trigger(table: str, event: str, inverse: str) -> tuple[str, str]:
    name = f"undo_{table}_{event.lower()}"
    return name, (
        f"CREATE TRIGGER {name} AFTER {event} ON {table} WHEN fact_number() > 0"
        f" BEGIN INSERT INTO undo (seq, sql) VALUES (fact_number(), {inverse}); END"
    )


def take_back(db: sqlite3.Connection, after: int) -> None:
    """All facts with numbers above ``after`` are as if they had never been recorded."""
    for (sql,) in db.execute("SELECT sql FROM undo WHERE seq > ? ORDER BY n DESC", (after,)).fetchall():
        db.execute(sql)
    db.execute("DELETE FROM undo WHERE seq > ?", (after,))
    db.execute("DELETE FROM entry WHERE seq > ?", (after,))


def confirm(db: sqlite3.Connection, upto: int) -> None:
    """The ledger has the facts up to this number: they are never taken back."""
    db.execute("UPDATE shipped SET upto = max(upto, ?)", (upto,))
    db.execute("DELETE FROM undo WHERE seq <= ?", (upto,))
