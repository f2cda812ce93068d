"""The mounts of a home: each mount writes a run file into the home's ``run`` folder, for other commands to find.

The kernel's table of mounts says which are mounted. No mount itself is queried, so a dead mount never blocks the
caller.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.locks import is_locked, locked
from kgfs.stores.processes import is_stuck, main_thread

TYPE = "fuse.kgfs"
_SOURCE = "kgfs="
"""The prefix of the source of a kgfs mount in the table; the home's path follows. Without a colon, because
desktops take a source with one for a remote mount."""
_LONGEST = 1500
"""Characters of a source at most; the kernel has one page for all options of a mount."""

KNOWLEDGE = "knowledge"
GARAGE = "garage"
VIEWS = (KNOWLEDGE, GARAGE)
"""The views of a home that a mount can show."""


@dataclass(frozen=True, slots=True)
class MountNote:
    """A mount of a home, as described by its run file."""

    mountpoint: Path
    pid: int
    path: Path
    """The run file itself."""
    view: str = KNOWLEDGE
    alive: bool = True
    """Whether the mount's process serves it. False after a kill, while the mount point is still to be detached."""
    stuck: bool = False
    """Whether the mount's process was killed but cannot end. Calls on the mount then block."""
    started: int = 0
    """The start time of the process, in clock ticks since boot; 0 if it could not be read."""
    connection: int | None = None
    """The number of its FUSE connection; None until it is mounted."""
    file: Path | None = None
    """Its configuration file, if that is not the home's own."""

    def is_stuck(self) -> bool:
        """Return whether the mount's process is stuck now. While it is, no other mount can have its FUSE
        connection's number."""
        return self.connection is not None and is_locked(self.path) and is_stuck(self.pid, self.started)


class Noting:
    """The run file of this process's mount, while it is mounted."""

    def __init__(self, descriptor: int, about: dict[str, Any]) -> None:
        self._descriptor, self._about = descriptor, about

    def connected(self, number: int) -> None:
        """Write the number of the mount's FUSE connection to the file."""
        self._about["connection"] = number
        os.pwrite(self._descriptor, json.dumps(self._about).encode(), 0)


@contextmanager
def mount_note(
    run: Path, session: str, mountpoint: Path, view: str = KNOWLEDGE, file: Path | None = None
) -> Iterator[Noting]:
    """Return a context for the time of a mount, in which its run file exists and is locked. A file left by a
    killed process has no lock. It is deleted when a new mount is made at the same mount point, unless the process
    is stuck."""
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
    """Return the mounts of this home that are mounted or whose process exists. Files of mounts that were killed
    and detached are deleted. A copy of a home's folder also contains the files of the other home's mounts; these
    are recognised by their inode numbers and skipped."""
    found = []
    for path in sorted(run.glob("mount-*.json")):
        try:
            locked = is_locked(path)
            body = json.loads(path.read_text())
            copied = body["inode"] != path.stat().st_ino
        except (FileNotFoundError, ValueError):  # just deleted, or being written
            continue
        if copied:
            continue
        if not locked and not _stands(body["mountpoint"], run.parent):
            path.unlink(missing_ok=True)
            continue
        started, file = body["started"], body["config"]
        stuck = locked and is_stuck(body["pid"], started)
        found.append(
            MountNote(
                mountpoint=Path(body["mountpoint"]),
                pid=body["pid"],
                path=path,
                view=body["view"],
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


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the table."""

    path: str
    type: str
    source: str
    device: str
    """The device numbers, as ``major:minor``."""

    def may_show(self, home: Path) -> bool:
        """Return whether this is a kgfs mount of ``home`` or one whose home is unknown."""
        return self.type == TYPE and self.source in (source_of(None), source_of(home))


def mounts() -> list[Mount]:
    """Return all mounts that this process sees, in the order in which they were made."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        _, _, device, _, named = before.split(" ")[:5]
        kind, source = after.split(" ")[:2]
        found.append(Mount(_plain(named), kind, _plain(source), device))
    return found


def source_of(home: Path | None) -> str:
    """Return the source that a mount of this home has in the table; without a home, or for a path that is too
    long, the source of a mount whose home is unknown."""
    named = quote(os.fsencode(home), safe="/~") if home is not None else ""
    return f"{_SOURCE}{named}" if 0 < len(named) <= _LONGEST else "kgfs"


def home_at(path: Path) -> Path | None:
    """Return the home of the mount that contains this absolute path; None if the mount is not of kgfs or its home
    is unknown. The path is taken literally; no link is followed."""
    above = [mount for mount in mounts() if path.is_relative_to(mount.path)]
    nearest = max(
        reversed(above), key=lambda mount: len(mount.path), default=None
    )  # the later one of two at the same path
    if nearest is None or nearest.type != TYPE or not nearest.source.startswith(_SOURCE):
        return None
    return Path(os.fsdecode(unquote(nearest.source.removeprefix(_SOURCE), errors="surrogateescape")))


def _plain(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), word)
