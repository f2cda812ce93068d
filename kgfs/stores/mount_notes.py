"""Which mounts of a home there are: a note a mount in the home's ``run`` folder, for other verbs to find."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.locks import is_locked, locked
from kgfs.stores.mount_table import mounts
from kgfs.stores.processes import is_stuck, main_thread

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
    """Whether its process serves; not so after a kill, while the mount point waits to be detached."""
    stuck: bool = False
    """Whether its process was killed, but cannot end, and keeps waiting whoever waits for the mount."""
    started: int = 0
    """When its process started, in ticks since the machine did; 0 in notes of older versions."""
    connection: int | None = None
    """The number of its FUSE connection; None until it is mounted, and in notes of older versions."""
    file: Path | None = None
    """Its configuration file, where that is not the home's own."""

    def is_stuck(self) -> bool:
        """Return whether it is stuck now. Nobody else has the connection's number while it is."""
        return self.connection is not None and is_locked(self.path) and is_stuck(self.pid, self.started)


class Noting:
    """The note of this process's mount, while it stands."""

    def __init__(self, descriptor: int, about: dict[str, Any]) -> None:
        self._descriptor, self._about = descriptor, about

    def connected(self, number: int) -> None:
        """Note the number of the mount's FUSE connection."""
        self._about["connection"] = number
        os.pwrite(self._descriptor, json.dumps(self._about).encode(), 0)


@contextmanager
def mount_note(
    run: Path, session: str, mountpoint: Path, view: str = KNOWLEDGE, file: Path | None = None
) -> Iterator[Noting]:
    """Stands, locked, while the mount does; one that a kill left behind is told by its missing lock, and goes when a mount
    stands at the same place again."""
    for left in mount_notes(run):
        if left.mountpoint == mountpoint and not left.stuck:
            left.path.unlink(missing_ok=True)
    path = run / f"mount-{session}.json"
    running = main_thread(os.getpid())
    about = {
        "mountpoint": os.fsdecode(mountpoint),
        "pid": os.getpid(),
        "started": running[1] if running else 0,
        "view": view,
        "config": str(file) if file else None,
    }
    with locked(path) as descriptor:
        try:
            about["inode"] = os.fstat(descriptor).st_ino
            note = json.dumps(about).encode()
            DiskReserve(run.parent).run(lambda: os.pwrite(descriptor, note, 0))
            yield Noting(descriptor, about)
        finally:
            path.unlink(missing_ok=True)


def mount_notes(run: Path) -> list[MountNote]:
    """Return the notes of all mounts of this home that stand, or whose process is there. Notes of mounts that were killed and
    detached are removed. In a copy of a home's folder there are notes of the other one's mounts, which are not its own: they
    are told by their inode numbers."""
    found = []
    for path in sorted(run.glob("mount-*.json")):
        try:
            locked = is_locked(path)
            body = json.loads(path.read_text())
            copied = body.get("inode") not in (None, path.stat().st_ino)
        except (FileNotFoundError, ValueError):  # just taken away, or being written
            continue
        if copied:
            continue
        if not locked and not _stands(body["mountpoint"], run.parent):
            path.unlink(missing_ok=True)
            continue
        started, file = body.get("started", 0), body.get("config")
        stuck = locked and is_stuck(body["pid"], started)
        found.append(
            MountNote(
                mountpoint=Path(body["mountpoint"]),
                pid=body["pid"],
                path=path,
                view=body.get("view", KNOWLEDGE),
                alive=locked and not stuck,
                stuck=stuck,
                started=started,
                connection=body.get("connection"),
                file=Path(file) if file else None,
            )
        )
    return found


def _stands(mountpoint: str, home: Path) -> bool:
    return any(mount.path == mountpoint and mount.may_show(home) for mount in mounts())
