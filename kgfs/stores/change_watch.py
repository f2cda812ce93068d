"""Watch a home for changes by any process of this machine, so that nothing has to be polled while nothing happens.

The kernel reports writes to the databases of the home, and files that are made, removed or touched in its run folder
(inotify(7)). Writes through shared memory are not reported; SQLite commits by ``write``.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import select
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

from kgfs.config import Config

log = logging.getLogger(__name__)
MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x2, 0x4, 0x8, 0x40, 0x80, 0x100, 0x200
OVERFLOW = 0x4000
"""IN_Q_OVERFLOW: the kernel dropped events."""
ONLY_FOLDERS = 0x01000000
"""IN_ONLYDIR."""
_EVENT = struct.Struct("iIII")
PIECE = 1 << 16
"""Bytes of events that are read at once."""

CHANGES = MODIFY | ATTRIB | MOVED_TO | CREATE | DELETE
IN_RUN = ("settle.request", "worker.turn", "worker.json", "mount-", "session-")
"""Beginnings of the names of files in the run folder that other processes make, touch or remove to be noticed."""


def lively_after(config: Config) -> float:
    """Return for how many seconds after a change a process polls often: until what was written is settled and
    shipped. A longer quiet time of files is left to the seldom polls."""
    return min(config.pipeline.settle, 10.0) + 3.0


class ChangeWatch:
    """A watch of one home, whose folders exist. Where the kernel gives none, :attr:`works` is False and the caller polls.

    One thread waits; any thread, or a signal handler, may call :meth:`wake`.
    """

    def __init__(self, config: Config) -> None:
        self._turn = threading.Lock()
        self._woken = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._notify = _watch((config.home, config.run))
        self._poll = select.poll()
        for descriptor in (self._woken, self.fileno()):
            if descriptor >= 0:
                self._poll.register(descriptor, select.POLLIN)

    @property
    def works(self) -> bool:
        """Return whether changes are reported."""
        return self.fileno() >= 0

    def fileno(self) -> int:
        """Return a descriptor that is readable when something may have changed. It stays so until :meth:`changed`."""
        return self._notify.fileno() if self._notify is not None else -1

    def wait(self, seconds: float) -> bool:
        """Return once something has changed, :meth:`wake` was called, or ``seconds`` have passed; return whether
        something has changed."""
        self._poll.poll(seconds * 1000)
        try:
            os.eventfd_read(self._woken)
        except BlockingIOError:
            pass
        return self.changed()

    def changed(self) -> bool:
        """Return whether something has changed since the last call. Waits for nothing."""
        if self._notify is None:
            return False
        found = False
        for mask, name in self._notify.events():  # all are taken, whichever of them is of interest
            found = found or _concerns(mask, name)
        return found

    def wake(self) -> None:
        """End :meth:`wait`. Once the watch is closed nobody waits, and nothing is done."""
        if self._turn.acquire(blocking=False):  # whoever has it wakes the waiting thread, or closes the watch
            try:
                if self._woken >= 0:
                    os.eventfd_write(self._woken, 1)
            finally:
                self._turn.release()

    def close(self) -> None:
        """Give the descriptors back. A signal handler that interrupts this finds the watch closed already."""
        with self._turn:
            woken, self._woken = self._woken, -1
            if woken >= 0:
                os.close(woken)
        if self._notify is not None:
            self._notify.close()


def _concerns(mask: int, name: str) -> bool:
    """Return whether an event is about a file that other processes change to be noticed."""
    return bool(mask & OVERFLOW) or ".sqlite" in name or name.startswith(IN_RUN)


def _watch(folders: tuple[Path, ...]) -> Inotify | None:
    """Return a watch of these folders; None where the kernel gives none."""
    notify = None
    try:
        notify = Inotify()
        for folder in folders:
            notify.add(folder, CHANGES)
    except OSError as error:
        log.info("%s: changes are polled for: %s", folders[0], errno.errorcode.get(error.errno or 0, str(error)))
        if notify is not None:
            notify.close()
        return None
    return notify


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
