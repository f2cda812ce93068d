"""Wait for changes below a folder: reported by the kernel, or polled for where it cannot report them all."""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Iterable
from pathlib import Path

from kgfs.ingest import timing
from kgfs.stores.change_watch import ATTRIB, CLOSE_WRITE, CREATE, DELETE, MOVED_FROM, MOVED_TO, ONLY_FOLDERS, Inotify

CHANGES = CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | ATTRIB | ONLY_FOLDERS


class Reports:
    """The kernel's reports about some folders. One thread waits; any thread, or a signal handler, may :meth:`wake` it.

    ``trouble`` says why changes are polled for; '' while they are reported.
    """

    def __init__(self) -> None:
        self._woken = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._notify: Inotify | None = None
        self._known: set[int] = set()
        self.trouble = ""
        try:
            self._notify = Inotify()
        except OSError as error:
            self._give_up(error)

    def watch(self, folders: Iterable[Path]) -> bool:
        """Have changes in these folders reported; return whether one of them was not watched before, so that what
        changed in it until now was not reported."""
        new = False
        for folder in folders:
            if self._notify is None:
                return False
            try:
                number = self._notify.add(folder, CHANGES)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.ENOMEM, errno.EMFILE):
                    self._give_up(error)
                continue  # else it is gone already, which its parent reports
            if number not in self._known:
                self._known.add(number)
                new = True
        return new

    def pause(self, scan: float) -> float:
        """Return how many seconds may pass until the next scan although nothing is reported. ``scan`` is the time in
        seconds that one takes."""
        return (
            timing.WATCH_RESCAN if self._notify is not None else max(timing.WATCH_POLL, timing.WATCH_POLL_COST * scan)
        )

    def wait(self, seconds: float) -> None:
        """Return after that time, or a moment after a change was reported, or as soon as :meth:`wake` is called."""
        if self._ready(seconds):
            first = time.monotonic()
            while (
                self._take()
                and time.monotonic() - first < timing.WATCH_GATHER_AT_MOST
                and self._ready(timing.WATCH_GATHER)
            ):
                pass

    def wake(self) -> None:
        """End :meth:`wait`, now or the next time."""
        os.eventfd_write(self._woken, 1)

    def close(self) -> None:
        """Give the descriptors back. Nobody may wait or wake any more."""
        os.close(self._woken)
        if self._notify is not None:
            self._notify.close()

    def _ready(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        if self._notify is not None:
            poll.register(self._notify.fileno(), select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _take(self) -> bool:
        """Take what was reported; return whether to wait for more of it. Of a call of :meth:`wake` nothing follows."""
        try:
            os.eventfd_read(self._woken)
        except BlockingIOError:
            return self._notify is not None and len(list(self._notify.events())) > 0
        return False

    def _give_up(self, error: OSError) -> None:
        if self._notify is not None:
            self._notify.close()
        self._notify = None
        self.trouble = (
            f"the kernel reports no more changes ({error.strerror}), so the folder is scanned again and again; raise"
            " fs.inotify.max_user_watches with sysctl"
        )
