"""Apply facts about ontologies and names to the tables."""

from __future__ import annotations

from dataclasses import dataclass

from kgfs.domain.documents import NameKind, StorageTier
from kgfs.domain.names import decode_name, is_document_name
from kgfs.stores.catalog import path_states
from kgfs.stores.catalog.facts import (
    AttributesSet,
    ContentKept,
    FileMade,
    FolderMade,
    LinkMade,
    Moved,
    OntologyMade,
    OntologyRemoved,
    OntologyRenamed,
    OwnerChanged,
    QuestionRemoved,
    QuestionSaved,
    Removed,
    SearchRemoved,
    SearchSaved,
    SettingChanged,
)
from kgfs.stores.catalog.path_states import Target, apply_one

ROOT_NAME = "documents"

# The columns of the first format are named, since later formats may add columns.
_NAME = (
    "id, ontology, parent, name, kind, mode, uid, gid, atime, mtime, ctime, size, target, place, sha256, key, doc_id,"
    " version, settled, lineage, arrived_at, touched_at, session"
)
_TRASH = "id, ontology, path, mode, uid, gid, mtime, size, place, sha256, key, doc_id, version, lineage, at"


# ------------------------------------------------------------------------------------------------ ontologies


@apply_one.register
def _(fact: OntologyMade, target: Target) -> None:
    row = (fact.ontology, fact.name, fact.prefix, fact.root, fact.at)
    target.db.execute("INSERT INTO ontology VALUES (?, ?, ?, ?, ?)", row)
    folder = FolderMade(fact.root, fact.ontology, 0, ROOT_NAME, fact.mode, fact.uid, fact.gid, fact.at)
    _insert_name(folder, NameKind.FOLDER, target)


@apply_one.register
def _(fact: OntologyRenamed, target: Target) -> None:
    target.db.execute("UPDATE ontology SET name = ? WHERE id = ?", (fact.name, fact.ontology))


@apply_one.register
def _(fact: OntologyRemoved, target: Target) -> None:
    sql = "INSERT INTO removed_ontology SELECT id, name, prefix, root, made_at FROM ontology WHERE id = ?"
    target.db.execute(sql, (fact.ontology,))
    target.db.execute("DELETE FROM name WHERE id = (SELECT root FROM ontology WHERE id = ?)", (fact.ontology,))
    target.db.execute("DELETE FROM ontology WHERE id = ?", (fact.ontology,))


@apply_one.register
def _(fact: SettingChanged, target: Target) -> None:
    target.db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?, ?)", (fact.ontology, fact.key, fact.value))


@apply_one.register
def _(fact: SearchSaved, target: Target) -> None:
    target.db.execute("INSERT INTO search VALUES (?, ?, ?)", (fact.ontology, fact.words, fact.at))


@apply_one.register
def _(fact: SearchRemoved, target: Target) -> None:
    target.db.execute("DELETE FROM search WHERE ontology = ? AND words = ?", (fact.ontology, fact.words))


@apply_one.register
def _(fact: QuestionSaved, target: Target) -> None:
    target.db.execute("INSERT OR REPLACE INTO question VALUES (?, ?, ?)", (fact.ontology, fact.question, fact.at))


@apply_one.register
def _(fact: OwnerChanged, target: Target) -> None:
    pass


@apply_one.register
def _(fact: QuestionRemoved, target: Target) -> None:
    target.db.execute("DELETE FROM question WHERE ontology = ? AND question = ?", (fact.ontology, fact.question))


# ----------------------------------------------------------------------------------------------------- names


@apply_one.register
def _(fact: FolderMade, target: Target) -> None:
    _insert_name(fact, NameKind.FOLDER, target)
    touch_folder(fact.parent, fact.at, target)


@apply_one.register
def _(fact: FileMade, target: Target) -> None:
    _insert_name(fact, NameKind.FILE, target)
    touch_folder(fact.parent, fact.at, target)


@apply_one.register
def _(fact: LinkMade, target: Target) -> None:
    _insert_name(fact, NameKind.LINK, target)
    touch_folder(fact.parent, fact.at, target)


def _insert_name(fact: FolderMade | FileMade | LinkMade, kind: NameKind, target: Target) -> None:
    pointed = fact.target if isinstance(fact, LinkMade) else ""
    row = (
        *(fact.id, fact.ontology, fact.parent, fact.name, kind, fact.mode, fact.uid, fact.gid),
        *(fact.at, fact.at, fact.at, len(decode_name(pointed)), pointed, StorageTier.NONE, "", "", "", 0, 1),
        *(fact.id if kind is NameKind.FILE else 0, fact.at, fact.at, target.session),
    )
    target.db.execute(f"INSERT INTO name ({_NAME}) VALUES ({', '.join('?' * len(row))})", row)


def touch_folder(folder: int, at: int, target: Target) -> None:
    """Set mtime and ctime of a folder."""
    target.db.execute("UPDATE name SET mtime = ?1, ctime = ?1 WHERE id = ?2", (at, folder))


@apply_one.register
def _(fact: ContentKept, target: Target) -> None:
    sql = (
        "UPDATE name SET sha256 = ?, size = ?, place = ?, key = ?, mtime = ?, ctime = ?, settled = 0,"
        " touched_at = ?, session = ? WHERE id = ?"
    )
    row = (fact.sha256, fact.size, fact.place, fact.key, fact.mtime, fact.at, fact.at, target.session, fact.id)
    target.db.execute(sql, row)


@apply_one.register
def _(fact: AttributesSet, target: Target) -> None:
    sql = (
        "UPDATE name SET mode = coalesce(?, mode), uid = coalesce(?, uid), gid = coalesce(?, gid),"
        " atime = coalesce(?, atime), mtime = coalesce(?, mtime), ctime = ? WHERE id = ?"
    )
    target.db.execute(sql, (fact.mode, fact.uid, fact.gid, fact.atime, fact.mtime, fact.at, fact.id))


@apply_one.register
def _(fact: Removed, target: Target) -> None:
    affected = leave(placed(fact.id, target), fact.at, target)
    path_states.review(target.db, affected, target.seq, fact.at)


@dataclass(frozen=True, slots=True)
class Placed:
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


def placed(name_id: int, target: Target) -> Placed:
    """Return a live name as it is now. Raises LookupError if there is none with this id."""
    sql = "SELECT id, ontology, parent, name, kind, version, doc_id, lineage FROM name WHERE id = ?"
    row = target.db.execute(sql, (name_id,)).fetchone()
    if row is None:
        raise LookupError(f"no live name has the id {name_id}")
    values = [*row, path_states.path_of(target.db, name_id) or ""]
    values[4] = NameKind(row[4])
    return Placed(*values)


def leave(gone: Placed, at: int, target: Target) -> set[str]:
    """Remove a name from the tree and move a file with versions to the trash. Return the documents concerned."""
    affected = {gone.doc_id}
    if gone.has_history:
        target.db.execute(
            # The trash row holds the newest version, which the garage has. Unsettled bytes leave with the name.
            f"INSERT OR REPLACE INTO trash ({_TRASH})"
            " SELECT name.id, ontology, ?, mode, uid, gid, mtime, version.size, 'garage',"
            " version.sha256, version.key, version.doc_id, n, name.lineage, ? FROM name JOIN version"
            " ON version.lineage = name.lineage AND n = name.version WHERE name.id = ?",
            (gone.path, at, gone.id),
        )
        path_states.depart(target.db, gone.parent, gone.name, gone.lineage, at, removed=True)
        if not is_document_name(gone.path):
            path_states.removed_aside(target.db, gone.lineage)
        affected |= path_states.of_lineage(target.db, gone.lineage)
    target.db.execute("DELETE FROM name WHERE id = ?", (gone.id,))
    touch_folder(gone.parent, at, target)
    return affected


@apply_one.register
def _(fact: Moved, target: Target) -> None:
    before = placed(fact.id, target)
    affected = {before.doc_id}
    succeeds = None
    if fact.replaces:
        replaced = placed(fact.replaces, target)
        if replaced.has_history and before.kind is NameKind.FILE:
            succeeds = replaced
            affected |= {replaced.doc_id} | path_states.of_lineage(target.db, before.lineage)
            target.db.execute("DELETE FROM name WHERE id = ?", (replaced.id,))
        else:
            affected |= leave(replaced, fact.at, target)
    elsewhere = (before.parent, before.name) != (fact.parent, fact.name)
    if before.has_history and elsewhere:
        path_states.depart(target.db, before.parent, before.name, before.lineage, fact.at, removed=False)
    target.db.execute(
        "UPDATE name SET ontology = ?, parent = ?, name = ?, ctime = ?, arrived_at = ? WHERE id = ?",
        (fact.ontology, fact.parent, fact.name, fact.at, fact.at, fact.id),
    )
    touch_folder(before.parent, fact.at, target)
    touch_folder(fact.parent, fact.at, target)
    after = path_states.path_of(target.db, fact.id) or ""
    if before.kind is NameKind.FOLDER:
        affected |= _carry_folder(before, after, fact, target)
    elif before.kind is NameKind.FILE:
        affected |= _carry_file(before, after, succeeds, fact, target)
    path_states.review(target.db, affected, target.seq, fact.at)


def _carry_file(before: Placed, after: str, succeeds: Placed | None, fact: Moved, target: Target) -> set[str]:
    """Apply the consequences of a file's move to its history and its settling. Return the documents concerned."""
    affected: set[str] = set()
    crossed = before.ontology != fact.ontology
    if succeeds:
        sql = "UPDATE name SET lineage = ?, version = ?, doc_id = ? WHERE id = ?"
        target.db.execute(sql, (succeeds.lineage, succeeds.version, succeeds.doc_id, fact.id))
        affected |= path_states.of_lineage(target.db, succeeds.lineage)
    elif crossed:
        target.db.execute("UPDATE name SET doc_id = '' WHERE id = ?", (fact.id,))
        affected |= path_states.of_lineage(target.db, before.lineage)
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


def _carry_folder(before: Placed, after: str, fact: Moved, target: Target) -> set[str]:
    """Apply the consequences of a folder's move to all names below it. Return the documents concerned."""
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
                affected |= {doc_id} | path_states.of_lineage(target.db, held)
        if kind == NameKind.FILE and (crossed or is_document_name(path)):
            sql = "UPDATE name SET settled = 0, touched_at = ?, session = ? WHERE id = ?"
            target.db.execute(sql, (fact.at, target.session, name_id))
    return affected
