"""The log files in a home's ``log/``. Any number of processes append to one file. It is rotated before it grows
without bound."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

ENOUGH = 8 << 20
"""Bytes of a log file from which the next opening rotates it, replacing the previously rotated file."""


def open_log(path: Path) -> int:
    """Open a log file for appending and return its descriptor. The file has mode 0600. Rotates it first if it is
    too large. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_size < ENOUGH:
                return descriptor
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(path, descriptor) and not _made_elder(path):  # else it has been rotated; open the new file
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def elder(path: Path) -> Path:
    """Return the path of the rotated log."""
    return path.with_name(f"{path.name}.1")


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _made_elder(path: Path) -> bool:
    try:
        path.rename(elder(path))
    except OSError:
        return False  # an oversized log is better than none
    return True
