"""What the kernel must forget about the garage view: segments that grew, objects that left, times of folders.

New objects need no news: the kernel is never told that a name of this view is absent.
"""

from __future__ import annotations

import time

from kgfs.errors import MissingError
from kgfs.tree.garage import LEDGER, GarageView, below, key_of
from kgfs.tree.node import Folder, inode_of
from kgfs.tree.stale import Invalidation, StaleEntry, StaleInode
from kgfs.tree.vfs import Vfs

AT_ONCE = 300
"""Objects that the kernel knows and that are looked for in one poll."""
WATCHFUL = 60.0
"""Seconds after a fact in which objects may leave (purging, emptying the trash): so long they are looked for."""


class GarageNews:
    """Asked every tenth of a second on the event loop; two quick questions while nothing happens."""

    def __init__(self, view: GarageView, vfs: Vfs) -> None:
        self._view = view
        self._inodes = vfs.inodes
        self._sizes: dict[str, int] = {}
        self._times: dict[int, int] = {}
        self._seq = view.stores.journal.seq()
        self._watch_until = 0.0
        self._round: list[int] = []

    def poll(self) -> list[Invalidation]:
        return [*self._grown(), *self._watched()]

    def _grown(self) -> list[Invalidation]:
        if inode_of(key_of(LEDGER)) not in self._inodes:  # then the kernel knows nothing in it either
            return []
        grown: list[Invalidation] = []
        for segment in self._view.stores.garage.ledger.segments():
            if self._sizes.get(segment.name) != segment.size:
                self._sizes[segment.name] = segment.size
                grown.append(StaleInode(inode_of(key_of(below(LEDGER, segment.name))), data=True))
        if grown:
            grown.append(StaleInode(inode_of(key_of(LEDGER))))
        return [one for one in grown if isinstance(one, StaleInode) and one.inode in self._inodes]

    def _watched(self) -> list[Invalidation]:
        seq = self._view.stores.journal.seq()
        if seq != self._seq:
            self._seq, self._watch_until = seq, time.monotonic() + WATCHFUL
        if time.monotonic() > self._watch_until:
            return []
        self._round = self._round or [inode for inode, _ in self._inodes.all()]
        now, self._round = self._round[:AT_ONCE], self._round[AT_ONCE:]
        return [stale for inode in now for stale in self._news_of(inode)]

    def _news_of(self, inode: int) -> list[Invalidation]:
        known = self._inodes.get(inode)
        if known is None:
            return []
        try:
            mtime = known.node.attr().mtime
        except MissingError:
            self._times.pop(inode, None)
            return [StaleInode(inode, data=True), *(StaleEntry(*place) for place in known.places())]
        if not isinstance(known.node, Folder) or self._times.get(inode) == mtime:
            return []
        self._times[inode] = mtime
        return [StaleInode(inode)]
