"""What the kernel remembers, as a model: answers by itself what it was told until it is told to forget.

``wrong`` compares all it would still answer with what the tree says now: nothing may differ.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator

from kgfs.errors import KgfsError, MissingError
from kgfs.tree.invalidation import Invalidation, StaleEntry
from kgfs.tree.listing import Entry
from kgfs.tree.node import ROOT_INODE, Attr, Caller, File, Fixed, Folder, Handle
from kgfs.tree.vfs import Vfs

ME = Caller(0, 0)
LARGE = 1 << 16


class Kernel:
    def __init__(self, vfs: Vfs) -> None:
        self.vfs = vfs
        self.entries: dict[tuple[int, bytes], int] = {}
        """0 for a name that is absent."""
        self.attrs: dict[int, Attr] = {}
        self._last: dict[int, Attr] = {}
        """Also while they are not to be relied on."""
        self.pages: dict[int, bytes] = {}

    # ---------------------------------------------------------------------------------------- looking

    async def lookup(self, parent: int, name: bytes) -> int:
        if (parent, name) not in self.entries:
            try:
                attr = await self.vfs.lookup(parent, name)
            except MissingError:
                return 0
            if attr is not None:
                self._told(attr)
                if attr.direct_io:  # told with a timeout of 0
                    return attr.inode
            self.entries[parent, name] = attr.inode if attr else 0
        return self.entries[parent, name]

    async def look_at_everything(self, absent: Iterable[bytes] = ()) -> None:
        """``find`` over the whole mount, reading files; and names in each folder that may not be there."""
        waiting = [ROOT_INODE]
        while waiting:
            folder = waiting.pop()
            for entry in await self._listed(folder):
                inode = await self.lookup(folder, entry.name)
                if inode and stat.S_ISDIR((await self._attr(inode)).mode):
                    waiting.append(inode)
                elif inode and stat.S_ISREG((await self._attr(inode)).mode):
                    await self._read(inode)
            for name in absent:
                await self.lookup(folder, name)

    async def _listed(self, folder: int) -> list[Entry]:
        fh = await self.vfs.opendir(folder)
        listing, _ = await self.vfs.folders.listing(fh, 0)
        entries = [entry for entry in map(listing.entry, range(len(listing))) if entry is not None]
        for entry in entries:
            self.vfs.folders.told(fh, entry)
            self._told(entry.attr)
            if not entry.attr.direct_io:
                self.entries[folder, entry.name] = entry.attr.inode
        self.vfs.releasedir(fh)
        return entries

    async def _attr(self, inode: int) -> Attr:
        if inode not in self.attrs:
            self._told(await self.vfs.getattr(inode))
        return self.attrs[inode]

    async def _read(self, inode: int) -> None:
        fh = await self.vfs.files.open(inode, 0)
        if not self.vfs.files.handle(fh).keep_cache:
            self.pages.pop(inode, None)
        if inode not in self.pages and not self.vfs.files.handle(fh).direct_io:
            self.pages[inode] = await self.vfs.files.read(fh, 0, LARGE)
        await self.vfs.files.release(fh)

    def _told(self, attr: Attr) -> None:
        before = self._last.get(attr.inode)
        if before is not None and (before.mtime, before.size) != (attr.mtime, attr.size):
            self.pages.pop(attr.inode, None)  # FUSE_AUTO_INVAL_DATA
        self.attrs[attr.inode] = self._last[attr.inode] = attr

    # --------------------------------------------------------------------------------------- changing

    async def mkdir(self, parent: int, name: bytes) -> None:
        await self.lookup(parent, name)
        attr = await self.vfs.mkdir(parent, name, 0o755, ME)
        self.entries[parent, name] = attr.inode
        self._told(attr)
        self.attrs.pop(parent, None)

    async def write(self, parent: int, name: bytes, content: bytes) -> None:
        inode = await self.lookup(parent, name)
        if inode:
            fh = await self.vfs.files.open(inode, 0o1001)  # O_WRONLY | O_TRUNC
        else:
            fh, attr = await self.vfs.create(parent, name, 0o644, 0o101, ME)
            inode = self.entries[parent, name] = attr.inode
            self._told(attr)
            self.attrs.pop(parent, None)
        await self.vfs.files.write(fh, 0, content)
        self.attrs.pop(inode, None)
        self.pages.pop(inode, None)
        await self.vfs.files.flush(fh)
        await self.vfs.files.release(fh)

    async def remove(self, parent: int, name: bytes) -> None:
        inode = await self.lookup(parent, name)
        folder = stat.S_ISDIR((await self._attr(inode)).mode)
        await (self.vfs.rmdir if folder else self.vfs.unlink)(parent, name)
        del self.entries[parent, name]
        self.attrs.pop(inode, None)
        self.attrs.pop(parent, None)

    async def rename(self, parent: int, name: bytes, goal: int, new_name: bytes) -> None:
        inode = await self.lookup(parent, name)
        replaced = await self.lookup(goal, new_name)
        await self.vfs.rename(parent, name, goal, new_name, 0)
        self.entries.pop((parent, name))
        self.entries[goal, new_name] = inode
        for touched in (parent, goal, inode, replaced):
            self.attrs.pop(touched, None)

    # ---------------------------------------------------------------------------------------- forgetting

    def forget(self, stale: Iterable[Invalidation]) -> None:
        for item in stale:
            if isinstance(item, StaleEntry):
                self._drop(item.parent, item.name)
            else:
                self.attrs.pop(item.inode, None)
                if item.data:
                    self.pages.pop(item.inode, None)

    def _drop(self, parent: int, name: bytes) -> None:
        """With all below it, as d_invalidate does."""
        inode = self.entries.pop((parent, name), 0)
        if inode in self.vfs.inodes and isinstance(self.vfs.inodes.node(inode), Folder):
            for place in [place for place in self.entries if place[0] == inode]:
                self._drop(*place)

    def wrong(self) -> list[str]:
        """Everything it would answer and should not."""
        found = []
        for path, inode, truth in self._reachable():
            if truth != inode:
                found.append(f"{path}: inode {inode} is remembered, {truth} it is")
            elif inode:
                found += [f"{path}: {complaint}" for complaint in self._wrong_inode(inode)]
        return found

    def _reachable(self) -> Iterator[tuple[str, int, int]]:
        below: dict[int, list[tuple[bytes, int]]] = {}
        for (parent, name), inode in self.entries.items():
            below.setdefault(parent, []).append((name, inode))
        waiting = [("", ROOT_INODE)]
        while waiting:
            path, folder = waiting.pop()
            node = self.vfs.inodes.node(folder)
            assert isinstance(node, Folder)
            for name, inode in below.get(folder, []):
                try:
                    now = node.lookup(name.decode())
                    truth = now.inode if now is not None else 0
                except MissingError:
                    truth = 0
                shown = f"{path}/{name.decode()}"
                yield shown, inode, truth
                if inode and truth == inode and isinstance(self.vfs.inodes.node(inode), Folder):
                    waiting.append((shown, inode))

    def _wrong_inode(self, inode: int) -> Iterator[str]:
        node = self.vfs.inodes.node(inode)
        try:
            attr = node.attr()
        except KgfsError as error:
            yield f"remembered, but: {error}"
            return
        told = self.attrs.get(inode)
        if told is not None and not attr.direct_io:
            for field in ("mode", "uid", "gid", "size", "mtime"):
                if getattr(told, field) != getattr(attr, field):
                    yield f"{field} {getattr(told, field)} is remembered, {getattr(attr, field)} it is"
        if inode in self.pages and told is not None and isinstance(node, File):
            handle = node.open(read=True, write=False, truncate=False)
            try:
                if self._kept(inode, handle) and handle.read(0, LARGE) != self.pages[inode]:
                    yield "its pages are those of another content"
            finally:
                handle.release()

    def _kept(self, inode: int, handle: Handle) -> bool:
        """Whether the vfs would let the kernel keep its pages at such an opening."""
        if not isinstance(handle, Fixed):
            return handle.keep_cache
        known = self.vfs.inodes.get(inode)
        return known is not None and known.content == handle.content_id
