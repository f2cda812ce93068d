"""Inspect mount points from outside without ever waiting for a dead mount, and unmount them.

After a ``kill -9`` of its process, a mount still answers stat from the kernel's cache. So liveness is tested with
statvfs, in a child process that can be left behind if it hangs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kgfs.errors import BusyError, MachineError, MissingError, StoreError
from kgfs.fuse import timing
from kgfs.stores.mount_files import Mount, mounts


class MountState(StrEnum):
    """The state of a mount point."""

    ABSENT = "not mounted"
    ALIVE = "alive"
    DEAD = "dead"
    """The mount's process is gone: every access fails with ENOTCONN."""
    HUNG = "hung"
    """The mount's process exists, perhaps stopped, and does not answer."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that keeps a mount busy."""

    pid: int
    command: str
    what: str
    """``cwd``, ``root``, ``exe`` or a path that the process has open or mapped."""

    def __str__(self) -> str:
        return f"{self.command} (pid {self.pid}, {self.what})"


def mount_at(mountpoint: Path) -> Mount | None:
    """Return the topmost mount at exactly that path; None if there is none. The mount itself is not accessed."""
    path = str(located(mountpoint))
    return next((mount for mount in reversed(mounts()) if mount.path == path), None)


def located(mountpoint: Path) -> Path:
    """Return the path as the kernel names it. The last component is resolved only if nothing is mounted there, since
    the mount may be dead.
    """
    absolute = mountpoint.absolute()
    path = Path(os.path.realpath(absolute.parent)) / absolute.name
    if any(mount.path == str(path) for mount in mounts()):
        return path
    return Path(os.path.realpath(path))


def standing(mountpoint: Path, deadline: float = timing.PROBE) -> MountState:
    """Return whether a mount exists at ``mountpoint`` and whether it answers within ``deadline`` seconds."""
    if mount_at(mountpoint) is None:
        return MountState.ABSENT
    child = subprocess.Popen(
        ["stat", "--file-system", "--format=%t", "--", str(located(mountpoint))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=_english(),
    )
    try:
        stderr = child.communicate(timeout=deadline)[1]
    except subprocess.TimeoutExpired:
        child.kill()
        with suppress(subprocess.TimeoutExpired):  # uninterruptible while the mount's process keeps it waiting
            child.communicate(timeout=0.2)
        return MountState.HUNG
    finally:
        if child.stderr is not None:
            child.stderr.close()
    # Another user's mount may deny access, which does not mean that its process is dead.
    dead = child.returncode != 0 and b"Permission denied" not in stderr
    return MountState.DEAD if dead else MountState.ALIVE


def holders(mountpoint: Path) -> list[Holder]:
    """Return the processes with a working folder, root, program or open file below the mountpoint. Only root sees
    processes of other users.
    """
    inside = str(located(mountpoint))
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            what = next((label for label, path in _held_by(process) if _is_below(path, inside)), None)
            if what is not None:
                found.append(Holder(int(process.name), _command(process), what))
    return found


def detach(mountpoint: Path) -> None:
    """Detach a mount from its path at once, even if it is in use (``fusermount3 -u -z``)."""
    _fusermount("-u", "-z", mountpoint=mountpoint)


def umount(mountpoint: Path, *, lazy: bool = False) -> bool:
    """Unmount, and return whether the mount is certainly no longer in use.

    Raise BusyError, which names the holders, if a process uses the mount and ``lazy`` is False. With ``lazy``, or if
    the mount is dead or hung, the mount is detached, and False is returned because its use is not known. Raise
    MissingError if nothing is mounted there.
    """
    where = located(mountpoint)
    state = standing(where)
    if state is MountState.ABSENT:
        raise MissingError(f"{where} is not mounted.")
    if lazy or state is not MountState.ALIVE:
        detach(where)
        return False
    try:
        _fusermount("-u", mountpoint=where)
    except BusyError:
        using = ", ".join(str(holder) for holder in holders(where)) or "a process that cannot be seen from here"
        raise BusyError(f"{where} is in use by {using}. End it, or detach with --lazy.") from None
    return True


def _fusermount(*arguments: str, mountpoint: Path) -> None:
    program = shutil.which("fusermount3")
    if program is None:
        raise MachineError("fusermount3 is not installed. Install the package fuse3.")
    done = subprocess.run(
        [program, *arguments, "--", str(located(mountpoint))],
        capture_output=True,
        text=True,
        errors="replace",
        env=_english(),
        check=False,
    )
    if done.returncode != 0:
        stderr = done.stderr.strip() or f"fusermount3 ended with {done.returncode}"
        if "busy" in stderr:
            raise BusyError(f"{mountpoint}: {stderr}")
        raise StoreError(f"{mountpoint} could not be unmounted: {stderr}")


def _english() -> dict[str, str]:
    """Return an environment that makes programs print English messages, because their messages are parsed."""
    return {**os.environ, "LC_ALL": "C"}


def _held_by(process: Path) -> Iterator[tuple[str, str]]:
    for link in ("cwd", "root", "exe"):
        with suppress(OSError):  # the process ended, or belongs to another user
            yield link, os.readlink(process / link)
    with suppress(OSError):
        for descriptor in os.listdir(process / "fd"):
            with suppress(OSError):
                path = os.readlink(process / "fd" / descriptor)
                yield path, path
    with suppress(OSError):
        for line in (process / "maps").read_text("utf-8", "surrogateescape").splitlines():
            path = line[line.find("/") :] if "/" in line else ""
            yield path, path


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _command(process: Path) -> str:
    try:
        return (process / "comm").read_text("utf-8", "replace").strip()
    except OSError:
        return "a process"
