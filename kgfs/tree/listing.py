"""Prepared listings, so that a directory that did not change is listed again without looking at its entries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgfs.domain import decode_name
from kgfs.errors import MissingError
from kgfs.tree.node import Attr, Folder, Node

MAX_ENTRIES = 200_000
"""Over all cached listings; a larger single listing is still cached, alone."""


@dataclass(frozen=True, slots=True)
class Entry:
    name: bytes
    node: Node
    attr: Attr


@dataclass(slots=True)
class Listing:
    """What a folder held at one moment."""

    token: Hashable | None
    """The folder's token from before its entries were read."""
    entries: Sequence[Entry]
    prepared: list[Any] = field(default_factory=list)
    """What the caller made of each entry, kept along; same order, possibly not yet as long."""


def name_bytes(name: str) -> bytes:
    return decode_name(name) if "%" in name else name.encode()


def read_listing(folder: Folder) -> Listing:
    token = folder.token()
    entries = []
    for name, node in folder.entries():
        try:
            attr = node.attr()
        except MissingError:  # it left between the two questions
            continue
        entries.append(Entry(name_bytes(name), node, attr))
    return Listing(token, entries)


class Listings:
    """A bounded cache by folder inode, the least recently used leaving first. The event loop owns it."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max = max_entries
        self._held = 0
        self._by_inode: OrderedDict[int, Listing] = OrderedDict()

    def current(self, inode: int, folder: Folder) -> Listing:
        """The folder's listing as it is now, from the cache if its token did not move."""
        cached = self._by_inode.get(inode)
        if cached is not None and cached.token == folder.token():
            self._by_inode.move_to_end(inode)
            return cached
        self.drop(inode)
        listing = read_listing(folder)
        if listing.token is not None:
            self._by_inode[inode] = listing
            self._held += len(listing.entries)
            while self._held > self._max and len(self._by_inode) > 1:
                self._held -= len(self._by_inode.popitem(last=False)[1].entries)
        return listing

    def drop(self, inode: int) -> None:
        left = self._by_inode.pop(inode, None)
        if left is not None:
            self._held -= len(left.entries)
