"""What a worker and its reading processes take of the processors, and what the whole machine does meanwhile."""

from __future__ import annotations

import os
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
        for pid in (self._worker, *_children(self._worker)):
            try:
                numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            of_worker += sum(map(int, numbers[11:15]))
        return of_worker / tick, machine / tick

    def __str__(self) -> str:
        worker, machine = (now - then for now, then in zip(self._now(), self._begun, strict=True))
        return f"(processor seconds: worker {worker:.1f}, machine {machine:.1f})"


def _children(pid: int) -> list[int]:
    return [int(child) for task in Path(f"/proc/{pid}/task").glob("*/children") for child in task.read_text().split()]
