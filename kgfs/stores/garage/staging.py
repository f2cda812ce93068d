"""Temporary files of a garage: written and synced here before a rename makes them visible."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgfs.errors import BadInputError
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.sums import Summer
from kgfs.stores.pacing import PIECE

KEPT_MODE = 0o400
"""Kept files are read-only for their owner, and nobody's else."""

LEFT_OVER = 24 * 3600
"""Seconds without a write after which a temporary file is taken for a dead process's."""


@contextmanager
def staged(folder: Path, content: bytes | Path, sums: Sums | None = None) -> Iterator[tuple[Path, Sums]]:
    """A durable copy of ``content`` in ``folder`` under a random name, with its sums (``sums`` if given, else found
    while copying). Rename it to keep it; else it is gone afterwards."""
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
                if len(piece) == BLOCK:  # more is to come
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
    """Make a file durable that is to be moved; BadInputError if it is not as long as its sums say."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        check_size(file, os.fstat(descriptor).st_size, sums)
    finally:
        os.close(descriptor)


def check_size(content: bytes | Path, size: int, sums: Sums) -> None:
    if size != sums.size:
        what = content if isinstance(content, Path) else "the content"
        raise BadInputError(f"{what} has {size} bytes, its sums say {sums.size}: it changed after it was hashed.")


def sweep(folder: Path) -> None:
    """Remove what dead processes left in ``folder``."""
    for path in list(folder.iterdir()):
        try:
            if time.time() - path.stat().st_mtime > LEFT_OVER:
                path.unlink()
        except FileNotFoundError:
            continue  # its process has just renamed or removed it


def _pieces(content: bytes | Path) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield from (content[start : start + BLOCK] for start in range(0, len(content), BLOCK))
        return
    with content.open("rb", buffering=0) as file:
        while piece := file.read(BLOCK):
            yield piece
