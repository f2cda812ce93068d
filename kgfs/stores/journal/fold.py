"""What each fact does to the tables. Recording and replaying both call :func:`apply`, and nothing else writes what the
ledger can restore; so it asks no clock and no other process: only the fact, its number and the rows before it count.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

from kgfs.domain import NameKind, Place, State, decode_name, is_document_name
from kgfs.stores.journal import conflicts, forgetting, lineage, standing
from kgfs.stores.journal.facts import (
    AttributesSet,
    ConceptsMerged,
    ConceptSplit,
    ConflictKept,
    ContentKept,
    DocumentFailed,
    DocumentForgotten,
    DocumentRead,
    Fact,
    FileMade,
    FolderMade,
    ForgettingDone,
    ForgettingOwed,
    LinkMade,
    Moved,
    OntologyMade,
    OntologyRemoved,
    OntologyRenamed,
    Overtaken,
    ReadingOwed,
    Removed,
    SearchRemoved,
    SearchSaved,
    SettingChanged,
    Settled,
    TrashEmptied,
    TrashRestored,
    VersionMinted,
)

ROOT_NAME = "documents"
OWING = frozenset({"insert", "update", "reprocess", "revive"})
"""Decisions of a VersionMinted that owe a reading."""

# The columns of the first format, since later ones may add some.
_NAME = (
    "id, ontology, parent, name, kind, mode, uid, gid, atime, mtime, ctime, size, target, place, sha256, key, doc_id,"
    " version, settled, lineage, arrived_at, touched_at, session"
)
_TRASH = "id, ontology, path, mode, uid, gid, mtime, size, place, sha256, key, doc_id, version, lineage, at"
_VERSION = "lineage, n, doc_id, sha256, size, key, path, minted_at, deposit, decision, reason"
_DOCUMENT = (
    "doc_id, ontology, sha256, source_id, key, size, state, reason, ingest_version, reading, decisions, commit_id,"
    " deposited_at, deposit, removed_at, ended, shown"
)


@dataclass(frozen=True, slots=True)
class Target:
    """The tables, and the circumstances of one fact."""

    db: sqlite3.Connection
    seq: int
    session: str
    """The mount that acts; '' in a replay."""


def apply(fact: Fact, target: Target) -> None:
    """Make one fact true that was checked before."""
    _apply(fact, target)


@singledispatch
def _apply(fact: object, target: Target) -> None:
    raise TypeError(f"{type(fact).__name__} is not a fact.")


# ------------------------------------------------------------------------------------------------ ontologies


@_apply.register
def _(fact: OntologyMade, target: Target) -> None:
    row = (fact.ontology, fact.name, fact.prefix, fact.root, fact.at)
    target.db.execute("INSERT INTO ontology VALUES (?, ?, ?, ?, ?)", row)
    folder = FolderMade(fact.root, fact.ontology, 0, ROOT_NAME, fact.mode, fact.uid, fact.gid, fact.at)
    _insert_name(folder, NameKind.FOLDER, target)


@_apply.register
def _(fact: OntologyRenamed, target: Target) -> None:
    target.db.execute("UPDATE ontology SET name = ? WHERE id = ?", (fact.name, fact.ontology))


@_apply.register
def _(fact: OntologyRemoved, target: Target) -> None:
    sql = "INSERT INTO removed_ontology SELECT id, name, prefix, root, made_at FROM ontology WHERE id = ?"
    target.db.execute(sql, (fact.ontology,))
    target.db.execute("DELETE FROM name WHERE id = (SELECT root FROM ontology WHERE id = ?)", (fact.ontology,))
    target.db.execute("DELETE FROM ontology WHERE id = ?", (fact.ontology,))


@_apply.register
def _(fact: SettingChanged, target: Target) -> None:
    target.db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?, ?)", (fact.ontology, fact.key, fact.value))


@_apply.register
def _(fact: SearchSaved, target: Target) -> None:
    target.db.execute("INSERT INTO search VALUES (?, ?, ?)", (fact.ontology, fact.words, fact.at))


@_apply.register
def _(fact: SearchRemoved, target: Target) -> None:
    target.db.execute("DELETE FROM search WHERE ontology = ? AND words = ?", (fact.ontology, fact.words))


# ----------------------------------------------------------------------------------------------------- names


@_apply.register
def _(fact: FolderMade, target: Target) -> None:
    _insert_name(fact, NameKind.FOLDER, target)
    _touch_folder(fact.parent, fact.at, target)


@_apply.register
def _(fact: FileMade, target: Target) -> None:
    _insert_name(fact, NameKind.FILE, target)
    _touch_folder(fact.parent, fact.at, target)


@_apply.register
def _(fact: LinkMade, target: Target) -> None:
    _insert_name(fact, NameKind.LINK, target)
    _touch_folder(fact.parent, fact.at, target)


def _insert_name(fact: FolderMade | FileMade | LinkMade, kind: NameKind, target: Target) -> None:
    pointed = fact.target if isinstance(fact, LinkMade) else ""
    row = (
        *(fact.id, fact.ontology, fact.parent, fact.name, kind, fact.mode, fact.uid, fact.gid),
        *(fact.at, fact.at, fact.at, len(decode_name(pointed)), pointed, Place.NONE, "", "", "", 0, 1),
        *(fact.id if kind is NameKind.FILE else 0, fact.at, fact.at, target.session),
    )
    target.db.execute(f"INSERT INTO name ({_NAME}) VALUES ({', '.join('?' * len(row))})", row)


def _touch_folder(folder: int, at: int, target: Target) -> None:
    target.db.execute("UPDATE name SET mtime = ?1, ctime = ?1 WHERE id = ?2", (at, folder))


@_apply.register
def _(fact: ContentKept, target: Target) -> None:
    sql = (
        "UPDATE name SET sha256 = ?, size = ?, place = ?, key = ?, mtime = ?, ctime = ?, settled = 0,"
        " touched_at = ?, session = ? WHERE id = ?"
    )
    row = (fact.sha256, fact.size, fact.place, fact.key, fact.mtime, fact.at, fact.at, target.session, fact.id)
    target.db.execute(sql, row)


@_apply.register
def _(fact: ConflictKept, target: Target) -> None:
    conflicts.keep(target.db, fact, target.seq)


@_apply.register
def _(fact: Overtaken, target: Target) -> None:
    """Nothing was done."""


@_apply.register
def _(fact: AttributesSet, target: Target) -> None:
    sql = (
        "UPDATE name SET mode = coalesce(?, mode), uid = coalesce(?, uid), gid = coalesce(?, gid),"
        " atime = coalesce(?, atime), mtime = coalesce(?, mtime), ctime = ? WHERE id = ?"
    )
    target.db.execute(sql, (fact.mode, fact.uid, fact.gid, fact.atime, fact.mtime, fact.at, fact.id))


@_apply.register
def _(fact: Removed, target: Target) -> None:
    affected = _leave(_placed(fact.id, target), fact.at, target)
    standing.review(target.db, affected, target.seq, fact.at)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A live name before the fact."""

    id: int
    ontology: str
    parent: int
    name: str
    kind: NameKind
    version: int
    doc_id: str
    lineage: int
    path: str

    @property
    def has_history(self) -> bool:
        return self.kind is NameKind.FILE and self.version > 0


def _placed(name_id: int, target: Target) -> _Placed:
    sql = "SELECT id, ontology, parent, name, kind, version, doc_id, lineage FROM name WHERE id = ?"
    row = target.db.execute(sql, (name_id,)).fetchone()
    if row is None:
        raise LookupError(f"no live name has the id {name_id}")
    values = [*row, lineage.path_of(target.db, name_id) or ""]
    values[4] = NameKind(row[4])
    return _Placed(*values)


def _leave(gone: _Placed, at: int, target: Target) -> set[str]:
    """Take a name out of the tree, a file with versions to the trash; which documents that concerns."""
    affected = {gone.doc_id}
    if gone.has_history:
        target.db.execute(
            # The newest version, which the garage has; bytes that were not settled yet leave with the name.
            f"INSERT OR REPLACE INTO trash ({_TRASH})"
            " SELECT name.id, ontology, ?, mode, uid, gid, mtime, version.size, 'garage',"
            " version.sha256, version.key, version.doc_id, n, name.lineage, ? FROM name JOIN version"
            " ON version.lineage = name.lineage AND n = name.version WHERE name.id = ?",
            (gone.path, at, gone.id),
        )
        lineage.depart(target.db, gone.parent, gone.name, gone.lineage, at, removed=True)
        if not is_document_name(gone.path):
            lineage.removed_aside(target.db, gone.lineage)
        affected |= standing.of_lineage(target.db, gone.lineage)
    target.db.execute("DELETE FROM name WHERE id = ?", (gone.id,))
    _touch_folder(gone.parent, at, target)
    return affected


@_apply.register
def _(fact: Moved, target: Target) -> None:
    before = _placed(fact.id, target)
    affected = {before.doc_id}
    succeeds = None
    if fact.replaces:
        replaced = _placed(fact.replaces, target)
        if replaced.has_history and before.kind is NameKind.FILE:
            succeeds = replaced
            affected |= {replaced.doc_id} | standing.of_lineage(target.db, before.lineage)
            target.db.execute("DELETE FROM name WHERE id = ?", (replaced.id,))
        else:
            affected |= _leave(replaced, fact.at, target)
    elsewhere = (before.parent, before.name) != (fact.parent, fact.name)
    if before.has_history and elsewhere:
        lineage.depart(target.db, before.parent, before.name, before.lineage, fact.at, removed=False)
    target.db.execute(
        "UPDATE name SET ontology = ?, parent = ?, name = ?, ctime = ?, arrived_at = ? WHERE id = ?",
        (fact.ontology, fact.parent, fact.name, fact.at, fact.at, fact.id),
    )
    _touch_folder(before.parent, fact.at, target)
    _touch_folder(fact.parent, fact.at, target)
    after = lineage.path_of(target.db, fact.id) or ""
    if before.kind is NameKind.FOLDER:
        affected |= _carry_folder(before, after, fact, target)
    elif before.kind is NameKind.FILE:
        affected |= _carry_file(before, after, succeeds, fact, target)
    standing.review(target.db, affected, target.seq, fact.at)


def _carry_file(before: _Placed, after: str, succeeds: _Placed | None, fact: Moved, target: Target) -> set[str]:
    """The consequences of a file's move for its history and its settling."""
    affected: set[str] = set()
    crossed = before.ontology != fact.ontology
    if succeeds:
        sql = "UPDATE name SET lineage = ?, version = ?, doc_id = ? WHERE id = ?"
        target.db.execute(sql, (succeeds.lineage, succeeds.version, succeeds.doc_id, fact.id))
        affected |= standing.of_lineage(target.db, succeeds.lineage)
    elif crossed:
        target.db.execute("UPDATE name SET doc_id = '' WHERE id = ?", (fact.id,))
        affected |= standing.of_lineage(target.db, before.lineage)
    if fact.replaces or crossed or is_document_name(before.path) != is_document_name(after):
        target.db.execute("UPDATE name SET settled = 0 WHERE id = ?", (fact.id,))
    sql = "UPDATE name SET touched_at = ?, session = ? WHERE id = ? AND settled = 0"
    target.db.execute(sql, (fact.at, target.session, fact.id))
    return affected


_BELOW = """
WITH RECURSIVE below (id, kind, path, lineage, doc_id) AS (
    SELECT id, kind, name, lineage, doc_id FROM name WHERE parent = ?1 AND parent != 0
    UNION ALL
    SELECT name.id, name.kind, below.path || '/' || name.name, name.lineage, name.doc_id
    FROM below JOIN name ON name.parent = below.id AND name.parent != 0 WHERE below.kind = 'folder'
)
SELECT id, kind, path, lineage, doc_id FROM below
"""


def _carry_folder(before: _Placed, after: str, fact: Moved, target: Target) -> set[str]:
    """The consequences of a folder's move for all that stands below it."""
    crossed = before.ontology != fact.ontology
    hidden = [not is_document_name(f"{path}/x") for path in (before.path, after)]
    if not crossed and hidden[0] == hidden[1]:
        return set()
    affected: set[str] = set()
    for name_id, kind, path, held, doc_id in target.db.execute(_BELOW, (fact.id,)).fetchall():
        if crossed:
            sql = "UPDATE name SET ontology = ?, doc_id = '' WHERE id = ?"
            target.db.execute(sql, (fact.ontology, name_id))
            if doc_id:
                affected |= {doc_id} | standing.of_lineage(target.db, held)
        if kind == NameKind.FILE and (crossed or is_document_name(path)):
            sql = "UPDATE name SET settled = 0, touched_at = ?, session = ? WHERE id = ?"
            target.db.execute(sql, (fact.at, target.session, name_id))
    return affected


# --------------------------------------------------------------------------------------- versions, documents


@_apply.register
def _(fact: Settled, target: Target) -> None:
    now = _placed(fact.id, target)
    target.db.execute(
        "UPDATE name SET place = ?, key = ?, settled = 1, decision = ?, reason = ? WHERE id = ?",
        (fact.place, fact.key, fact.decision, fact.reason, fact.id),
    )
    if not now.has_history:
        return
    # The path still has its newest version's Document if its bytes are that version's and it may be a Document at all.
    sql = (
        "SELECT version.doc_id FROM name JOIN version ON version.lineage = name.lineage AND version.n = name.version"
        " JOIN document ON document.doc_id = version.doc_id"
        " WHERE name.id = ? AND version.sha256 = name.sha256 AND document.ontology = name.ontology"
    )
    row = target.db.execute(sql, (fact.id,)).fetchone() if is_document_name(now.path) else None
    target.db.execute("UPDATE name SET doc_id = ? WHERE id = ?", (row[0] if row else "", fact.id))
    affected = {now.doc_id} | standing.of_lineage(target.db, now.lineage)
    standing.review(target.db, affected, target.seq, fact.at)


@_apply.register
def _(fact: VersionMinted, target: Target) -> None:
    db, seq = target.db, target.seq
    before = _placed(fact.id, target)
    held = before.lineage
    takes = lineage.adopted(db, fact.id)
    affected = {fact.doc_id, before.doc_id}
    if takes:
        held = takes[0]
        affected |= _give_up(takes[1], fact.at, target)
        db.execute("DELETE FROM departed WHERE parent = ? AND name = ?", (before.parent, before.name))
    affected |= standing.of_lineage(db, held)
    row = (
        *(held, fact.n, fact.doc_id, fact.sha256, fact.size, fact.key, fact.path, fact.at, seq),
        *(fact.decision, fact.reason),
    )
    db.execute(f"INSERT INTO version ({_VERSION}) VALUES ({', '.join('?' * len(row))})", row)
    db.execute(
        "UPDATE name SET lineage = ?, version = ?, doc_id = ?, place = ?, key = ?, settled = 1, decision = ?, reason = ?"
        " WHERE id = ?",
        (held, fact.n, fact.doc_id, Place.GARAGE, fact.key, fact.decision, fact.reason, fact.id),
    )
    _keep_document(fact, target)
    if fact.decision in OWING:
        standing.owe_reading(db, fact.doc_id, seq)
        affected |= standing.of_holders(db, fact.doc_id)
    standing.review(db, affected, seq, fact.at)


def _give_up(holder: int | None, at: int, target: Target) -> set[str]:
    """The file that was moved aside leaves its lineage to its successor and starts one of its own."""
    if holder is None:
        return set()
    doc_id = _placed(holder, target).doc_id
    # Ids of names are positive, so the negative number of the fact is a lineage nobody has.
    target.db.execute(
        "UPDATE name SET lineage = ?, version = 0, doc_id = '', settled = 0, touched_at = ? WHERE id = ?",
        (-target.seq, at, holder),
    )
    return {doc_id}


def _keep_document(fact: VersionMinted, target: Target) -> None:
    row = (
        *(fact.doc_id, fact.ontology, fact.sha256, fact.source_id, fact.key, fact.size, State.KEPT, ""),
        *(fact.ingest_version, "", "", "", fact.at, target.seq, 0, "", 0),
    )
    sql = f"INSERT OR IGNORE INTO document ({_DOCUMENT}) VALUES ({', '.join('?' * len(row))})"
    made = target.db.execute(sql, row).rowcount
    if made:
        standing.count(target.db, fact.ontology, State.KEPT, 1)
    sql = "INSERT OR IGNORE INTO shown SELECT lineage, ?1 FROM name WHERE id = ?2 AND (SELECT shown FROM document WHERE doc_id = ?1)"
    target.db.execute(sql, (fact.doc_id, fact.id))


@_apply.register
def _(fact: DocumentRead, target: Target) -> None:
    # The same publication again: what a person said of its concepts since stands.
    sql = (
        "UPDATE document SET ended = ?, reason = '', reading = ?,"
        " decisions = CASE WHEN commit_id = ? THEN decisions ELSE ? END, commit_id = ?, ingest_version = ?,"
        " former_reading = reading, former_decisions = decisions WHERE doc_id = ?"
    )
    commit = fact.commit_id
    row = (fact.state, fact.reading, commit, fact.decisions, commit, fact.ingest_version, fact.doc_id)
    target.db.execute(sql, row)
    standing.enter_graph(target.db, fact.doc_id)
    for doc_id in fact.superseded:
        standing.leave_graph(target.db, doc_id)
    _end_job("read", fact.doc_id, target)
    affected = standing.of_holders(target.db, fact.doc_id) | set(fact.superseded)
    standing.review(target.db, affected, target.seq, fact.at)


@_apply.register
def _(fact: ReadingOwed, target: Target) -> None:
    sql = "SELECT min(since) FROM job WHERE run = ? AND run != '' AND since > 0"
    first = target.db.execute(sql, (fact.run,)).fetchone()[0] or target.seq
    standing.owe_reading(target.db, fact.doc_id, target.seq)
    target.db.execute(
        "UPDATE job SET strategy = ?, extractor = ?, run = ?, since = ? WHERE kind = 'read' AND doc_id = ?",
        (fact.strategy, fact.extractor, fact.run, first if fact.anew else 0, fact.doc_id),
    )
    standing.review(target.db, standing.of_holders(target.db, fact.doc_id), target.seq, fact.at)


@_apply.register
def _(fact: DocumentFailed, target: Target) -> None:
    sql = (
        "UPDATE document SET ended = ?, reason = ?,"
        " ingest_version = CASE WHEN reading = '' THEN ? ELSE ingest_version END WHERE doc_id = ?"
    )
    target.db.execute(sql, (fact.state, fact.reason, fact.ingest_version, fact.doc_id))
    _end_job("read", fact.doc_id, target)
    standing.review(target.db, standing.of_holders(target.db, fact.doc_id), target.seq, fact.at)


@_apply.register
def _(fact: DocumentForgotten, target: Target) -> None:
    standing.leave_graph(target.db, fact.doc_id)
    _end_job("forget", fact.doc_id, target)
    standing.review(target.db, {fact.doc_id}, target.seq, fact.at)


# -------------------------------------------------------------------------------------------- trash, forgetting


@_apply.register
def _(fact: TrashRestored, target: Target) -> None:
    affected = forgetting.restore(target.db, fact, target.seq, target.session)
    _touch_folder(fact.parent, fact.at, target)
    standing.review(target.db, affected, target.seq, fact.at)


@_apply.register
def _(fact: TrashEmptied, target: Target) -> None:
    standing.review(target.db, forgetting.empty(target.db, fact.ids), target.seq, fact.at)


@_apply.register
def _(fact: ForgettingOwed, target: Target) -> None:
    affected = set(fact.doc_ids)
    for name_id in fact.names:
        affected |= _leave(_placed(name_id, target), fact.at, target)
    forgetting.owe(target.db, fact, target.seq)
    standing.review(target.db, affected, target.seq, fact.at)


@_apply.register
def _(fact: ForgettingDone, target: Target) -> None:
    standing.review(target.db, forgetting.carried_out(target.db, fact), target.seq, fact.at)
    _decide(fact.decisions, target)


@_apply.register(ConceptsMerged)
@_apply.register(ConceptSplit)
def _(fact: ConceptsMerged | ConceptSplit, target: Target) -> None:
    _decide(fact.decisions, target)


def _decide(decisions: Sequence[str], target: Target) -> None:
    for key in decisions:
        target.db.execute("UPDATE document SET decisions = ? WHERE doc_id = ?", (key, key.split("/")[1]))


def _end_job(kind: str, doc_id: str, target: Target) -> None:
    target.db.execute("DELETE FROM job WHERE kind = ? AND doc_id = ?", (kind, doc_id))
