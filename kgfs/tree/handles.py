"""Map file handle numbers to open files and folders."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import trio

from kgfs.errors import MissingError
from kgfs.tree.listing import Listing
from kgfs.tree.node import Fixed, Handle


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
