"""The layout of a backup folder, and durable copies into it and out of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kgfs.errors import CorruptError, StoreError
from kgfs.stores.garage.contract import BLOCK, Objects
from kgfs.stores.garage.durable import sync_folder

MANIFEST = "manifest.json"

Progress = Callable[[int, int], None]
"""A callback that receives (number of objects done, number of all objects)."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of one complete snapshot."""

    name: str
    """The time at which the snapshot was made, in UTC; names sort by time."""
    objects: dict[str, str]
    """The SHA-256 of each object, by garage key."""
    files: dict[str, str]
    """The SHA-256 of each file, by its path in the snapshot's folder."""


def snapshots(folder: Path) -> list[Manifest]:
    """Return the manifests of the complete snapshots, oldest first. Raises StoreError for a manifest that cannot
    be read."""
    found = []
    for path in folders(folder):
        try:
            found.append(Manifest(**json.loads((path / MANIFEST).read_text())))
        except FileNotFoundError:
            continue
        except (ValueError, TypeError) as error:
            raise StoreError(f"{path / MANIFEST}: no manifest of a backup ({error}).") from error
    return found


def carry(source: Objects, target: Objects, key: str, room: Path) -> None:
    """Copy one object, verifying each block. Raises CorruptError, with the object deleted from ``target``, if the
    bytes that arrive differ from the bytes that were stored. ``room`` is a folder for temporary files."""
    with closing(source.open(key)) as reader:
        size = reader.sums.size
        if size <= BLOCK:
            arrived = target.put(key, reader.read_at(0, size))
        else:
            path = room / "incoming"
            with opened(path) as file:
                for at in range(0, size, BLOCK):
                    file.write(reader.read_at(at, BLOCK))
            arrived = target.put(key, path, move=True)
        if arrived.sha256 != reader.sums.sha256:
            target.delete(key)
            raise CorruptError(f"{key}: its bytes are not those that were kept. Run kgfs check --deep on that home.")


def folders(folder: Path) -> list[Path]:
    """Return the folders of all snapshots, complete or not, oldest first."""
    return sorted((folder / "snapshots").iterdir()) if (folder / "snapshots").is_dir() else []


def copy(source: Path, target: Path) -> None:
    """Copy a file. The copy is durable when this returns; its mode is 0600. Memory is constant."""
    with source.open("rb") as read, opened(target) as written:
        shutil.copyfileobj(read, written, BLOCK)
        written.flush()
        os.fsync(written.fileno())
    sync_folder(target.parent)


def write(target: Path, content: bytes) -> None:
    """Write a file atomically. The file is durable when this returns; its mode is 0600."""
    fresh = target.with_name(f"{target.name}.new")
    with opened(fresh) as written:
        written.write(content)
        written.flush()
        os.fsync(written.fileno())
    fresh.rename(target)
    sync_folder(target.parent)


def opened(path: Path) -> BinaryIO:
    """Open an empty file of mode 0600 for writing; existing content is truncated."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")
