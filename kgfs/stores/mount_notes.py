"""Which mounts of a home there are: a note a mount in the home's ``run`` folder, for other verbs to find."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kgfs.stores.locks import is_locked, locked

KNOWLEDGE = "knowledge"
GARAGE = "garage"
VIEWS = (KNOWLEDGE, GARAGE)
"""What of a home a mount shows."""


@dataclass(frozen=True, slots=True)
class MountNote:
    mountpoint: Path
    pid: int
    path: Path
    """Of the note itself."""
    view: str = KNOWLEDGE
    alive: bool = True
    """Whether its process is there still; not so after a kill, while the mount point waits to be detached."""


@contextmanager
def mount_note(run: Path, session: str, mountpoint: Path, view: str = KNOWLEDGE) -> Iterator[None]:
    """Stands, locked, while the mount does; one that a kill left behind is told by its missing lock, and goes when a mount
    stands at the same place again."""
    for left in mount_notes(run):
        if left.mountpoint == mountpoint:
            left.path.unlink(missing_ok=True)
    path = run / f"mount-{session}.json"
    about = {"mountpoint": os.fsdecode(mountpoint), "pid": os.getpid(), "view": view}
    with locked(path) as descriptor:
        try:
            os.write(descriptor, json.dumps({**about, "inode": os.fstat(descriptor).st_ino}).encode())
            yield
        finally:
            path.unlink(missing_ok=True)


def mount_notes(run: Path) -> list[MountNote]:
    """Of all mounts of this home that were not taken down properly or still stand. In a copy of a home's folder there are
    notes of the other one's mounts, which are not its own: they are told by their inode numbers."""
    found = []
    for path in sorted(run.glob("mount-*.json")):
        try:
            alive = is_locked(path)
            body = json.loads(path.read_text())
            copied = body.get("inode") not in (None, path.stat().st_ino)
        except (FileNotFoundError, ValueError):  # just taken away, or being written
            continue
        if not copied:
            found.append(MountNote(Path(body["mountpoint"]), body["pid"], path, body.get("view", KNOWLEDGE), alive))
    return found
