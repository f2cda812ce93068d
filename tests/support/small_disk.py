"""A disk that is soon full."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.required import missing


@contextmanager
def small_file_system(folder: Path, size: str) -> Iterator[Path]:
    """One of that size (as mount has it: ``64k``, ``2m``) in memory, below ``folder``."""
    point = folder / "small"
    point.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "kgfs-test", str(point)]
    if os.geteuid() != 0 or shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        missing("tmpfs", "a small tmpfs cannot be mounted here")
    try:
        yield point
    finally:
        subprocess.run(["umount", str(point)], check=True)


def free(folder: Path) -> int:
    """Bytes that anybody may write on the disk of the folder."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def fill(folder: Path, name: str = "ballast") -> Path:
    """As another program does, to the last byte; the file that has it."""
    ballast = folder / name
    with open(ballast, "ab", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
    assert free(folder) == 0
    return ballast
