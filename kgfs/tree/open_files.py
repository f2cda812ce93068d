"""Manage open files. Used on the event loop only. One call at a time uses a handle, except for reads of data in
memory.

Derived files may change while they are open. The kernel has one size per inode and applies it to reads of all
handles. So an inode keeps the size of the bytes that are open. A lookup of the name meanwhile gets the new bytes
under an inode of their own, whose name and attributes the kernel must not cache. Once no process has the old bytes
open, the name is the first inode's again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import trio

from kgfs.errors import BadInputError, GoneError, IsAFolderError, KgfsError, MissingError, StoppingError
from kgfs.stores.thread_slots import WouldBlock, inline
from kgfs.tree.handles import Handles, OpenFile, raise_gone, resized, written_to
from kgfs.tree.inodes import Inodes, Known
from kgfs.tree.invalidation import Invalidation, StaleInode
from kgfs.tree.listing import Entry
from kgfs.tree.node import Attr, File, Fixed, Folder, Handle, Node, inode_of
from kgfs.tree.threads import Threads

T = TypeVar("T")


class OpenFiles:
    """Open, read, write and release files. Used on the event loop only."""

    def __init__(
        self,
        inodes: Inodes,
        handles: Handles,
        pinned: PinnedSizes,
        threads: Threads,
        outdated: Callable[[Invalidation], None],
    ) -> None:
        """Create the table. ``outdated`` is called with what the kernel has cached wrongly."""
        self._inodes = inodes
        self._handles = handles
        self._pinned = pinned
        self._threads = threads
        self._outdated = outdated
        self._refused: set[int] = set()
        """Threads whose open was refused so that they look the name up again."""
        self.forget_attributes: Callable[[int], None] = lambda inode: None
        """Makes the kernel ask for the attributes of an inode again, even if an answer is on its way to another
        thread. Called before an open is answered; never waits.
        """

    # ------------------------------------------------------------------------------------- open, release

    async def open(self, inode: int, flags: int, pid: int = 0) -> int:
        """Open a file for the thread ``pid``, and return its handle. Raise GoneError for a file that is gone since
        its lookup (see :func:`raise_gone`).
        """
        try:
            known = self._inodes.known(inode)
            call = partial(open_node, _file(known.node), flags)
            if flags & (os.O_ACCMODE | os.O_TRUNC | os.O_APPEND):
                handle = await self._threads.change(call)
            else:
                handle = await self._threads.change_inline(call, held=False)
        except MissingError as error:
            raise_gone(error)
        if flags & os.O_TRUNC and known.unlinked is not None:
            known.unlinked = resized(known.unlinked, 0)
        return self.opened(handle, inode, flags, pid)

    def opened(self, handle: Handle, inode: int, flags: int, pid: int = 0) -> int:
        """Return the number of a handle that was made for that inode."""
        return self._opened(self._inodes.known(inode), handle, inode, pid, writes=flags & os.O_ACCMODE != os.O_RDONLY)

    def _opened(self, known: Known, handle: Handle, inode: int, pid: int, *, writes: bool) -> int:
        if isinstance(handle, Fixed):
            keep_cache = known.opens(handle.content_id)
            if not handle.direct_io and not self._pin(known, handle, inode, pid):
                handle.direct_io = True
            handle.keep_cache = keep_cache
        if writes:
            known.writers += 1
        return self._handles.add(OpenFile(handle, inode, writes))

    def _pin(self, known: Known, handle: Fixed, inode: int, pid: int) -> bool:
        """Return whether the inode has the size of these bytes from now on.

        If other bytes of the inode with another size are open, raise GoneError once for each thread. The thread then
        looks the name up again and gets another inode.
        """
        refused = pid in self._refused
        self._refused.discard(pid)
        if self._pinned.hold(inode, handle):
            if known.size not in (-1, handle.size) or known.was_resized():
                self.forget_attributes(inode)
            return True
        if refused or self._pinned.size(inode) == handle.size:
            return False
        known.opened -= 1
        self._refused.add(pid)
        handle.release()
        raise GoneError("The file was changed between lookup and open.")

    def handle(self, fh: int) -> Handle:
        return self._handles.file(fh).handle

    async def release(self, fh: int) -> None:
        opened = self._handles.file(fh)
        self._left(fh, opened)
        try:
            _inline(opened, opened.handle.release)
        except WouldBlock:
            if opened.writes:
                await self.with_handle(opened, opened.handle.release)
                return
            with suppress(StoppingError):  # a read-only handle has nothing to lose
                await self.with_handle(opened, opened.handle.release, abandon=True)

    def _left(self, fh: int, opened: OpenFile) -> None:
        self._handles.take_file(fh)
        known = self._inodes.get(opened.inode)
        if isinstance(opened.handle, Fixed):
            if known is not None:
                known.opened -= 1
            if not opened.handle.direct_io and self._pinned.release(opened.inode):
                self._outdated(StaleInode(opened.inode, data=True))
        if opened.writes and known is not None:
            known.writers -= 1
            known.written = time.monotonic()

    async def release_all(self) -> list[KgfsError]:
        """Release all handles that are still open for writing, once no more requests can arrive. Return the errors of
        what could not be stored.
        """
        failures = []
        for fh in self._handles.writers():
            try:
                await self.release(fh)
            except KgfsError as error:
                failures.append(error)
        return failures

    # -------------------------------------------------------------------------------------- read, write

    def read_ahead(self, fh: int) -> None:
        """Load what is likely to be read first into memory, if that does not block. A small file is loaded whole."""
        handle = self._handles.file(fh).handle
        with suppress(WouldBlock):
            inline(partial(handle.read, 0, 1))

    async def read(self, fh: int, offset: int, length: int) -> bytes:
        opened = self._handles.file(fh)
        call = partial(opened.handle.read, offset, length)
        try:
            return inline(call)
        except WouldBlock:
            pass
        async with opened.turn:
            try:  # the bytes may be in memory by now
                return inline(call)
            except WouldBlock:
                return await self._inside(opened, call, abandon=True)

    async def write(self, fh: int, offset: int, data: bytes) -> int:
        """Write all of the data, or raise an error."""
        opened = self._handles.file(fh)
        call = partial(opened.handle.write, offset, data)
        try:
            written = _inline(opened, call)
        except WouldBlock:
            written = await self.with_handle(opened, call)
        known = self._inodes.get(opened.inode)
        if known is None:
            return written
        known.written = time.monotonic()
        if known.unlinked is not None:
            known.unlinked = written_to(known.unlinked, offset + written)
        return written

    async def flush(self, fh: int) -> None:
        """Flush at a close(), including closes of duplicated descriptors. A handle that cannot write has nothing to
        flush.
        """
        opened = self._handles.file(fh)
        if not opened.writes:
            return
        try:
            pending = _inline(opened, opened.handle.flush)
        except WouldBlock:
            await self.with_handle(opened, opened.handle.flush)
            return
        if pending is not None and not pending.durable:
            await self._threads.notified(pending.then)

    async def fsync(self, fh: int) -> None:
        opened = self._handles.file(fh)
        await self.with_handle(opened, opened.handle.sync)

    # ------------------------------------------------------------------------------------------- inside

    async def with_handle(self, opened: OpenFile, call: Callable[[], T], *, abandon: bool = False) -> T:
        """Run the call in a thread with exclusive use of the handle. With ``abandon``, the caller may give it up."""
        try:
            opened.turn.acquire_nowait()  # acquire() takes a turn of the event loop even if the lock is free
        except trio.WouldBlock:
            await opened.turn.acquire()
        try:
            return await self._inside(opened, call, abandon=abandon)
        finally:
            opened.turn.release()

    async def _inside(self, opened: OpenFile, call: Callable[[], T], *, abandon: bool = False) -> T:
        lock = opened.inside

        def inside() -> T:
            with lock:
                return call()

        if abandon:
            return await self._threads.ask(inside)
        return await self._threads.change(inside)


def _inline(opened: OpenFile, call: Callable[[], T]) -> T:
    """Return the handle's answer. Raise WouldBlock also if another call is in the handle or waits for it."""
    if opened.untouched:
        return inline(call)
    if opened.turn.locked() or not opened.inside.acquire(blocking=False):
        raise WouldBlock
    try:
        return inline(call)
    finally:
        opened.inside.release()


def open_node(node: File, flags: int) -> Handle:
    """Open a file with flags of open(2). *May block*, as :meth:`File.open`."""
    mode = flags & os.O_ACCMODE
    return node.open(
        read=mode != os.O_WRONLY,
        write=mode != os.O_RDONLY,
        truncate=bool(flags & os.O_TRUNC),
        append=bool(flags & os.O_APPEND),
    )


def _file(node: Node) -> File:
    if isinstance(node, File):
        return node
    if isinstance(node, Folder):
        raise IsAFolderError("This is a folder.")
    raise BadInputError("Only files can be opened.")


@dataclass(slots=True)
class _Pinned:
    """The open content of an inode, with its size in bytes and the number of its handles."""

    content: Hashable
    size: int
    handles: int = 0
    outdated: bool = False
    """Whether the file has bytes of another size by now."""


class PinnedSizes:
    """Record the sizes of open inodes. Used on the event loop only. False while nothing is open."""

    def __init__(self, outdated: Callable[[int], None]) -> None:
        """Create the table. ``outdated(inode)`` is called when an inode gets other bytes, so that the kernel looks up
        its names again.
        """
        self._pinned: dict[int, _Pinned] = {}
        self._outdated = outdated

    def __bool__(self) -> bool:
        return bool(self._pinned)

    def hold(self, inode: int, handle: Fixed) -> bool:
        """Count one more handle that reads through the kernel's pages. Return False, without counting it, if other
        handles have other bytes open.
        """
        pinned = self._pinned.get(inode)
        if pinned is None:
            pinned = self._pinned[inode] = _Pinned(handle.content_id, handle.size)
        elif pinned.content != handle.content_id:
            return False
        pinned.handles += 1
        return True

    def size(self, inode: int) -> int:
        """Return the size in bytes of the content that is open."""
        return self._pinned[inode].size

    def release(self, inode: int) -> bool:
        """Count one handle less. Return whether the kernel must forget what it has cached of the inode."""
        pinned = self._pinned[inode]
        pinned.handles -= 1
        if pinned.handles:
            return False
        del self._pinned[inode]
        return pinned.outdated

    def shown(self, inode: int, attr: Attr) -> Attr:
        """Return the attributes to report for an inode whose node has ``attr`` now."""
        if attr.inode != inode:
            attr = replace(attr, inode=inode, direct_io=True)
        pinned = self._changed(attr)
        return attr if pinned is None else replace(attr, size=pinned.size, direct_io=True)

    def found(self, attr: Attr) -> Attr:
        """Return the attributes to report for a name whose node has ``attr``."""
        if self._changed(attr) is None:
            return attr
        return replace(attr, inode=inode_of(("apart", attr.inode, attr.size, attr.mtime)), direct_io=True)

    def listed(self, entry: Entry) -> Entry:
        """Return the entry to report for an entry of a listing, with attributes as by :meth:`found`."""
        attr = self.found(entry.attr)
        return entry if attr is entry.attr else Entry(entry.name, entry.node, attr)

    def _changed(self, attr: Attr) -> _Pinned | None:
        pinned = self._pinned.get(attr.inode)
        if pinned is None or pinned.size == attr.size:
            return None
        if not pinned.outdated:
            pinned.outdated = True
            self._outdated(attr.inode)
        return pinned
