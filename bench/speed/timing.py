"""Time works of every kind: the seconds of a call, the CPU of mounts, their requests meanwhile, and a settled machine before."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ParamSpec

from bench.speed.result import seconds

P = ParamSpec("P")
_PIECE = bytes(1 << 20)


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


def settle(folder: Path, size: int) -> None:
    """Have the disk of ``folder`` take what waits for it, and the machine have so many bytes of memory for files.

    A virtual machine may give memory that is free back to its host; the first write into it then takes longer, twelve times
    where this was found (2.4 ms a MiB, balloon with free page reporting), whoever writes.
    """
    os.sync()
    file = folder / "settling"
    try:
        with file.open("wb", buffering=0) as out:
            for _ in range(-(-size // len(_PIECE))):
                out.write(_PIECE)
    finally:
        file.unlink(missing_ok=True)
