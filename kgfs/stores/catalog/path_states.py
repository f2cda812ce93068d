"""Derive the lineage of names, and the state of documents and their jobs, from the tables.

State and jobs follow from the live names of a document, the end of its last reading, its presence in the graph and
the state of its successors. A document with a live name is read once. A document without one has no ``read`` job.
While the graph shows such a document, either the publication of a successor takes it out (until then it is stale), or
it gets a ``forget`` job. The successor of a transcript's segment is the one with its number in the next version of
the transcript.

A lineage is the version history that a file continues. History follows the path that a person edits, not the inode.
Editors save in three ways: they write in place, they write a new file and rename it over the old one, or they move
the old file aside and create a new one under its name. The last two end with a file without versions at a place that
a file with versions has just left. The new file continues the lineage of the file that left.

:class:`Target` and ``apply_one`` are what the parts of the fold share: the tables, and the registry of functions that
apply facts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch

from kgfs.domain.documents import TEXT_FIRST, State
from kgfs.domain.names import is_document_name
from kgfs.stores import timing
from kgfs.stores.catalog import parts

_STAYS = """
SELECT EXISTS (SELECT 1 FROM tombstone WHERE doc_id = ?1) OR EXISTS (SELECT 1 FROM forgetting_document WHERE doc_id = ?1)
"""
"""Documents that get no ``forget`` job: their knowledge stays without a name (tombstone), or leaves together with the
other documents of a forgetting."""
_TRASHED = """
SELECT EXISTS (
    SELECT 1 FROM version WHERE doc_id = ?
    AND NOT EXISTS (
        SELECT 1 FROM version later
        WHERE later.lineage = version.lineage AND later.n > version.n AND later.doc_id != ''
    )
    AND NOT EXISTS (SELECT 1 FROM name WHERE name.lineage = version.lineage AND name.lineage != 0)
)
"""
_TRASHED_WITH_PARENT = """
SELECT EXISTS (
    SELECT 1 FROM part JOIN document above ON above.doc_id = part.parent WHERE part.child = ? AND above.state = 'trashed'
)
"""
_SUCCESSOR_AWAITED = """
SELECT EXISTS (
    SELECT 1 FROM shown
    CROSS JOIN name ON name.lineage = shown.lineage AND name.lineage != 0
    CROSS JOIN document successor ON successor.doc_id = name.doc_id
    WHERE shown.doc_id = ?1 AND successor.doc_id != ?1 AND successor.ontology = ?2
    AND (EXISTS (SELECT 1 FROM job WHERE job.kind = 'read' AND job.doc_id = successor.doc_id)
         OR (successor.shown = 0 OR successor.text != '') AND successor.ended IN ('failed', 'unsupported'))
)
"""


def of_lineage(db: sqlite3.Connection, lineage: int) -> set[str]:
    """Return the documents whose state can depend on the holder of this lineage: those that the graph shows, and the
    newest."""
    newest = (
        "SELECT doc_id FROM (SELECT doc_id FROM version WHERE lineage = ?1 AND doc_id != '' ORDER BY n DESC LIMIT 1)"
    )
    rows = db.execute(f"SELECT doc_id FROM shown WHERE lineage = ?1 UNION {newest}", (lineage,)).fetchall()
    return {row[0] for row in rows}


def of_holders(db: sqlite3.Connection, doc_id: str) -> set[str]:
    """Return the documents whose state can depend on this one's: those of the lineages in which it is the newest, and
    the segments that it takes the place of."""
    found = {doc_id} | parts.replaced(db, doc_id)
    sql = "SELECT lineage FROM name WHERE doc_id = ? AND doc_id != ''"
    for (lineage,) in db.execute(sql, (doc_id,)).fetchall():
        found |= of_lineage(db, lineage)
    return found


def owe_reading(db: sqlite3.Connection, doc_id: str, seq: int) -> None:
    """Deposit the document anew: set its deposit to the fact ``seq`` and replace its ``read`` job, whatever the queue
    had before."""
    db.execute("UPDATE document SET deposit = ?, reason = '' WHERE doc_id = ?", (seq, doc_id))
    db.execute(
        "INSERT OR REPLACE INTO job (kind, doc_id, ontology, deposit, size, text_owed)"
        " SELECT 'read', doc_id, ontology, deposit, size, shown = 0 AND size <= ? FROM document WHERE doc_id = ?",
        (TEXT_FIRST, doc_id),
    )


def enter_graph(db: sqlite3.Connection, doc_id: str) -> None:
    """Note that the graph shows the document."""
    db.execute("UPDATE document SET shown = 1 WHERE doc_id = ?", (doc_id,))
    db.execute("INSERT OR IGNORE INTO shown SELECT lineage, doc_id FROM version WHERE doc_id = ?", (doc_id,))


def leave_graph(db: sqlite3.Connection, doc_id: str) -> None:
    """Note that the graph no longer shows the document. Its Reading stays known, for a revival."""
    db.execute("UPDATE document SET shown = 0, ended = '', commit_id = '', text = '' WHERE doc_id = ?", (doc_id,))
    db.execute("DELETE FROM shown WHERE doc_id = ?", (doc_id,))


def review(db: sqlite3.Connection, doc_ids: Iterable[str], seq: int, at: int) -> None:
    """Bring the jobs and states of these documents, and of their parts, in line with their live names and parents
    after the fact ``seq``."""
    waiting = {doc_id for doc_id in doc_ids if doc_id}
    while waiting:
        first = parts.without_parents_among(db, waiting)  # whether a part is held depends on its parents
        waiting -= first
        before = {doc_id: parts.holds(db, doc_id) for doc_id in first}
        reviewed = _review(db, first, seq, at)
        changed = [doc_id for doc_id in reviewed if before.get(doc_id) != parts.holds(db, doc_id)]
        waiting |= {child for doc_id in changed for child in parts.children(db, doc_id)}


def _review(db: sqlite3.Connection, doc_ids: Iterable[str], seq: int, at: int) -> list[str]:
    """Review the documents, and return those that were reviewed."""
    named = {doc_id: _named(db, doc_id) for doc_id in doc_ids if doc_id}
    for doc_id in [doc_id for doc_id in sorted(named) if not named[doc_id]]:
        if _end_reading(db, doc_id):  # another segment may have waited for this one
            named |= {other: _named(db, other) for other in parts.replaced(db, doc_id)}
    # The state of a predecessor depends on its successor's job, so documents with live names come first.
    for doc_id in [doc_id for doc_id in sorted(named) if named[doc_id]]:
        if _review_named(db, doc_id, seq):
            named |= {other: _named(db, other) for other in of_holders(db, doc_id)}
    for doc_id in sorted(named):
        sql = "UPDATE document SET names = ?1, named_at = ?2 WHERE doc_id = ?3 AND names != ?1"
        db.execute(sql, (named[doc_id], at, doc_id))
        if not named[doc_id]:
            _review_unnamed(db, doc_id, seq, at)
        set_state(db, doc_id)
    return sorted(named)


def _named(db: sqlite3.Connection, doc_id: str) -> int:
    """Return the number of live names of the document, and of parents that hold it."""
    names: int = db.execute("SELECT count(*) FROM name WHERE doc_id = ? AND doc_id != ''", (doc_id,)).fetchone()[0]
    return names + len(parts.holders(db, doc_id))


def _review_named(db: sqlite3.Connection, doc_id: str, seq: int) -> bool:
    """Update the jobs of a document with live names. Return whether a ``read`` job had to be enqueued."""
    db.execute("UPDATE document SET removed_at = 0 WHERE doc_id = ? AND removed_at != 0", (doc_id,))
    db.execute("DELETE FROM job WHERE kind = 'forget' AND doc_id = ?", (doc_id,))
    db.execute("DELETE FROM tombstone WHERE doc_id = ?", (doc_id,))
    db.execute("DELETE FROM forgetting_document WHERE doc_id = ?", (doc_id,))
    sql = (
        "SELECT EXISTS (SELECT 1 FROM job WHERE kind = 'read' AND doc_id = ?1) OR ended != ''"
        " FROM document WHERE doc_id = ?1"
    )
    (owed_or_read,) = db.execute(sql, (doc_id,)).fetchone()
    if not owed_or_read:
        owe_reading(db, doc_id, seq)
    return not owed_or_read


def _end_reading(db: sqlite3.Connection, doc_id: str) -> bool:
    """Take its ``read`` job from a document without live names. Return whether it had one, or could not be read."""
    if db.execute("DELETE FROM job WHERE kind = 'read' AND doc_id = ?", (doc_id,)).rowcount:
        return True
    sql = "SELECT 1 FROM document WHERE doc_id = ? AND ended IN ('failed', 'unsupported')"
    return db.execute(sql, (doc_id,)).fetchone() is not None


def _review_unnamed(db: sqlite3.Connection, doc_id: str, seq: int, at: int) -> None:
    db.execute("UPDATE document SET removed_at = ? WHERE doc_id = ? AND removed_at = 0", (at, doc_id))
    db.execute("DELETE FROM job WHERE kind = 'read' AND doc_id = ?", (doc_id,))
    ontology, shown = db.execute("SELECT ontology, shown FROM document WHERE doc_id = ?", (doc_id,)).fetchone()
    if not shown:
        return
    awaited = db.execute(_SUCCESSOR_AWAITED, (doc_id, ontology)).fetchone()[0] or parts.successor_awaited(db, doc_id)
    (stays,) = db.execute(_STAYS, (doc_id,)).fetchone()
    if awaited or stays:
        db.execute("DELETE FROM job WHERE kind = 'forget' AND doc_id = ?", (doc_id,))
    else:
        db.execute(
            "INSERT OR IGNORE INTO job (kind, doc_id, ontology, deposit, not_before) VALUES ('forget', ?, ?, ?, ?)",
            (doc_id, ontology, seq, at + timing.FORGET_AFTER_NS),
        )


def set_state(db: sqlite3.Connection, doc_id: str) -> None:
    """Store the state that follows from the tables, and update the counts of documents by state."""
    sql = (
        "SELECT ontology, state, ended, shown, text, EXISTS (SELECT 1 FROM job WHERE kind = 'read' AND doc_id = ?1),"
        " EXISTS (SELECT 1 FROM job WHERE kind = 'forget' AND doc_id = ?1) FROM document WHERE doc_id = ?1"
    )
    found = db.execute(sql, (doc_id,)).fetchone()
    if found is None:  # a job without a document, which only damage can cause
        return
    ontology, before, ended, shown, text, reading, forgetting = found
    if reading:
        state = State.TEXT if text else State.QUEUED
    elif parts.held(db, doc_id):
        state = State(ended) if ended else State.KEPT
    elif shown and not forgetting and not db.execute(_STAYS, (doc_id,)).fetchone()[0]:
        state = State.STALE
    else:
        trashed = any(db.execute(sql, (doc_id,)).fetchone()[0] for sql in (_TRASHED, _TRASHED_WITH_PARENT))
        state = State.TRASHED if trashed else State.KEPT
    if state != before:
        db.execute("UPDATE document SET state = ? WHERE doc_id = ?", (state, doc_id))
        count(db, ontology, before, -1)
        count(db, ontology, state, 1)


def count(db: sqlite3.Connection, ontology: str, state: str, change: int) -> None:
    """Add ``change`` to the number of documents of an ontology in a state."""
    db.execute(
        "INSERT INTO tally VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET documents = documents + ?3",
        (ontology, state, change),
    )


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


@dataclass(frozen=True, slots=True)
class Target:
    """The connection to the tables, and the circumstances of the fact that is being applied."""

    db: sqlite3.Connection
    seq: int
    session: str
    """The mount that acts; '' in a replay."""


@singledispatch
def apply_one(fact: object, target: Target) -> None:
    """Apply one checked fact to the tables. Each part of the fold registers the functions of its facts here."""
    raise TypeError(f"{type(fact).__name__} is not a fact.")
