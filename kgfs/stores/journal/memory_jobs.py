"""The contract's ``Jobs`` of the journal in memory."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kgfs.errors import BadInputError, LostLeaseError, MissingError
from kgfs.stores.journal.contract_jobs import Job
from kgfs.stores.journal.memory_tables import SECOND, Tables

if TYPE_CHECKING:
    from kgfs.stores.journal.memory import MemoryJournal


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
