"""Folders that are open: the listing each is answered from, and what the kernel learns by it.

Positions count the entries of a listing and stay good however the folder changes. The event loop owns it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kgfs.domain.names import encode_name
from kgfs.tree.handles import Handles, OpenFolder
from kgfs.tree.inodes import Inodes
from kgfs.tree.invalidation import Invalidation, StaleEntry
from kgfs.tree.listing import Entry, Listing, Listings, name_bytes
from kgfs.tree.node import ROOT_INODE, Folder


class OpenFolders:
    def __init__(self, inodes: Inodes, handles: Handles, outdated: Callable[[Invalidation], None]) -> None:
        """``outdated`` is told what the kernel is to forget of what it has just accepted."""
        self._inodes = inodes
        self._handles = handles
        self._outdated = outdated
        self._listings = Listings()

    def open(self, inode: int, ready: Folder) -> int:
        """A handle on the folder of that inode; ``ready`` has its entries (see :meth:`Folder.ready`)."""
        folder = self._inodes.folder(inode)
        if ready is folder:
            return self._handles.add(OpenFolder(inode, self._listings.current(inode, folder)))
        listing = Listing(None, ready.entries())
        for position in range(len(listing)):
            listing.entry(position)
        return self._handles.add(OpenFolder(inode, listing, kept=True))

    def forgotten(self, inode: int) -> None:
        """The kernel forgot the folder."""
        self._listings.drop(inode)

    def listing(self, fh: int, start: int) -> tuple[Listing, bool]:
        """What to answer from, and whether it may be stale: then the entries to be told must be asked for with
        :meth:`fresh`. ``start`` 0 looks at the folder anew, as rewinddir wants it."""
        opened = self._handles.folder(fh)
        stale = self._stale(opened)
        if start == 0 and stale:
            opened.listing = self._listings.current(opened.inode, self._inodes.folder(opened.inode))
            return opened.listing, False
        return opened.listing, stale

    def at_hand(self, fh: int) -> Listing | None:
        """What :meth:`listing` gives, if that is not stale."""
        opened = self._handles.folder(fh)
        return None if self._stale(opened) else opened.listing

    def _stale(self, opened: OpenFolder) -> bool:
        if opened.kept:
            return False
        token = opened.listing.token
        return token is None or token != self._inodes.folder(opened.inode).token()

    def dots(self, fh: int) -> tuple[tuple[bytes, int], ...]:
        """The entries `.` and `..`; the root's parent is the root. An empty derived folder has none: whoever lists it
        would ask a second time for its end, and nearly every concept has an empty ``related/``."""
        opened = self._handles.folder(fh)
        inode = opened.inode
        if not len(opened.listing) and not inode >> 61:
            return ()
        return (b".", inode), (b"..", self._inodes.known(inode).parent or ROOT_INODE)

    def fresh(self, fh: int, position: int) -> Entry | None:
        """The entry as it is now; None if the name is gone."""
        opened = self._handles.folder(fh)
        name = opened.listing.name(position)
        found = self._inodes.folder(opened.inode).find(name)
        return Entry(name_bytes(name), *found) if found is not None else None

    def told(self, fh: int, entry: Entry) -> None:
        """The kernel has accepted this entry: one more lookup."""
        opened = self._handles.folder(fh)
        self._inodes.tell(entry.node, entry.attr.inode, opened.inode, entry.name, entry.attr.size)
        if opened.kept:
            self._find_outdated(opened.inode, [entry])

    def told_listed(self, fh: int, first: int, end: int) -> None:
        """The kernel has accepted all entries from position ``first`` to before ``end``, as they stand in the listing."""
        opened = self._handles.folder(fh)
        self._inodes.tell_listed(opened.listing, opened.inode, first, end)
        if opened.kept:
            self._find_outdated(opened.inode, map(opened.listing.entry, range(first, end)))
        if opened.listing.once:
            opened.listing.give_up(first, end)

    def _find_outdated(self, inode: int, told: Iterable[Entry | None]) -> None:
        """Of a listing that stays as it was: the news that would have had the kernel forget these names are perhaps past."""
        ready = self._inodes.folder(inode).ready()
        for entry in told:
            if entry is not None:
                found = ready.find(encode_name(entry.name)) if ready else None
                if found is None or found[1].inode != entry.attr.inode:
                    self._outdated(StaleEntry(inode, entry.name))
