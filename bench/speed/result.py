"""What was measured, and how it is shown."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

METRICS_COST = 10
"""Requests by which kgfs may exceed the floor where nothing new is to be learnt."""


ON_SERVERS = 1.1
"""What metadata and cached content may cost on servers, against the same in files."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. ``ratio`` is what the budget speaks of; requests are those of the last sample. Of two sides
    the first is measured, against the second."""

    work: str
    ratio: float
    budget: float
    unit: str = "×"
    at_least: bool = False
    """Whether the budget is a lower bound."""
    taken: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Seconds of each sample, by side."""
    requests: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    extra_requests: int | None = None
    """Budget of requests above those of the second side."""
    note: str = ""

    @property
    def ok(self) -> bool:
        within = self.ratio >= self.budget if self.at_least else self.ratio <= self.budget
        return within and self.requests_ok

    @property
    def requests_ok(self) -> bool:
        if self.extra_requests is None:
            return True
        ours, theirs = (sum(counts.values()) for counts in self.requests.values())
        return ours <= theirs + self.extra_requests


def seconds(samples: Sequence[float]) -> float:
    return statistics.median(samples)


def against(
    work: str,
    budget: float,
    taken: Mapping[str, Sequence[float]],
    requests: Mapping[str, Mapping[str, int]] | None = None,
    extra_requests: int | None = None,
    note: str = "",
) -> Row:
    """The first side against the second."""
    ours, theirs = map(seconds, taken.values())
    return Row(
        work,
        ours / theirs,
        budget,
        taken=taken,
        requests=requests or {},
        extra_requests=extra_requests,
        note=note,
    )


def line_of(row: Row) -> str:
    times = [f"{seconds(samples):9.3f}" for samples in row.taken.values()]
    bound = "≥" if row.at_least else "≤"
    verdict = "ok" if row.ok else "OVER"
    counts = ""
    if row.requests:
        counts = "  " + " | ".join(
            f"{side} {sum(found.values())}: " + " ".join(f"{name} {count}" for name, count in sorted(found.items()))
            for side, found in row.requests.items()
        )
    return (
        f"{row.work:<58} {' '.join(times):<19} {row.ratio:8.2f}{row.unit:<3} {bound}{row.budget:6.2f}{row.unit:<3}"
        f" {verdict:<4} {row.note}{counts}"
    )


def header_of(sides: Sequence[str]) -> str:
    columns = " ".join(f"{side + ' s':>9}" for side in sides)
    return f"{'work':<58} {columns} {'ratio':>11} {'budget':>10}"


def write_json(folder: Path, rows: Sequence[Row], *, quick: bool) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"speed-{time.strftime('%Y%m%d-%H%M%S')}.json"
    about = {
        "quick": quick,
        "machine": platform.platform(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }
    path.write_text(json.dumps({**about, "rows": [{**asdict(row), "ok": row.ok} for row in rows]}, indent=1) + "\n")
    return path
