"""Handle derived files that change while they are open.

The kernel has one size per inode and applies it to reads of all handles. So an inode keeps the size of the bytes that
are open. A lookup of the name meanwhile gets the new bytes under an inode of their own, whose name and attributes the
kernel must not cache. Once no process has the old bytes open, the name is the first inode's again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from kgfs.tree.listing import Entry
from kgfs.tree.node import Attr, Fixed, inode_of


@dataclass(slots=True)
class _Pinned:
    """The open content of an inode, with its size in bytes and the number of its handles."""

    content: Hashable
    size: int
    handles: int = 0
    outdated: bool = False
    """Whether the file has bytes of another size by now."""


class PinnedSizes:
    """Record the sizes of open inodes. Used on the event loop only. False while nothing is open."""

    def __init__(self, outdated: Callable[[int], None]) -> None:
        """Create the table. ``outdated(inode)`` is called when an inode gets other bytes, so that the kernel looks up
        its names again.
        """
        self._pinned: dict[int, _Pinned] = {}
        self._outdated = outdated

    def __bool__(self) -> bool:
        return bool(self._pinned)

    def hold(self, inode: int, handle: Fixed) -> bool:
        """Count one more handle that reads through the kernel's pages. Return False, without counting it, if other
        handles have other bytes open.
        """
        pinned = self._pinned.get(inode)
        if pinned is None:
            pinned = self._pinned[inode] = _Pinned(handle.content_id, handle.size)
        elif pinned.content != handle.content_id:
            return False
        pinned.handles += 1
        return True

    def size(self, inode: int) -> int:
        """Return the size in bytes of the content that is open."""
        return self._pinned[inode].size

    def release(self, inode: int) -> bool:
        """Count one handle less. Return whether the kernel must forget what it has cached of the inode."""
        pinned = self._pinned[inode]
        pinned.handles -= 1
        if pinned.handles:
            return False
        del self._pinned[inode]
        return pinned.outdated

    def shown(self, inode: int, attr: Attr) -> Attr:
        """Return the attributes to report for an inode whose node has ``attr`` now."""
        if attr.inode != inode:
            attr = replace(attr, inode=inode, direct_io=True)
        pinned = self._changed(attr)
        return attr if pinned is None else replace(attr, size=pinned.size, direct_io=True)

    def found(self, attr: Attr) -> Attr:
        """Return the attributes to report for a name whose node has ``attr``."""
        if self._changed(attr) is None:
            return attr
        return replace(attr, inode=inode_of(("apart", attr.inode, attr.size, attr.mtime)), direct_io=True)

    def listed(self, entry: Entry) -> Entry:
        """Return the entry to report for an entry of a listing, with attributes as by :meth:`found`."""
        attr = self.found(entry.attr)
        return entry if attr is entry.attr else Entry(entry.name, entry.node, attr)

    def _changed(self, attr: Attr) -> _Pinned | None:
        pinned = self._pinned.get(attr.inode)
        if pinned is None or pinned.size == attr.size:
            return None
        if not pinned.outdated:
            pinned.outdated = True
            self._outdated(attr.inode)
        return pinned
