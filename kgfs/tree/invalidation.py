"""Define and collect the invalidations that the kernel must be sent."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.tree.keys import Key
from kgfs.tree.node import inode_of

if TYPE_CHECKING:
    from kgfs.tree.inodes import Inodes, Known, Place
    from kgfs.tree.tree_context import TreeContext


@dataclass(frozen=True, slots=True)
class StaleEntry:
    """A name in a folder, present or absent, differs from what the kernel was told."""

    parent: int
    name: bytes


@dataclass(frozen=True, slots=True)
class StaleInode:
    """The attributes of an inode, and with ``data`` its contents, differ from what the kernel was told."""

    inode: int
    data: bool = False


Invalidation = StaleEntry | StaleInode


class Invalidations:
    """Collect what the kernel must forget, each item once and only if the kernel was told of it. Used on the event
    loop only.

    Excess invalidations are harmless with one exception: if the name of a folder is forgotten, processes whose
    working directory is there are cut off (their getcwd fails until a lookup reaches the folder again). So names of
    folders are added only if they really changed.
    """

    def __init__(self, context: TreeContext, inodes: Inodes) -> None:
        self.context = context
        self._inodes = inodes
        self._found: dict[Invalidation, None] = {}

    def take(self) -> list[Invalidation]:
        found, self._found = self._found, {}
        return list(found)

    def entry(self, parent: int, name: bytes) -> None:
        """Add a name whose node has changed or may have changed."""
        if parent in self._inodes:
            self._found[StaleEntry(parent, name)] = None

    def appeared(self, parent: int, name: bytes) -> None:
        """Add a name that now exists, if the kernel was told that the name does not exist."""
        if self._inodes.believed_absent(parent, name):
            self._found[StaleEntry(parent, name)] = None

    def left(self, inode: int, but: Iterable[Place] = ()) -> None:
        """Add all names under which the kernel knows the inode, except the places in ``but``."""
        known = self._inodes.get(inode)
        kept = set(but)
        for parent, name in known.places() if known else ():
            self.inode(parent)
            if (parent, name) not in kept:
                self.entry(parent, name)

    def inode(self, inode: int, *, data: bool = False) -> None:
        known = self._inodes.get(inode)
        if known is not None:
            self._found[StaleInode(inode, data)] = None
            if data and known.opened:  # holders of the old bytes keep the inode, others look it up
                for place in known.places():
                    self.entry(*place)

    def knows(self, key: Key) -> bool:
        """Return whether the kernel knows the node of the key. If not, it knows nothing below that node either."""
        return inode_of(key) in self._inodes

    def has_data(self, inode: int) -> bool:
        """Return whether the contents of an inode are collected already."""
        return StaleInode(inode, True) in self._found

    def known(self, inode: int) -> Known | None:
        return self._inodes.get(inode)

    def group(self, kind: str, of: Hashable = None) -> Iterator[tuple[int, Known]]:
        """Yield what the kernel knows of the nodes with this :meth:`~.node.Node.group`."""
        for inode in self._inodes.group(kind, of):
            known = self._inodes.get(inode)
            if known is not None:
                yield inode, known

    def has_group(self, kind: str) -> bool:
        return self._inodes.has_group(kind)

    def everything_derived(self) -> None:
        """Add contents and attributes of all nodes that are no files or folders of documents/."""
        for inode, _ in self._inodes.all():
            if inode < 1 << 61:
                self.inode(inode, data=True)

    def key(self, key: Key, *, data: bool = False) -> None:
        """Add attributes and, with ``data``, contents of a derived node."""
        self.inode(inode_of(key), data=data)

    def key_entry(self, folder: Key, name: bytes) -> None:
        self.entry(inode_of(folder), name)

    def key_left(self, key: Key) -> None:
        self.left(inode_of(key))
