"""Map file handle numbers to open files and folders.

Processes that still have a removed file or folder open get its attributes from here, since the node itself can no
longer be read.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from dataclasses import dataclass, replace
from typing import NoReturn

import trio

from kgfs.errors import GoneError, MissingError
from kgfs.tree.listing import Listing
from kgfs.tree.node import Attr, AttrChange, Fixed, Handle


class OpenFile:
    """An open file, with the locks that order its calls."""

    __slots__ = ("_locks", "handle", "inode", "writes")

    def __init__(self, handle: Handle, inode: int, writes: bool) -> None:
        self.handle = handle
        self.inode = inode
        self.writes = writes
        self._locks: tuple[trio.Lock, threading.Lock] | None = None

    @property
    def untouched(self) -> bool:
        """Return whether no call has waited for the handle or entered it in a thread so far. Most files are read and closed
        at once.
        """
        return self._locks is None

    @property
    def turn(self) -> trio.Lock:
        """Return the lock at which calls wait without occupying a thread. Used on the event loop only."""
        return self._made()[0]

    @property
    def inside(self) -> threading.Lock:
        """Return the lock that is held by the thread in the handle, even after its caller gave up. Obtain it on the event
        loop only.
        """
        return self._made()[1]

    def _made(self) -> tuple[trio.Lock, threading.Lock]:
        if self._locks is None:
            self._locks = trio.Lock(), threading.Lock()
        return self._locks


@dataclass(slots=True)
class OpenFolder:
    """An open folder with its listing."""

    inode: int
    listing: Listing
    kept: bool = False
    """Whether the listing stays as it was when the folder was opened."""


class Handles:
    """The table of open files and folders by handle number. A method that gets an unknown number raises MissingError."""

    def __init__(self) -> None:
        self._open: dict[int, OpenFile | OpenFolder] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._open)

    def add(self, opened: OpenFile | OpenFolder) -> int:
        self._last += 1
        self._open[self._last] = opened
        return self._last

    def file(self, fh: int) -> OpenFile:
        opened = self._open.get(fh)
        if not isinstance(opened, OpenFile):
            raise MissingError(f"No file is open as {fh}.")
        return opened

    def folder(self, fh: int) -> OpenFolder:
        opened = self._open.get(fh)
        if not isinstance(opened, OpenFolder):
            raise MissingError(f"No folder is open as {fh}.")
        return opened

    def take_file(self, fh: int) -> OpenFile:
        opened = self.file(fh)
        del self._open[fh]
        return opened

    def take_folder(self, fh: int) -> OpenFolder:
        opened = self.folder(fh)
        del self._open[fh]
        return opened

    def fixed(self, inode: int) -> Fixed | None:
        """Return the handle that was opened last on immutable bytes of this inode; None if there is none.

        The cost is linear in the number of handles; the call is for rare cases.
        """
        for opened in reversed(self._open.values()):
            if opened.inode == inode and isinstance(opened, OpenFile) and isinstance(opened.handle, Fixed):
                return opened.handle
        return None

    def has_folder(self, inode: int) -> bool:
        """Return whether a folder of this inode is open. The cost is linear in the number of handles."""
        return any(opened.inode == inode and isinstance(opened, OpenFolder) for opened in self._open.values())

    def writers(self) -> list[int]:
        return [fh for fh, opened in self._open.items() if isinstance(opened, OpenFile) and opened.writes]


def unlinked(attr: Attr) -> Attr:
    """Return the attributes after the removal of the last name at the present time."""
    return replace(attr, nlink=0, ctime=time.time_ns())


def left_open(inode: int, mode: int, size: int = 0) -> Attr:
    """Return attributes of a derived file, or of a folder, that was removed while it was open. A file has the
    ``size`` of the bytes that are open.
    """
    now = time.time_ns()
    return Attr(inode, mode, 0, os.getuid(), os.getgid(), size, now, now, now)


def written_to(attr: Attr, end: int) -> Attr:
    """Return the attributes after a write that ended at offset ``end``."""
    return resized(attr, max(attr.size, end))


def resized(attr: Attr, size: int) -> Attr:
    """Return the attributes after a change of the bytes at the present time, with the new size."""
    now = time.time_ns()
    return replace(attr, size=size, mtime=now, ctime=now)


def changed(attr: Attr, wanted: AttrChange) -> Attr:
    """Return the attributes after a setattr."""
    if wanted.size is not None:
        attr = resized(attr, wanted.size)
    changes = {name: value for name in ("uid", "gid", "atime", "mtime") if (value := getattr(wanted, name)) is not None}
    if wanted.mode is not None:
        changes["mode"] = stat.S_IFMT(attr.mode) | stat.S_IMODE(wanted.mode)
    return replace(attr, ctime=time.time_ns(), **changes)


def raise_gone(error: MissingError) -> NoReturn:
    """Raise GoneError for a request about a node that the kernel found earlier. An error of a subclass of
    MissingError is raised unchanged.

    A new node may have taken the name of the missing node, for example if a program opens a file while another file
    is renamed over it. The program must never see ENOENT then.
    """
    if type(error) is not MissingError:
        raise error
    raise GoneError(str(error)) from error
