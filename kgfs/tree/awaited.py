"""What is asked where even an attribute, or a name, may have to be asked of a server: each question has a thread.

Who asks waits, and nobody else. What the kernel is told by it is noted on the event loop, when the answer is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from kgfs.errors import MissingError
from kgfs.tree.handles import Handles, OpenFolder
from kgfs.tree.inodes import Inodes
from kgfs.tree.listing import Entry, Listing
from kgfs.tree.node import Attr, Node
from kgfs.tree.open_files import raise_gone
from kgfs.tree.pinned_sizes import PinnedSizes
from kgfs.tree.threads import Threads

T = TypeVar("T")

PAGE = 24
"""Entries whose attributes are asked for together: about as many as the kernel takes at a time."""


class Awaited:
    """The event loop owns it. Besides what the views raise, StoppingError once the mount is being taken down."""

    def __init__(self, inodes: Inodes, handles: Handles, pinned: PinnedSizes, threads: Threads) -> None:
        self._inodes = inodes
        self._handles = handles
        self._pinned = pinned
        self._threads = threads

    async def lookup(self, parent: int, name: bytes, encoded: str) -> Attr:
        """MissingError: there is no such name, and the kernel may not remember that, for nobody hears of it when there is."""
        found = await self._threads.ask(partial(self._inodes.folder(parent).find, encoded))
        if found is None:
            raise MissingError(f"{encoded} does not exist.")
        node, attr = found
        attr = self._pinned.found(attr)
        self._inodes.tell(node, attr.inode, parent, name, attr.size)
        return attr

    async def attr(self, inode: int) -> Attr:
        """MissingError once it is gone."""
        known = self._inodes.known(inode)
        attr = self._pinned.shown(inode, await self._threads.ask(known.node.attr_again))
        known.tell_size(attr.size)
        return attr

    async def of(self, inode: int, question: Callable[[Node], T]) -> T:
        """What ``question`` says of the node. GoneError for what has left since (see :func:`raise_gone`)."""
        try:
            return await self._threads.ask(partial(question, self._inodes.node(inode)))
        except MissingError as error:
            raise_gone(error)

    def opendir(self, inode: int) -> int:
        """A handle. Nothing is asked before it is read."""
        return self._handles.add(OpenFolder(inode, Listing(None, ())))

    async def page(self, fh: int, start: int) -> Sequence[tuple[int, Entry]]:
        """Entries from position ``start`` on, as they are now, with their positions; none at the end. 0 lists the folder anew."""
        opened = self._handles.folder(fh)
        if start == 0:
            opened.listing = Listing(None, await self._threads.ask(self._inodes.folder(opened.inode).entries))
        return await self._threads.ask(partial(_page, opened.listing, start))

    def told(self, fh: int, position: int, entry: Entry) -> None:
        """The kernel has accepted this entry: one more lookup. Should it ask for it again, so is the server."""
        opened = self._handles.folder(fh)
        self._inodes.tell(entry.node, entry.attr.inode, opened.inode, entry.name, entry.attr.size)
        opened.listing.give_up(position, position + 1)


def _page(listing: Listing, start: int) -> list[tuple[int, Entry]]:
    found: list[tuple[int, Entry]] = []
    for position in range(start, len(listing)):
        entry = listing.entry(position)
        if entry is not None:
            found.append((position, entry))
        if len(found) == PAGE:
            break
    return found
