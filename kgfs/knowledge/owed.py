"""What is still owed before everything that was written is knowledge."""

from __future__ import annotations

from dataclasses import dataclass

from kgfs.domain.documents import State
from kgfs.stores.journal.contract import Journal
from kgfs.stores.journal.contract_jobs import Job


@dataclass(frozen=True, slots=True)
class Owed:
    unsettled: int
    """Paths that wait until they are quiet."""
    jobs: int
    working: tuple[Job, ...]
    """Those of the jobs that a worker has."""
    failed: int
    """Documents that could not be read; nothing is owed for them, but somebody should look."""
    unsupported: int
    done: int
    forgettings: int = 0
    """That were ordered and are not carried out."""

    @property
    def total(self) -> int:
        return self.jobs + self.unsettled + self.forgettings

    @property
    def nothing(self) -> bool:
        return not self.total

    @property
    def nothing_to_read(self) -> bool:
        return not self.unsettled and not self.jobs


def owed(journal: Journal) -> Owed:
    """One look at the journal, quick enough to be repeated however much is owed."""
    counts = journal.names.counts()
    return Owed(
        unsettled=journal.names.unsettled_count(),
        jobs=journal.jobs.owed(),
        working=tuple(journal.jobs.working()),
        failed=counts.get(State.FAILED, 0),
        unsupported=counts.get(State.UNSUPPORTED, 0),
        done=counts.get(State.DONE, 0) + counts.get(State.GATED, 0),
        forgettings=journal.names.forgettings_count(),
    )
