"""The engine of this machine: the worker's process reads little, and processes of their own read much.

Python runs one thread of a process at a time, so two processes read twice as fast on two cores. Each loads its models,
which takes some seconds and a few hundred megabytes; so they are started once much is owed (``widen``), and live as long
as the worker. Texts are read in the worker's process, and small documents too while every process reads a large one.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from kgfs.compute import timing
from kgfs.compute.contract import Compute, Progress, Work, WorkerSlot
from kgfs.compute.reading_process import ReadingProcess
from kgfs.errors import LostLeaseError, MachineError
from kgfs.stores.garage.contract import Objects

LARGE = 1 << 18
"""Bytes of a document beside which small ones are not kept waiting."""
MANY_BYTES = 1 << 18
"""Bytes of documents that are owed from which on processes are started, if MANY documents are."""
MANY = 4
MOST = 4
"""The number of processes that are started without being asked for."""

T = TypeVar("T")
log = logging.getLogger("kgfs.compute")


def processes_of(wanted: int) -> int:
    """Return the number of reading processes: ``wanted``, or one a core, MOST at most, where it is 0."""
    return wanted or min(len(os.sched_getaffinity(0)), MOST)


class ProcessEngine:
    """An Engine. Any number of threads may call."""

    notice = ""

    def __init__(
        self, compute: Compute, objects: Objects, make_place: Callable[[], WorkerSlot], processes: int
    ) -> None:
        """Create an engine with at most ``processes`` reading processes, and none with fewer than 2.

        ``make_place`` can be pickled; each process makes its place by it.
        """
        self._here = WorkerSlot(compute, objects)
        self._most = processes if processes > 1 else 0
        self._make_place = make_place
        self._idle: list[ReadingProcess] = []
        self._working: dict[ReadingProcess | None, int] = {}
        """Bytes that each process reads; None stands for the worker's own, while the others read large documents."""
        self._wide = False
        self._closed = False
        self._moved = threading.Condition()

    @property
    def width(self) -> int:
        return max(2, self._most + 1)

    @property
    def held(self) -> int:
        return self._most + 1 if self._wide else 2

    @property
    def has_express(self) -> bool:
        """Return whether a small document would be read at once though all processes read."""
        with self._moved:
            return self._wide and not self._idle and self._express()

    def widen(self, documents: int, size: int) -> None:
        """Take note that so many documents of so many bytes are owed: processes read them if that is much."""
        if not self._wide and self._most and documents >= MANY and size >= MANY_BYTES:
            with self._moved:
                self._wide = True
                self._idle = [ReadingProcess(self._make_place) for _ in range(self._most)]
            log.info("%d documents are owed: %d processes read", documents, self._most)

    def run(self, work: Work[T], progress: Progress) -> T:
        weight: int = getattr(work, "weight", 0)
        if not weight or not self._wide:
            return work(self._here, progress)
        process = self._take(weight, progress)
        try:
            if process is None:
                return work(self._here, progress)
            return self._run_at(process, work, progress)
        finally:
            self._give_back(process)

    def _run_at(self, process: ReadingProcess, work: Work[T], progress: Progress) -> T:
        for left in (1, 0):
            try:
                return process.run(work, progress)
            except MachineError:
                if not left or self._closed:
                    raise
                log.warning("a reading process ended; another one begins")
        raise AssertionError("unreachable")

    def _take(self, weight: int, progress: Progress) -> ReadingProcess | None:
        told = time.monotonic()
        while True:
            with self._moved:
                if self._closed:
                    raise LostLeaseError("The worker is stopping.")
                if self._idle:
                    process = self._idle.pop()
                    self._working[process] = weight
                    return process
                if weight < LARGE and self._express():
                    self._working[None] = weight
                    return None
                self._moved.wait(timing.PROCESS_POLL)
            if time.monotonic() - told > 1.0:
                told = time.monotonic()
                progress("", 0.0)

    def _express(self) -> bool:
        return None not in self._working and all(weight >= LARGE for weight in self._working.values())

    def _give_back(self, process: ReadingProcess | None) -> None:
        with self._moved:
            self._working.pop(process, None)
            if process is not None and not self._closed:
                self._idle.append(process)
            self._moved.notify_all()

    def close(self) -> None:
        with self._moved:
            self._closed = True
            those = [*self._idle, *(process for process in self._working if process is not None)]
            self._idle = []
            self._moved.notify_all()
        for process in those:
            process.end()
