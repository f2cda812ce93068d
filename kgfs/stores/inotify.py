"""Ask the kernel to report changes in folders (inotify(7))."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from pathlib import Path

MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x2, 0x4, 0x8, 0x40, 0x80, 0x100, 0x200
OVERFLOW = 0x4000
"""IN_Q_OVERFLOW: the kernel dropped events."""
ONLY_FOLDERS = 0x01000000
"""IN_ONLYDIR."""
_EVENT = struct.Struct("iIII")
PIECE = 1 << 16
"""Bytes of events that are read at once."""


class Inotify:
    """An inotify descriptor. One thread uses it. Raise OSError where the kernel gives none."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")

    def add(self, folder: Path, changes: int) -> int:
        """Report these changes in a folder; return the number of the watch, the same again for the same folder.

        Raise OSError: ENOSPC past the limit ``fs.inotify.max_user_watches``, ENOENT where the folder is gone.
        """
        number: int = self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), changes)
        if number < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch", str(folder))
        return number

    def fileno(self) -> int:
        """Return a descriptor that is readable while events wait; -1 once closed."""
        return self._descriptor

    def events(self) -> Iterator[tuple[int, str]]:
        """Take the waiting events: pairs of what happened (bits) and the name in the folder. Waits for nothing."""
        while self._descriptor >= 0:
            try:
                events = os.read(self._descriptor, PIECE)
            except BlockingIOError:
                return
            at = 0
            while at < len(events):
                _, mask, _, length = _EVENT.unpack_from(events, at)
                name = events[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0")
                yield mask, name.decode("utf-8", "replace")
                at += _EVENT.size + length

    def close(self) -> None:
        """Give the descriptor back. May be called twice, and by a signal handler."""
        held, self._descriptor = self._descriptor, -1
        if held >= 0:
            os.close(held)
