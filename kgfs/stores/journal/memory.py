"""A journal in plain dictionaries: the fake that tests of other rooms may use, and the oracle of the SQLite one.

One process, any number of threads; nothing is durable.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

from kgfs.domain import Document, Name, NameKind, Ontology, Place, State, Version
from kgfs.errors import BadInputError, LostLeaseError, MissingError, StoreError, UnsupportedError
from kgfs.stores.journal.checks import Before, check
from kgfs.stores.journal.contract import Forgetting, Job, Jobs, Names, SavedSearch, Trashed
from kgfs.stores.journal.facts import Fact, decode, encode
from kgfs.stores.journal.memory_tables import SECOND, Tables
from kgfs.stores.journal.pending import Durable


class MemoryNames:
    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal

    @property
    def _tables(self) -> Tables:
        return self._journal.tables

    def ontologies(self) -> list[Ontology]:
        found = [self.ontology(ontology_id) for ontology_id in self._tables.ontologies]
        return sorted((ontology for ontology in found if ontology), key=lambda ontology: ontology.name)

    def ontology(self, ontology_id: str) -> Ontology | None:
        found = self._tables.ontologies.get(ontology_id)
        return replace(found, settings=self.settings(ontology_id)) if found else None

    def ontology_named(self, name: str) -> Ontology | None:
        return next((ontology for ontology in self.ontologies() if ontology.name == name), None)

    def removed_ontologies(self) -> list[Ontology]:
        found = [
            self._tables.removed_ontologies[ontology_id] for ontology_id in sorted(self._tables.removed_ontologies)
        ]
        return [replace(ontology, settings=self.settings(ontology.id)) for ontology in found]

    def settings(self, ontology_id: str = "") -> Mapping[str, str]:
        return {key: value for (owner, key), value in self._tables.settings.items() if owner == ontology_id}

    def saved_searches(self, ontology_id: str = "") -> list[SavedSearch]:
        found = [SavedSearch(words, at) for (owner, words), at in self._tables.searches.items() if owner == ontology_id]
        return sorted(found, key=lambda saved: saved.words)

    def name(self, name_id: int) -> Name | None:
        entry = self._tables.names.get(name_id)
        return entry.name if entry else None

    def child(self, parent: int, name: str) -> Name | None:
        return next((child for child in self.children(parent, limit=-1) if child.name == name), None)

    def children(self, parent: int, after: str = "", limit: int = 1000) -> list[Name]:
        names = [entry.name for entry in self._tables.names.values() if entry.name.parent == parent != 0]
        found = sorted((name for name in names if name.name > after), key=lambda name: name.name)
        return found if limit < 0 else found[:limit]

    def resolve(self, ontology_id: str, path: str) -> Name | None:
        for name_id, entry in self._tables.names.items():
            if entry.name.ontology == ontology_id and self.path(name_id) == path:
                return entry.name
        return None

    def path(self, name_id: int) -> str | None:
        return self._tables.path(name_id)

    def names_of(self, doc_id: str) -> list[Name]:
        return self._tables.names_of(doc_id)

    def lineage_for(self, name_id: int) -> tuple[int, int]:
        entry = self._tables.names.get(name_id)
        if entry is None or entry.name.kind is not NameKind.FILE:
            raise MissingError(f"No live file has the id {name_id}.")
        adopted = self._tables.adopted(name_id)
        lineage = entry.lineage if adopted is None else adopted
        return lineage, max((version.n for version in self._tables.history(lineage)), default=0) + 1

    def versions(self, name_id: int) -> list[Version]:
        entry = self._tables.names.get(name_id)
        trashed = self._tables.trash.get(name_id)
        return self._tables.history(entry.lineage if entry else trashed.lineage if trashed else 0)

    def conflicts(self) -> int:
        return sum(version.decision == "conflict" for version, _ in self._tables.versions.values())

    def version_of(self, doc_id: str) -> tuple[Version, Name | None] | None:
        found = [(deposit, version) for version, deposit in self._tables.versions.values() if version.doc_id == doc_id]
        if not found:
            return None
        _, newest = max(found, key=lambda pair: pair[0])
        holder = self._tables.holder(newest.lineage)
        return newest, holder.name if holder else None

    def document(self, doc_id: str) -> Document | None:
        found = self._tables.documents.get(doc_id)
        job = self._tables.jobs.get(("read", doc_id))
        return replace(found, state=State.WORKING) if found and job and job.state == "working" else found

    def document_with(self, ontology_id: str, sha256: str) -> Document | None:
        found = [document for document in self.documents(ontology_id, limit=-1) if document.sha256 == sha256]
        return max(found, key=lambda document: document.deposit, default=None)

    def documents(self, ontology_id: str, after: str = "", limit: int = 1000) -> list[Document]:
        chosen = [doc_id for doc_id in sorted(self._tables.documents) if doc_id > after]
        found = [document for doc_id in chosen if (document := self.document(doc_id))]
        found = [document for document in found if document.ontology == ontology_id]
        return found if limit < 0 else found[:limit]

    def newest(self, ontology_id: str, limit: int = 10) -> list[Document]:
        found = sorted(self.documents(ontology_id, limit=-1), key=lambda document: -document.deposit)
        return found[:limit]

    def counts(self, ontology_id: str = "") -> Mapping[State, int]:
        documents = [self.document(doc_id) for doc_id in self._tables.documents]
        return Counter(item.state for item in documents if item and ontology_id in ("", item.ontology))

    def predecessors(self, doc_id: str) -> list[str]:
        return self._tables.predecessors(doc_id)

    def unsettled(self, *, session: str | None = None, quiet_before: int, alive: Sequence[str] = ()) -> list[Name]:
        waiting = [
            entry
            for entry in self._tables.names.values()
            if not entry.name.settled
            and entry.touched_at <= quiet_before
            and (entry.session not in alive if session is None else entry.session == session)
        ]
        return [entry.name for entry in sorted(waiting, key=lambda entry: (entry.touched_at, entry.name.id))]

    def arriving(self, ontology_id: str, sha256: str) -> bool:
        names = (entry.name for entry in self._tables.names.values())
        return any(not n.settled and (n.ontology, n.sha256) == (ontology_id, sha256) for n in names)

    def unsettled_count(self) -> int:
        return sum(not entry.name.settled for entry in self._tables.names.values())

    def trash(self, after: int = 0, limit: int = 1000, removed_before: int = 2**63 - 1) -> list[Trashed]:
        found = [gone for _, gone in sorted(self._tables.trash.items()) if gone.id > after and gone.at < removed_before]
        return found[:limit]

    def trashed(self, name_id: int) -> Trashed | None:
        return self._tables.trash.get(name_id)

    def names_at(self, key: str) -> list[Name]:
        names = [entry.name for _, entry in sorted(self._tables.names.items())]
        return [name for name in names if name.place is Place.GARAGE and name.key == key]

    def lineages(self, doc_id: str) -> list[int]:
        return sorted({version.lineage for version, _ in self._tables.versions.values() if version.doc_id == doc_id})

    def history(self, lineage: int) -> list[Version]:
        return self._tables.history(lineage)

    def forgettings(self) -> list[Forgetting]:
        return sorted(self._tables.forgettings.values(), key=lambda owed: (owed.at, owed.order))

    def tombstoned(self, doc_id: str) -> bool:
        return doc_id in self._tables.tombstones

    def suppressed(self, concept_ids: Sequence[str], doc_id: str) -> frozenset[str]:
        deposits = [seq for version, seq in self._tables.versions.values() if version.doc_id == doc_id]
        newest = max(deposits, default=0)
        return frozenset(found for found in concept_ids if self._tables.suppressions.get(found, 0) > newest)


class MemoryJobs:
    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal

    def claim(self, worker: str, lease: float) -> Job | None:
        with self._journal.writing() as tables:
            now = time.time_ns()
            for job in sorted(self.all(), key=lambda job: job.run != ""):
                if job.not_before <= now and (job.state == "queued" or job.lease_until <= now):
                    until = now + int(lease * SECOND)
                    taken = replace(job, state="working", worker=worker, attempts=job.attempts + 1, lease_until=until)
                    tables.jobs[job.kind, job.doc_id] = replace(taken, stage="", progress=0.0)
                    return tables.jobs[job.kind, job.doc_id]
            return None

    def _held(self, tables: Tables, job: Job) -> Job | None:
        found = tables.jobs.get((job.kind, job.doc_id))
        return found if found and (found.worker, found.attempts) == (job.worker, job.attempts) else None

    def renew(self, job: Job, lease: float, stage: str = "", progress: float = 0.0) -> None:
        with self._journal.writing() as tables:
            held = self._held(tables, job)
            if held is None or held.state != "working":
                raise LostLeaseError(f"The job {job.kind} {job.doc_id} is not held by {job.worker} any more.")
            until = time.time_ns() + int(lease * SECOND)
            tables.jobs[job.kind, job.doc_id] = replace(held, lease_until=until, stage=stage, progress=progress)

    def put_back(self, job: Job, reason: str, delay: float, *, counted: bool = True) -> None:
        with self._journal.writing() as tables:
            if held := self._held(tables, job):
                later = time.time_ns() + int(delay * SECOND)
                back = replace(held, state="queued", worker="", reason=reason, not_before=later, lease_until=0)
                tables.jobs[job.kind, job.doc_id] = replace(
                    back, stage="", progress=0.0, attempts=held.attempts - (not counted)
                )

    def free(self, *, counted: bool = True) -> int:
        with self._journal.writing() as tables:
            held = [job for job in tables.jobs.values() if job.state == "working"]
            for job in held:
                attempts = job.attempts - (not counted)
                freed = replace(job, state="queued", worker="", lease_until=0, attempts=attempts)
                tables.jobs[job.kind, job.doc_id] = freed
            return len(held)

    def drop(self, job: Job) -> None:
        with self._journal.writing() as tables:
            if self._held(tables, job):
                del tables.jobs[job.kind, job.doc_id]
                tables.change_document(job.doc_id, state=tables.state_of(job.doc_id))

    def owe(self, kind: str, doc_id: str, not_before: int = 0) -> None:
        if kind not in ("read", "forget"):
            raise BadInputError(f"There is no work of kind {kind!r}.")
        with self._journal.writing() as tables:
            if doc_id not in tables.documents:
                raise MissingError(f"There is no document {doc_id}.")
            document = tables.documents[doc_id]
            job = tables.jobs.get((kind, doc_id), Job(kind, doc_id, document.ontology, document.deposit))
            if job.state == "queued":
                tables.jobs[kind, doc_id] = replace(job, not_before=not_before)
            tables.change_document(doc_id, state=tables.state_of(doc_id))

    def all(self) -> list[Job]:
        return sorted(self._journal.tables.jobs.values(), key=lambda job: (job.deposit, job.kind, job.doc_id))

    def of(self, doc_id: str) -> list[Job]:
        return [job for job in self.all() if job.doc_id == doc_id]

    def working(self) -> list[Job]:
        return [job for job in self.all() if job.state == "working"]

    def owed(self) -> int:
        return len(self._journal.tables.jobs)


class MemoryJournal:
    """The contract's ``Journal``."""

    def __init__(self) -> None:
        self.tables = Tables()
        self._lock = threading.RLock()
        self._shipped = 0
        self._commits = 0
        self._seen = 0
        self._names = MemoryNames(self)
        self._jobs = MemoryJobs(self)
        self._before = Before(self._names, lambda sha256: sha256 in self.tables.inbox)

    def writing(self) -> _Writing:
        return _Writing(self)

    @property
    def names(self) -> Names:
        return self._names

    @property
    def jobs(self) -> Jobs:
        return self._jobs

    def record(
        self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = "", synced: bool = True
    ) -> int:
        with self.writing() as tables:
            for sha256, body in (inbox or {}).items():
                tables.inbox.setdefault(sha256, body)
            for fact in facts:
                check(fact, self._before)
                tables.apply(fact, session)
            return len(tables.facts)

    def record_at_once(self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = "") -> Durable:
        self.record(*facts, inbox=inbox, session=session)
        return Durable()

    def sync(self) -> None:
        return

    def inbox(self, sha256: str) -> bytes | None:
        return self.tables.inbox.get(sha256)

    def drop_inbox(self, sha256s: Sequence[str]) -> None:
        with self.writing() as tables:
            needed = {entry.name.sha256 for entry in tables.names.values() if entry.name.place is Place.INBOX}
            for sha256 in set(sha256s) - needed:
                tables.inbox.pop(sha256, None)

    def promised(self) -> Iterator[tuple[str, str, str]]:
        tables = self.tables
        found = {(version.key, version.sha256, version.doc_id) for version, _ in tables.versions.values()}
        names = [entry.name for entry in tables.names.values() if entry.name.place is Place.GARAGE]
        found |= {(name.key, name.sha256, name.doc_id) for name in names}
        found |= {(gone.key, gone.sha256, gone.doc_id) for gone in tables.trash.values()}
        return iter(sorted(found, key=lambda one: (one[0], one[2], one[1])))

    def promises(self, key: str) -> bool:
        return any(key == promised for promised, _, _ in self.promised())

    def left_inbox(self) -> list[str]:
        tables = self.tables
        needed = {entry.name.sha256 for entry in tables.names.values() if entry.name.place is Place.INBOX}
        return sorted(set(tables.inbox) - needed)

    def unheld(self) -> list[str]:
        tables = self.tables
        held = {version.key for version, _ in tables.versions.values()} | {gone.key for gone in tables.trash.values()}
        held |= {entry.name.key for entry in tables.names.values() if entry.name.place is Place.GARAGE}
        pending = {doc_id for owed in tables.forgettings.values() for doc_id in owed.doc_ids}
        held |= {
            document.key
            for doc_id, document in tables.documents.items()
            if tables.shown[doc_id] and (doc_id not in tables.tombstones or doc_id in pending)
        }
        return sorted(tables.unheld - held)

    def drop_unheld(self, keys: Sequence[str]) -> None:
        with self.writing() as tables:
            tables.unheld -= set(keys)

    def scrub(self) -> None:
        """What is removed is gone."""

    def seq(self) -> int:
        return len(self.tables.facts)

    def facts(self, after: int, limit: int = 1000) -> list[tuple[int, Fact]] | None:
        if after > self.seq():
            return None
        return list(enumerate(self.tables.facts[after : after + limit], after + 1))

    def unshipped(self, limit: int = 1000) -> tuple[int, list[bytes]]:
        return self._shipped + 1, [encode(fact) for _, fact in self.facts(self._shipped, limit) or ()]

    def shipped(self, upto: int) -> None:
        with self._lock:
            self._shipped = max(self._shipped, min(upto, self.seq()))

    @property
    def sharing(self) -> bool:
        return False

    def share(self) -> None:
        raise UnsupportedError("A journal in memory is shared with nobody.")

    def follow(self, entries: Sequence[tuple[int, bytes]], kept: Container[str] = ()) -> list[str]:
        raise UnsupportedError("A journal in memory is shared with nobody.")

    def withdraw(self, fact: Fact) -> bool:
        raise UnsupportedError("A journal in memory is shared with nobody.")

    def replay(self, entries: Iterator[tuple[int, bytes]]) -> int:
        with self.writing() as tables:
            if tables.facts:
                raise StoreError("Only an empty journal can be filled from the ledger.")
            for seq, entry in entries:
                if seq != len(tables.facts) + 1:
                    raise StoreError(f"The ledger has no entry {len(tables.facts) + 1}.")
                tables.apply(decode(entry), "")
        self._shipped = self.seq()
        return self.seq()

    def changed(self) -> bool:
        with self._lock:
            before, self._seen = self._seen, self._commits
            return before != self._seen

    def close(self) -> None:
        """Nothing is held."""

    def begin(self) -> Tables:
        self._lock.acquire()
        return self.tables.copy()

    def end(self, before: Tables, *, failed: bool) -> None:
        if failed:
            self.tables = before
        else:
            self._commits += 1
        self._lock.release()


class _Writing:
    """All or none: the tables as they were come back when the block raises."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal

    def __enter__(self) -> Tables:
        self._before = self._journal.begin()
        return self._journal.tables

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._journal.end(self._before, failed=kind is not None)
