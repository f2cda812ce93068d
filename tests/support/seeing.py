"""What a mount shows, as one value that can be compared: to another mount of the same home, or to a fresh one."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.running import Place

IN_TIME = 1.0
"""Seconds in which a mount shows what was committed elsewhere."""

Shown = dict[str, tuple[Any, ...]]

OWN = {".kgfs", "README.md", "AGENTS.md"}
"""What each mount says about itself."""


def shown(top: Path, absent: Iterable[str] = ()) -> Shown:
    """Everything below ``top`` with its attributes and content, and what stands at the names ``absent`` that were
    once not there, or are not listed."""
    found: Shown = {}
    for below in _paths(top):
        found[below] = _about(top / below)
    for below in absent:
        found.setdefault(below, _about(top / below))
    return found


def alike(one: Path, other: Path, absent: Iterable[str] = ()) -> bool:
    """Whether both show the same; not as long as a folder goes while it is looked at."""
    try:
        return shown(one, absent) == shown(other, absent)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _paths(top: Path) -> Iterator[str]:
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for entry in sorted(os.scandir(top / folder), key=lambda entry: entry.name):
            if folder or entry.name not in OWN:
                below = os.path.join(folder, entry.name)
                yield below
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(below)


def _about(path: Path) -> tuple[Any, ...]:
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            content: Any = os.readlink(path)
        else:
            content = path.read_bytes() if stat.S_ISREG(found.st_mode) else ""
    except FileNotFoundError:
        return ("absent",)
    except IsADirectoryError:  # since it was looked at
        return ("folder by now",)
    size = found.st_size if not stat.S_ISDIR(found.st_mode) else 0
    return found.st_ino, oct(found.st_mode), found.st_uid, size, found.st_mtime_ns, content


LOOK = 0.1
"""Seconds that a look counts for at most. It takes longer where others use the machine, and they hold up the mount, too."""


def in_time(true: Callable[[], Any], seconds: float = IN_TIME) -> float:
    """How long it took until ``true``, which was asked often; a failure if that was too long."""
    waited = 0.0
    while True:
        looked = time.monotonic()
        if true():
            return waited
        assert waited < seconds, "still stale"
        time.sleep(0.02)
        waited += min(time.monotonic() - looked, LOOK)


@contextmanager
def mounted_again(place: Place, name: str, *options: str) -> Iterator[Place]:
    """One more mount of the same home, at another place."""
    other = Place(place.home, place.mountpoint.with_name(name), place.environment)
    other.mountpoint.mkdir(exist_ok=True)
    other.mount("--no-worker", *options)
    try:
        yield other
    finally:
        other.umount()
