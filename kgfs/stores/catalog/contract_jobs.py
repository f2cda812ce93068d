"""The contract of the job queue. Times are Unix times in nanoseconds; leases and delays are in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Job:
    """One job: a document to be read or forgotten."""

    kind: str
    """``read`` (parse … index a Document) or ``forget`` (its last name is gone)."""
    doc_id: str
    ontology: str
    deposit: int
    attempts: int = 0
    state: str = "queued"
    """queued or working."""
    stage: str = ""
    """The stage that the worker has reached, shown to people."""
    progress: float = 0.0
    """0 to 1 within the document, shown to people."""
    reason: str = ""
    """Why the last attempt failed."""
    worker: str = ""
    not_before: int = 0
    lease_until: int = 0
    strategy: str = ""
    """The strategy of a ``read`` that a ReadingOwed asked for (see there); else empty."""
    extractor: str = ""
    run: str = ""
    since: int = 0
    """The first deposit of the job's run, where the document is compared only with what was read since that deposit;
    else 0."""
    size: int = 0
    """Bytes of the document."""
    text_owed: int = 0
    """1 where the text of the document is to be published before the document is read; else 0."""


class Jobs(Protocol):
    """The job queue. What is to be forgotten is claimed first. Then documents are claimed, small ones before large ones;
    but a document is claimed when OVERTAKEN later ones came before it. Documents that are read again on request come
    after all others, in order of deposit, since people wait for what they have just written."""

    def claim(self, worker: str, lease: float, below: int = 2**63 - 1) -> Job | None:
        """Lease the next due job that is queued or whose lease has expired; return it, or None if no job is due.
        Documents of more than ``below`` bytes are left out.

        The lease lasts ``lease`` seconds, and ``attempts`` of the job grows by one. Two claimers never get the same
        job while its lease lasts. Where homes share a ledger, a job whose deposit the ledger does not have yet is not
        due."""
        ...

    def claim_text(self, worker: str, lease: float) -> Job | None:
        """Lease as :meth:`claim` does, but only a job whose document's text is owed, the smallest first."""
        ...

    def renew(self, job: Job, lease: float, stage: str = "", progress: float = 0.0) -> None:
        """Extend the lease of a claimed job to ``lease`` seconds from now, and set its stage and progress. Raises
        LostLeaseError if the claim no longer holds: the job was claimed again, put back, freed or removed."""
        ...

    def put_back(self, job: Job, reason: str, delay: float, *, counted: bool = True) -> None:
        """Return a claimed job to the queue, to be tried again after ``delay`` seconds. ``attempts`` stays, or goes
        down by one where the attempt is not to be ``counted``. Does nothing if the claim no longer holds."""
        ...

    def postpone(self, job: Job, reason: str) -> None:
        """Return a claimed job to the queue, to be claimed when no other document is due. The attempt is not counted,
        and the text of its document is published with the rest. Does nothing if the claim no longer holds."""
        ...

    def others_wait(self) -> bool:
        """Return whether a job is due that nobody holds and that was not postponed. Quick."""
        ...

    def free(self, *, counted: bool = True) -> int:
        """Revoke every lease, whichever worker holds it, and return how many there were.

        Call this only while holding the home's worker lock, that is, when no other worker lives: the jobs of a killed
        worker are due again at once and in their order. ``attempts`` of each job stays, or goes down by one where the
        attempts are not to be ``counted``."""
        ...

    def drop(self, job: Job) -> None:
        """Remove a claimed job that turned out to be unnecessary (its document is no path's current version). Does
        nothing if the claim no longer holds."""
        ...

    def owe(self, kind: str, doc_id: str, not_before: int = 0) -> None:
        """Enqueue a job by hand, as a retry of a failed document does. A document has at most one job of each kind; a
        queued job that is there already gets the new ``not_before``. Raises MissingError if there is no such
        document, BadInputError if there is no such kind."""
        ...

    def all(self) -> list[Job]:
        """Return all jobs in order of deposit. The cost is proportional to their number, so this is not for
        polling."""
        ...

    def of(self, doc_id: str) -> list[Job]:
        """Return the jobs of one document in order of deposit. Quick."""
        ...

    def working(self) -> list[Job]:
        """Return the jobs that a worker has claimed, in order of deposit. Quick."""
        ...

    def to_read(self) -> tuple[int, int]:
        """Return the number of documents that are to be read, and their bytes. The cost is proportional to their number."""
        ...

    def owed(self) -> int:
        """Return the number of jobs of any state."""
        ...
