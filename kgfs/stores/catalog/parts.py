"""Parts of documents in the tables: which parents hold a document, and what becomes of parts without a parent."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kgfs.domain.documents import State
from kgfs.domain.identity import doc_id_of

if TYPE_CHECKING:
    from kgfs.stores.catalog.facts import PartsFound

PART = "parent, n, child, name, given, kind, media_type, size"

_HOLDS = "(above.names > 0 OR above.state = 'stale')"
"""A parent that waits for its successor holds its parts still: the successor may have the same ones."""
_HOLDERS = (
    f"SELECT {', '.join(f'part.{column}' for column in PART.split(', '))} FROM part"
    " JOIN document above ON above.doc_id = part.parent LEFT JOIN document me ON me.doc_id = part.child"
    f" WHERE part.child = ? AND part.child != '' AND {_HOLDS}"
    " ORDER BY part.parent != me.parent, above.deposited_at, part.parent, part.n"
)
_LET_GO = """
SELECT NOT EXISTS (SELECT 1 FROM name WHERE doc_id = ?1) AND NOT EXISTS (SELECT 1 FROM version WHERE doc_id = ?1)
    AND NOT EXISTS (SELECT 1 FROM trash WHERE doc_id = ?1) AND NOT EXISTS (SELECT 1 FROM part WHERE child = ?1 AND child != '')
"""

_SAME_NUMBER = """
SELECT DISTINCT twin.child FROM (
    SELECT DISTINCT path.lineage, mine.n FROM part AS mine
    CROSS JOIN {paths} AS path ON path.doc_id = mine.parent AND path.doc_id != ''
    WHERE mine.child = ?1 AND mine.child != '' AND mine.kind = 'segment' AND path.lineage != 0
) AS place
CROSS JOIN version AS other ON other.lineage = place.lineage AND other.doc_id != ''
CROSS JOIN part AS twin ON twin.parent = other.doc_id AND twin.n = place.n AND twin.child NOT IN ('', ?1)
CROSS JOIN document AS that ON that.doc_id = twin.child
CROSS JOIN document AS this ON this.doc_id = ?1 AND this.ontology = that.ontology
WHERE twin.kind = 'segment'
"""
"""The segments with the number of this one in other versions of its transcript."""
_SHOWN_ALONE = " AND that.shown = 1 AND that.names = 0"
_REPLACED = _SAME_NUMBER.format(paths="version") + _SHOWN_ALONE
_REPLACED_NOW = (
    f"{_SAME_NUMBER.format(paths='name')}{_SHOWN_ALONE}"
    " AND NOT EXISTS (SELECT 1 FROM tombstone WHERE tombstone.doc_id = twin.child)"
)
_REPLACING = f"""{_SAME_NUMBER.format(paths="version")}
AND EXISTS (SELECT 1 FROM document AS above WHERE above.doc_id = twin.parent AND {_HOLDS})
AND (EXISTS (SELECT 1 FROM job WHERE job.kind = 'read' AND job.doc_id = twin.child)
     OR (that.shown = 0 OR that.text != '') AND that.ended IN ('failed', 'unsupported'))
LIMIT 1
"""


def replaced(db: sqlite3.Connection, doc_id: str, *, now: bool = False) -> set[str]:
    """Return the segments that this one takes the place of, or took before it lost its own: those with its number in other
    versions of its transcript that the graph shows and nothing holds. With ``now`` only those that its publication takes
    out, because a live path has the transcript that it is part of."""
    return {child for (child,) in db.execute(_REPLACED_NOW if now else _REPLACED, (doc_id,)).fetchall()}


def successor_awaited(db: sqlite3.Connection, doc_id: str) -> bool:
    """Return whether the segment that takes the place of this one is to be read, or could not be."""
    return db.execute(_REPLACING, (doc_id,)).fetchone() is not None


def held(db: sqlite3.Connection, doc_id: str) -> bool:
    """Return whether a live name or a parent holds the document."""
    sql = (
        "SELECT EXISTS (SELECT 1 FROM name WHERE doc_id = ?1 AND doc_id != '') OR EXISTS (SELECT 1 FROM part"
        f" JOIN document above ON above.doc_id = part.parent WHERE part.child = ?1 AND part.child != '' AND {_HOLDS})"
    )
    return bool(db.execute(sql, (doc_id,)).fetchone()[0])


def holders(db: sqlite3.Connection, doc_id: str) -> list[tuple[Any, ...]]:
    """Return the rows of ``part`` that hold the document, those of its first parent first."""
    return db.execute(_HOLDERS, (doc_id,)).fetchall()


def all_held(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Return (child, parent, name) of all parts that a parent holds."""
    return db.execute(
        "SELECT part.child, part.parent, part.name FROM part JOIN document above ON above.doc_id = part.parent"
        f" WHERE part.child != '' AND {_HOLDS} ORDER BY part.parent, part.n"
    ).fetchall()


def holds(db: sqlite3.Connection, doc_id: str) -> tuple[bool, bool]:
    """Return whether the document holds its parts, and whether it is in the trash, on which the state of its parts
    depends, too."""
    sql = f"SELECT {_HOLDS}, above.state = '{State.TRASHED}' FROM document above WHERE doc_id = ?"
    found = db.execute(sql, (doc_id,)).fetchone()
    return (bool(found[0]), bool(found[1])) if found else (False, False)


def without_parents_among(db: sqlite3.Connection, doc_ids: set[str]) -> set[str]:
    """Return those of the documents that are no part of another one of them, which is not the empty set."""
    if db.execute("SELECT 1 FROM part LIMIT 1").fetchone() is None:
        return set(doc_ids)
    sql = "SELECT parent FROM part WHERE child = ? AND child != ''"
    first = {
        doc_id
        for doc_id in doc_ids
        if not any(parent in doc_ids for (parent,) in db.execute(sql, (doc_id,)).fetchall())
    }
    return first or set(doc_ids)


def children(db: sqlite3.Connection, doc_id: str) -> list[str]:
    """Return the Documents that are parts of this one, each once, in order."""
    sql = "SELECT child FROM part WHERE parent = ? AND child != '' GROUP BY child ORDER BY min(n)"
    return [child for (child,) in db.execute(sql, (doc_id,)).fetchall()]


def replace(db: sqlite3.Connection, fact: PartsFound, seq: int) -> set[str]:
    """Give a document the parts of the fact in place of those that it had, and make the Documents that are missing.
    Return the Documents concerned."""
    former = drop(db, fact.doc_id)
    current: set[str] = set()
    above = db.execute(
        "SELECT ontology, source_id, root, depth FROM document WHERE doc_id = ?", (fact.doc_id,)
    ).fetchone()
    ontology, source_id, root, depth = above
    for n, name in enumerate(fact.names, 1):
        sha256, size = fact.sha256s[n - 1], fact.sizes[n - 1]
        child = ""
        if sha256:
            sql = "SELECT doc_id FROM document WHERE ontology = ? AND sha256 = ? ORDER BY deposit DESC LIMIT 1"
            known = db.execute(sql, (ontology, sha256)).fetchone()
            own_id = f"{source_id}/{name}"
            child = known[0] if known else doc_id_of(own_id, sha256)
            if known is None:
                db.execute(
                    "INSERT INTO document (doc_id, ontology, sha256, source_id, key, size, state, reason, ingest_version,"
                    " reading, decisions, commit_id, deposited_at, deposit, removed_at, ended, shown, parent, root, depth)"
                    " VALUES (?, ?, ?, ?, ?, ?, 'kept', '', ?, '', '', '', ?, ?, 0, '', 0, ?, ?, ?)",
                    (
                        *(child, ontology, sha256, own_id, fact.keys[n - 1], size, fact.ingest_version, fact.at, seq),
                        *(fact.doc_id, root or fact.doc_id, depth + 1),
                    ),
                )
                tally = "INSERT INTO tally VALUES (?, 'kept', 1) ON CONFLICT DO UPDATE SET documents = documents + 1"
                db.execute(tally, (ontology,))
            current.add(child)
        row = (fact.doc_id, n, child, name, fact.given[n - 1], fact.kinds[n - 1], fact.media_types[n - 1], size)
        db.execute(f"INSERT INTO part ({PART}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    # It may have left with the trash while it was read.
    return former | current | let_go(db, {fact.doc_id, *(former - current)})


def drop(db: sqlite3.Connection, doc_id: str) -> set[str]:
    """Take its parts from a document, and note their originals, which nothing may want any more. Return the Documents
    that were parts."""
    gone = {child for (child,) in db.execute("DELETE FROM part WHERE parent = ? RETURNING child", (doc_id,)).fetchall()}
    gone.discard("")
    for child in sorted(gone):
        db.execute("INSERT OR IGNORE INTO unheld SELECT key FROM document WHERE doc_id = ?", (child,))
    return gone


def let_go(db: sqlite3.Connection, doc_ids: Iterable[str]) -> set[str]:
    """Take their parts from those of these documents whose originals nothing promises to keep any more, and from parts
    that are left so. Return the Documents that were parts."""
    affected: set[str] = set()
    waiting = sorted(doc_id for doc_id in doc_ids if doc_id)
    while waiting:
        doc_id = waiting.pop()
        if db.execute(_LET_GO, (doc_id,)).fetchone()[0]:
            gone = drop(db, doc_id)
            waiting += sorted(gone)
            affected |= gone
    return affected
