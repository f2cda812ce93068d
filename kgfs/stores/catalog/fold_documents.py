"""Apply facts about versions, documents, the trash and forgetting to the tables."""

from __future__ import annotations

from collections.abc import Sequence

from kgfs.domain.documents import State, StorageTier
from kgfs.domain.names import is_document_name
from kgfs.stores.catalog import forgetting, parts, path_states
from kgfs.stores.catalog.facts import (
    ClaimMarked,
    ConceptsMerged,
    ConceptSplit,
    DocumentFailed,
    DocumentForgotten,
    DocumentRead,
    DocumentText,
    ForgettingDone,
    ForgettingOwed,
    PartsFound,
    PlacesAdded,
    ReadingOwed,
    Settled,
    TrashEmptied,
    TrashRestored,
    VersionMinted,
)
from kgfs.stores.catalog.fold_names import leave, placed, touch_folder
from kgfs.stores.catalog.path_states import Target, apply_one

OWING = frozenset({"insert", "update", "reprocess", "revive"})
"""Decisions of a VersionMinted that enqueue a ``read`` job."""

# The columns of the first format are named, since later formats may add columns.
_VERSION = "lineage, n, doc_id, sha256, size, key, path, minted_at, deposit, decision, reason"
_DOCUMENT = (
    "doc_id, ontology, sha256, source_id, key, size, state, reason, ingest_version, reading, decisions, commit_id,"
    " deposited_at, deposit, removed_at, ended, shown"
)


# --------------------------------------------------------------------------------------- versions, documents


@apply_one.register
def _(fact: Settled, target: Target) -> None:
    now = placed(fact.id, target)
    target.db.execute(
        "UPDATE name SET place = ?, key = ?, settled = 1, decision = ?, reason = ? WHERE id = ?",
        (fact.place, fact.key, fact.decision, fact.reason, fact.id),
    )
    if not now.has_history:
        return
    # The path keeps its newest version's Document if its bytes are that version's and its name may be a document's.
    sql = (
        "SELECT version.doc_id FROM name JOIN version ON version.lineage = name.lineage AND version.n = name.version"
        " JOIN document ON document.doc_id = version.doc_id"
        " WHERE name.id = ? AND version.sha256 = name.sha256 AND document.ontology = name.ontology"
    )
    row = target.db.execute(sql, (fact.id,)).fetchone() if is_document_name(now.path) else None
    target.db.execute("UPDATE name SET doc_id = ? WHERE id = ?", (row[0] if row else "", fact.id))
    affected = {now.doc_id} | path_states.of_lineage(target.db, now.lineage)
    path_states.review(target.db, affected, target.seq, fact.at)


@apply_one.register
def _(fact: VersionMinted, target: Target) -> None:
    db, seq = target.db, target.seq
    before = placed(fact.id, target)
    held = before.lineage
    takes = path_states.adopted(db, fact.id)
    affected = {fact.doc_id, before.doc_id}
    if takes:
        held = takes[0]
        affected |= _give_up(takes[1], fact.at, target)
        db.execute("DELETE FROM departed WHERE parent = ? AND name = ?", (before.parent, before.name))
    affected |= path_states.of_lineage(db, held)
    row = (
        *(held, fact.n, fact.doc_id, fact.sha256, fact.size, fact.key, fact.path, fact.at, seq),
        *(fact.decision, fact.reason),
    )
    db.execute(f"INSERT INTO version ({_VERSION}) VALUES ({', '.join('?' * len(row))})", row)
    db.execute(
        "UPDATE name SET lineage = ?, version = ?, doc_id = ?, place = ?, key = ?, settled = 1, decision = ?, reason = ?"
        " WHERE id = ?",
        (held, fact.n, fact.doc_id, StorageTier.GARAGE, fact.key, fact.decision, fact.reason, fact.id),
    )
    _keep_document(fact, target)
    if fact.decision in OWING:
        path_states.owe_reading(db, fact.doc_id, seq)
        affected |= path_states.of_holders(db, fact.doc_id)
    path_states.review(db, affected, seq, fact.at)


def _give_up(holder: int | None, at: int, target: Target) -> set[str]:
    """Give the lineage of a file that was moved aside to its successor, and start a new lineage for the file. Return
    the documents concerned. Does nothing without a holder."""
    if holder is None:
        return set()
    doc_id = placed(holder, target).doc_id
    # Ids of names are positive, so the negative number of the fact is a lineage that no name has.
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
        path_states.count(target.db, fact.ontology, State.KEPT, 1)
    sql = "INSERT OR IGNORE INTO shown SELECT lineage, ?1 FROM name WHERE id = ?2 AND (SELECT shown FROM document WHERE doc_id = ?1)"
    target.db.execute(sql, (fact.doc_id, fact.id))


@apply_one.register
def _(fact: DocumentRead, target: Target) -> None:
    # A person may have changed the decisions since: they stand if the same publication is recorded again.
    sql = (
        "UPDATE document SET ended = ?, reason = '', reading = ?,"
        " decisions = CASE WHEN commit_id = ? THEN decisions ELSE ? END, commit_id = ?, ingest_version = ?,"
        " former_reading = reading, former_decisions = decisions, text = '' WHERE doc_id = ?"
    )
    commit = fact.commit_id
    row = (fact.state, fact.reading, commit, fact.decisions, commit, fact.ingest_version, fact.doc_id)
    target.db.execute(sql, row)
    path_states.enter_graph(target.db, fact.doc_id)
    for doc_id in fact.superseded:
        path_states.leave_graph(target.db, doc_id)
    job = target.db.execute(
        "SELECT run, deposit FROM job WHERE kind = 'read' AND doc_id = ?", (fact.doc_id,)
    ).fetchone()
    # A reading that was asked for after this one was published stays due.
    if job is not None and not (job[0] and 0 < fact.deposit < job[1]):
        _end_job("read", fact.doc_id, target)
        _note_overtaking(job[0], fact.deposit, target)
    affected = path_states.of_holders(target.db, fact.doc_id) | set(fact.superseded)
    path_states.review(target.db, affected, target.seq, fact.at)


@apply_one.register
def _(fact: DocumentText, target: Target) -> None:
    sql = "UPDATE document SET text = ? WHERE doc_id = ?"
    target.db.execute(sql, (fact.commit_id, fact.doc_id))
    target.db.execute("UPDATE job SET text_owed = 0 WHERE kind = 'read' AND doc_id = ?", (fact.doc_id,))
    path_states.enter_graph(target.db, fact.doc_id)
    affected = path_states.of_holders(target.db, fact.doc_id) | set(fact.hides)
    path_states.review(target.db, affected, target.seq, fact.at)


@apply_one.register
def _(fact: ReadingOwed, target: Target) -> None:
    sql = "SELECT min(since) FROM job WHERE run = ? AND run != '' AND since > 0"
    first = target.db.execute(sql, (fact.run,)).fetchone()[0] or target.seq
    path_states.owe_reading(target.db, fact.doc_id, target.seq)
    target.db.execute(
        "UPDATE job SET strategy = ?1, extractor = ?2, run = ?3, since = ?4, text_owed = (text_owed AND ?3 = '')"
        " WHERE kind = 'read' AND doc_id = ?5",
        (fact.strategy, fact.extractor, fact.run, first if fact.anew else 0, fact.doc_id),
    )
    path_states.review(target.db, path_states.of_holders(target.db, fact.doc_id), target.seq, fact.at)


@apply_one.register
def _(fact: DocumentFailed, target: Target) -> None:
    sql = (
        "UPDATE document SET ended = ?, reason = ?, failed_at = ?,"
        " ingest_version = CASE WHEN reading = '' THEN ? ELSE ingest_version END WHERE doc_id = ?"
    )
    target.db.execute(sql, (fact.state, fact.reason, fact.at, fact.ingest_version, fact.doc_id))
    _end_job("read", fact.doc_id, target)
    path_states.review(target.db, path_states.of_holders(target.db, fact.doc_id), target.seq, fact.at)


@apply_one.register
def _(fact: PartsFound, target: Target) -> None:
    affected = parts.replace(target.db, fact, target.seq)
    path_states.review(target.db, affected, target.seq, fact.at)


@apply_one.register
def _(fact: DocumentForgotten, target: Target) -> None:
    path_states.leave_graph(target.db, fact.doc_id)
    _end_job("forget", fact.doc_id, target)
    path_states.review(target.db, {fact.doc_id}, target.seq, fact.at)


# -------------------------------------------------------------------------------------------- trash, forgetting


@apply_one.register
def _(fact: TrashRestored, target: Target) -> None:
    affected = forgetting.restore(target.db, fact, target.seq, target.session)
    touch_folder(fact.parent, fact.at, target)
    path_states.review(target.db, affected, target.seq, fact.at)


@apply_one.register
def _(fact: TrashEmptied, target: Target) -> None:
    path_states.review(target.db, forgetting.empty(target.db, fact.ids), target.seq, fact.at)


@apply_one.register
def _(fact: ForgettingOwed, target: Target) -> None:
    affected = set(fact.doc_ids)
    for name_id in fact.names:
        affected |= leave(placed(name_id, target), fact.at, target)
    forgetting.owe(target.db, fact, target.seq)
    path_states.review(target.db, affected, target.seq, fact.at)


@apply_one.register
def _(fact: ForgettingDone, target: Target) -> None:
    path_states.review(target.db, forgetting.carried_out(target.db, fact), target.seq, fact.at)
    _decide(fact.decisions, target)


@apply_one.register(ConceptsMerged)
@apply_one.register(ConceptSplit)
@apply_one.register(PlacesAdded)
def _(fact: ConceptsMerged | ConceptSplit | PlacesAdded, target: Target) -> None:
    _decide(fact.decisions, target)


@apply_one.register
def _(fact: ClaimMarked, target: Target) -> None:
    """Do nothing: only the graph follows it."""


def _decide(decisions: Sequence[str], target: Target) -> None:
    for key in decisions:
        target.db.execute("UPDATE document SET decisions = ? WHERE doc_id = ?", (key, key.split("/")[1]))


def _note_overtaking(run: str, deposit: int, target: Target) -> None:
    """Note that a document was matched, as long as one of an earlier deposit, and of the same run, waits."""
    where = "kind = 'read' AND run = ?1" if run else "kind = 'read' AND run = ''"
    (oldest,) = target.db.execute(f"SELECT min(deposit) FROM job WHERE {where}", (run,) if run else ()).fetchone()
    upto = oldest if oldest is not None else 2**63 - 1
    target.db.execute("DELETE FROM overtaker WHERE run = ? AND deposit <= ?", (run, upto))
    if oldest is not None and deposit > oldest:
        target.db.execute("INSERT OR IGNORE INTO overtaker VALUES (?, ?)", (run, deposit))


def _end_job(kind: str, doc_id: str, target: Target) -> None:
    target.db.execute("DELETE FROM job WHERE kind = ? AND doc_id = ?", (kind, doc_id))
