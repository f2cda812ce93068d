"""Derive what the kernel must forget about the garage view: segments that grew, objects that left, and times of
folders.

New objects need no invalidation, because the kernel is never told that a name of this view is absent.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import trio

from kgfs.errors import KgfsError, MissingError
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.garage.contract import Segment
from kgfs.tree import keys
from kgfs.tree.garage import LEDGER, GarageView, below
from kgfs.tree.invalidation import Invalidation, StaleEntry, StaleInode
from kgfs.tree.node import Folder, Node, inode_of
from kgfs.tree.timing import GARAGE_POLL, GARAGE_RETRY, GARAGE_WATCH
from kgfs.tree.vfs import Vfs

BATCH = 300
"""Maximum number of objects that one poll checks, of those that the kernel knows."""


@dataclass(frozen=True, slots=True)
class _Due:
    """The checks that the next poll makes."""

    ledger: bool
    nodes: Sequence[tuple[int, Node]]


@dataclass(frozen=True, slots=True)
class _Seen:
    """The state that a poll has read."""

    segments: Sequence[Segment] | None
    """None if the segments were not read."""
    times: Sequence[tuple[int, Node, int | None]]
    """Inode, node and mtime of each checked object; the mtime is None if the object left."""


class GarageFeed:
    """Poll the garage for changes. A poll costs two quick queries while nothing changes. Used on the event loop only."""

    def __init__(self, view: GarageView, vfs: Vfs) -> None:
        self._view = view
        self._vfs = vfs
        self._inodes = vfs.inodes
        self._sizes: dict[str, int] = {}
        self._times: dict[int, int] = {}
        self._seq = view.stores.catalog.seq()
        self._watch_until = 0.0
        self._round: list[int] = []

    def poll(self) -> list[Invalidation]:
        """Return what has changed in a garage on this machine."""
        return self._news(self._poll(self._due()))

    async def follow(self, errors: ErrorLog) -> None:
        """Poll a garage on a server without end, in a thread, and pass what has changed to the vfs.

        An error is logged once while it lasts, and the poll is retried.
        """
        trouble = Trouble(errors, "fuse.news")
        while True:
            due = self._due()
            try:
                seen = await trio.to_thread.run_sync(self._poll, due, abandon_on_cancel=True)
            except KgfsError as error:
                trouble.met(error)
                self._watch_until = time.monotonic() + GARAGE_WATCH  # objects that could not be checked may have left
                await trio.sleep(GARAGE_RETRY)
                continue
            trouble.over()
            self._vfs.add_stale(self._news(seen))
            await trio.sleep(GARAGE_POLL)

    def _due(self) -> _Due:
        # If the kernel does not know the folder, it knows nothing in the folder either.
        return _Due(inode_of(keys.kept(LEDGER)) in self._inodes, self._watched())

    def _watched(self) -> list[tuple[int, Node]]:
        seq = self._view.stores.catalog.seq()
        if seq != self._seq:
            self._seq, self._watch_until = seq, time.monotonic() + GARAGE_WATCH
        if time.monotonic() > self._watch_until:
            return []
        self._round = self._round or [inode for inode, _ in self._inodes.all()]
        now, self._round = self._round[:BATCH], self._round[BATCH:]
        return [(inode, known.node) for inode in now if (known := self._inodes.get(inode)) is not None]

    def _poll(self, due: _Due) -> _Seen:
        """Read the state that ``due`` asks for. *Blocks* if the garage is on a server. Accesses nothing that belongs
        to the event loop.
        """
        segments = self._view.stores.garage.ledger.segments() if due.ledger else None
        return _Seen(segments, [(inode, node, _time_of(node)) for inode, node in due.nodes])

    def _news(self, seen: _Seen) -> list[Invalidation]:
        grown = self._grown(seen.segments) if seen.segments is not None else []
        return [*grown, *(stale for one in seen.times for stale in self._news_of(*one))]

    def _grown(self, segments: Sequence[Segment]) -> list[Invalidation]:
        grown: list[Invalidation] = []
        sizes = {segment.name: segment.size for segment in segments}
        for name, size in sizes.items():
            inode = inode_of(keys.kept(below(LEDGER, name)))
            known = self._inodes.get(inode)
            # The kernel may have been told an older size since the last poll.
            if known is not None and (self._sizes.get(name) != size or known.size not in (-1, size)):
                grown.append(StaleInode(inode, data=True))
                known.tell_size(-1)
        if sizes != self._sizes and inode_of(keys.kept(LEDGER)) in self._inodes:
            grown.append(StaleInode(inode_of(keys.kept(LEDGER))))
        self._sizes = sizes
        return grown

    def _news_of(self, inode: int, node: Node, mtime: int | None) -> list[Invalidation]:
        if mtime is None:
            self._times.pop(inode, None)
            known = self._inodes.get(inode)
            places = [StaleEntry(*place) for place in known.places()] if known is not None else []
            return [StaleInode(inode, data=True), *places]
        if not isinstance(node, Folder) or self._times.get(inode) == mtime:
            return []
        self._times[inode] = mtime
        return [StaleInode(inode)]


def _time_of(node: Node) -> int | None:
    """Return the node's mtime in nanoseconds; None if the node left."""
    try:
        return node.attr().mtime
    except MissingError:
        return None
