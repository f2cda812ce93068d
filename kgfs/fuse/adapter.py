"""Requests of the kernel, handed to the tree. Every handler of ``pyfuse3.Operations`` is overridden, so that none says ENOSYS;
how they end is told by ``handling``.
"""

from __future__ import annotations

import select
import stat
import time
from collections.abc import Sequence
from typing import Any

import pyfuse3
import trio
from pyfuse3 import EntryAttributes, FileInfo, ReaddirToken, RequestContext, SetattrFields, StatvfsData

from kgfs.fuse.answers import absent, dot_attributes, entry_attributes, file_info, prepare, statvfs_data
from kgfs.fuse.handling import WAITS, Handling, LogError, Waits, mostly_quick, quick, waiting
from kgfs.fuse.metrics import Requests
from kgfs.tree.listing import Listing
from kgfs.tree.node import Attr, AttrChange, Caller
from kgfs.tree.vfs import Vfs

DOTS = 2
"""Positions that `.` and `..` take at the beginning of every listing."""


class Operations(Handling):
    supports_dot_lookup = False
    enable_writeback_cache = False
    """With changes from outside it let an append land inside the file."""
    enable_acl = False

    def __init__(self, vfs: Vfs, log_error: LogError, requests: Requests | None = None) -> None:
        super().__init__(log_error, requests or Requests())
        self._vfs = vfs
        self._absent = absent()
        self._next: tuple[int, int, int] | None = None
        """An open folder and the positions in its listing that it will be asked for next."""
        self._unread: int | None = None
        """A file that was opened last, and will be read next: the kernel has none of its pages."""
        self.answered_first = trio.Event()
        """The kernel was greeted: the mount serves."""

    # ------------------------------------------------------------------------------------------ entries

    def init(self) -> None:
        """Called by pyfuse3 when the kernel says hello, before the first request."""
        self.answered_first.set()

    def _look_up_at_once(self, parent_inode: int, name: bytes, ctx: RequestContext) -> EntryAttributes | Waits:
        folder = self._vfs.ready(parent_inode)
        return WAITS if folder is None else self._found(self._vfs.find(folder, parent_inode, name))

    @mostly_quick(_look_up_at_once)
    async def lookup(self, parent_inode: int, name: bytes, ctx: RequestContext) -> EntryAttributes:
        return self._found(await self._vfs.lookup(parent_inode, name, ctx.pid))

    def _found(self, attr: Attr | None) -> EntryAttributes:
        return entry_attributes(attr) if attr is not None else self._absent

    async def forget(self, inode_list: Sequence[tuple[int, int]]) -> None:
        """Nothing may leave it, not even FUSEError: there is no request to answer."""
        began = time.perf_counter()
        try:
            self._vfs.forget(inode_list)
        except Exception as error:  # noqa: BLE001  # see above
            self.number_of_unknown("forget", error)
        finally:
            self.requests.answered("forget", time.perf_counter() - began)

    @waiting
    async def mkdir(self, parent_inode: int, name: bytes, mode: int, ctx: RequestContext) -> EntryAttributes:
        return entry_attributes(await self._vfs.mkdir(parent_inode, name, mode, _caller(ctx)))

    @waiting
    async def mknod(self, parent_inode: int, name: bytes, mode: int, rdev: int, ctx: RequestContext) -> EntryAttributes:
        return entry_attributes(await self._vfs.mknod(parent_inode, name, mode, _caller(ctx)))

    @waiting
    async def symlink(self, parent_inode: int, name: bytes, target: bytes, ctx: RequestContext) -> EntryAttributes:
        return entry_attributes(await self._vfs.symlink(parent_inode, name, target, _caller(ctx)))

    @waiting
    async def create(
        self, parent_inode: int, name: bytes, mode: int, flags: int, ctx: RequestContext
    ) -> tuple[FileInfo, EntryAttributes]:
        fh, attr = await self._vfs.create(parent_inode, name, mode, flags, _caller(ctx))
        return file_info(fh, self._vfs.files.handle(fh)), entry_attributes(attr)

    @waiting
    async def link(self, inode: int, new_parent_inode: int, new_name: bytes, ctx: RequestContext) -> EntryAttributes:
        return await self._vfs.link(inode, new_parent_inode, new_name)

    @waiting
    async def unlink(self, parent_inode: int, name: bytes, ctx: RequestContext) -> None:
        await self._vfs.unlink(parent_inode, name)

    @waiting
    async def rmdir(self, parent_inode: int, name: bytes, ctx: RequestContext) -> None:
        await self._vfs.rmdir(parent_inode, name)

    @waiting
    async def rename(
        self,
        parent_inode_old: int,
        name_old: bytes,
        parent_inode_new: int,
        name_new: bytes,
        flags: int,
        ctx: RequestContext,
    ) -> None:
        await self._vfs.rename(parent_inode_old, name_old, parent_inode_new, name_new, flags)

    @quick
    def readlink(self, inode: int, ctx: RequestContext) -> bytes:
        return self._vfs.readlink(inode)

    # --------------------------------------------------------------------------------------- attributes

    def _getattr_at_once(self, inode: int, ctx: RequestContext) -> EntryAttributes | Waits:
        return WAITS if self._vfs.awaited is not None else entry_attributes(self._vfs.getattr(inode))

    @mostly_quick(_getattr_at_once)
    async def getattr(self, inode: int, ctx: RequestContext) -> EntryAttributes:
        return entry_attributes(await self._vfs.getattr_awaited(inode))

    @waiting
    async def setattr(
        self, inode: int, attr: EntryAttributes, fields: SetattrFields, fh: int | None, ctx: RequestContext
    ) -> EntryAttributes:
        wanted = AttrChange(
            mode=stat.S_IMODE(attr.st_mode) if fields.update_mode else None,
            uid=attr.st_uid if fields.update_uid else None,
            gid=attr.st_gid if fields.update_gid else None,
            size=attr.st_size if fields.update_size else None,
            atime=attr.st_atime_ns if fields.update_atime else None,
            mtime=attr.st_mtime_ns if fields.update_mtime else None,
        )
        return entry_attributes(await self._vfs.setattr(inode, wanted, fh))

    @quick
    def access(self, inode: int, mode: int, ctx: RequestContext) -> bool:
        return self._vfs.access(inode, mode)

    @quick
    def statfs(self, ctx: RequestContext) -> StatvfsData:
        return statvfs_data(self._vfs.statfs())

    def _listxattr_at_once(self, inode: int, ctx: RequestContext) -> Sequence[bytes] | Waits:
        return WAITS if self._vfs.awaited is not None else self._vfs.listxattr(inode)

    @mostly_quick(_listxattr_at_once)
    async def listxattr(self, inode: int, ctx: RequestContext) -> Sequence[bytes]:
        return await self._vfs.listxattr_awaited(inode)

    def _getxattr_at_once(self, inode: int, name: bytes, ctx: RequestContext) -> bytes | Waits:
        return WAITS if self._vfs.awaited is not None else self._vfs.getxattr(inode, name)

    @mostly_quick(_getxattr_at_once)
    async def getxattr(self, inode: int, name: bytes, ctx: RequestContext) -> bytes:
        return await self._vfs.getxattr_awaited(inode, name)

    @waiting
    async def setxattr(self, inode: int, name: bytes, value: bytes, ctx: RequestContext) -> None:
        await self._vfs.setxattr(inode, name, value)

    @waiting
    async def removexattr(self, inode: int, name: bytes, ctx: RequestContext) -> None:
        await self._vfs.removexattr(inode, name)

    # -------------------------------------------------------------------------------------------- files

    def _open_at_once(self, inode: int, flags: int, ctx: RequestContext) -> FileInfo | Waits:
        fh = self._vfs.files.open_at_once(inode, flags, ctx.pid)
        if fh is None:
            return WAITS
        handle = self._vfs.files.handle(fh)
        self._unread = None if handle.quick or handle.keep_cache else fh
        return file_info(fh, handle)

    @mostly_quick(_open_at_once)
    async def open(self, inode: int, flags: int, ctx: RequestContext) -> FileInfo:
        fh = await self._vfs.files.open(inode, flags, ctx.pid)
        return file_info(fh, self._vfs.files.handle(fh))

    def _read_at_once(self, fh: int, off: int, size: int) -> bytes | Waits:
        found = self._vfs.files.read_at_once(fh, off, size)
        return WAITS if found is None else found

    @mostly_quick(_read_at_once)
    async def read(self, fh: int, off: int, size: int) -> bytes:
        return await self._vfs.files.read(fh, off, size)

    @waiting
    async def write(self, fh: int, off: int, buf: bytes) -> int:
        return await self._vfs.files.write(fh, off, buf)

    def _flush_at_once(self, fh: int) -> Waits | None:
        return None if self._vfs.files.flush_at_once(fh) else WAITS

    @mostly_quick(_flush_at_once)
    async def flush(self, fh: int) -> None:
        await self._vfs.files.flush(fh)

    @waiting
    async def fsync(self, fh: int, datasync: bool) -> None:
        await self._vfs.files.fsync(fh)

    def _release_at_once(self, fh: int) -> Waits | None:
        return None if self._vfs.files.release_at_once(fh) else WAITS

    @mostly_quick(_release_at_once)
    async def release(self, fh: int) -> None:
        await self._vfs.files.release(fh)

    @quick
    def poll(self, inode: int, fh: int, poll_handle: Any, ctx: RequestContext) -> int:
        """A file is always ready."""
        return select.POLLIN | select.POLLOUT | select.POLLRDNORM | select.POLLWRNORM

    # ------------------------------------------------------------------------------------------ folders

    def _open_folder_at_once(self, inode: int, ctx: RequestContext) -> int | Waits:
        fh = self._vfs.opendir_at_once(inode)
        return WAITS if fh is None else fh

    @mostly_quick(_open_folder_at_once)
    async def opendir(self, inode: int, ctx: RequestContext) -> int:
        return await self._vfs.opendir(inode, ctx.pid)

    def _readdir_at_once(self, fh: int, start_id: int, token: ReaddirToken) -> Waits | None:
        if self._vfs.awaited is not None:
            return WAITS
        listing, stale = self._vfs.readdir(fh, start_id)
        if start_id < DOTS and not self._reply_dots(fh, start_id, token):
            return None
        first = max(start_id - DOTS, 0)
        if stale or self._vfs.pinned:
            self._reply_anew(fh, listing, stale, first, token)
            return None
        reply, prepared = pyfuse3.readdir_reply, listing.prepared
        end = first
        for end in range(first, len(listing)):
            answer = prepared[end] or prepare(listing, end)
            if answer is not None and not reply(token, answer[0], answer[1], DOTS + end + 1):
                if prepared[min(2 * end - first, len(listing)) - 1] is None:
                    self._next = fh, end, 2 * end - first
                break
        else:
            end = len(listing)
        self._vfs.folders.told_listed(fh, first, end)
        return None

    @mostly_quick(_readdir_at_once)
    async def readdir(self, fh: int, start_id: int, token: ReaddirToken) -> None:
        awaited = self._vfs.awaited
        assert awaited is not None
        entries = await awaited.page(fh, max(start_id - DOTS, 0))
        if start_id < DOTS and not self._reply_dots(fh, start_id, token):
            return
        for position, entry in entries:
            shown = self._vfs.pinned.listed(entry)
            if not pyfuse3.readdir_reply(token, shown.name, entry_attributes(shown.attr), DOTS + position + 1):
                return
            awaited.told(fh, position, shown)

    def _reply_dots(self, fh: int, start_id: int, token: ReaddirToken) -> bool:
        """Whether there was room for them."""
        for position, (name, inode) in enumerate(self._vfs.folders.dots(fh)[start_id:], start_id):
            if not pyfuse3.readdir_reply(token, name, dot_attributes(inode), position + 1):
                return False
        return True

    def _reply_anew(self, fh: int, listing: Listing, stale: bool, first: int, token: ReaddirToken) -> None:
        """Where entries may not be as they stand in the listing."""
        held = self._vfs.pinned
        for position in range(first, len(listing)):
            entry = self._vfs.folders.fresh(fh, position) if stale else listing.entry(position)
            if entry is None:
                continue
            shown = held.listed(entry)
            prepared = None if stale or shown is not entry else listing.prepared[position] or prepare(listing, position)
            name, attributes = prepared or (shown.name, entry_attributes(shown.attr))
            if not pyfuse3.readdir_reply(token, name, attributes, DOTS + position + 1):
                return
            self._vfs.folders.told(fh, shown)

    def meanwhile(self) -> None:
        """Called when an answer was given: prepares what is likely to be asked for next, while the client still looks at
        what it has."""
        unread, self._unread = self._unread, None
        expected, self._next = self._next, None
        if unread is None and expected is None:
            return
        try:
            if unread is not None:
                self._vfs.files.read_at_once(unread, 0, 1)  # a small file comes whole
            if expected is not None:
                self._prepare(*expected)
        except Exception:  # noqa: BLE001  # whoever asks for it meets the same failure, and is told
            return

    def _prepare(self, fh: int, first: int, end: int) -> None:
        listing = self._vfs.folders.at_hand(fh)
        if listing is not None:
            for position in range(first, min(end, len(listing))):
                if listing.prepared[position] is None:
                    prepare(listing, position)

    @waiting
    async def fsyncdir(self, fh: int, datasync: bool) -> None:
        await self._vfs.fsyncdir(fh)

    @quick
    def releasedir(self, fh: int) -> None:
        self._vfs.releasedir(fh)


def _caller(ctx: RequestContext) -> Caller:
    return Caller(ctx.uid, ctx.gid, ctx.pid)
