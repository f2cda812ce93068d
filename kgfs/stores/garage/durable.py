"""Durable folders, and the translation of OSError, for objects and ledger on files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgfs.errors import from_os_error

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
