"""Prepared listings, so that a directory that did not change is listed again without looking at its entries."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgfs.domain.names import decode_name
from kgfs.errors import MissingError
from kgfs.tree.node import Attr, Node

if TYPE_CHECKING:
    from kgfs.tree.inodes import Known

_numbers = itertools.count(1)

MAX_ENTRIES = 250_000
"""Over all cached listings (about half a KiB each, all told); a larger one is not kept, so that one look at a million names is
not paid for as long as the mount stands, and of no more than a page at a time while it lasts."""


@dataclass(slots=True)
class Entry:
    """Never changed once it is made, like ``Attr``."""

    name: bytes
    node: Node
    attr: Attr


class Listing:
    """What a folder held at one moment. Attributes are asked for as they are needed, a page of them at a time, so that
    a large folder keeps nobody else waiting; they belong to the moment only while the folder's token stays."""

    __slots__ = ("_entries", "_found", "number", "once", "prepared", "token", "told")

    def __init__(self, token: Hashable | None, found: Sequence[tuple[str, Node]]) -> None:
        self.token = token
        """The folder's, from before its entries were read."""
        self._found = found
        self._entries: list[Entry | None] = [None] * len(found)
        self.prepared: list[Any] = [None] * len(found)
        """What the caller made of each entry, kept along."""
        self.told: list[Known | None] = [None] * len(found)
        """What is known of each entry that the kernel was told of by this listing."""
        self.number = next(_numbers)
        """Of all listings only this one has it; never 0."""
        self.once = False
        """Whether it is too large to be answered from again: what was told of it is given up."""

    def __len__(self) -> int:
        return len(self._found)

    def name(self, position: int) -> str:
        return self._found[position][0]

    def entry(self, position: int) -> Entry | None:
        """None if it left between the two questions."""
        entry = self._entries[position]
        if entry is None:
            name, node = self._found[position]
            try:
                entry = self._entries[position] = Entry(name_bytes(name), node, node.attr())
            except MissingError:
                return None
        return entry

    def give_up(self, first: int, end: int) -> None:
        """Keep nothing of the entries from position ``first`` to before ``end``. They are made again if asked for."""
        for kept in (self._entries, self.prepared, self.told):
            kept[first:end] = [None] * (end - first)


def name_bytes(name: str) -> bytes:
    return decode_name(name) if "%" in name else name.encode()


class Listings:
    """A bounded cache by folder inode, the least recently used leaving first. The event loop owns it."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max = max_entries
        self._held = 0
        self._by_inode: OrderedDict[int, Listing] = OrderedDict()

    def get(self, inode: int, token: Hashable | None) -> Listing | None:
        """The folder's listing, if it was made when the folder had this token."""
        cached = self._by_inode.get(inode)
        if cached is None or cached.token != token:
            return None
        self._by_inode.move_to_end(inode)
        return cached

    def add(self, inode: int, token: Hashable | None, entries: Sequence[tuple[str, Node]]) -> Listing:
        """A new listing, kept unless it is too large or has no token."""
        self.drop(inode)
        listing = Listing(token, entries)
        listing.once = token is None or len(listing) > self._max
        if not listing.once:
            self._by_inode[inode] = listing
            self._held += len(listing)
            while self._held > self._max:
                self._held -= len(self._by_inode.popitem(last=False)[1])
        return listing

    def drop(self, inode: int) -> None:
        left = self._by_inode.pop(inode, None)
        if left is not None:
            self._held -= len(left)
