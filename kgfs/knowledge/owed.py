"""What is still owed before everything that was written is knowledge."""

from __future__ import annotations

from dataclasses import dataclass

from kgfs.domain.documents import State
from kgfs.stores.journal.contract import Journal
from kgfs.stores.journal.contract_jobs import Job
from kgfs.stores.journal.sharing.follow import ELSEWHERE


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
    unsettled_here: int = 0
    """Those of the unsettled paths that no other home wrote last, which settles them."""

    @property
    def total(self) -> int:
        return self.jobs + self.unsettled + self.forgettings

    @property
    def nothing(self) -> bool:
        return not self.total

    @property
    def nothing_to_read(self) -> bool:
        """By what was written here, and by what others wrote and settled: what a verb waits for that reads."""
        return not self.unsettled_here and not self.jobs


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
        unsettled_here=journal.names.unsettled_count(besides=ELSEWHERE),
    )
