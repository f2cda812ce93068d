"""What reads documents side by side: this process by default, a cluster where one is configured.

A *place* holds what reading needs: models, loaded once, and the objects of the garage. Work is sent to a place and keeps
in the garage what it makes, so that a place that is lost loses nothing that was kept.
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
"""(stage, share of the document done). Called between batches; raises LostLeaseError when the work is not ours now."""


@dataclass(frozen=True, slots=True)
class Place:
    compute: Compute
    objects: Objects


class Work(Protocol[T_co]):
    """What is sent: plain data with a call. Running it again, wholly or in part, gives the same and keeps it once."""

    def __call__(self, place: Place, progress: Progress) -> T_co: ...


class Engine(Protocol):
    """Any number of threads may call."""

    @property
    def width(self) -> int:
        """How many works run at once; more only wait."""
        ...

    @property
    def held(self) -> int:
        """How many documents are worth holding at once: more than run, where one that takes long would stop others from
        being begun, since all are published in order."""
        ...

    def run(self, work: Work[T], progress: Progress) -> T:
        """Blocks until the work is done, at one of the places. Raises what it raises, and what ``progress`` raises, which
        ends it. What runs at a place that is lost is run again at another: AwayError where none is to be had, MachineError
        where each is lost, too, for then it may be the work that ends them."""
        ...

    def close(self) -> None: ...


class LocalEngine:
    """One place, in this process. Two works at once: while one waits for the embedder the next one is parsed."""

    width = 2
    held = 2

    def __init__(self, compute: Compute, objects: Objects) -> None:
        self._place = Place(compute, objects)

    def run(self, work: Work[T], progress: Progress) -> T:
        return work(self._place, progress)

    def close(self) -> None:
        return
