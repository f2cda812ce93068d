"""Measure a worker with its reading processes: processor seconds and memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path


class Busy:
    """The processor seconds of a worker with its children, and of the whole machine, since this was made."""

    def __init__(self, worker: int) -> None:
        self._worker = worker
        self._begun = self._now()

    @property
    def worker(self) -> float:
        """Return the processor seconds of the worker and its children, those that have ended included."""
        return self._now()[0] - self._begun[0]

    def _now(self) -> tuple[float, float]:
        tick = os.sysconf("SC_CLK_TCK")
        fields = [int(number) for number in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        machine = sum(fields) - fields[3] - fields[4]  # without idle, and without waiting for disks
        of_worker = 0
        for pid in processes(self._worker):
            try:
                numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            of_worker += sum(map(int, numbers[11:15]))
        return of_worker / tick, machine / tick

    def __str__(self) -> str:
        worker, machine = (now - then for now, then in zip(self._now(), self._begun, strict=True))
        return f"(processor seconds: worker {worker:.1f}, machine {machine:.1f})"


def processes(worker: int) -> Iterator[int]:
    """Yield the worker and its living children."""
    yield worker
    for task in Path(f"/proc/{worker}/task").glob("*/children"):
        yield from map(int, task.read_text().split())


def resident(worker: int) -> float:
    """Return the resident MiB of the worker and its children."""
    total = 0
    for pid in processes(worker):
        try:
            total += int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0])
        except (OSError, IndexError):  # it has ended
            continue
    return total / 1024
