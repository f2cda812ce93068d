"""What each fact does to the tables of the journal in memory, and what follows from that: plainly, without regard to speed,
every document is looked at after each."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from kgfs.stores.journal.contract_jobs import Job
from kgfs.stores.journal.facts import Fact
from kgfs.stores.journal.memory_fold_documents import owe_reading
from kgfs.stores.journal.memory_fold_names import apply_one
from kgfs.stores.journal.memory_tables import SECOND, Tables


def apply(fact: Fact, tables: Tables, session: str) -> None:
    """Make one fact true that was checked before."""
    tables.facts.append(fact)
    apply_one(fact, tables, session)
    _review(tables, fact.at)


def _review(tables: Tables, at: int) -> None:
    named = Counter(entry.name.doc_id for entry in tables.names.values())
    for doc_id in sorted(tables.documents, key=lambda doc_id: (doc_id not in named, doc_id)):
        if named[doc_id] != tables.named.get(doc_id, 0):
            tables.named[doc_id] = named[doc_id]
            tables.change_document(doc_id, named_at=at)
        if doc_id in named:
            tables.change_document(doc_id, removed_at=0)
            tables.tombstones = tables.tombstones - {doc_id}
            for order, owed in tables.forgettings.items():
                left = tuple(other for other in owed.doc_ids if other != doc_id)
                tables.forgettings[order] = replace(owed, doc_ids=left)
            tables.jobs.pop(("forget", doc_id), None)
            if ("read", doc_id) not in tables.jobs and not tables.ended[doc_id]:
                owe_reading(tables, doc_id)
        else:
            tables.change_document(doc_id, removed_at=tables.documents[doc_id].removed_at or at)
            tables.jobs.pop(("read", doc_id), None)
            if tables.shown[doc_id] and (_successor_awaited(tables, doc_id) or tables.stays(doc_id)):
                tables.jobs.pop(("forget", doc_id), None)
            elif tables.shown[doc_id]:
                ontology = tables.documents[doc_id].ontology
                job = Job("forget", doc_id, ontology, len(tables.facts), not_before=at + 2 * SECOND)
                tables.jobs.setdefault(("forget", doc_id), job)
        tables.change_document(doc_id, state=tables.state_of(doc_id))


def _successor_awaited(tables: Tables, doc_id: str) -> bool:
    for other in tables.documents:
        owed = ("read", other) in tables.jobs
        failed = not tables.shown[other] and tables.ended[other] in ("failed", "unsupported")
        if (owed or failed) and doc_id in tables.predecessors(other):
            return True
    return False
