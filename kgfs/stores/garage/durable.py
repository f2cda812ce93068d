"""Durable writes of objects and ledger on files: folders, temporary files whose content is synced before a rename makes
it visible, and the translation of OSError.

Long writes are synced piece by piece, so that they do not delay small synced writes. The kernel keeps written data in
memory until it is synced, and a sync then writes all of it. A sync of a small file would wait for a large unsynced
file of another writer. So a long write is synced as it goes.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kgfs.errors import BadInputError, from_os_error
from kgfs.stores import timing
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.sums import Summer

PIECE = 8 << 20
"""Bytes of a file that are written between two syncs."""
STEPS = 10_000
"""Steps of SQLite's virtual machine between two calls of :meth:`Pacing.step`."""

KEPT_MODE = 0o400
"""The mode of stored files: read-only for their owner, no access for others."""

FOLDER_MODE = 0o700


@contextmanager
def os_errors(what: str) -> Iterator[None]:
    """Translate every OSError inside the block to the typed error. Its message says that ``what`` failed."""
    try:
        yield
    except OSError as error:
        raise from_os_error(error, what) from error


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents with mode 0700, whatever the umask is.

    The name of the folder is durable when this returns, even if another process made the folder a moment ago.
    """
    if not folder.is_dir():
        if not folder.parent.is_dir():
            make_folder(folder.parent)
        try:
            folder.mkdir(FOLDER_MODE)
            folder.chmod(FOLDER_MODE)
        except FileExistsError:
            if not folder.is_dir():
                raise
    sync_folder(folder.parent)


@contextmanager
def staged(folder: Path, content: bytes | Path, sums: Sums | None = None) -> Iterator[tuple[Path, Sums]]:
    """Write a durable copy of ``content`` to a file with a random name in ``folder``, and yield its path and
    checksums.

    The checksums are ``sums`` if given, else they are computed while copying. Rename the file to keep it; otherwise
    it is removed at the end of the block. Raise BadInputError if the content is not as long as ``sums`` says.
    """
    path = folder / secrets.token_hex(16)
    summer = None if sums else Summer()
    written = 0
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, KEPT_MODE)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            os.fchmod(descriptor, KEPT_MODE)
            for piece in _pieces(content):
                view = memoryview(piece)
                while view:
                    view = view[file.write(view) :]
                if summer:
                    summer.update(piece)
                if len(piece) == BLOCK:  # a whole block: more may follow
                    written += BLOCK
                    if written % PIECE == 0:
                        os.fdatasync(descriptor)
            os.fsync(descriptor)
            found = sums or (summer or Summer()).sums()
            check_size(content, os.fstat(descriptor).st_size, found)
        yield path, found
    finally:
        path.unlink(missing_ok=True)


def sync_in_place(file: Path, sums: Sums) -> None:
    """Sync a file that is about to be moved. Raise BadInputError if it is not as long as its checksums say."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        check_size(file, os.fstat(descriptor).st_size, sums)
    finally:
        os.close(descriptor)


def check_size(content: bytes | Path, size: int, sums: Sums) -> None:
    """Raise BadInputError if ``size`` is not the size that ``sums`` states: the content changed after it was
    hashed."""
    if size != sums.size:
        what = content if isinstance(content, Path) else "the content"
        raise BadInputError(f"{what} has {size} bytes, its sums say {sums.size}: it changed after it was hashed.")


def sweep(folder: Path) -> None:
    """Remove the temporary files of dead processes from ``folder``."""
    for path in list(folder.iterdir()):
        try:
            if time.time() - path.stat().st_mtime > timing.STAGING_LEFT_OVER:
                path.unlink()
        except FileNotFoundError:
            continue  # the process that wrote it has just renamed or removed it


def _pieces(content: bytes | Path) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield from (content[start : start + BLOCK] for start in range(0, len(content), BLOCK))
        return
    with content.open("rb", buffering=0) as file:
        while piece := file.read(BLOCK):
            yield piece


class Pacing:
    """Sync the WAL of a database during long writes, in the thread that writes. Belongs to the one connection that
    writes. One thread at a time may call it."""

    def __init__(self, wal: Path) -> None:
        """Prepare for one connection. ``wal`` is the path of the log, which exists while something is written."""
        self._wal = wal
        self._descriptor = -1
        self._since = self._last = 0.0

    def go_on(self) -> None:
        """Record that a transaction begins. A pause longer than timing.WRITE_SLICE starts a new stretch of writing."""
        now = time.monotonic()
        if now - self._last > timing.WRITE_SLICE:
            self._since = now
        self._last = now

    def step(self) -> None:
        """Sync the WAL if writing has lasted longer than timing.WRITE_SLICE. SQLite's progress handler calls this often
        while statements run."""
        self._last = now = time.monotonic()
        if now - self._since < timing.WRITE_SLICE:
            return
        # An error is ignored here: the kernel reports it to SQLite's descriptor too, when SQLite syncs the WAL.
        with suppress(OSError):
            if self._descriptor < 0:
                self._descriptor = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
            os.fdatasync(self._descriptor)
        self._since = self._last = time.monotonic()

    def close(self) -> None:
        """Close the file descriptor of the WAL. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
