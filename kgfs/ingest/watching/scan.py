"""Scan a watched folder: every file that may become a document, with what tells whether it has changed.

``.gitignore`` and ``.kgfsignore`` say which files are ignored, as git reads them.
"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".kgfsignore")
"""The files with patterns. Where both match, the later one decides."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a scan sees of a file. Equal values mean equal content."""

    mtime: int
    """Nanoseconds."""
    size: int
    """Bytes."""
    inode: int


@dataclass(slots=True)
class Scan:
    """What one scan found. Paths are relative to the watched folder, as ``os.fsdecode`` gives them."""

    device: int
    files: dict[str, Seen] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)
    """The watched folder and those below it that are not ignored."""
    unread: list[str] = field(default_factory=list)
    """Folders that could not be listed (``''`` or with a slash at the end). Nothing is known of the files below."""


def scan(root: Path) -> Scan:
    """Return the files below ``root``.

    Left out are symbolic links, names that begin with a dot and what lies below them, and what ``.gitignore`` and
    ``.kgfsignore`` ignore. A folder on another filesystem than ``root`` is followed. Raise OSError if ``root`` itself
    cannot be listed.
    """
    found = Scan(root.stat().st_dev)
    waiting = [(root, "", Ignoring())]
    while waiting:
        folder, relative, above = waiting.pop()
        try:
            with os.scandir(folder) as listing:
                entries = list(listing)
        except OSError:
            if folder == root:
                raise
            found.unread.append(relative)
            continue
        found.folders.append(folder)
        ignoring = above.below(folder, relative, [entry.name for entry in entries])
        for entry in entries:
            path = relative + entry.name
            if entry.name.startswith("."):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    if not ignoring.ignores(path + "/"):
                        waiting.append((folder / entry.name, path + "/", ignoring))
                elif entry.is_file(follow_symlinks=False) and not ignoring.ignores(path):
                    about = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(about.st_mode):
                        found.files[path] = Seen(about.st_mtime_ns, about.st_size, about.st_ino)
            except FileNotFoundError:  # it was removed since the folder was listed
                continue
    return found


def is_being_written(path: Path) -> bool:
    """Tell whether a process has the file open for writing.

    A read lease (fcntl(2), F_SETLEASE) can be taken only while no process has. False where the filesystem has no
    leases or the file belongs to another user: then its modification time alone must tell.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        # A writer that comes meanwhile sends a signal. SIGIO, the default, would end this process; SIGURG is ignored.
        fcntl.fcntl(descriptor, F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


F_SETSIG = 10
"""fcntl(2): which signal tells of a lease that is to be broken. Python has no name for it."""


class Ignoring:
    """The patterns of one folder and of all folders above it, up to the watched one. Never changed.

    A pattern of a deeper folder decides before one above it, and the last matching pattern of a folder before the
    others, as in git. What lies in an ignored folder is ignored.
    """

    def __init__(self, levels: Sequence[tuple[str, GitIgnoreSpec]] = ()) -> None:
        """``levels`` are pairs of a folder (relative, ``''`` or with a slash at its end) and its patterns."""
        self._levels = tuple(levels)

    def below(self, folder: Path, relative: str, names: Sequence[str]) -> Ignoring:
        """Return the patterns that hold in ``folder``, whose path below the watched folder is ``relative`` (``''`` or
        with a slash at its end) and which has the entries ``names``. An unreadable file of patterns has none.
        """
        lines = [line for name in IGNORE_FILES if name in names for line in _lines(folder / name)]
        if not lines:
            return self
        return Ignoring((*self._levels, (relative, GitIgnoreSpec.from_lines(lines))))

    def ignores(self, relative: str) -> bool:
        """Tell whether an entry is ignored. ``relative`` is its path below the watched folder, that of a folder with
        a slash at its end."""
        for folder, patterns in reversed(self._levels):
            decided = patterns.check_file(relative[len(folder) :]).include
            if decided is not None:
                return decided
        return False


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
