"""Apply forgetting to the tables: the trash and its emptying, pending forgettings, tombstones, suppressions, and
purges.

A forgetting is first decided, with all its choices, and then carried out. So a process that is killed between the two
steps loses nothing. While a document's forgetting is pending, the document has no ``forget`` job of its own. A
document that gains a name again before its forgetting is carried out is taken out of the forgetting: the later
deposit wins.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kgfs.domain.names import is_document_name
from kgfs.stores.catalog import parts, path_states
from kgfs.stores.catalog.path_states import path_of
from kgfs.stores.catalog.rows import Forgetting, Trashed

if TYPE_CHECKING:
    from kgfs.stores.catalog.facts import ForgettingDone, ForgettingOwed, TrashRestored

TRASHED = "id, ontology, path, mode, uid, gid, mtime, size, sha256, key, doc_id, version, lineage, at"

_HELD = """
SELECT EXISTS (SELECT 1 FROM name WHERE lineage = ?1 AND lineage != 0) OR EXISTS (SELECT 1 FROM trash WHERE lineage = ?1)
"""


# ------------------------------------------------------------------------------------------------------ trash


def restore(db: sqlite3.Connection, fact: TrashRestored, seq: int, session: str) -> set[str]:
    """Restore a removed file under its id and with its attributes. Return the documents concerned.

    The file gets its history and its Document back. If another file continued the history meanwhile, if the goal is
    in another ontology, or if its path is no document's, the file is left unsettled, to be settled anew."""
    gone = Trashed(*db.execute(f"SELECT {TRASHED} FROM trash WHERE id = ?", (fact.id,)).fetchone())
    continued = db.execute("SELECT 1 FROM name WHERE lineage = ? AND lineage != 0", (gone.lineage,)).fetchone()
    home = db.execute("SELECT ontology FROM document WHERE doc_id = ?", (gone.doc_id,)).fetchone()
    path = f"{path_of(db, fact.parent)}/{fact.name}".lstrip("/")
    at_home = continued is None and home == (fact.ontology,) and is_document_name(path)
    # Numbers of facts are positive, so a negative one is a lineage that no name has.
    lineage, version = (-seq, 0) if continued else (gone.lineage, gone.version)
    row = (
        *(fact.id, fact.ontology, fact.parent, fact.name, "file", gone.mode, gone.uid, gone.gid),
        *(gone.mtime, gone.mtime, fact.at, gone.size, "", "garage", gone.sha256, gone.key),
        *(gone.doc_id if at_home else "", version, int(at_home), lineage, fact.at, fact.at, session),
    )
    db.execute(
        "INSERT INTO name (id, ontology, parent, name, kind, mode, uid, gid, atime, mtime, ctime, size, target, place,"
        " sha256, key, doc_id, version, settled, lineage, arrived_at, touched_at, session)"
        f" VALUES ({', '.join('?' * len(row))})",
        row,
    )
    db.execute("DELETE FROM trash WHERE id = ?", (fact.id,))
    if not continued:
        db.execute("DELETE FROM departed WHERE lineage = ?", (gone.lineage,))
    return {gone.doc_id} | path_states.of_lineage(db, gone.lineage)


def empty(db: sqlite3.Connection, ids: Iterable[int]) -> set[str]:
    """Delete files from the trash for good. Return the documents concerned. Histories that no file has any more are
    deleted too, and the originals that they referred to are noted as unheld."""
    affected: set[str] = set()
    for name_id in ids:
        row = db.execute("DELETE FROM trash WHERE id = ? RETURNING lineage, key, doc_id", (name_id,)).fetchone()
        if row is None:
            continue
        lineage, key, doc_id = row
        affected |= {doc_id} | path_states.of_lineage(db, lineage)
        db.execute("INSERT OR IGNORE INTO unheld VALUES (?)", (key,))
        affected |= drop_history(db, lineage)
        affected |= parts.let_go(db, affected)
    return affected


def drop_history(db: sqlite3.Connection, lineage: int) -> set[str]:
    """Delete a history that no file has, live or in the trash. Return the documents that it had."""
    if db.execute(_HELD, (lineage,)).fetchone()[0]:
        return set()
    db.execute("INSERT OR IGNORE INTO unheld SELECT key FROM version WHERE lineage = ?", (lineage,))
    gone = db.execute("DELETE FROM version WHERE lineage = ? RETURNING doc_id", (lineage,)).fetchall()
    db.execute("DELETE FROM departed WHERE lineage = ?", (lineage,))
    return {doc_id for (doc_id,) in gone}


def unheld(db: sqlite3.Connection, among: Sequence[str] | None) -> list[str]:
    """Return the sorted keys of noted originals that nothing refers to any more. With ``among``, only those of these
    keys.

    While the graph shows a document, its original is wanted, except where the document is a tombstone that no pending
    forgetting names: its Text was kept in place of the original."""
    sql = (
        "SELECT key FROM unheld WHERE NOT EXISTS (SELECT 1 FROM version WHERE version.key = unheld.key)"
        " AND NOT EXISTS (SELECT 1 FROM trash WHERE trash.key = unheld.key)"
        " AND NOT EXISTS (SELECT 1 FROM name WHERE name.key = unheld.key AND name.place = 'garage')"
        " AND NOT EXISTS (SELECT 1 FROM document JOIN part ON child = doc_id AND child != '' WHERE document.key = unheld.key)"
        " AND NOT EXISTS (SELECT 1 FROM document WHERE document.key = unheld.key AND shown"
        " AND (NOT EXISTS (SELECT 1 FROM tombstone WHERE tombstone.doc_id = document.doc_id)"
        " OR EXISTS (SELECT 1 FROM forgetting_document pending WHERE pending.doc_id = document.doc_id)))"
    )
    if among is None:
        return [key for (key,) in db.execute(f"{sql} ORDER BY key").fetchall()]
    sql += " AND key IN (SELECT value FROM json_each(?)) ORDER BY key"
    return [key for (key,) in db.execute(sql, (json.dumps(among),)).fetchall()]


# -------------------------------------------------------------------------------------------------- forgetting


def owe(db: sqlite3.Connection, fact: ForgettingOwed, seq: int) -> None:
    """Note the forgetting that is to be carried out. The caller has removed the names already."""
    if fact.purge:
        db.executemany("DELETE FROM trash WHERE id = ?", [(name_id,) for name_id in fact.names])
        db.executemany("DELETE FROM trash WHERE doc_id = ?", [(doc_id,) for doc_id in fact.doc_ids])
    row = (fact.order, fact.cascade, fact.purge, json.dumps(fact.concepts), fact.at)
    db.execute("INSERT INTO forgetting VALUES (?, ?, ?, ?, ?)", row)
    rows = [(doc_id, fact.order) for doc_id in fact.doc_ids]
    db.executemany("INSERT INTO forgetting_document VALUES (?, ?)", rows)
    if fact.cascade == "none":
        db.executemany(
            "INSERT OR IGNORE INTO tombstone SELECT doc_id, ?2 FROM document WHERE doc_id = ?1 AND shown",
            [(doc_id, fact.at) for doc_id in fact.doc_ids],
        )
    else:
        db.executemany("DELETE FROM tombstone WHERE doc_id = ?", [(doc_id,) for doc_id in fact.doc_ids])
    db.executemany("INSERT OR REPLACE INTO suppression VALUES (?, ?)", [(norm, seq) for norm in fact.suppressed])


def carried_out(db: sqlite3.Connection, fact: ForgettingDone) -> set[str]:
    """End a pending forgetting. Return the documents whose state is to be reviewed."""
    db.execute("DELETE FROM forgetting WHERE id = ?", (fact.order,))
    db.execute("DELETE FROM forgetting_document WHERE forgetting = ?", (fact.order,))
    if fact.cascade == "none":
        return set(fact.doc_ids)
    for doc_id in fact.doc_ids:
        path_states.leave_graph(db, doc_id)
        db.execute("DELETE FROM job WHERE kind = 'forget' AND doc_id = ?", (doc_id,))
    if not fact.purge:
        return set(fact.doc_ids)
    return _erase(db, fact.doc_ids)


def _erase(db: sqlite3.Connection, doc_ids: Sequence[str]) -> set[str]:
    """Delete every row about these documents. Return the other documents whose state is to be reviewed."""
    lineages: set[int] = set()
    orphans: set[str] = set()
    for doc_id in doc_ids:
        gone = db.execute("DELETE FROM version WHERE doc_id = ? RETURNING lineage", (doc_id,)).fetchall()
        lineages |= {lineage for (lineage,) in gone}
        db.execute("DELETE FROM trash WHERE doc_id = ?", (doc_id,))
        db.execute("DELETE FROM job WHERE doc_id = ?", (doc_id,))
        db.execute("DELETE FROM tombstone WHERE doc_id = ?", (doc_id,))
        orphans |= parts.drop(db, doc_id)
        db.execute("UPDATE part SET child = '' WHERE child = ?", (doc_id,))
        row = db.execute("DELETE FROM document WHERE doc_id = ? RETURNING ontology, state, key", (doc_id,)).fetchone()
        if row is not None:
            path_states.count(db, row[0], row[1], -1)
            # The purge deleted the original. If the same bytes were deposited again, they must not be deleted.
            db.execute(
                "DELETE FROM unheld WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM name WHERE key = ?1)", (row[2],)
            )
    affected: set[str] = orphans
    for lineage in sorted(lineages):
        db.execute(
            "UPDATE name SET version = coalesce((SELECT max(n) FROM version WHERE lineage = ?1 AND n <= name.version), 0)"
            " WHERE lineage = ?1 AND lineage != 0",
            (lineage,),
        )
        affected |= drop_history(db, lineage) | path_states.of_lineage(db, lineage)
    affected |= parts.let_go(db, affected - set(doc_ids))
    return affected - set(doc_ids)


# -------------------------------------------------------------------------------------------------- questions


def owed(db: sqlite3.Connection) -> list[Forgetting]:
    """Return the pending forgettings, oldest first."""
    rows = db.execute("SELECT id, cascade, purge, concepts, at FROM forgetting ORDER BY at, id").fetchall()
    found = []
    for order, cascade, purge, concepts, at in rows:
        sql = "SELECT doc_id FROM forgetting_document WHERE forgetting = ? ORDER BY doc_id"
        doc_ids = tuple(doc_id for (doc_id,) in db.execute(sql, (order,)).fetchall())
        found.append(Forgetting(order, doc_ids, cascade, bool(purge), tuple(json.loads(concepts)), at))
    return found


def suppressed(db: sqlite3.Connection, concept_ids: Sequence[str], doc_id: str) -> frozenset[str]:
    """Return which of the concepts were suppressed since the document was last deposited."""
    sql = (
        "SELECT concept FROM suppression WHERE concept IN (SELECT value FROM json_each(?1))"
        " AND seq > coalesce((SELECT max(deposit) FROM version WHERE doc_id = ?2), 0)"
    )
    return frozenset(found for (found,) in db.execute(sql, (json.dumps(sorted(concept_ids)), doc_id)).fetchall())
