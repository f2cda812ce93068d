"""The backlog: the work that remains until everything written is knowledge."""

from __future__ import annotations

from dataclasses import dataclass

from kgfs.domain.documents import State
from kgfs.stores.catalog.rows import Job
from kgfs.stores.catalog.sqlite import Catalog


@dataclass(frozen=True, slots=True)
class Owed:
    unsettled: int
    """Paths that wait until they are quiet."""
    jobs: int
    working: tuple[Job, ...]
    """The jobs that a worker holds."""
    failed: int
    """Documents that could not be read. No work is pending for them, but a person should look at them."""
    unsupported: int
    done: int
    forgettings: int = 0
    """Forgettings that were ordered and are not carried out."""

    @property
    def total(self) -> int:
        return self.jobs + self.unsettled + self.forgettings

    @property
    def nothing(self) -> bool:
        return not self.total

    @property
    def nothing_to_read(self) -> bool:
        """Return whether everything written here is read. Commands that read wait for it."""
        return not self.unsettled and not self.jobs


def owed(catalog: Catalog) -> Owed:
    """Return the backlog, from one look at the catalog.

    It is quick enough to be polled, whatever the size of the backlog.
    """
    counts = catalog.names.counts()
    return Owed(
        unsettled=catalog.names.unsettled_count(),
        jobs=catalog.jobs.owed(),
        working=tuple(catalog.jobs.working()),
        failed=counts.get(State.FAILED, 0),
        unsupported=counts.get(State.UNSUPPORTED, 0),
        done=counts.get(State.DONE, 0) + counts.get(State.GATED, 0),
        forgettings=catalog.names.forgettings_count(),
    )
