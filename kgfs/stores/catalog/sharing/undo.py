"""Undo facts: triggers store, for every change that a fact makes to a row, the SQL that undoes the change.

Only changes by facts are stored, and only until the fact is confirmed. Leases, the inbox and the number of shipped
facts are not a fold of facts and are never undone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

FOLDED = (
    *(
        "ontology",
        "removed_ontology",
        "setting",
        "search",
        "question",
        "name",
        "trash",
        "version",
        "departed",
        "document",
        "shown",
    ),
    *("tally", "job", "forgetting", "forgetting_document", "tombstone", "suppression", "unheld", "part", "overtaker"),
)
"""The tables that are a fold of the facts."""


def install(db: sqlite3.Connection) -> None:
    """Create the triggers, so that facts recorded from now on can be undone. Call this in a transaction."""
    for name, wanted in _lacking(db):
        db.execute(f"DROP TRIGGER IF EXISTS {name}")
        db.execute(wanted)


def installed(db: sqlite3.Connection) -> bool:
    """Return whether every trigger is there and fits its table."""
    return not _lacking(db)


def _lacking(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return name and SQL of each trigger that is missing, or whose table has got columns since it was made."""
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
    """Undo all facts with numbers above ``after``: the rows are as if these facts had never been recorded."""
    for (sql,) in db.execute("SELECT sql FROM undo WHERE seq > ? ORDER BY n DESC", (after,)).fetchall():
        db.execute(sql)
    db.execute("DELETE FROM undo WHERE seq > ?", (after,))
    db.execute("DELETE FROM entry WHERE seq > ?", (after,))


def confirm(db: sqlite3.Connection, upto: int) -> None:
    """Confirm the facts up to this number: the ledger has them, and they can no longer be undone."""
    db.execute("UPDATE shipped SET upto = max(upto, ?)", (upto,))
    db.execute("DELETE FROM undo WHERE seq <= ?", (upto,))
