"""What is open: file handle numbers with their open files and folders."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import trio

from kgfs.errors import MissingError
from kgfs.tree.listing import Listing
from kgfs.tree.node import Fixed, Handle


class OpenFile:
    __slots__ = ("_locks", "handle", "inode", "writes")

    def __init__(self, handle: Handle, inode: int, writes: bool) -> None:
        self.handle = handle
        self.inode = inode
        self.writes = writes
        self._locks: tuple[trio.Lock, threading.Lock] | None = None

    @property
    def untouched(self) -> bool:
        """Whether nobody has waited for it or gone into it so far: most files are read and closed at once."""
        return self._locks is None

    @property
    def turn(self) -> trio.Lock:
        """Calls wait here without taking a thread. On the event loop."""
        return self._made()[0]

    @property
    def inside(self) -> threading.Lock:
        """Held by the thread that is in the handle, also after its caller gave up. On the event loop."""
        return self._made()[1]

    def _made(self) -> tuple[trio.Lock, threading.Lock]:
        if self._locks is None:
            self._locks = trio.Lock(), threading.Lock()
        return self._locks


@dataclass(slots=True)
class OpenFolder:
    inode: int
    listing: Listing
    kept: bool = False
    """The listing stays as it was when it was opened."""


class Handles:
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
        """The handle that was opened last on bytes of this inode that stay as they are. A search among all: for what
        hardly ever happens."""
        for opened in reversed(self._open.values()):
            if opened.inode == inode and isinstance(opened, OpenFile) and isinstance(opened.handle, Fixed):
                return opened.handle
        return None

    def has_folder(self, inode: int) -> bool:
        """Whether a folder of this inode is open. A search, too."""
        return any(opened.inode == inode and isinstance(opened, OpenFolder) for opened in self._open.values())

    def writers(self) -> list[int]:
        return [fh for fh, opened in self._open.items() if isinstance(opened, OpenFile) and opened.writes]
