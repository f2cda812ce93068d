"""Derived files that change while they are open.

The kernel has one size for an inode, and cuts by it whatever any of its handles reads. So an inode keeps the size of the
bytes that are open, and whoever looks the name up meanwhile gets the new ones as an inode of their own, which the kernel
is to remember neither name nor attributes of: once nobody has the old bytes open, the name is the first inode's again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from kgfs.tree.listing import Entry
from kgfs.tree.node import Attr, Fixed, inode_of


@dataclass(slots=True)
class _Pinned:
    content: Hashable
    size: int
    handles: int = 0
    outdated: bool = False
    """Whether there are bytes of another size by now."""


class PinnedSizes:
    """The event loop owns it. False while nothing is open."""

    def __init__(self, outdated: Callable[[int], None]) -> None:
        """``outdated(inode)`` is called when one gets other bytes: the kernel is to look up its names again."""
        self._pinned: dict[int, _Pinned] = {}
        self._outdated = outdated

    def __bool__(self) -> bool:
        return bool(self._pinned)

    def hold(self, inode: int, handle: Fixed) -> bool:
        """One more handle that reads through the kernel's pages. False, and it may not, if others have other bytes open."""
        pinned = self._pinned.get(inode)
        if pinned is None:
            pinned = self._pinned[inode] = _Pinned(handle.content_id, handle.size)
        elif pinned.content != handle.content_id:
            return False
        pinned.handles += 1
        return True

    def size(self, inode: int) -> int:
        """That of the bytes which are open."""
        return self._pinned[inode].size

    def release(self, inode: int) -> bool:
        """One less. Whether the kernel is to forget what it knows of the inode."""
        pinned = self._pinned[inode]
        pinned.handles -= 1
        if pinned.handles:
            return False
        del self._pinned[inode]
        return pinned.outdated

    def shown(self, inode: int, attr: Attr) -> Attr:
        """What to tell of an inode whose node has ``attr`` now."""
        if attr.inode != inode:
            attr = replace(attr, inode=inode, direct_io=True)
        pinned = self._changed(attr)
        return attr if pinned is None else replace(attr, size=pinned.size, direct_io=True)

    def found(self, attr: Attr) -> Attr:
        """What to tell of a name whose node has ``attr``."""
        if self._changed(attr) is None:
            return attr
        return replace(attr, inode=inode_of(("apart", attr.inode, attr.size, attr.mtime)), direct_io=True)

    def listed(self, entry: Entry) -> Entry:
        """The same for an entry of a listing."""
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
