"""Measure wall seconds per pipeline stage."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class StageClock:
    """Sums of wall seconds by stage name. Any thread may call it.

    Stages of parallel threads add up beyond the wall time.
    """

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._lock = threading.Lock()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the wall seconds that the context takes to the stage ``name``."""
        started = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._seconds[name] += time.perf_counter() - started

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add seconds by stage that were measured elsewhere."""
        with self._lock:
            for name, value in seconds.items():
                self._seconds[name] += value

    def seconds(self) -> dict[str, float]:
        """Return the sums by stage, rounded to milliseconds."""
        with self._lock:
            return {name: round(value, 3) for name, value in self._seconds.items()}
