"""A file of the spool folder, which holds the bytes of a working copy."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from kgfs.errors import CorruptError, NoSpaceError, from_os_error
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.durable import sync_folder
from kgfs.stores.garage.sums import Summer
from kgfs.stores.locks import is_locked


class SpoolFile:
    """A file of the spool folder, with mode 0600.

    The first ``fixed`` bytes are kept: a fact refers to them, and they never change again. The bytes after them may
    be written. SHA-256 and block sums are computed while bytes arrive in order. The process that made the file holds
    its lock until :meth:`let_go`, so that no other process turns the file into an object of the garage while it is
    being written.
    """

    def __init__(self, path: Path, descriptor: int, size: int, fixed: int) -> None:
        self.path = path
        self.fixed = fixed
        self._size = size
        self._descriptor = descriptor
        self._summer = Summer()

    @classmethod
    def make(cls, path: Path) -> SpoolFile:
        """Create an empty spool file at ``path``, and lock it. Raise StoreError (NoSpaceError on a full disk) where that
        fails."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise from_os_error(error, f"Making the working copy {path}") from error
        return cls(path, descriptor, 0, 0)

    @classmethod
    def kept(cls, path: Path, size: int) -> SpoolFile:
        """Open a spool file that a fact refers to, read-only; ``size`` is its kept length in bytes.

        Raise FileNotFoundError if it is not there, or not any more.
        """
        return cls(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC), size, size)

    @property
    def size(self) -> int:
        return self._size

    def read_at(self, offset: int, length: int) -> bytes:
        length = min(length, self._size - offset)
        pieces = []
        while length > 0:
            try:
                piece = os.pread(self._descriptor, length, offset)
            except OSError as error:
                raise from_os_error(error, f"Reading the working copy {self.path}") from error
            if not piece:
                raise CorruptError(
                    f"The working copy {self.path} is shorter than it was: {offset} of {self._size} bytes."
                )
            pieces.append(piece)
            offset, length = offset + len(piece), length - len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def cached(self, offset: int, length: int) -> bytes | None:
        return None

    def write_at(self, offset: int, data: bytes) -> None:
        """Write all of ``data`` at ``offset``, or raise NoSpaceError or StoreError and leave the file as long as before.

        The bytes are not durable before :meth:`sync`.
        """
        self._check_hole(offset)
        if offset < self._summer.size:
            self._summer = Summer()
        left = memoryview(data)
        try:
            while left:
                left = left[os.pwrite(self._descriptor, left, offset + len(data) - len(left)) :]
        except OSError as error:
            os.ftruncate(self._descriptor, self._size)
            raise from_os_error(error, f"Writing the working copy {self.path}") from error
        if offset == self._summer.size:
            self._summer.update(data)
        self._size = max(self._size, offset + len(data))

    def truncate(self, size: int) -> None:
        """Set the length to ``size`` bytes. Raise NoSpaceError where the file would grow by more than the free space of
        the disk."""
        self._check_hole(size)
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise from_os_error(error, f"Resizing the working copy {self.path}") from error
        if size < self._summer.size:
            self._summer = Summer()
        self._size = size

    def _check_hole(self, end: int) -> None:
        """Raise NoSpaceError if a hole up to ``end`` is larger than the free space of the disk.

        A hole takes no space in the file, but it is hashed and backed up as the zeros that it reads as. A hole larger
        than any disk of this machine would keep the process that closes the file waiting for hours.
        """
        if end <= self._size:
            return
        try:
            found = os.fstatvfs(self._descriptor)
        except OSError as error:
            raise from_os_error(error, f"Looking at the working copy {self.path}") from error
        if end - self._size > found.f_bavail * found.f_frsize:
            raise NoSpaceError(f"{self.path}: {end} bytes would not fit; holes count in full.")

    def sums(self) -> Sums:
        """Return SHA-256 and block sums of the whole file. Read only those bytes that did not arrive in order."""
        while self._summer.size < self._size:
            self._summer.update(self.read_at(self._summer.size, BLOCK))
        return self._summer.sums()

    def sync(self) -> None:
        """Make the bytes durable, and the directory entry too while nothing of the file is kept yet."""
        try:
            os.fsync(self._descriptor)
            if not self.fixed:
                sync_folder(self.path.parent)
        except OSError as error:
            raise from_os_error(error, f"Keeping the working copy {self.path}") from error

    def hold(self) -> int:
        """Declare all present bytes kept, just before a fact that refers to them is recorded.

        Return the former value of ``fixed``, to be restored if recording the fact fails.
        """
        before, self.fixed = self.fixed, self._size
        return before

    def let_go(self) -> None:
        """Release the file's lock: it is not written any more."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)


def is_held(path: Path) -> bool:
    """Return whether a process, this one or another, may still write to this spool file."""
    try:
        return is_locked(path)
    except OSError as error:
        raise from_os_error(error, f"Looking at the working copy {path}") from error
