"""What works of every kind take: the time of a call, the CPU of mounts, what requests were made meanwhile."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec

from bench.speed.result import seconds

P = ParamSpec("P")


def call(*words: str, status: int = 0) -> None:
    done = subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != status:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}")


def timed(work: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> float:
    started = time.perf_counter()
    work(*args, **kwargs)
    return time.perf_counter() - started


def cpu_note(computed: Mapping[str, Sequence[float]]) -> str:
    return "CPU of the mounts " + " / ".join(f"{seconds(taken):.2f}" for taken in computed.values()) + " s"


def increase(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {name: count - before.get(name, 0) for name, count in after.items() if count != before.get(name, 0)}
