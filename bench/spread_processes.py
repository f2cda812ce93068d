"""What a program and all that it started took together: CPU and memory, read from ``/proc``."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MARK = "KGFS_BENCH_MARK"
"""In the environment of all that belongs together: Ray's processes have other parents and sessions than who started them."""
LOOK = 0.5
"""Seconds between looks; what a process did after the last one is not counted."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Spent:
    seconds: float
    cpu: float
    memory: int
    """Bytes at the worst look, what processes share counted once."""


def watched(words: Sequence[str], environment: Mapping[str, str]) -> Spent:
    """Run ``kgfs WORDS`` to its end. SystemExit where it fails."""
    mark = secrets.token_hex(8)
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "kgfs", *words], env={**os.environ, **environment, MARK: mark}, stderr=subprocess.PIPE
    )
    ticks: dict[int, int] = {}
    memory = 0
    try:
        while process.poll() is None:
            pids = list(marked(mark))
            for pid in pids:
                ticks[pid] = max(ticks.get(pid, 0), ticks_of(pid))
            memory = max(memory, sum(pss(pid) for pid in pids))
            time.sleep(LOOK)
    finally:
        process.terminate()
    if process.returncode:
        complaint = process.stderr.read().decode() if process.stderr else ""
        raise SystemExit(f"kgfs {' '.join(words)} exited with {process.returncode}: {complaint}")
    return Spent(time.perf_counter() - started, sum(ticks.values()) / TICKS, memory)


def marked(mark: str) -> Iterator[int]:
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
        except OSError:
            continue  # it ended, or is another user's


def ticks_of(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    user, system = stat.rpartition(")")[2].split()[11:13]
    return int(user) + int(system)


def pss(pid: int) -> int:
    """Bytes of its own memory, and its part of what it shares; 0 where it ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)
