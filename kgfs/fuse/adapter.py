"""Pass the kernel's requests to the tree, and convert types of the tree to types of pyfuse3.

Every handler of ``pyfuse3.Operations`` is overridden, so that no handler answers ENOSYS. ``handling`` defines how
handlers end.
"""

from __future__ import annotations

import os
import select
import stat
import time
from collections.abc import Iterable, Sequence
from typing import Any

import pyfuse3
import trio
from pyfuse3 import EntryAttributes, FileInfo, ReaddirToken, RequestContext, SetattrFields, StatvfsData

from kgfs.fuse import timing
from kgfs.fuse.handling import Handling, LogError, Requests, handler
from kgfs.tree.listing import Entry, Listing
from kgfs.tree.node import ROOT_INODE, Attr, AttrChange, Caller, Handle, Rendered
from kgfs.tree.vfs import Space, Vfs

DOTS = 2
"""Number of positions that `.` and `..` take at the beginning of every listing."""


class Operations(Handling):
    """Handle the requests of the kernel by calling a Vfs. Used on the event loop only."""

    supports_dot_lookup = False
    enable_writeback_cache = False
    """Off: with changes from outside, the writeback cache lets an append land inside the file."""
    enable_acl = False

    def __init__(self, vfs: Vfs, log_error: LogError, requests: Requests | None = None) -> None:
        super().__init__(log_error, requests or Requests())
        self._vfs = vfs
        self._absent = absent()
        self._next: tuple[int, int, int] | None = None
        """An open folder and the range of positions in its listing that are expected to be requested next."""
        self._unread: int | None = None
        """The file that was opened last and will be read next, because the kernel has none of its pages."""
        self.answered_first = trio.Event()
        """Set once the kernel's INIT was received: the mount serves."""

    # ------------------------------------------------------------------------------------------ entries

    def init(self) -> None:
        """Note that the mount serves. pyfuse3 calls this when the kernel sends INIT, before the first request."""
        self.answered_first.set()

    @handler
    async def lookup(self, parent_inode: int, name: bytes, ctx: RequestContext) -> EntryAttributes:
        attr = await self._vfs.lookup(parent_inode, name, ctx.pid)
        return entry_attributes(attr) if attr is not None else self._absent

    async def forget(self, inode_list: Sequence[tuple[int, int]]) -> None:
        """Drop lookup counts of inodes. No exception may leave this handler, not even FUSEError, because there is no
        request to answer.
        """
        began = time.perf_counter()
        try:
            self._vfs.forget(inode_list)
        except Exception as error:  # noqa: BLE001  # see above
            self.number_of_unknown("forget", error)
        finally:
            self.requests.answered("forget", time.perf_counter() - began)

    @handler
    async def mkdir(self, parent_inode: int, name: bytes, mode: int, ctx: RequestContext) -> EntryAttributes:
        return entry_attributes(await self._vfs.mkdir(parent_inode, name, mode, _caller(ctx)))

    @handler
    async def mknod(self, parent_inode: int, name: bytes, mode: int, rdev: int, ctx: RequestContext) -> EntryAttributes:
        return entry_attributes(await self._vfs.mknod(parent_inode, name, mode, _caller(ctx)))

    @handler
    async def symlink(self, parent_inode: int, name: bytes, target: bytes, ctx: RequestContext) -> EntryAttributes:
        return entry_attributes(await self._vfs.symlink(parent_inode, name, target, _caller(ctx)))

    @handler
    async def create(
        self, parent_inode: int, name: bytes, mode: int, flags: int, ctx: RequestContext
    ) -> tuple[FileInfo, EntryAttributes]:
        fh, attr = await self._vfs.create(parent_inode, name, mode, flags, _caller(ctx))
        return file_info(fh, self._vfs.files.handle(fh)), entry_attributes(attr)

    @handler
    async def link(self, inode: int, new_parent_inode: int, new_name: bytes, ctx: RequestContext) -> EntryAttributes:
        return await self._vfs.link(inode, new_parent_inode, new_name)

    @handler
    async def unlink(self, parent_inode: int, name: bytes, ctx: RequestContext) -> None:
        await self._vfs.unlink(parent_inode, name)

    @handler
    async def rmdir(self, parent_inode: int, name: bytes, ctx: RequestContext) -> None:
        await self._vfs.rmdir(parent_inode, name)

    @handler
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

    @handler
    async def readlink(self, inode: int, ctx: RequestContext) -> bytes:
        return await self._vfs.readlink(inode)

    # --------------------------------------------------------------------------------------- attributes

    @handler
    async def getattr(self, inode: int, ctx: RequestContext) -> EntryAttributes:
        return entry_attributes(await self._vfs.getattr(inode))

    @handler
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

    @handler
    async def access(self, inode: int, mode: int, ctx: RequestContext) -> bool:
        return self._vfs.access(inode, mode)

    @handler
    async def statfs(self, ctx: RequestContext) -> StatvfsData:
        return statvfs_data(self._vfs.statfs())

    @handler
    async def listxattr(self, inode: int, ctx: RequestContext) -> Sequence[bytes]:
        return await self._vfs.listxattr(inode)

    @handler
    async def getxattr(self, inode: int, name: bytes, ctx: RequestContext) -> bytes:
        return await self._vfs.getxattr(inode, name)

    @handler
    async def setxattr(self, inode: int, name: bytes, value: bytes, ctx: RequestContext) -> None:
        await self._vfs.setxattr(inode, name, value)

    @handler
    async def removexattr(self, inode: int, name: bytes, ctx: RequestContext) -> None:
        await self._vfs.removexattr(inode, name)

    # -------------------------------------------------------------------------------------------- files

    @handler
    async def open(self, inode: int, flags: int, ctx: RequestContext) -> FileInfo:
        fh = await self._vfs.files.open(inode, flags, ctx.pid)
        handle = self._vfs.files.handle(fh)
        reads = flags & os.O_ACCMODE == os.O_RDONLY
        self._unread = fh if reads and not handle.keep_cache and not isinstance(handle, Rendered) else None
        return file_info(fh, handle)

    @handler
    async def read(self, fh: int, off: int, size: int) -> bytes:
        return await self._vfs.files.read(fh, off, size)

    @handler
    async def write(self, fh: int, off: int, buf: bytes) -> int:
        return await self._vfs.files.write(fh, off, buf)

    @handler
    async def flush(self, fh: int) -> None:
        await self._vfs.files.flush(fh)

    @handler
    async def fsync(self, fh: int, datasync: bool) -> None:
        await self._vfs.files.fsync(fh)

    @handler
    async def release(self, fh: int) -> None:
        await self._vfs.files.release(fh)

    @handler
    async def poll(self, inode: int, fh: int, poll_handle: Any, ctx: RequestContext) -> int:
        """Report the file as ready for reading and writing, which a file always is."""
        return select.POLLIN | select.POLLOUT | select.POLLRDNORM | select.POLLWRNORM

    # ------------------------------------------------------------------------------------------ folders

    @handler
    async def opendir(self, inode: int, ctx: RequestContext) -> int:
        return await self._vfs.opendir(inode, ctx.pid)

    @handler
    async def readdir(self, fh: int, start_id: int, token: ReaddirToken) -> None:
        first = max(start_id - DOTS, 0)
        listing, stale = await self._vfs.folders.listing(fh, start_id)
        page = await self._vfs.folders.page(fh, first) if stale else None
        if start_id < DOTS and not self._reply_dots(fh, start_id, token):
            return
        if page is not None:
            self._reply_entries(fh, page, token)
            return
        if self._vfs.pinned:
            self._reply_entries(fh, ((at, listing.entry(at)) for at in range(first, len(listing))), token)
            return
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

    def _reply_dots(self, fh: int, start_id: int, token: ReaddirToken) -> bool:
        """Put `.` and `..` into the reply. Return whether there was room for them."""
        for position, (name, inode) in enumerate(self._vfs.folders.dots(fh)[start_id:], start_id):
            if not pyfuse3.readdir_reply(token, name, dot_attributes(inode), position + 1):
                return False
        return True

    def _reply_entries(self, fh: int, entries: Iterable[tuple[int, Entry | None]], token: ReaddirToken) -> None:
        """Put entries into the reply whose attributes may have to differ from those in the listing."""
        for position, entry in entries:
            if entry is None:
                continue
            shown = self._vfs.pinned.listed(entry)
            if not pyfuse3.readdir_reply(token, shown.name, entry_attributes(shown.attr), DOTS + position + 1):
                return
            self._vfs.folders.told(fh, shown)

    def meanwhile(self) -> None:
        """Prepare what is likely to be requested next, while the client still processes the last answer. Called after
        each answer.
        """
        unread, self._unread = self._unread, None
        expected, self._next = self._next, None
        if unread is None and expected is None:
            return
        try:
            if unread is not None:
                self._vfs.files.read_ahead(unread)
            if expected is not None:
                self._prepare(*expected)
        except Exception:  # noqa: BLE001  # the request itself will meet and report the same failure
            return

    def _prepare(self, fh: int, first: int, end: int) -> None:
        listing = self._vfs.folders.cached(fh)
        if listing is not None:
            for position in range(first, min(end, len(listing))):
                if listing.prepared[position] is None:
                    prepare(listing, position)

    @handler
    async def fsyncdir(self, fh: int, datasync: bool) -> None:
        await self._vfs.fsyncdir(fh)

    @handler
    async def releasedir(self, fh: int) -> None:
        self._vfs.releasedir(fh)


def _caller(ctx: RequestContext) -> Caller:
    return Caller(ctx.uid, ctx.gid, ctx.pid)


def entry_attributes(attr: Attr, timeout: float = timing.KERNEL_CACHE) -> pyfuse3.EntryAttributes:
    """Return the attributes for pyfuse3. The kernel may cache them for ``timeout`` seconds, or not at all with
    ``direct_io``.
    """
    entry = pyfuse3.EntryAttributes()
    entry.st_ino = attr.inode
    entry.st_mode = attr.mode
    # Fields that are not set here have correct initial values (blocks are of 4096 bytes).
    if attr.nlink != 1:
        entry.st_nlink = attr.nlink
    if attr.uid:
        entry.st_uid = attr.uid
    if attr.gid:
        entry.st_gid = attr.gid
    if attr.size:
        entry.st_size = attr.size
        entry.st_blocks = (attr.size + 511) // 512
    entry.st_atime_ns = attr.atime
    entry.st_mtime_ns = attr.mtime
    entry.st_ctime_ns = attr.ctime
    entry.entry_timeout = entry.attr_timeout = 0.0 if attr.direct_io else timeout
    return entry


def prepare(listing: Listing, position: int) -> tuple[bytes, pyfuse3.EntryAttributes] | None:
    """Return the name and attributes of an entry, computed once per listing; None if the entry is gone."""
    entry = listing.entry(position)
    if entry is None:
        return None
    answer = listing.prepared[position] = entry.name, entry_attributes(entry.attr)
    return answer


def dot_attributes(inode: int) -> pyfuse3.EntryAttributes:
    """Return attributes for `.` or `..` in a listing. The kernel uses their inode number and type, and counts no
    lookup.
    """
    entry = pyfuse3.EntryAttributes()
    entry.st_ino = inode
    entry.st_mode = stat.S_IFDIR
    return entry


def absent(timeout: float = timing.KERNEL_CACHE) -> pyfuse3.EntryAttributes:
    """Return the answer that lets the kernel cache that a name does not exist."""
    entry = pyfuse3.EntryAttributes()
    entry.st_ino = 0
    entry.entry_timeout = timeout
    return entry


def file_info(fh: int, handle: Handle) -> pyfuse3.FileInfo:
    """Return the answer to an open: the handle's number and its use of the page cache."""
    return pyfuse3.FileInfo(fh=fh, direct_io=handle.direct_io, keep_cache=handle.keep_cache and not handle.direct_io)


def statvfs_data(space: Space) -> pyfuse3.StatvfsData:
    """Return the answer to statfs."""
    data = pyfuse3.StatvfsData()
    data.f_bsize = data.f_frsize = space.block
    data.f_blocks, data.f_bfree, data.f_bavail = space.blocks, space.free, space.available
    data.f_files, data.f_ffree, data.f_favail = space.files, space.files_free, space.files_free
    data.f_namemax = 255
    return data


assert ROOT_INODE == pyfuse3.ROOT_INODE
