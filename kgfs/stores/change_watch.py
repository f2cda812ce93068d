"""Watch a home for changes by any process of this machine, so that nothing has to be polled while nothing happens.

The kernel reports writes to the databases of the home, and files that are made, removed or touched in its run folder
(inotify). Writes through shared memory are not reported; SQLite commits by ``write``.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import select
import struct
from pathlib import Path

from kgfs.config import Config

log = logging.getLogger(__name__)

CHANGES = 0x2 | 0x4 | 0x80 | 0x100 | 0x200
"""IN_MODIFY, IN_ATTRIB, IN_MOVED_TO, IN_CREATE, IN_DELETE."""
OVERFLOW = 0x4000
"""IN_Q_OVERFLOW: the kernel dropped events."""
_EVENT = struct.Struct("iIII")
PIECE = 1 << 16
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
        self._woken = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._notify = _watch((config.home, config.run))
        self._poll = select.poll()
        for descriptor in (self._woken, self._notify):
            if descriptor >= 0:
                self._poll.register(descriptor, select.POLLIN)

    @property
    def works(self) -> bool:
        """Whether changes are reported."""
        return self._notify >= 0

    def fileno(self) -> int:
        """Return a descriptor that is readable when something may have changed. It stays so until :meth:`changed`."""
        return self._notify

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
        found = False
        while self.works:
            try:
                events = os.read(self._notify, PIECE)
            except BlockingIOError:
                break
            found = found or _concerns(events)
        return found

    def wake(self) -> None:
        """End :meth:`wait`. Once the watch is closed nobody waits, and nothing is done."""
        if self._woken >= 0:
            os.eventfd_write(self._woken, 1)

    def close(self) -> None:
        """Give the descriptors back. A signal handler that interrupts this finds the watch closed already."""
        held = self._woken, self._notify
        self._woken = self._notify = -1
        for descriptor in held:
            if descriptor >= 0:
                os.close(descriptor)


def _concerns(events: bytes) -> bool:
    """Return whether one of these events is about a file that other processes change to be noticed."""
    at = 0
    while at < len(events):
        _, mask, _, length = _EVENT.unpack_from(events, at)
        name = events[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0").decode("utf-8", "replace")
        if mask & OVERFLOW or ".sqlite" in name or name.startswith(IN_RUN):
            return True
        at += _EVENT.size + length
    return False


def _watch(folders: tuple[Path, ...]) -> int:
    """Return an inotify descriptor that watches these folders; -1 where the kernel gives none."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    for folder in folders:
        if descriptor >= 0 and libc.inotify_add_watch(descriptor, os.fsencode(folder), CHANGES) < 0:
            os.close(descriptor)
            descriptor = -1
    if descriptor < 0:
        code = ctypes.get_errno()
        log.info("%s: changes are polled for: %s", folders[0], errno.errorcode.get(code, str(code)))
    return descriptor
