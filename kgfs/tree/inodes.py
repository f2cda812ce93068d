"""Record what the kernel knows: inode numbers with their nodes, lookup counts, and the names under which they were
found.

The kernel caches what it is told until it forgets it, so this table tells exactly which invalidations it needs. Every
operation is O(1) in the number of inodes. Not thread-safe: used on the event loop only.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator

from kgfs.errors import MissingError, NotAFolderError
from kgfs.tree.listing import Listing
from kgfs.tree.node import ROOT_INODE, Attr, Folder, Node
from kgfs.tree.timing import REPLY_ARRIVES

MAX_NEGATIVE = 65_536
"""Maximum number of absent names that the kernel may cache at one time. The kernel does not report when it drops one.
"""

_SMALL = 1024

Place = tuple[int, bytes]
"""A parent's inode and a name in that parent."""


class Known:
    """One inode that the kernel knows. There may be a million, so fields that are seldom needed are class attributes
    until they are set.
    """

    writers = 0
    """Number of open handles that may write."""
    written = float("-inf")
    """Time of the last write through this mount, in monotonic seconds."""
    opened = 0
    """Number of open handles whose bytes have an id."""
    content: Hashable | None = None
    """The id of the bytes in all pages that the kernel caches; None if the pages may be of several contents."""
    more: set[Place] | None = None
    """Other places at which the inode was found."""
    resized = float("-inf")
    """Time at which the kernel was told a different size than before, in monotonic seconds."""
    unlinked: Attr | None = None
    """The attributes at the removal of the last name. Processes that hold an unlinked file see these."""
    listing = 0
    """The number of the listing that last reported the inode to the kernel; 0 after any other report or change."""

    def __init__(self, node: Node, count: int = 0, size: int = -1, parent: int = 0, name: bytes = b"") -> None:
        self.node = node
        self.count = count
        """Number of lookups that the kernel has not yet forgotten."""
        self.size = size
        """The size in bytes that the kernel was told last, or -1 if it was not told. The kernel reads no further than
        that, and asks again only after an invalidation.
        """
        self.parent = parent
        self.name = name
        """The name, in ``parent``, under which the kernel last found the inode; ``parent`` is 0 once that name is
        gone.
        """

    def tell_size(self, size: int) -> None:
        if size != self.size:
            self.size, self.listing, self.resized = size, 0, time.monotonic()

    def was_resized(self) -> bool:
        """Return whether a reply with another size may still be on its way to the thread that asked.

        Until that thread runs, the kernel shows the previous size to all other threads.
        """
        return time.monotonic() - self.resized < REPLY_ARRIVES

    def opens(self, content: Hashable) -> bool:
        """Count one more handle on bytes with this id. Return whether the kernel's cached pages are of the same
        bytes.
        """
        same = content == self.content
        if not same:
            self.content = None if self.opened else content
        self.opened += 1
        return same

    def places(self) -> Iterator[Place]:
        if self.parent:
            yield self.parent, self.name
        if self.more:
            yield from self.more


class Inodes:
    """The table of inodes that the kernel knows, and of names that the kernel may have cached as absent."""

    def __init__(self, root: Folder, max_negative: int = MAX_NEGATIVE) -> None:
        self._table: dict[int, Known] = {ROOT_INODE: Known(root)}
        self._peak = _SMALL
        self._emptied = False
        self._negative: OrderedDict[Place, None] = OrderedDict()
        self._max_negative = max_negative
        self._groups: dict[str, dict[Hashable, set[int]]] = {}

    def group(self, kind: str, of: Hashable = None) -> list[int]:
        """Return the known inodes of nodes with this :meth:`~.node.Node.group`."""
        return list(self._groups.get(kind, {}).get(of, ()))

    def has_group(self, kind: str) -> bool:
        """Return whether any node of a group of this kind is known."""
        return kind in self._groups

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, inode: int) -> bool:
        return inode in self._table

    def node(self, inode: int) -> Node:
        """Return the node of an inode. Raise MissingError for a number that the kernel was never told or that it
        forgot.
        """
        return self.known(inode).node

    def known(self, inode: int) -> Known:
        try:
            return self._table[inode]
        except KeyError:
            raise MissingError(f"Inode {inode} is not known.") from None

    def folder(self, inode: int) -> Folder:
        """Return the folder of an inode. Raise NotAFolderError for any other node."""
        node = self.known(inode).node
        if not isinstance(node, Folder):
            raise NotAFolderError("Not a folder.")
        return node

    def get(self, inode: int) -> Known | None:
        return self._table.get(inode)

    def all(self) -> list[tuple[int, Known]]:
        return list(self._table.items())

    def negatives(self) -> list[Place]:
        return list(self._negative)

    def take_emptied(self) -> bool:
        """Return whether the kernel forgot most of very many inodes since the last call."""
        emptied, self._emptied = self._emptied, False
        return emptied

    # ------------------------------------------------------------------------------------ telling the kernel

    def tell(self, node: Node, inode: int, parent: int, name: bytes, size: int = -1) -> Known:
        """Record that the kernel is told that ``name`` in ``parent`` is this node, which is one more lookup."""
        known = self._table.get(inode)
        if known is None:
            known = self._table[inode] = Known(node, 1, size, parent, name)
            group = node.group()
            if group is not None:
                self._groups.setdefault(group[0], {}).setdefault(group[1], set()).add(inode)
        else:
            known.node, known.unlinked, known.listing = node, None, 0
            known.tell_size(size)
            known.count += 1
            if known.parent != parent or known.name != name:
                self._place(known, parent, name)
        if self._negative:
            self._negative.pop((parent, name), None)
        return known

    def tell_listed(self, listing: Listing, parent: int, first: int, end: int) -> None:
        """Record that the kernel is told the entries of a listing of ``parent`` from position ``first`` to before
        ``end``.

        An entry that this listing was the last to report takes very little time.
        """
        number, told = listing.number, listing.told
        for position, known in enumerate(told[first:end], first):
            if known is not None and known.listing == number:
                known.count += 1
            elif (entry := listing.entry(position)) is not None:
                known = self.tell(entry.node, entry.attr.inode, parent, entry.name, entry.attr.size)
                known.listing, told[position] = number, known

    def tell_absent(self, parent: int, name: bytes) -> Place | None:
        """Record that the kernel is told that a name does not exist. Return a place that the kernel must forget in
        exchange, or None.
        """
        self._negative[parent, name] = None
        self._negative.move_to_end((parent, name))
        if len(self._negative) > self._max_negative:
            return self._negative.popitem(last=False)[0]
        return None

    def believed_absent(self, parent: int, name: bytes) -> bool:
        return (parent, name) in self._negative

    def take_absent(self, parent: int, name: bytes) -> bool:
        """Record that the kernel is about to learn that the name exists. Return whether the kernel had cached the
        name as absent.
        """
        if (parent, name) in self._negative:
            del self._negative[parent, name]
            return True
        return False

    def forget(self, counts: Iterable[tuple[int, int]]) -> list[Node]:
        """Subtract lookups that the kernel forgot. Return the nodes that the kernel no longer knows."""
        left = []
        self._peak = max(self._peak, len(self._table))
        for inode, count in counts:
            known = self._table.get(inode)
            if known is None or inode == ROOT_INODE:
                continue
            known.count -= count
            if known.count <= 0:
                del self._table[inode]
                known.listing = 0
                left.append(known.node)
                self._leave_group(inode, known.node)
        if len(self._table) * 4 < self._peak and self._peak > _SMALL:
            self._table = dict(self._table)  # a dict never shrinks by itself
            self._emptied = True
            self._peak = max(len(self._table), _SMALL)
        return left

    def _leave_group(self, inode: int, node: Node) -> None:
        group = node.group()
        if group is None:
            return
        kind, of = group
        members = self._groups.get(kind, {}).get(of, set())
        members.discard(inode)
        if not members:
            self._groups.get(kind, {}).pop(of, None)
            if not self._groups.get(kind):
                self._groups.pop(kind, None)

    # ---------------------------------------------------------------------------------------------- places

    def moved(self, inode: int, old: Place, new: Place) -> None:
        known = self._table.get(inode)
        if known is not None:
            self._leave(known, old)
            self._place(known, *new)
        self._negative.pop(new, None)

    def removed(self, inode: int, place: Place, last: Attr) -> None:
        """Record that the inode lost its only name, since there are no hard links. ``last`` are the attributes for
        processes that still hold it.
        """
        known = self._table.get(inode)
        if known is None:
            return
        self._leave(known, place)
        known.unlinked = last

    @staticmethod
    def _place(known: Known, parent: int, name: bytes) -> None:
        known.listing = 0
        if known.parent:
            known.more = known.more or set()
            known.more.add((known.parent, known.name))
        known.parent, known.name = parent, name
        if known.more:
            known.more.discard((parent, name))

    @staticmethod
    def _leave(known: Known, place: Place) -> None:
        known.listing = 0
        if known.more:
            known.more.discard(place)
        if (known.parent, known.name) == place:
            known.parent, known.name = known.more.pop() if known.more else (0, b"")
