"""Keep what another home wrote and has not settled, before this home writes over it."""

from __future__ import annotations

import sqlite3

from kgfs.domain.documents import StorageTier
from kgfs.domain.names import is_document_name
from kgfs.stores.catalog.conflicts import OVERWRITTEN
from kgfs.stores.catalog.facts import ConflictKept, ContentKept, Fact, Moved
from kgfs.stores.catalog.lineage import next_version, path_of
from kgfs.stores.catalog.origin import ELSEWHERE
from kgfs.stores.pending_uploads import waiting_key


def written_over(db: sqlite3.Connection, fact: Fact) -> ConflictKept | None:
    """Return the fact that makes a version of another home's unsettled content, to be recorded before ``fact``.

    None unless ``fact`` writes over such a content of a document, replaces it by a rename, or moves it aside under a
    name that is no document's. The other home has put the bytes into the garage already. It settles them no more once
    it follows ``fact``, so they would be in no version.
    """
    if isinstance(fact, ContentKept):
        if fact.base is not None:  # it does not become current: it is a conflict
            return None
        return _kept(db, fact.id, fact.sha256, fact.at)
    if not isinstance(fact, Moved):
        return None
    if fact.replaces:
        moved = db.execute("SELECT sha256 FROM name WHERE id = ?", (fact.id,)).fetchone()
        return _kept(db, fact.replaces, moved[0] if moved else "", fact.at)
    folder = path_of(db, fact.parent)
    is_put_aside = not is_document_name(f"{folder}/{fact.name}" if folder else fact.name)
    return _kept(db, fact.id, "", fact.at) if is_put_aside else None


def _kept(db: sqlite3.Connection, name_id: int, sha256: str, at: int) -> ConflictKept | None:
    """Return the fact about the unsettled content of a name that another home wrote; None if there is none, if it is
    ``sha256``, or if the path's history has it."""
    sql = (
        "SELECT sha256, size, place, key FROM name"
        " WHERE id = ? AND kind = 'file' AND settled = 0 AND session = ? AND size > 0 AND sha256 != ?"
    )
    row = db.execute(sql, (name_id, ELSEWHERE, sha256)).fetchone()
    path = path_of(db, name_id)
    found = next_version(db, name_id)
    if row is None or path is None or found is None or not is_document_name(path):
        return None
    if db.execute("SELECT 1 FROM version WHERE lineage = ? AND sha256 = ?", (found[0], row[0])).fetchone():
        return None
    key = row[3] if row[2] == StorageTier.GARAGE else waiting_key(name_id, row[0])
    why = "another home wrote over it before it was settled"
    return ConflictKept(name_id, row[0], row[1], key, path, why, at, OVERWRITTEN)
