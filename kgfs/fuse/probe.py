"""Looking at mount points from outside, without ever waiting for a dead one, and taking mounts down.

After a ``kill -9`` of its daemon a mount still answers stat from the kernel's memory, so liveness is asked with statvfs,
in a child process that can be left behind when it hangs.
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
from kgfs.stores.mount_table import Mount, mounts

DEADLINE = 2.0


class Standing(StrEnum):
    ABSENT = "not mounted"
    ALIVE = "alive"
    DEAD = "dead"
    """Its daemon is gone: every access fails with ENOTCONN."""
    HUNG = "hung"
    """Its daemon is there (or stopped) and does not answer."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that keeps a mount busy."""

    pid: int
    command: str
    what: str
    """``cwd``, ``root``, ``exe`` or a path it has open or mapped."""

    def __str__(self) -> str:
        return f"{self.command} (pid {self.pid}, {self.what})"


def mount_at(mountpoint: Path) -> Mount | None:
    """The topmost mount at that very path; nothing on the mount itself is touched."""
    path = str(located(mountpoint))
    return next((mount for mount in reversed(mounts()) if mount.path == path), None)


def located(mountpoint: Path) -> Path:
    """The path as the kernel names it. The last part is resolved only where no mount stands: it may be dead."""
    absolute = mountpoint.absolute()
    path = Path(os.path.realpath(absolute.parent)) / absolute.name
    if any(mount.path == str(path) for mount in mounts()):
        return path
    return Path(os.path.realpath(path))


def standing(mountpoint: Path, deadline: float = DEADLINE) -> Standing:
    """Whether a mount stands at ``mountpoint`` and answers within ``deadline`` seconds."""
    if mount_at(mountpoint) is None:
        return Standing.ABSENT
    child = subprocess.Popen(
        ["stat", "--file-system", "--format=%t", "--", str(located(mountpoint))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=_english(),
    )
    try:
        said = child.communicate(timeout=deadline)[1]
    except subprocess.TimeoutExpired:
        child.kill()
        with suppress(subprocess.TimeoutExpired):  # uninterruptible while the daemon keeps it waiting
            child.communicate(timeout=0.2)
        return Standing.HUNG
    finally:
        if child.stderr is not None:
            child.stderr.close()
    # Somebody else's mount may not let us in, which says nothing about its daemon.
    dead = child.returncode != 0 and b"Permission denied" not in said
    return Standing.DEAD if dead else Standing.ALIVE


def holders(mountpoint: Path) -> list[Holder]:
    """Processes with a working folder, root, program or open file there. Other users' are seen by root only."""
    inside = str(located(mountpoint))
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            what = next((label for label, path in _held_by(process) if _is_below(path, inside)), None)
            if what is not None:
                found.append(Holder(int(process.name), _command(process), what))
    return found


def detach(mountpoint: Path) -> None:
    """Take a mount away from its path at once, whoever uses it (``fusermount3 -u -z``)."""
    _fusermount("-u", "-z", mountpoint=mountpoint)


def umount(mountpoint: Path, *, lazy: bool = False) -> bool:
    """Unmount: BusyError naming the holders if somebody uses it, unless ``lazy``. A dead or hung mount is detached.
    MissingError if nothing is mounted there. Whether nobody uses it any more; not known of what was detached."""
    where = located(mountpoint)
    state = standing(where)
    if state is Standing.ABSENT:
        raise MissingError(f"{where} is not mounted.")
    if lazy or state is not Standing.ALIVE:
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
        said = done.stderr.strip() or f"fusermount3 ended with {done.returncode}"
        if "busy" in said:
            raise BusyError(f"{mountpoint}: {said}")
        raise StoreError(f"{mountpoint} could not be unmounted: {said}")


def _english() -> dict[str, str]:
    """What programs say is looked at."""
    return {**os.environ, "LC_ALL": "C"}


def _held_by(process: Path) -> Iterator[tuple[str, str]]:
    for link in ("cwd", "root", "exe"):
        with suppress(OSError):  # it ended, or belongs to somebody else
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
