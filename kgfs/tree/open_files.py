"""Files that are open. What can be answered without waiting for anything is answered by the methods called ``…_at_once``.

The event loop owns it. Each handle is used by one call at a time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TypeVar

import trio

from kgfs.errors import BadInputError, GoneError, IsAFolderError, KgfsError, MissingError, StoppingError
from kgfs.tree.handles import Handles, OpenFile
from kgfs.tree.inodes import Inodes, Known
from kgfs.tree.invalidation import Invalidation, StaleInode
from kgfs.tree.node import File, Fixed, Folder, Handle, Node
from kgfs.tree.pinned_sizes import PinnedSizes
from kgfs.tree.threads import Threads
from kgfs.tree.unlinked import resized, written_to

T = TypeVar("T")


class OpenFiles:
    def __init__(
        self,
        inodes: Inodes,
        handles: Handles,
        pinned: PinnedSizes,
        threads: Threads,
        outdated: Callable[[Invalidation], None],
    ) -> None:
        """``outdated`` is told what the kernel believes wrongly."""
        self._inodes = inodes
        self._handles = handles
        self._pinned = pinned
        self._threads = threads
        self._outdated = outdated
        self._refused: set[int] = set()
        """Threads that were sent to look a name up again."""
        self.forget_attributes: Callable[[int], None] = lambda inode: None
        """Makes the kernel ask for the attributes of an inode again, also where an answer is on its way to another thread.
        Called before the answer of an open is given; waits for nothing."""

    # ------------------------------------------------------------------------------------- open, release

    def open_at_once(self, inode: int, flags: int, pid: int = 0) -> int | None:
        """To read, where nothing is waited for; else None. GoneError for what has left since (see
        :func:`raise_gone`)."""
        try:
            known = self._inodes.known(inode)
            file = _file(known.node)
            handle = None if flags & (os.O_ACCMODE | os.O_TRUNC | os.O_APPEND) else file.open_at_once()
        except MissingError as error:
            raise_gone(error)
        return None if handle is None else self._opened(known, handle, inode, pid, writes=False)

    async def open(self, inode: int, flags: int, pid: int = 0) -> int:
        """In any way, for the thread ``pid``. GoneError as above."""
        fh = self.open_at_once(inode, flags, pid)
        if fh is not None:
            return fh
        known = self._inodes.known(inode)
        file = _file(known.node)
        try:
            writes = bool(flags & (os.O_ACCMODE | os.O_TRUNC | os.O_APPEND))
            handle = await self._threads.change(lambda: open_node(file, flags), held=writes)
        except MissingError as error:
            raise_gone(error)
        if flags & os.O_TRUNC and known.unlinked is not None:
            known.unlinked = resized(known.unlinked, 0)
        return self.opened(handle, inode, flags, pid)

    def opened(self, handle: Handle, inode: int, flags: int, pid: int = 0) -> int:
        """The number of a handle that was made for that inode."""
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
        """Whether the inode has the size of these bytes from now on. GoneError, once for each thread, where other bytes of it
        are open, of another size: the thread looks the name up again, and is given another inode."""
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

    def release_at_once(self, fh: int) -> bool:
        """Whether it was released; if not, :meth:`release` is to be called."""
        opened = self._handles.file(fh)
        try:
            released = _at_once(opened, opened.handle.release_at_once)
        except BaseException:
            self._left(fh, opened)
            raise
        if released:
            self._left(fh, opened)
        return bool(released)

    async def release(self, fh: int) -> None:
        if self.release_at_once(fh):
            return
        opened = self._handles.file(fh)
        self._left(fh, opened)
        if opened.writes:
            await self.with_handle(opened, opened.handle.release)
        else:
            with suppress(StoppingError):  # nothing is lost with a handle that only reads
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
        """Release what is still open for writing once no request can come any more; returns what could not be kept."""
        failures = []
        for fh in self._handles.writers():
            try:
                await self.release(fh)
            except KgfsError as error:
                failures.append(error)
        return failures

    # -------------------------------------------------------------------------------------- read, write

    def read_at_once(self, fh: int, offset: int, length: int) -> bytes | None:
        """What is in memory; None where it is not."""
        handle = self._handles.file(fh).handle
        return handle.read(offset, length) if handle.quick else handle.at_hand(offset, length)

    async def read(self, fh: int, offset: int, length: int) -> bytes:
        """Also what must be waited for. Who asked :meth:`read_at_once` before has looked once; it is looked once more, when
        it is our turn."""
        opened = self._handles.file(fh)
        if opened.handle.quick:
            return opened.handle.read(offset, length)
        async with opened.turn:
            found = opened.handle.at_hand(offset, length)
            if found is None:
                found = await self._inside(opened, lambda: opened.handle.read(offset, length), abandon=True)
        return found

    async def write(self, fh: int, offset: int, data: bytes) -> int:
        """Always all of it, or an error."""
        opened = self._handles.file(fh)
        written = _at_once(opened, lambda: opened.handle.write_at_once(offset, data))
        if written is None:
            written = await self.with_handle(opened, lambda: opened.handle.write(offset, data))
        known = self._inodes.get(opened.inode)
        if known is None:
            return written
        known.written = time.monotonic()
        if known.unlinked is not None:
            known.unlinked = written_to(known.unlinked, offset + written)
        return written

    def flush_at_once(self, fh: int) -> bool:
        """Whether there is nothing to flush: a handle that cannot write has nothing."""
        return not self._handles.file(fh).writes

    async def flush(self, fh: int) -> None:
        """Comes at each close(), also of duplicated descriptors."""
        opened = self._handles.file(fh)
        if not opened.writes:
            return
        pending = _at_once(opened, opened.handle.flush_at_once)
        if pending is None:
            await self.with_handle(opened, opened.handle.flush)
        elif not pending.durable:
            await self._threads.told(pending.then)

    async def fsync(self, fh: int) -> None:
        opened = self._handles.file(fh)
        await self.with_handle(opened, opened.handle.sync)

    # ------------------------------------------------------------------------------------------- inside

    async def with_handle(self, opened: OpenFile, call: Callable[[], T], *, abandon: bool = False) -> T:
        """Call it in a thread, alone with the handle; with ``abandon`` it may be given up."""
        try:
            opened.turn.acquire_nowait()  # acquire() takes a turn of the event loop even where nobody has it
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


def _at_once(opened: OpenFile, call: Callable[[], T]) -> T | None:
    """What the handle answers, unless somebody else is in it or waits for it."""
    if opened.untouched:
        return call()
    if opened.turn.locked() or not opened.inside.acquire(blocking=False):
        return None
    try:
        return call()
    finally:
        opened.inside.release()


def open_node(node: File, flags: int) -> Handle:
    """Blocks."""
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


def raise_gone(error: MissingError) -> NoReturn:
    """For a question about what the kernel found before. When that is gone by now something else may have taken its place,
    as when a program opens a file in the moment in which another is renamed over it: it must never see ENOENT."""
    if type(error) is not MissingError:
        raise error
    raise GoneError(str(error)) from error
