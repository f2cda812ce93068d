"""Cache prepared listings, so that an unchanged directory is listed again without reading its entries."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from kgfs.domain.names import decode_name
from kgfs.errors import MissingError
from kgfs.tree.node import Attr, Node

if TYPE_CHECKING:
    from kgfs.tree.inodes import Known

Row = TypeVar("Row")
_numbers = itertools.count(1)

MAX_ENTRIES = 250_000
"""Maximum number of entries in all cached listings, at about 0.5 KiB each. A larger listing is not cached, so that
one listing of a million names does not cost memory as long as the mount exists; of such a listing at most a page of
entries is held at a time.
"""


class MadeOnAccess(Sequence[tuple[str, Node]], Generic[Row]):
    """The entries of a folder as rows, of which ``make`` makes a node on access, since there may be a million."""

    def __init__(self, rows: Sequence[Row], make: Callable[[Row], tuple[str, Node]]) -> None:
        self._rows = rows
        self._make = make

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> tuple[str, Node]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[tuple[str, Node]]: ...
    def __getitem__(self, at: int | slice) -> tuple[str, Node] | Sequence[tuple[str, Node]]:
        if isinstance(at, slice):
            return MadeOnAccess(self._rows[at], self._make)
        return self._make(self._rows[at])


@dataclass(slots=True)
class Entry:
    """An entry of a listing. Never changed after it is made, like ``Attr``."""

    name: bytes
    node: Node
    attr: Attr


class Listing:
    """The contents of a folder at one moment.

    Attributes are read as they are needed, one page at a time, so that a large folder does not delay other requests.
    They belong to that moment only while the folder's token is unchanged.
    """

    __slots__ = ("_entries", "_found", "number", "once", "prepared", "token", "told")

    def __init__(self, token: Hashable | None, found: Sequence[tuple[str, Node]]) -> None:
        self.token = token
        """The folder's token, read before its entries."""
        self._found = found
        self._entries: list[Entry | None] = [None] * len(found)
        self.prepared: list[Any] = [None] * len(found)
        """The caller's prepared answer for each entry."""
        self.told: list[Known | None] = [None] * len(found)
        """The record of each entry that this listing reported to the kernel."""
        self.number = next(_numbers)
        """A number that is unique among all listings and never 0."""
        self.once = False
        """Whether the listing cannot be used again (no token or too large), so that entries are dropped once the
        kernel was told.
        """

    def __len__(self) -> int:
        return len(self._found)

    def name(self, position: int) -> str:
        return self._found[position][0]

    def entry(self, position: int) -> Entry | None:
        """Return the entry at a position; None if it left after the names were read."""
        entry = self._entries[position]
        if entry is None:
            name, node = self._found[position]
            try:
                entry = self._entries[position] = Entry(name_bytes(name), node, node.attr())
            except MissingError:
                return None
        return entry

    def give_up(self, first: int, end: int) -> None:
        """Drop the entries from position ``first`` to before ``end``. They are made again on request."""
        for kept in (self._entries, self.prepared, self.told):
            kept[first:end] = [None] * (end - first)


def name_bytes(name: str) -> bytes:
    """Return the bytes of an encoded name."""
    return decode_name(name) if "%" in name else name.encode()


class Listings:
    """A bounded LRU cache of listings by folder inode. Used on the event loop only."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max = max_entries
        self._held = 0
        self._by_inode: OrderedDict[int, Listing] = OrderedDict()

    def get(self, inode: int, token: Hashable | None) -> Listing | None:
        """Return the folder's cached listing, if it was made when the folder had this token; else None."""
        cached = self._by_inode.get(inode)
        if cached is None or cached.token != token:
            return None
        self._by_inode.move_to_end(inode)
        return cached

    def add(self, inode: int, token: Hashable | None, entries: Sequence[tuple[str, Node]]) -> Listing:
        """Return a new listing, and cache it unless it is too large or has no token."""
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
