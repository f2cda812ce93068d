"""The disk reserve: bytes of the disk that a home holds, so that removing works where no byte is free.

The file ``reserve`` of a home is allocated and never read. An operation that removes, and that meets a full disk, gives a part of
it back to the disk and is repeated. What it leaves free is allocated again when it ends, and the rest as soon as there is room.
A process that is killed in between leaves the reserve short; the next :meth:`DiskReserve.fill` of any process completes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kgfs.errors import FullError, KgfsError

NAME = "reserve"
"""Of the file, in the folder of the home."""
STEP = 1 << 20
"""Bytes that are given back first; each further attempt of the same operation gives back twice as many."""
SMALLEST = 4 << 20
LARGEST = 64 << 20
DATABASE_PARTS = 8
"""The reserve is an eighth of the home's databases, between SMALLEST and LARGEST: a removal rewrites a part of their pages."""
DISK_PARTS = 8
"""Of a small disk the reserve takes an eighth at most."""
REMEDY = "Free space on the disk of the home (kgfs trash empty, kgfs forget --purge); it is made up then by itself."
SCARCE = 64 << 10
"""Free bytes below which an error of a database is one of a full disk: SQLite has other names for some of them."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReserveState:
    held: int
    """Bytes that are allocated."""
    wanted: int

    @property
    def is_whole(self) -> bool:
        return self.held >= self.wanted

    def told(self) -> str:
        """What of it is held, and what to do where that is not all."""
        part = f"{self.held / (1 << 20):.1f} of {self.wanted >> 20} MiB"
        return part if self.is_whole else f"{part}, which removing needs on a full disk. {REMEDY}"


class DiskReserve:
    """The reserve of the home in a folder. Any number of objects, threads and processes may use one file: they lock it.

    Where there is no such file, because it could not be made or the folder is no home, :meth:`run` only passes errors on."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / NAME

    def state(self) -> ReserveState:
        """Quick. OSError where the folder cannot be looked at."""
        try:
            held = _allocated(self._path.stat())
        except FileNotFoundError:
            held = 0
        return ReserveState(held, self._wanted())

    def fill(self) -> None:
        """Allocate what the reserve lacks, as far as the disk has it, or give back what it has too much. Quick where nothing is to
        be done. Does nothing where another operation is using the reserve, nor where the file system cannot allocate:
        :meth:`state` tells."""
        with suppress(OSError):
            state = self.state()
            if state.held == state.wanted:
                return
            file = _Opened(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            with closing(file):
                if file.lock(fcntl.LOCK_EX):
                    file.resize(state.wanted)

    def run(self, work: Callable[[], T], between: Callable[[], None] = lambda: None) -> T:
        """Return what ``work`` returns. Where the disk is too full for it, give back a part of the reserve and repeat it, until it
        succeeds or nothing is left to give back; then its error is raised. ``work`` has changed nothing where it fails, or may be
        done twice. ``between`` is called before each repetition."""
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
        if isinstance(error, FullError) or error.errno in (errno.ENOSPC, errno.EDQUOT):
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
    """The open file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def lock(self, kind: int) -> bool:
        """Whether the lock could be had; nobody is waited for."""
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def resize(self, wanted: int) -> None:
        """In steps, so that a disk which has not all of it gives what it has. OSError at the first step that it refuses."""
        found = os.fstat(self._descriptor)
        # Two processes that gave back at once may have left a hole, which is allocated again from the beginning.
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
        """Give so many bytes back to the disk, or all that are left; False where none is."""
        found = os.fstat(self._descriptor)
        os.ftruncate(self._descriptor, max(_allocated(found) - step, 0))
        return _allocated(found) > 0

    def close(self) -> None:
        os.close(self._descriptor)


def _allocated(found: os.stat_result) -> int:
    return min(found.st_size, found.st_blocks * 512)
