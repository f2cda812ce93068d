"""What the kernel must be told to forget, and how it is put together."""

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
    """A name in a folder, present or absent, is not what the kernel was told."""

    parent: int
    name: bytes


@dataclass(frozen=True, slots=True)
class StaleInode:
    """The attributes of an inode, and with ``data`` its contents, are not what the kernel was told."""

    inode: int
    data: bool = False


Invalidation = StaleEntry | StaleInode


class Invalidations:
    """Collects what the kernel must forget, each once, and only of what it was told. The event loop owns it.

    Too much is harmless but for one thing: forgetting the name of a folder cuts off those who stand in it (their
    getcwd fails until somebody walks there again). So the names of folders go in only where they really changed.
    """

    def __init__(self, context: TreeContext, inodes: Inodes) -> None:
        self.context = context
        self._inodes = inodes
        self._found: dict[Invalidation, None] = {}

    def take(self) -> list[Invalidation]:
        found, self._found = self._found, {}
        return list(found)

    def entry(self, parent: int, name: bytes) -> None:
        """The name changed what it stands for, or may have."""
        if parent in self._inodes:
            self._found[StaleEntry(parent, name)] = None

    def appeared(self, parent: int, name: bytes) -> None:
        """The name stands for something now; news only to those who were told that there is nothing."""
        if self._inodes.believed_absent(parent, name):
            self._found[StaleEntry(parent, name)] = None

    def left(self, inode: int, but: Iterable[Place] = ()) -> None:
        """Whatever names the kernel has for it are wrong, ``but`` these."""
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
            if data and known.opened:  # who has the old bytes open keeps the inode, and others look for the new ones
                for place in known.places():
                    self.entry(*place)

    def knows(self, key: Key) -> bool:
        """Where not, the kernel knows nothing below it either."""
        return inode_of(key) in self._inodes

    def known(self, inode: int) -> Known | None:
        return self._inodes.get(inode)

    def group(self, kind: str, of: Hashable = None) -> Iterator[tuple[int, Known]]:
        """The inodes that the kernel knows of those nodes whose :meth:`~.node.Node.group` is this."""
        for inode in self._inodes.group(kind, of):
            known = self._inodes.get(inode)
            if known is not None:
                yield inode, known

    def has_group(self, kind: str) -> bool:
        return self._inodes.has_group(kind)

    def everything_derived(self) -> None:
        """Contents and attributes of all that is no file or folder of documents/."""
        for inode, _ in self._inodes.all():
            if inode < 1 << 61:
                self.inode(inode, data=True)

    def key(self, key: Key, *, data: bool = False) -> None:
        """The same for a derived node."""
        self.inode(inode_of(key), data=data)

    def key_entry(self, folder: Key, name: bytes) -> None:
        self.entry(inode_of(folder), name)

    def key_left(self, key: Key) -> None:
        self.left(inode_of(key))
