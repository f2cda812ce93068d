"""Disk space that caches and copies leave free for what users write."""

from __future__ import annotations

import os
from pathlib import Path

from kgfs.errors import NoSpaceError

SPARE = 256 << 20
"""Bytes of the disk that are left free for the rest of the home, which records and writes first. On a small disk,
a quarter of the disk if that is less."""


def lacking(folder: str) -> int:
    """Return the bytes by which the free space of the disk is below what is to be left free; negative if more is
    free."""
    spare, free = _standing(folder)
    return spare - free


def leave_spare(path: Path, what: str, size: int, wanted: int = 0) -> None:
    """Raise NoSpaceError if the disk has too little free space at ``path`` for ``what``. The space needed is
    ``wanted`` bytes plus the smaller of ``size``, the bytes that ``what`` has already, and the bytes that are to
    be left free. So something small may still take the last bytes of a disk."""
    spare, free = _standing(str(path.parent))
    more = wanted + min(spare, size) - free
    if more > 0:
        raise NoSpaceError(
            f"{path}: no space left on the device for {what}: at least {-(-more >> 20)} MiB more are needed, for some are left to"
            " what is written. Free space, then try again."
        )


def _standing(folder: str) -> tuple[int, int]:
    """Return (bytes to be left free, bytes that are free)."""
    disk = os.statvfs(folder)
    return min(SPARE, disk.f_blocks * disk.f_frsize // 4), disk.f_bavail * disk.f_frsize
