"""The interface of an engine that reads documents in parallel, and the engine of this process.

The default is this process; a cluster is used where one is configured. A *place* holds what reading needs: models,
loaded once, and the objects of the garage. Work is sent to a place and stores its results in the garage, so that a
lost place loses nothing that was stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kgfs.compute.contract import Compute
from kgfs.stores.garage.contract import Objects

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Progress = Callable[[str, float], None]
"""(stage, share of the document done, 0 to 1). Called between batches. Raises LostLeaseError when this worker no
longer holds the job's lease."""


@dataclass(frozen=True, slots=True)
class WorkerSlot:
    compute: Compute
    objects: Objects


class Work(Protocol[T_co]):
    """A callable that is sent to a place with plain data.

    It is idempotent: running it again, wholly or in part, gives the same result and stores it once.
    """

    def __call__(self, place: WorkerSlot, progress: Progress) -> T_co: ...


class Engine(Protocol):
    """Runs works at its places. Any number of threads may call."""

    @property
    def width(self) -> int:
        """Return the number of works that run at the same time. More works only wait."""
        ...

    @property
    def held(self) -> int:
        """Return the number of documents worth holding at the same time.

        It is more than the number that run: all documents are published in order, so one document that takes long
        would otherwise keep others from being started.
        """
        ...

    @property
    def has_express(self) -> bool:
        """Return whether a small document would be read at once though as many documents are held as are worth it."""
        ...

    def widen(self, documents: int, size: int) -> None:
        """Take note that so many documents, of so many bytes together, are to be read. Quick."""
        ...

    @property
    def notice(self) -> str:
        """Return why works do not run where they are configured to, in sentences for people. Empty while they do."""
        ...

    def run(self, work: Work[T], progress: Progress) -> T:
        """Run a work at one of the places and return its result. Blocks until the work is done.

        Raises what the work raises, and what ``progress`` raises, which ends the work. A work whose place is lost
        runs again at another place. Raises UnavailableError where a place cannot read, and MachineError where every place
        is lost in turn, because then the work itself may end them.
        """
        ...

    def close(self) -> None: ...


class LocalEngine:
    """An Engine with one place, in this process.

    Two works run at the same time, so that one document is parsed while another waits for the embedder.
    """

    width = 2
    held = 2
    has_express = False
    notice = ""

    def __init__(self, compute: Compute, objects: Objects) -> None:
        self._place = WorkerSlot(compute, objects)

    def run(self, work: Work[T], progress: Progress) -> T:
        return work(self._place, progress)

    def widen(self, documents: int, size: int) -> None:
        return

    def close(self) -> None:
        return
