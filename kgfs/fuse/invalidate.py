"""Send invalidations to the kernel from separate threads.

An invalidation blocks while the kernel is busy with the folder or page, so a call on the event loop would wait for an
answer that only the event loop can give. Names and contents have a thread each, so a slow read delays only
invalidations of contents. An invalidation that is already queued is not queued twice.
"""

from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Iterable
from contextlib import suppress

import pyfuse3

from kgfs.fuse.handling import Requests
from kgfs.tree.invalidation import Invalidation, StaleEntry, StaleInode

log = logging.getLogger(__name__)

CLOSING = (errno.ENODEV, errno.EBADF, errno.EPERM, errno.ENOTCONN)
"""Errnos that the kernel returns once the mount is going away."""


class Invalidator:
    """Queue invalidations, and send them from two threads, one for names and attributes and one for contents."""

    def __init__(self, requests: Requests) -> None:
        self._names = _Sender("names", requests)
        self._contents = _Sender("contents", requests)

    def start(self) -> None:
        self._names.start()
        self._contents.start()

    def send(self, stale: Iterable[Invalidation]) -> None:
        """Queue the invalidations. Returns at once."""
        for item in stale:
            data = isinstance(item, StaleInode) and item.data
            (self._contents if data else self._names).put(item)

    @staticmethod
    def forget_attributes(inode: int) -> None:
        """Let the kernel ask for the inode's attributes again. Never blocks, so a handler may call it."""
        with suppress(OSError):  # the kernel does not know the inode, or the mount goes away
            pyfuse3.invalidate_inode(inode, attr_only=True)

    def stop(self, deadline: float = 2.0) -> bool:
        """Stop sending. Return whether both threads ended. A thread that is still blocked by the kernel is left
        behind after ``deadline`` seconds.
        """
        for sender in (self._names, self._contents):
            sender.stop()
        for sender in (self._names, self._contents):
            if sender.is_alive():
                sender.join(deadline)
        return not (self._names.is_alive() or self._contents.is_alive())


class _Sender(threading.Thread):
    """A thread that sends queued invalidations. Any thread may call ``put`` and ``stop``."""

    def __init__(self, name: str, requests: Requests) -> None:
        super().__init__(name=f"invalidate-{name}", daemon=True)
        self._requests = requests
        self._waiting: dict[Invalidation, None] = {}
        self._changed = threading.Condition()
        self._stopped = threading.Event()

    def put(self, item: Invalidation) -> None:
        with self._changed:
            self._waiting[item] = None
            self._changed.notify()

    def stop(self) -> None:
        with self._changed:
            self._stopped.set()
            self._waiting.clear()
            self._changed.notify()

    def run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._stopped.is_set())
                if self._stopped.is_set():
                    return
                batch, self._waiting = self._waiting, {}
            for item in batch:
                if self._stopped.is_set():
                    return
                self._send(item)

    def _send(self, item: Invalidation) -> None:
        try:
            if isinstance(item, StaleEntry):
                pyfuse3.invalidate_entry(item.parent, item.name)
                self._requests.invalidated("entry")
            else:
                pyfuse3.invalidate_inode(item.inode, attr_only=not item.data)
                self._requests.invalidated("data" if item.data else "attributes")
        except FileNotFoundError:
            return  # the kernel no longer knew it
        except OSError as error:
            if error.errno not in CLOSING:
                inode = (
                    item.parent if isinstance(item, StaleEntry) else item.inode
                )  # log no name: it may be a word of a document
                log.warning("%s of inode %d could not be invalidated: %s", type(item).__name__, inode, error)
