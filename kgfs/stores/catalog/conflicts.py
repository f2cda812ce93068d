"""Versions without a Document: conflicts, and bytes that another home wrote over.

A conflict are bytes that one home wrote when other homes had changed the path already. It stands in the path's history
with the decision ``conflict``, and the path's current version stays as it was. Bytes that another home wrote over
before they were settled stand there with the decision ``overwritten``. Neither is read nor shown, except for its bytes.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from kgfs.errors import MissingError
from kgfs.stores.catalog.lineage import adopted

if TYPE_CHECKING:
    from kgfs.stores.catalog.facts import ConflictKept

DECISION = "conflict"
OVERWRITTEN = "overwritten"


def keep(db: sqlite3.Connection, fact: ConflictKept, seq: int) -> None:
    """Append a version without a Document to the history of the path."""
    lineage, fresh = _history(db, fact.id)
    (newest,) = db.execute("SELECT coalesce(max(n), 0) FROM version WHERE lineage = ?", (lineage,)).fetchone()
    decision = fact.decision or DECISION
    row = (lineage, newest + 1, fact.sha256, fact.size, fact.key, fact.path, fact.at, seq, decision, fact.reason)
    db.execute(
        "INSERT INTO version (lineage, n, doc_id, sha256, size, key, path, minted_at, deposit, decision, reason)"
        " VALUES (?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )
    if fresh:
        # The history of the file has begun: if the file is removed before it is settled, it goes to the trash with these
        # bytes.
        db.execute("UPDATE name SET version = ? WHERE id = ? AND lineage = ?", (newest + 1, fact.id, lineage))


def _history(db: sqlite3.Connection, name_id: int) -> tuple[int, bool]:
    """Return the lineage that the path has or is about to continue, and whether the name has no version yet. Raises
    MissingError if there is no such file."""
    sql = "SELECT lineage, version FROM name WHERE id = ?1 UNION ALL SELECT lineage, 1 FROM trash WHERE id = ?1"
    row = db.execute(sql, (name_id,)).fetchone()
    if row is None:
        raise MissingError(f"No file has the id {name_id}.")
    takes = adopted(db, name_id)
    return (takes[0], False) if takes else (row[0], row[1] == 0)


def purge(db: sqlite3.Connection, lineage: int) -> None:
    """Delete the versions without a Document from a history out of which a Document is purged, and note their objects
    as unheld."""
    sql = "DELETE FROM version WHERE lineage = ? AND decision IN (?, ?) RETURNING key"
    for (key,) in db.execute(sql, (lineage, DECISION, OVERWRITTEN)).fetchall():
        db.execute("INSERT OR IGNORE INTO unheld VALUES (?)", (key,))
