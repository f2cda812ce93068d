"""What the kernel was told: inode numbers with their nodes, lookup counts and the names they were shown under.

The kernel keeps what it is told until it forgets it, so this table says exactly which news it needs. Everything is O(1)
in the number of inodes. Not for several threads: the event loop owns it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator

from kgfs.errors import MissingError
from kgfs.tree.node import ROOT_INODE, Attr, Folder, Node

MAX_NEGATIVE = 65_536
"""How many absent names the kernel may believe in at one time; it never says when it drops one."""

_SMALL = 1024

Place = tuple[int, bytes]
"""A parent's inode and a name in it."""

Watcher = Callable[[int, Node], None]


class Known:
    """One inode the kernel knows."""

    __slots__ = ("content", "count", "gone", "more", "name", "node", "opened", "parent", "size", "writers", "written")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.count = 0
        """Lookups not yet forgotten."""
        self.size = -1
        """In bytes, as the kernel was told last: it reads no further than that, and asks again only when it is told to
        forget it. -1 where it was not told."""
        self.writers = 0
        """Open handles that may write."""
        self.written = float("-inf")
        """When it was last written through this mount (monotonic seconds)."""
        self.opened = 0
        """Open handles whose bytes have an id."""
        self.content: Hashable | None = None
        """The id of the bytes all pages that the kernel keeps are of; None where they may be of several."""
        self.parent = 0
        self.name = b""
        """Where the kernel last found it; parent 0 once that name is gone."""
        self.more: set[Place] | None = None
        """Other places it was found at."""
        self.gone: Attr | None = None
        """Attributes from when its last name was removed: all that is left of an unlinked file for its holders."""

    def opens(self, content: Hashable) -> bool:
        """One more handle, on bytes with this id. Whether the pages the kernel has are of the same."""
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
    def __init__(self, root: Folder, max_negative: int = MAX_NEGATIVE) -> None:
        self._table: dict[int, Known] = {ROOT_INODE: Known(root)}
        self._peak = _SMALL
        self._emptied = False
        self._negative: OrderedDict[Place, None] = OrderedDict()
        self._max_negative = max_negative
        self._came: Watcher | None = None
        self._went: Watcher | None = None

    def watch(self, came: Watcher, went: Watcher) -> None:
        """Be told of each inode that the kernel learns of, and forgets."""
        self._came, self._went = came, went

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, inode: int) -> bool:
        return inode in self._table

    def node(self, inode: int) -> Node:
        """MissingError for a number the kernel was never told, or forgot."""
        return self.known(inode).node

    def known(self, inode: int) -> Known:
        try:
            return self._table[inode]
        except KeyError:
            raise MissingError(f"Inode {inode} is not known.") from None

    def get(self, inode: int) -> Known | None:
        return self._table.get(inode)

    def all(self) -> list[tuple[int, Known]]:
        return list(self._table.items())

    def negatives(self) -> list[Place]:
        return list(self._negative)

    def take_emptied(self) -> bool:
        """Whether the kernel forgot most of very many inodes since this was last asked."""
        emptied, self._emptied = self._emptied, False
        return emptied

    # ------------------------------------------------------------------------------------ telling the kernel

    def tell(self, node: Node, inode: int, parent: int, name: bytes, size: int = -1) -> None:
        """The kernel is told that ``name`` in ``parent`` is this node: one more lookup."""
        known = self._table.get(inode)
        if known is None:
            known = self._table[inode] = Known(node)
            known.count, known.size, known.parent, known.name = 1, size, parent, name
            if len(self._table) > self._peak:
                self._peak = len(self._table)
            if self._came is not None:
                self._came(inode, node)
        else:
            known.node, known.gone, known.size = node, None, size
            known.count += 1
            if known.parent != parent or known.name != name:
                self._place(known, parent, name)
        if self._negative:
            self._negative.pop((parent, name), None)

    def tell_absent(self, parent: int, name: bytes) -> Place | None:
        """The kernel is told that there is no such name. Returns a place it must be told to forget in exchange."""
        self._negative[parent, name] = None
        self._negative.move_to_end((parent, name))
        if len(self._negative) > self._max_negative:
            return self._negative.popitem(last=False)[0]
        return None

    def believed_absent(self, parent: int, name: bytes) -> bool:
        return (parent, name) in self._negative

    def take_absent(self, parent: int, name: bytes) -> bool:
        """The kernel is about to learn by itself what stands there; whether it believed in nothing."""
        if (parent, name) in self._negative:
            del self._negative[parent, name]
            return True
        return False

    def forget(self, counts: Iterable[tuple[int, int]]) -> list[Node]:
        """Take lookups back; returns the nodes the kernel no longer knows."""
        left = []
        for inode, count in counts:
            known = self._table.get(inode)
            if known is None or inode == ROOT_INODE:
                continue
            known.count -= count
            if known.count <= 0:
                del self._table[inode]
                left.append(known.node)
                if self._went is not None:
                    self._went(inode, known.node)
        if len(self._table) * 4 < self._peak and self._peak > _SMALL:
            self._table = dict(self._table)  # a dict never gives memory back by itself
            self._emptied = True
            self._peak = max(len(self._table), _SMALL)
        return left

    # ---------------------------------------------------------------------------------------------- places

    def moved(self, inode: int, old: Place, new: Place) -> None:
        known = self._table.get(inode)
        if known is not None:
            self._leave(known, old)
            self._place(known, *new)
        self._negative.pop(new, None)

    def removed(self, inode: int, place: Place, last: Attr) -> None:
        """It is gone by this name, so altogether: there are no hard links. ``last`` are the attributes to show to those
        who still hold it."""
        known = self._table.get(inode)
        if known is None:
            return
        self._leave(known, place)
        known.gone = last

    @staticmethod
    def _place(known: Known, parent: int, name: bytes) -> None:
        if known.parent:
            known.more = known.more or set()
            known.more.add((known.parent, known.name))
        known.parent, known.name = parent, name
        if known.more:
            known.more.discard((parent, name))

    @staticmethod
    def _leave(known: Known, place: Place) -> None:
        if known.more:
            known.more.discard(place)
        if (known.parent, known.name) == place:
            known.parent, known.name = known.more.pop() if known.more else (0, b"")
