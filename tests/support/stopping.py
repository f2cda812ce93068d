"""Processes that stand still."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """From the first moment on: where many want the processors, threads of it that are running answer on until one of them has
    seen the signal."""
    os.kill(pid, signal.SIGSTOP)
    try:
        while not is_stopped(pid):
            time.sleep(0.001)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def is_stopped(pid: int) -> bool:
    """In all its threads."""
    return all(_state(task) == "T" for task in Path(f"/proc/{pid}/task").iterdir())


def _state(task: Path) -> str:
    try:
        return (task / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:  # it ended just now
        return "T"
