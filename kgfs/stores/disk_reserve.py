"""The disk reserve: space that a home allocates in advance, so that deleting works on a full disk.

The file ``reserve`` of a home is allocated and never read. If a deleting operation meets a full disk, a part of
the file is freed and the operation is repeated. When the operation ends, free space is allocated to the reserve
again, and the rest as soon as the disk has space. A process that is killed in between leaves the reserve too
small; the next :meth:`DiskReserve.fill` of any process restores it.

Besides, caches and copies leave space free for what users write (:func:`leave_free`)."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kgfs.errors import KgfsError, NoSpaceError

NAME = "reserve"
"""The name of the file, in the folder of the home."""
STEP = 1 << 20
"""Bytes that are freed first; each further attempt of the same operation frees twice as many."""
SMALLEST = 4 << 20
LARGEST = 64 << 20
DATABASE_PARTS = 8
"""The reserve is an eighth of the home's databases, between SMALLEST and LARGEST, because a deletion rewrites a
part of their pages."""
DISK_PARTS = 8
"""The reserve is at most an eighth of the disk."""
REMEDY = "Free space on the disk of the home (kgfs trash empty, kgfs forget --purge); it is made up then by itself."
SCARCE = 64 << 10
"""Bytes of free space below which a database error is treated as a full disk, because SQLite reports a full disk
by several errors."""
LEFT_FREE = 256 << 20
"""Bytes of the disk that are left free for the rest of the home, which records and writes first. On a small disk,
a quarter of the disk if that is less."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReserveState:
    """The state of the reserve, in bytes."""

    held: int
    """Bytes that are allocated."""
    wanted: int

    @property
    def is_whole(self) -> bool:
        """Return whether nothing of the reserve is missing."""
        return self.held >= self.wanted

    def describe(self) -> str:
        """Return a text on how much of the reserve is allocated and, if it is not whole, on what to do."""
        part = f"{self.held / (1 << 20):.1f} of {self.wanted >> 20} MiB"
        return part if self.is_whole else f"{part}, which removing needs on a full disk. {REMEDY}"


class DiskReserve:
    """The reserve of the home in a folder. Any number of objects, threads and processes may use one reserve file;
    they lock it.

    If there is no such file, because it could not be created or the folder is not a home, :meth:`run` only passes
    errors on."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / NAME

    def state(self) -> ReserveState:
        """Return the state of the reserve. Quick. Raises OSError if the folder cannot be read."""
        try:
            held = _allocated(self._path.stat())
        except FileNotFoundError:
            held = 0
        return ReserveState(held, self._wanted())

    def fill(self) -> None:
        """Allocate what the reserve lacks, as far as the disk has space, or free what it has too much. Quick if
        there is nothing to do. Does nothing while another operation uses the reserve, or if the file system cannot
        allocate; :meth:`state` then shows it."""
        with suppress(OSError):
            state = self.state()
            if state.held == state.wanted:
                return
            file = _Opened(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            with closing(file):
                if file.lock(fcntl.LOCK_EX):
                    file.resize(state.wanted)

    def run(self, work: Callable[[], T], between: Callable[[], None] = lambda: None) -> T:
        """Return the result of ``work``. If the disk is too full for it, free a part of the reserve and repeat
        ``work``, until it succeeds or the reserve is empty; then the last error is raised. ``work`` changes
        nothing when it fails, or is safe to run twice. ``between`` is called before each repetition."""
        try:
            return work()
        except (KgfsError, OSError) as error:
            if not self._is_full(error):
                raise
            failed: KgfsError | OSError = error
        try:
            file = _Opened(os.open(self._path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW))
        except OSError:
            raise failed from None
        try:
            with closing(file):
                file.lock(fcntl.LOCK_SH)
                step = STEP
                while file.give_back(step):
                    step *= 2
                    try:
                        between()
                        return work()
                    except (KgfsError, OSError) as error:
                        if not self._is_full(error):
                            raise
                        failed = error
        finally:
            self.fill()
        raise failed

    def _is_full(self, error: KgfsError | OSError) -> bool:
        if isinstance(error, NoSpaceError) or error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        with suppress(OSError):
            disk = os.statvfs(self._home)
            return disk.f_bavail * disk.f_frsize < SCARCE
        return False

    def _wanted(self) -> int:
        disk = os.statvfs(self._home)
        databases = sum(path.stat().st_size for path in self._home.glob("*.sqlite"))
        wanted = max(SMALLEST, min(databases // DATABASE_PARTS, LARGEST))
        return min(wanted, disk.f_blocks * disk.f_frsize // DISK_PARTS) // STEP * STEP


class _Opened:
    """The open reserve file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def lock(self, kind: int) -> bool:
        """Lock the file without waiting. Return whether that succeeded."""
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def resize(self, wanted: int) -> None:
        """Change the file to ``wanted`` allocated bytes. It grows in steps, so that a disk with too little space
        gives what it has. Raises OSError at the first step that the disk refuses."""
        found = os.fstat(self._descriptor)
        # Two processes that freed space at the same time may have left a hole; then everything is allocated again.
        held = found.st_size if _allocated(found) == found.st_size else 0
        if found.st_size > wanted:
            os.ftruncate(self._descriptor, wanted)
        while held < wanted:
            disk = os.fstatvfs(self._descriptor)
            step = min(STEP, wanted - held, disk.f_bavail * disk.f_frsize) // disk.f_frsize * disk.f_frsize
            if step <= 0:
                return
            os.posix_fallocate(self._descriptor, held, step)
            held += step

    def give_back(self, step: int) -> bool:
        """Free ``step`` bytes of the file, or all that are left. Return False if there were none."""
        found = os.fstat(self._descriptor)
        os.ftruncate(self._descriptor, max(_allocated(found) - step, 0))
        return _allocated(found) > 0

    def close(self) -> None:
        os.close(self._descriptor)


def _allocated(found: os.stat_result) -> int:
    return min(found.st_size, found.st_blocks * 512)


def missing_free(folder: str) -> int:
    """Return the bytes by which the free space of the disk is below what is to be left free; negative if more is
    free."""
    left, free = _left_and_free(folder)
    return left - free


def leave_free(path: Path, what: str, size: int, wanted: int = 0) -> None:
    """Raise NoSpaceError if the disk has too little free space at ``path`` for ``what``. The space needed is
    ``wanted`` bytes plus the smaller of ``size``, the bytes that ``what`` has already, and the bytes that are to
    be left free. So something small may still take the last bytes of a disk."""
    left, free = _left_and_free(str(path.parent))
    more = wanted + min(left, size) - free
    if more > 0:
        raise NoSpaceError(
            f"{path}: no space left on the device for {what}: at least {-(-more >> 20)} MiB more are needed, for some are left to"
            " what is written. Free space, then try again."
        )


def _left_and_free(folder: str) -> tuple[int, int]:
    """Return (bytes to be left free, bytes that are free)."""
    disk = os.statvfs(folder)
    return min(LEFT_FREE, disk.f_blocks * disk.f_frsize // 4), disk.f_bavail * disk.f_frsize
