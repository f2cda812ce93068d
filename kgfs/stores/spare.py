"""Room on a disk that is left to what people write: what can be had again, caches and copies, comes second."""

from __future__ import annotations

import os
from pathlib import Path

from kgfs.errors import FullError

SPARE = 256 << 20
"""Bytes of the disk that are left to the rest of the home: what it records and writes comes first. Of a small disk a
quarter."""


def lacking(folder: str) -> int:
    """Bytes that the disk should have free and has not; below 0 where it has more."""
    spare, free = _standing(folder)
    return spare - free


def leave_spare(path: Path, what: str, size: int, wanted: int = 0) -> None:
    """FullError where the disk has not so many bytes ``wanted`` at ``path`` for ``what``, and beside them as many more as that
    has already, its ``size``; at most those that are to be left. So what is small may still take the last of a disk."""
    spare, free = _standing(str(path.parent))
    more = wanted + min(spare, size) - free
    if more > 0:
        raise FullError(
            f"{path}: no space left on the device for {what}: at least {-(-more >> 20)} MiB more are needed, for some are left to"
            " what is written. Free space, then try again."
        )


def _standing(folder: str) -> tuple[int, int]:
    """(bytes that are to be left, bytes that are free)."""
    disk = os.statvfs(folder)
    return min(SPARE, disk.f_blocks * disk.f_frsize // 4), disk.f_bavail * disk.f_frsize
