"""Temporary files of a garage: content is written and synced here before a rename makes it visible."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgfs.errors import BadInputError
from kgfs.stores import timing
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.sums import Summer
from kgfs.stores.pacing import PIECE

KEPT_MODE = 0o400
"""The mode of stored files: read-only for their owner, no access for others."""


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
