"""Manage open folders: the listing from which each folder is answered, and the lookups that the kernel counts for it.

Positions count the entries of a listing, and stay valid when the folder changes. Used on the event loop only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from kgfs.domain.names import encode_name
from kgfs.errors import MissingError
from kgfs.stores.thread_slots import WouldBlock, inline
from kgfs.tree.handles import Handles, OpenFolder, raise_gone
from kgfs.tree.inodes import Inodes
from kgfs.tree.invalidation import Invalidation, StaleEntry
from kgfs.tree.listing import Entry, Listing, Listings, name_bytes
from kgfs.tree.node import ROOT_INODE, Folder
from kgfs.tree.threads import Threads

PAGE = 24
"""Number of entries of a stale listing that are looked up together, about as many as the kernel takes in one reply.
"""


class OpenFolders:
    """Open folders and answer requests for their listings. Used on the event loop only."""

    def __init__(
        self, inodes: Inodes, handles: Handles, threads: Threads, outdated: Callable[[Invalidation], None]
    ) -> None:
        """Create the table. ``outdated`` is called with entries that the kernel has just accepted and must forget."""
        self._inodes = inodes
        self._handles = handles
        self._threads = threads
        self._outdated = outdated
        self._listings = Listings()

    async def open(self, inode: int, pid: int = 0) -> int:
        """Open a folder for the thread ``pid``, and return its handle. Raise GoneError for a folder that has been
        removed since its lookup.
        """
        folder = self._inodes.folder(inode)
        try:
            if not folder.is_search:
                return self._handles.add(OpenFolder(inode, await self._current(inode, folder)))
            worked_out = await self.work_out(folder, pid)
        except MissingError as error:
            raise_gone(error)
        listing = Listing(None, worked_out.entries())
        for position in range(len(listing)):
            listing.entry(position)
        return self._handles.add(OpenFolder(inode, listing, kept=True))

    async def work_out(self, folder: Folder, pid: int = 0) -> Folder:
        """Return the folder that has the entries of a search."""
        try:
            return inline(folder.work_out)
        except WouldBlock:
            return await self._threads.search(folder.work_out, pid)

    async def _current(self, inode: int, folder: Folder) -> Listing:
        """Return the folder's present listing, from the cache if the folder's token has not changed."""
        token = folder.token()
        cached = self._listings.get(inode, token)
        return cached or self._listings.add(inode, token, await self._threads.answer(folder.entries))

    def forgotten(self, inode: int) -> None:
        """Drop the listing of a folder that the kernel forgot."""
        self._listings.drop(inode)

    async def listing(self, fh: int, start: int) -> tuple[Listing, bool]:
        """Return the listing to answer from, and whether it may be stale. If it is stale, the entries must be
        requested with :meth:`page`.

        ``start`` 0 reads the folder again, as rewinddir requires.
        """
        opened = self._handles.folder(fh)
        stale = self._stale(opened)
        if start == 0 and stale:
            opened.listing = await self._current(opened.inode, self._inodes.folder(opened.inode))
            return opened.listing, opened.listing.token is None
        return opened.listing, stale

    def cached(self, fh: int) -> Listing | None:
        """Return the listing that :meth:`listing` would return, or None if it is stale."""
        opened = self._handles.folder(fh)
        return None if self._stale(opened) else opened.listing

    def _stale(self, opened: OpenFolder) -> bool:
        if opened.kept:
            return False
        token = opened.listing.token
        return token is None or token != self._inodes.folder(opened.inode).token()

    async def page(self, fh: int, first: int) -> list[tuple[int, Entry]]:
        """Return some present entries from position ``first`` on, with their positions; none at the end."""
        opened = self._handles.folder(fh)
        return await self._threads.answer(partial(_page, self._inodes.folder(opened.inode), opened.listing, first))

    def dots(self, fh: int) -> tuple[tuple[bytes, int], ...]:
        """Return the entries `.` and `..`. The root's parent is the root.

        An empty derived folder has neither, since a program that lists it would make a second request to find its
        end, and nearly every concept has an empty ``related/``.
        """
        opened = self._handles.folder(fh)
        inode = opened.inode
        if not len(opened.listing) and not inode >> 61:
            return ()
        return (b".", inode), (b"..", self._inodes.known(inode).parent or ROOT_INODE)

    def told(self, fh: int, entry: Entry) -> None:
        """Count one more lookup for an entry that the kernel has accepted."""
        opened = self._handles.folder(fh)
        self._inodes.tell(entry.node, entry.attr.inode, opened.inode, entry.name, entry.attr.size)
        if opened.kept:
            self._find_outdated(opened.inode, [entry])

    def told_listed(self, fh: int, first: int, end: int) -> None:
        """Count one more lookup for each entry from position ``first`` to before ``end``, which the kernel has
        accepted as they are in the listing.
        """
        opened = self._handles.folder(fh)
        self._inodes.tell_listed(opened.listing, opened.inode, first, end)
        if opened.kept:
            self._find_outdated(opened.inode, map(opened.listing.entry, range(first, end)))
        if opened.listing.once:
            opened.listing.give_up(first, end)

    def _find_outdated(self, inode: int, told: Iterable[Entry | None]) -> None:
        """Report entries of a fixed listing that are no longer current. The changes that would have invalidated these
        names may already have been processed.
        """
        try:
            folder = inline(self._inodes.folder(inode).work_out)
        except WouldBlock:
            folder = None
        for entry in told:
            if entry is not None:
                found = folder.find(encode_name(entry.name)) if folder else None
                if found is None or found[1].inode != entry.attr.inode:
                    self._outdated(StaleEntry(inode, entry.name))


def _page(folder: Folder, listing: Listing, first: int) -> list[tuple[int, Entry]]:
    entries: list[tuple[int, Entry]] = []
    for position in range(first, len(listing)):
        name = listing.name(position)
        found = folder.find(name)
        if found is not None:
            entries.append((position, Entry(name_bytes(name), *found)))
        if len(entries) == PAGE:
            break
    return entries
