"""Paths of names, and the version history (lineage) that a file continues.

History follows the path that a person edits, not the inode. Editors save in three ways: they write in place, they
write a new file and rename it over the old one, or they move the old file aside and create a new one under its name.
The last two end with a file without versions at a place that a file with versions has just left. The new file
continues the lineage of the file that left.
"""

from __future__ import annotations

import sqlite3

from kgfs.domain.names import is_document_name
from kgfs.stores import timing


def path_of(db: sqlite3.Connection, name_id: int) -> str | None:
    """Return the path of a name below documents/; None if the name, or a folder above it, is not live."""
    parts: list[str] = []
    while True:
        row = db.execute("SELECT parent, name FROM name WHERE id = ?", (name_id,)).fetchone()
        if row is None:
            return None
        if row[0] == 0:
            return "/".join(reversed(parts))
        name_id = row[0]
        parts.append(row[1])


def adopted(db: sqlite3.Connection, name_id: int) -> tuple[int, int | None] | None:
    """Return the lineage that a file without versions takes over when its version is minted where it stands, with the
    id of the live file that must give the lineage up, if any. Return None if the file starts a history of its own."""
    sql = (
        "SELECT departed.lineage, departed.at, departed.removed, name.arrived_at FROM name JOIN departed"
        " ON departed.parent = name.parent AND departed.name = name.name WHERE name.id = ? AND name.version = 0"
    )
    row = db.execute(sql, (name_id,)).fetchone()
    if row is None:
        return None
    lineage, left_at, removed, arrived_at = row
    holder = db.execute("SELECT id FROM name WHERE lineage = ? AND lineage != 0", (lineage,)).fetchone()
    if left_at >= arrived_at - timing.SAVE_GAP_NS:
        return lineage, holder[0] if holder else None
    if holder is None:
        return (lineage, None) if removed else None
    return None if is_document_name(path_of(db, holder[0]) or "") else (lineage, holder[0])


def next_version(db: sqlite3.Connection, name_id: int) -> tuple[int, int] | None:
    """Return (lineage, n) of the next version of a live file; None if there is no such file."""
    row = db.execute("SELECT lineage FROM name WHERE id = ? AND kind = 'file'", (name_id,)).fetchone()
    if row is None:
        return None
    takes = adopted(db, name_id)
    lineage = takes[0] if takes else row[0]
    (newest,) = db.execute("SELECT max(n) FROM version WHERE lineage = ?", (lineage,)).fetchone()
    return lineage, (newest or 0) + 1


def depart(db: sqlite3.Connection, parent: int, name: str, lineage: int, at: int, *, removed: bool) -> None:
    """Note that the file with this lineage left its place."""
    db.execute("INSERT OR REPLACE INTO departed VALUES (?, ?, ?, ?, ?)", (parent, name, lineage, at, removed))


def removed_aside(db: sqlite3.Connection, lineage: int) -> None:
    """Note that the holder of a lineage was removed under a temporary name: the place that it came from counts as
    removed."""
    db.execute("UPDATE departed SET removed = 1 WHERE lineage = ?", (lineage,))
