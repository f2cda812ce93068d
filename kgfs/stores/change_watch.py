"""Watch a home for changes by any process of this machine, so that nothing has to be polled while nothing happens.

The kernel reports writes to the databases of the home, and files that are made, removed or touched in its run folder
(inotify). Writes through shared memory are not reported; SQLite commits by ``write``.
"""

from __future__ import annotations

import errno
import logging
import os
import select
from pathlib import Path

from kgfs.config import Config
from kgfs.stores.inotify import ATTRIB, CREATE, DELETE, MODIFY, MOVED_TO, OVERFLOW, Inotify

log = logging.getLogger(__name__)

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
        if self._woken >= 0:
            os.eventfd_write(self._woken, 1)

    def close(self) -> None:
        """Give the descriptors back. A signal handler that interrupts this finds the watch closed already."""
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
