"""What a journal promises about owed work. Times are Unix times in nanoseconds, leases and delays seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of owed work."""

    kind: str
    """``read`` (parse … index a Document) or ``forget`` (its last name is gone)."""
    doc_id: str
    ontology: str
    deposit: int
    attempts: int = 0
    state: str = "queued"
    """queued, working."""
    stage: str = ""
    """The stage a worker is at, for people."""
    progress: float = 0.0
    """0 to 1 within the document, for people."""
    reason: str = ""
    """Why the last attempt failed."""
    worker: str = ""
    not_before: int = 0
    lease_until: int = 0
    strategy: str = ""
    """Of a ``read`` that a ReadingOwed asked for: see there; else empty."""
    extractor: str = ""
    run: str = ""
    since: int = 0
    """The first deposit of its run, where it is to be compared only with what was read since; else 0."""


class Jobs(Protocol):
    """Owed work. Handing out is by order of deposit, oldest first, whatever the kind; what a run asked to be read again comes
    after what was written, which somebody waits for."""

    def claim(self, worker: str, lease: float) -> Job | None:
        """The oldest due job that nobody holds (or whose lease has run out), leased for ``lease`` seconds and with
        ``attempts`` one higher. Two claimers never get the same job while its lease lasts."""
        ...

    def renew(self, job: Job, lease: float, stage: str = "", progress: float = 0.0) -> None:
        """LostLeaseError if the lease ran out and somebody else holds it."""
        ...

    def put_back(self, job: Job, reason: str, delay: float, *, counted: bool = True) -> None:
        """Give it up, to be tried again after ``delay`` seconds. Keeps ``attempts``, or, where this one shall not be
        ``counted``, takes it back."""
        ...

    def free(self, *, counted: bool = True) -> int:
        """Take back every lease, whoever holds it; how many. For one who knows that no other worker lives (it holds the
        worker's lock of the home): what a killed worker held is due at once and in its order. Attempts are kept, or
        taken back where these shall not be ``counted``."""
        ...

    def drop(self, job: Job) -> None:
        """The work turned out not to be owed (the document is nobody's current version)."""
        ...

    def owe(self, kind: str, doc_id: str, not_before: int = 0) -> None:
        """Owe a job by hand (retrying a failed document). A job of that kind for that document is owed once."""
        ...

    def all(self) -> list[Job]:
        """In order of deposit. Costs in proportion to what is owed: not for polling."""
        ...

    def of(self, doc_id: str) -> list[Job]:
        """Those of one document, in order of deposit. Quick."""
        ...

    def working(self) -> list[Job]:
        """Those that a worker has, in order of deposit. Quick."""
        ...

    def owed(self) -> int:
        """Jobs of any state."""
        ...
