"""Works for an engine, which processes of their own carry out: their module can be imported there."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import cast

from kgfs.compute.contract import Compute, Progress, WorkerSlot
from kgfs.errors import UnreadableTextError
from kgfs.stores.garage.contract import Objects


def make_nothing() -> WorkerSlot:
    """A place for works that need neither models nor objects."""
    return WorkerSlot(cast(Compute, None), cast(Objects, None))


@dataclass(frozen=True)
class Told:
    """Reports some times, then returns the process that it ran in."""

    weight: int = 1
    seconds: float = 0.0

    def __call__(self, place: WorkerSlot, progress: Progress) -> int:
        until = time.monotonic() + self.seconds
        progress("extract", 0.5)
        while time.monotonic() < until:
            time.sleep(0.02)
            progress("extract", 0.6)
        return os.getpid()


@dataclass(frozen=True)
class Silent:
    """Reports once, and then nothing for seconds, before it makes a file."""

    mark: str
    seconds: float
    weight: int = 1

    def __call__(self, place: WorkerSlot, progress: Progress) -> int:
        progress("extract", 0.5)
        time.sleep(self.seconds)
        open(self.mark, "w").close()
        return os.getpid()


@dataclass(frozen=True)
class Refused:
    weight: int = 1

    def __call__(self, place: WorkerSlot, progress: Progress) -> int:
        raise UnreadableTextError("not a text")


@dataclass(frozen=True)
class Dying:
    """Ends its process, as a full memory does, but not a second time."""

    mark: str
    weight: int = 1

    def __call__(self, place: WorkerSlot, progress: Progress) -> int:
        if not os.path.exists(self.mark):
            open(self.mark, "w").close()
            os._exit(9)
        return os.getpid()
