"""What facts about versions, documents, trash and forgetting do to the tables of the journal in memory."""

from __future__ import annotations

from dataclasses import replace

from kgfs.domain.documents import Document, Name, NameKind, Place, State, Version
from kgfs.domain.names import is_document_name
from kgfs.stores.journal.contract_jobs import Job
from kgfs.stores.journal.contract_names import Forgetting
from kgfs.stores.journal.facts import (
    ConceptsMerged,
    ConceptSplit,
    DocumentFailed,
    DocumentForgotten,
    DocumentRead,
    ForgettingDone,
    ForgettingOwed,
    ReadingOwed,
    Settled,
    TrashEmptied,
    TrashRestored,
    VersionMinted,
)
from kgfs.stores.journal.memory_fold_names import apply_one, leave
from kgfs.stores.journal.memory_tables import Entry, Tables


@apply_one.register
def _(fact: Settled, tables: Tables, session: str) -> None:
    tables.change(fact.id, place=Place(fact.place), key=fact.key, settled=True)
    tables.change(fact.id, decision=fact.decision, reason=fact.reason)
    entry = tables.names[fact.id]
    if entry.name.version:
        newest = tables.versions[entry.lineage, entry.name.version][0]
        same = newest.sha256 == entry.name.sha256
        document = tables.documents.get(newest.doc_id)
        ours = document is not None and document.ontology == entry.name.ontology
        current = same and ours and is_document_name(tables.path(fact.id) or "")
        tables.change(fact.id, doc_id=newest.doc_id if current else "")


@apply_one.register
def _(fact: VersionMinted, tables: Tables, session: str) -> None:
    seq = len(tables.facts)
    name = tables.names[fact.id].name
    lineage = tables.adopted(fact.id)
    if lineage is not None:
        del tables.departed[name.parent, name.name]
        holder = tables.holder(lineage)
        if holder is not None:
            tables.change(holder.name.id, version=0, doc_id="")
            tables.unsettle(holder.name.id, fact.at, holder.session)
            tables.names[holder.name.id] = replace(tables.names[holder.name.id], lineage=-seq)
        tables.names[fact.id] = replace(tables.names[fact.id], lineage=lineage)
    lineage = tables.names[fact.id].lineage
    about = (fact.decision, fact.reason)
    version = Version(lineage, fact.n, fact.doc_id, fact.sha256, fact.size, fact.key, fact.path, fact.at, *about)
    tables.versions[lineage, fact.n] = version, seq
    tables.change(fact.id, version=fact.n, doc_id=fact.doc_id, place=Place.GARAGE, key=fact.key, settled=True)
    tables.change(fact.id, decision=fact.decision, reason=fact.reason)
    if fact.doc_id not in tables.documents:
        tables.documents[fact.doc_id] = Document(
            fact.doc_id,
            fact.ontology,
            fact.sha256,
            fact.source_id,
            fact.key,
            fact.size,
            State.KEPT,
            ingest_version=fact.ingest_version,
            deposited_at=fact.at,
            deposit=seq,
        )
        tables.ended[fact.doc_id], tables.shown[fact.doc_id] = "", False
    if fact.decision in ("insert", "update", "reprocess", "revive"):
        owe_reading(tables, fact.doc_id)


def owe_reading(tables: Tables, doc_id: str) -> None:
    seq = len(tables.facts)
    tables.change_document(doc_id, deposit=seq, reason="")
    tables.jobs["read", doc_id] = Job("read", doc_id, tables.documents[doc_id].ontology, seq)


@apply_one.register
def _(fact: DocumentRead, tables: Tables, session: str) -> None:
    before = tables.documents[fact.doc_id]
    tables.change_document(
        fact.doc_id,
        reason="",
        reading=fact.reading,
        decisions=before.decisions if before.commit_id == fact.commit_id else fact.decisions,
        former_reading=before.reading,
        former_decisions=before.decisions,
        commit_id=fact.commit_id,
        ingest_version=fact.ingest_version,
    )
    tables.ended[fact.doc_id], tables.shown[fact.doc_id] = fact.state, True
    tables.jobs.pop(("read", fact.doc_id), None)
    for doc_id in fact.superseded:
        _leave_graph(tables, doc_id)


@apply_one.register
def _(fact: ReadingOwed, tables: Tables, session: str) -> None:
    same_run = [job.since for job in tables.jobs.values() if fact.run and job.run == fact.run and job.since]
    owe_reading(tables, fact.doc_id)
    since = min(same_run, default=len(tables.facts)) if fact.anew else 0
    job = tables.jobs["read", fact.doc_id]
    tables.jobs["read", fact.doc_id] = replace(
        job, strategy=fact.strategy, extractor=fact.extractor, run=fact.run, since=since
    )


def _leave_graph(tables: Tables, doc_id: str) -> None:
    tables.change_document(doc_id, commit_id="")
    tables.ended[doc_id], tables.shown[doc_id] = "", False


@apply_one.register
def _(fact: DocumentFailed, tables: Tables, session: str) -> None:
    tables.change_document(fact.doc_id, reason=fact.reason)
    if not tables.documents[fact.doc_id].reading:
        tables.change_document(fact.doc_id, ingest_version=fact.ingest_version)
    tables.ended[fact.doc_id] = fact.state
    tables.jobs.pop(("read", fact.doc_id), None)


@apply_one.register
def _(fact: ConceptsMerged, tables: Tables, session: str) -> None:
    for key in fact.decisions:
        tables.change_document(key.split("/")[1], decisions=key)


@apply_one.register
def _(fact: ConceptSplit, tables: Tables, session: str) -> None:
    for key in fact.decisions:
        tables.change_document(key.split("/")[1], decisions=key)


@apply_one.register
def _(fact: DocumentForgotten, tables: Tables, session: str) -> None:
    _leave_graph(tables, fact.doc_id)
    tables.jobs.pop(("forget", fact.doc_id), None)


@apply_one.register
def _(fact: TrashRestored, tables: Tables, session: str) -> None:
    gone = tables.trash.pop(fact.id)
    continued = tables.holder(gone.lineage) is not None
    made = Name(
        *(fact.id, fact.ontology, fact.parent, fact.name, NameKind.FILE, gone.mode, gone.uid, gone.gid),
        *(gone.mtime, gone.mtime, fact.at, gone.size),
        place=Place.GARAGE,
        sha256=gone.sha256,
        key=gone.key,
        version=0 if continued else gone.version,
        arrived_at=fact.at,
    )
    tables.names[fact.id] = Entry(made, -len(tables.facts) if continued else gone.lineage, fact.at, session)
    home = gone.doc_id != "" and tables.documents[gone.doc_id].ontology == fact.ontology
    settled = not continued and home and is_document_name(tables.path(fact.id) or "")
    tables.change(fact.id, settled=settled, doc_id=gone.doc_id if settled else "")
    tables.touch_folder(fact.parent, fact.at)
    if not continued:
        _drop_departures(tables, gone.lineage)


def _drop_departures(tables: Tables, lineage: int) -> None:
    tables.departed = {place: left for place, left in tables.departed.items() if left.lineage != lineage}


@apply_one.register
def _(fact: TrashEmptied, tables: Tables, session: str) -> None:
    for name_id in fact.ids:
        gone = tables.trash.pop(name_id)
        tables.unheld.add(gone.key)
        _drop_history(tables, gone.lineage)


def _drop_history(tables: Tables, lineage: int) -> None:
    if tables.holder(lineage) or any(gone.lineage == lineage for gone in tables.trash.values()):
        return
    for version in tables.history(lineage):
        tables.unheld.add(version.key)
        del tables.versions[lineage, version.n]
    _drop_departures(tables, lineage)


@apply_one.register
def _(fact: ForgettingOwed, tables: Tables, session: str) -> None:
    for name_id in fact.names:
        leave(tables, name_id, fact.at)
    if fact.purge:
        kept = {k: t for k, t in tables.trash.items() if k not in fact.names and t.doc_id not in fact.doc_ids}
        tables.trash = kept
    tables.forgettings[fact.order] = Forgetting(
        fact.order, tuple(sorted(fact.doc_ids)), fact.cascade, fact.purge, fact.concepts, fact.at
    )
    shown = {doc_id for doc_id in fact.doc_ids if tables.shown[doc_id]}
    tables.tombstones = tables.tombstones | shown if fact.cascade == "none" else tables.tombstones - set(fact.doc_ids)
    tables.suppressions |= dict.fromkeys(fact.suppressed, len(tables.facts))


@apply_one.register
def _(fact: ForgettingDone, tables: Tables, session: str) -> None:
    del tables.forgettings[fact.order]
    if fact.cascade == "none":
        return
    for doc_id in fact.doc_ids:
        _leave_graph(tables, doc_id)
        tables.jobs.pop(("forget", doc_id), None)
    if fact.purge:
        _erase(tables, set(fact.doc_ids))
    for key in fact.decisions:
        tables.change_document(key.split("/")[1], decisions=key)


def _erase(tables: Tables, doc_ids: set[str]) -> None:
    lineages = {version.lineage for version, _ in tables.versions.values() if version.doc_id in doc_ids}
    tables.versions = {k: v for k, v in tables.versions.items() if v[0].doc_id not in doc_ids}
    tables.trash = {k: gone for k, gone in tables.trash.items() if gone.doc_id not in doc_ids}
    tables.jobs = {k: job for k, job in tables.jobs.items() if job.doc_id not in doc_ids}
    tables.tombstones = tables.tombstones - doc_ids
    for doc_id in doc_ids:
        key = tables.documents[doc_id].key
        if all(entry.name.key != key for entry in tables.names.values()):
            tables.unheld = tables.unheld - {key}
        del tables.documents[doc_id], tables.ended[doc_id], tables.shown[doc_id]
    for lineage in lineages:
        for version in tables.history(lineage):
            if version.decision == "conflict":
                tables.unheld.add(version.key)
                del tables.versions[lineage, version.n]
        if holder := tables.holder(lineage):
            older = [version.n for version in tables.history(lineage) if version.n <= holder.name.version]
            tables.change(holder.name.id, version=max(older, default=0))
        _drop_history(tables, lineage)
