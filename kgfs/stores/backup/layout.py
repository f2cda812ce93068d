"""What a folder of backups holds, and durable ways to copy into it and out of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kgfs.errors import RotError, StoreError
from kgfs.stores.garage.contract import BLOCK, Objects
from kgfs.stores.garage.durable import sync_folder

MANIFEST = "manifest.json"

Progress = Callable[[int, int], None]
"""Is told (objects dealt with, of how many)."""


@dataclass(frozen=True, slots=True)
class Manifest:
    name: str
    """When it was made, in UTC; names sort by time."""
    objects: dict[str, str]
    """Key → SHA-256."""
    files: dict[str, str]
    """Path in the snapshot's folder → SHA-256."""


def snapshots(folder: Path) -> list[Manifest]:
    """The complete ones, oldest first."""
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
    """Copy one object, each block verified; RotError if what arrives is not what was put. ``room`` is a folder for what
    is under way."""
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
            raise RotError(f"{key}: its bytes are not those that were kept. Run kgfs check --deep on that home.")


def folders(folder: Path) -> list[Path]:
    return sorted((folder / "snapshots").iterdir()) if (folder / "snapshots").is_dir() else []


def copy(source: Path, target: Path) -> None:
    """Durable, 0600, with flat memory."""
    with source.open("rb") as read, opened(target) as written:
        shutil.copyfileobj(read, written, BLOCK)
        written.flush()
        os.fsync(written.fileno())
    sync_folder(target.parent)


def write(target: Path, content: bytes) -> None:
    """Durable, all or nothing, 0600."""
    fresh = target.with_name(f"{target.name}.new")
    with opened(fresh) as written:
        written.write(content)
        written.flush()
        os.fsync(written.fileno())
    fresh.rename(target)
    sync_folder(target.parent)


def opened(path: Path) -> BinaryIO:
    """To be written, empty, 0600."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")
