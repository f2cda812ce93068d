"""Count the kernel's requests, as Prometheus text."""

from __future__ import annotations

import errno
from collections import Counter

PREFIX = "kgfs_fuse"


class Requests:
    """Count requests, their total duration and their failures by operation. Updated on the event loop only; other
    threads may read, and see numbers that differ by at most one request.
    """

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()
        self._failed: Counter[tuple[str, int]] = Counter()
        self._invalidated: Counter[str] = Counter()

    def answered(self, operation: str, seconds: float) -> None:
        self._count[operation] += 1
        self._seconds[operation] += seconds  # type: ignore[assignment]  # Counter's values may be any number

    def failed(self, operation: str, number: int) -> None:
        self._failed[operation, number] += 1

    def invalidated(self, what: str) -> None:
        self._invalidated[what] += 1

    def count(self, operation: str) -> int:
        return self._count[operation]

    def total(self) -> int:
        return sum(self._count.values())

    def text(self) -> str:
        lines = [
            f"# HELP {PREFIX}_requests_total Requests of the kernel by operation.",
            f"# TYPE {PREFIX}_requests_total counter",
            *(f'{PREFIX}_requests_total{{operation="{name}"}} {n}' for name, n in sorted(self._count.items())),
            f"# HELP {PREFIX}_seconds_total Time from request to answer, waiting included.",
            f"# TYPE {PREFIX}_seconds_total counter",
            *(f'{PREFIX}_seconds_total{{operation="{name}"}} {n:.6f}' for name, n in sorted(self._seconds.items())),
            f"# HELP {PREFIX}_failures_total Requests answered with an error.",
            f"# TYPE {PREFIX}_failures_total counter",
            *(
                f'{PREFIX}_failures_total{{operation="{name}",errno="{errno.errorcode.get(number, number)}"}} {n}'
                for (name, number), n in sorted(self._failed.items())
            ),
            f"# HELP {PREFIX}_invalidations_total What the kernel was told to forget.",
            f"# TYPE {PREFIX}_invalidations_total counter",
            *(f'{PREFIX}_invalidations_total{{what="{what}"}} {n}' for what, n in sorted(self._invalidated.items())),
        ]
        return "\n".join(lines) + "\n"
