"""Requests of the kernel, handed to the tree. The one place where errors become errnos.

Nothing but FUSEError may leave a handler, and never ENOSYS: it would switch that operation off for the whole mount. So
every handler of ``pyfuse3.Operations`` is overridden and runs inside :func:`_handling`.
"""

from __future__ import annotations

import errno
import logging
import select
import stat
import time
from collections.abc import Callable, Coroutine, Sequence
from enum import Enum, auto
from typing import Any, Concatenate, ParamSpec, TypeVar

import pyfuse3
import trio
from pyfuse3 import EntryAttributes, FileInfo, FUSEError, ReaddirToken, RequestContext, SetattrFields, StatvfsData

from kgfs.errors import KgfsError, StoreError, TimedOutError
from kgfs.fuse.answers import absent, dot_attributes, entry_attributes, file_info, prepare, statvfs_data
from kgfs.fuse.metrics import Requests
from kgfs.fuse.serving import noticed
from kgfs.tree.listing import Listing
from kgfs.tree.node import Attr, AttrChange, Caller
from kgfs.tree.vfs import Vfs

log = logging.getLogger(__name__)

LogError = Callable[[str, BaseException], None]
"""``log_error(where, error)``: a line for the people who look into ``.kgfs/errors.ndjson``."""

QUIET = 10.0
"""Seconds in which the same failure is written down only once."""

DOTS = 2
"""Positions that `.` and `..` take at the beginning of every listing."""

P = ParamSpec("P")
R = TypeVar("R")


class _Waits(Enum):
    WAITS = auto()


WAITS = _Waits.WAITS
"""The answer of who would have to wait for it."""

Handler = Callable[Concatenate["Operations", P], Coroutine[Any, Any, R]]


def _handler(method: Handler[P, R]) -> Handler[P, R]:
    """Of a request that may have to wait."""
    return _handling(method.__name__, None, method)


def _quick(method: Callable[Concatenate[Operations, P], R]) -> Handler[P, R]:
    """Of one that never does."""
    return _handling(method.__name__, method, None)


def _mostly_quick(
    at_once: Callable[Concatenate[Operations, P], R | _Waits],
) -> Callable[[Handler[P, R]], Handler[P, R]]:
    """Of one that ``at_once`` answers, unless it says WAITS. Every coroutine on the way to an answer costs as much as
    many an answer."""
    return lambda method: _handling(method.__name__, at_once, method)


def _handling(
    name: str,
    at_once: Callable[Concatenate[Operations, P], R | _Waits] | None,
    method: Handler[P, R] | None,
) -> Handler[P, R]:
    async def handle(self: Operations, /, *args: P.args, **kwargs: P.kwargs) -> R:
        began = time.perf_counter()
        try:
            if at_once is not None:
                answer = at_once(self, *args, **kwargs)
                if method is None or answer is not WAITS:
                    return answer  # type: ignore[return-value]  # without a method it never says WAITS
            assert method is not None
            return await noticed(method(self, *args, **kwargs), self.waits, self.waited)
        except KgfsError as error:
            raise FUSEError(self.number_of(name, error)) from None
        except trio.Cancelled:
            # The main loop was cancelled; its task ends at the next checkpoint. Without an answer the client would
            # wait for ever, and uninterruptibly.
            raise FUSEError(errno.ENOTCONN) from None
        except Exception as error:  # noqa: BLE001  # anything else that left a handler would end the mount
            raise FUSEError(self.number_of_unknown(name, error)) from None
        finally:
            self.requests.answered(name, time.perf_counter() - began)

    handle.__name__ = name
    return handle


class Operations(pyfuse3.Operations):
    supports_dot_lookup = False
    enable_writeback_cache = False
    """With changes from outside it let an append land inside the file."""
    enable_acl = False

    def __init__(self, vfs: Vfs, log_error: LogError, requests: Requests | None = None) -> None:
        super().__init__()
        self._vfs = vfs
        self._log_error = log_error
        self.requests = requests or Requests()
        self._absent = absent()
        self._next: tuple[int, int, int] | None = None
        """An open folder and the positions in its listing that it will be asked for next."""
        self._unread: int | None = None
        """A file that was opened last, and will be read next: the kernel has none of its pages."""
        self._written: dict[tuple[str, str, str], float] = {}
        self.answered_first = trio.Event()
        """The kernel was greeted: the mount serves."""
        self.waits: Callable[[], None] = lambda: None
        """Called when a handler begins to wait."""
        self.waited: Callable[[], None] = lambda: None
        """Called when one that waited ends."""

    # ------------------------------------------------------------------------------------------- errors

    def number_of(self, operation: str, error: KgfsError) -> int:
        number = error.errno if error.errno not in (0, errno.ENOSYS) else errno.EIO
        # That of a release reaches nobody, whatever it is.
        if isinstance(error, StoreError | TimedOutError) or operation == "release":
            self._write_down(operation, error)
        self.requests.failed(operation, number)
        return number

    def number_of_unknown(self, operation: str, error: Exception) -> int:
        if self._write_down(operation, error):
            log.error("%s: unexpected error", operation, exc_info=error)
        self.requests.failed(operation, errno.EIO)
        return errno.EIO

    def _write_down(self, operation: str, error: Exception) -> bool:
        """Whether this failure was not written down just before: a broken disk must not fill it with its complaints."""
        now = time.monotonic()
        key = (operation, type(error).__name__, str(error))
        if now - self._written.get(key, -QUIET) < QUIET:
            return False
        if len(self._written) > 1000:
            self._written = {known: at for known, at in self._written.items() if now - at < QUIET}
        self._written[key] = now
        self._log_error(f"fuse.{operation}", error)
        return True

    # ------------------------------------------------------------------------------------------ entries

    def init(self) -> None:
        """Called by pyfuse3 when the kernel says hello, before the first request."""
        self.answered_first.set()

    def _look_up_at_once(self, parent_inode: int, name: bytes, ctx: RequestContext) -> EntryAttributes | _Waits:
        folder = self._vfs.ready(parent_inode)
        return WAITS if folder is None else self._found(self._vfs.find(folder, parent_inode, name))

    @_mostly_quick(_look_up_at_once)
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

    @_handler
    async def mkdir(self, parent_inode: int, name: bytes, mode: int, ctx: RequestContext) -> EntryAttributes:
        return entry_attributes(await self._vfs.mkdir(parent_inode, name, mode, _caller(ctx)))

    @_handler
    async def mknod(self, parent_inode: int, name: bytes, mode: int, rdev: int, ctx: RequestContext) -> EntryAttributes:
        return entry_attributes(await self._vfs.mknod(parent_inode, name, mode, _caller(ctx)))

    @_handler
    async def symlink(self, parent_inode: int, name: bytes, target: bytes, ctx: RequestContext) -> EntryAttributes:
        return entry_attributes(await self._vfs.symlink(parent_inode, name, target, _caller(ctx)))

    @_handler
    async def create(
        self, parent_inode: int, name: bytes, mode: int, flags: int, ctx: RequestContext
    ) -> tuple[FileInfo, EntryAttributes]:
        fh, attr = await self._vfs.create(parent_inode, name, mode, flags, _caller(ctx))
        return file_info(fh, self._vfs.files.handle(fh)), entry_attributes(attr)

    @_handler
    async def link(self, inode: int, new_parent_inode: int, new_name: bytes, ctx: RequestContext) -> EntryAttributes:
        return await self._vfs.link(inode, new_parent_inode, new_name)

    @_handler
    async def unlink(self, parent_inode: int, name: bytes, ctx: RequestContext) -> None:
        await self._vfs.unlink(parent_inode, name)

    @_handler
    async def rmdir(self, parent_inode: int, name: bytes, ctx: RequestContext) -> None:
        await self._vfs.rmdir(parent_inode, name)

    @_handler
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

    @_quick
    def readlink(self, inode: int, ctx: RequestContext) -> bytes:
        return self._vfs.readlink(inode)

    # --------------------------------------------------------------------------------------- attributes

    @_quick
    def getattr(self, inode: int, ctx: RequestContext) -> EntryAttributes:
        return entry_attributes(self._vfs.getattr(inode))

    @_handler
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

    @_quick
    def access(self, inode: int, mode: int, ctx: RequestContext) -> bool:
        return self._vfs.access(inode, mode)

    @_quick
    def statfs(self, ctx: RequestContext) -> StatvfsData:
        return statvfs_data(self._vfs.statfs())

    @_quick
    def listxattr(self, inode: int, ctx: RequestContext) -> Sequence[bytes]:
        return self._vfs.listxattr(inode)

    @_quick
    def getxattr(self, inode: int, name: bytes, ctx: RequestContext) -> bytes:
        return self._vfs.getxattr(inode, name)

    @_handler
    async def setxattr(self, inode: int, name: bytes, value: bytes, ctx: RequestContext) -> None:
        await self._vfs.setxattr(inode, name, value)

    @_handler
    async def removexattr(self, inode: int, name: bytes, ctx: RequestContext) -> None:
        await self._vfs.removexattr(inode, name)

    # -------------------------------------------------------------------------------------------- files

    def _open_at_once(self, inode: int, flags: int, ctx: RequestContext) -> FileInfo | _Waits:
        fh = self._vfs.files.open_at_once(inode, flags)
        if fh is None:
            return WAITS
        handle = self._vfs.files.handle(fh)
        self._unread = None if handle.quick or handle.keep_cache else fh
        return file_info(fh, handle)

    @_mostly_quick(_open_at_once)
    async def open(self, inode: int, flags: int, ctx: RequestContext) -> FileInfo:
        fh = await self._vfs.files.open(inode, flags)
        return file_info(fh, self._vfs.files.handle(fh))

    def _read_at_once(self, fh: int, off: int, size: int) -> bytes | _Waits:
        found = self._vfs.files.read_at_once(fh, off, size)
        return WAITS if found is None else found

    @_mostly_quick(_read_at_once)
    async def read(self, fh: int, off: int, size: int) -> bytes:
        return await self._vfs.files.read(fh, off, size)

    @_handler
    async def write(self, fh: int, off: int, buf: bytes) -> int:
        return await self._vfs.files.write(fh, off, buf)

    def _flush_at_once(self, fh: int) -> _Waits | None:
        return None if self._vfs.files.flush_at_once(fh) else WAITS

    @_mostly_quick(_flush_at_once)
    async def flush(self, fh: int) -> None:
        await self._vfs.files.flush(fh)

    @_handler
    async def fsync(self, fh: int, datasync: bool) -> None:
        await self._vfs.files.fsync(fh)

    def _release_at_once(self, fh: int) -> _Waits | None:
        return None if self._vfs.files.release_at_once(fh) else WAITS

    @_mostly_quick(_release_at_once)
    async def release(self, fh: int) -> None:
        await self._vfs.files.release(fh)

    @_quick
    def poll(self, inode: int, fh: int, poll_handle: Any, ctx: RequestContext) -> int:
        """A file is always ready."""
        return select.POLLIN | select.POLLOUT | select.POLLRDNORM | select.POLLWRNORM

    # ------------------------------------------------------------------------------------------ folders

    def _open_folder_at_once(self, inode: int, ctx: RequestContext) -> int | _Waits:
        fh = self._vfs.opendir_at_once(inode)
        return WAITS if fh is None else fh

    @_mostly_quick(_open_folder_at_once)
    async def opendir(self, inode: int, ctx: RequestContext) -> int:
        return await self._vfs.opendir(inode, ctx.pid)

    @_quick
    def readdir(self, fh: int, start_id: int, token: ReaddirToken) -> None:
        listing, stale = self._vfs.readdir(fh, start_id)
        if start_id < DOTS:
            for position, (name, inode) in enumerate(self._vfs.folders.dots(fh)[start_id:], start_id):
                if not pyfuse3.readdir_reply(token, name, dot_attributes(inode), position + 1):
                    return
        first = max(start_id - DOTS, 0)
        if stale or self._vfs.held:
            self._reply_anew(fh, listing, stale, first, token)
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

    def _reply_anew(self, fh: int, listing: Listing, stale: bool, first: int, token: ReaddirToken) -> None:
        """Where entries may not be as they stand in the listing."""
        held = self._vfs.held
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

    @_handler
    async def fsyncdir(self, fh: int, datasync: bool) -> None:
        await self._vfs.fsyncdir(fh)

    @_quick
    def releasedir(self, fh: int) -> None:
        self._vfs.releasedir(fh)


def _caller(ctx: RequestContext) -> Caller:
    return Caller(ctx.uid, ctx.gid, ctx.pid)
