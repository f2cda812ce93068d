"""The filesystem without a kernel: every request of FUSE in our own types, raising KgfsError only.

All methods run on one trio event loop. Quick questions are answered inline; what may block goes to one of a bounded
number of threads, and is given up on cancellation only where nothing is changed. Each handle is used by one call at a time.
Names come and go as bytes. Lookups are counted here (``lookup``, ``mkdir``, ``mknod``, ``create``, ``symlink`` and
``told`` count one each) and given back by ``forget``.
"""

from __future__ import annotations

import functools
import os
import stat
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Concatenate, NoReturn, ParamSpec, TypeVar

import trio

from kgfs.domain import MAX_NAME_BYTES, encode_name
from kgfs.errors import (
    BadInputError,
    ExistsError,
    GoneError,
    IsAFolderError,
    KgfsError,
    MissingError,
    NameTooLongError,
    RefusedError,
    StoppingError,
    UnsupportedError,
)
from kgfs.tree.folders import OpenFolders
from kgfs.tree.gone import changed, left_open, unlinked, written_to
from kgfs.tree.handles import Handles, OpenFile
from kgfs.tree.held import HeldFiles
from kgfs.tree.inodes import Inodes
from kgfs.tree.listing import Listing
from kgfs.tree.node import (
    FILE_MODE,
    FOLDER_MODE,
    Attr,
    AttrChange,
    Caller,
    File,
    Fixed,
    Folder,
    Handle,
    Link,
    Node,
)
from kgfs.tree.questions import Questions
from kgfs.tree.stale import Invalidation, StaleEntry, StaleInode
from kgfs.tree.threads import THREADS, Threads

T = TypeVar("T")
F = TypeVar("F", File, File | None)
P = ParamSpec("P")

RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2
"""Flags of renameat2(2)."""


@dataclass(frozen=True, slots=True)
class Space:
    """What statfs tells, in blocks of ``block`` bytes."""

    block: int
    blocks: int
    free: int
    available: int
    files: int
    files_free: int


def space_of(path: str | os.PathLike[str]) -> Space:
    """The real space of the file system on which ``path`` stands."""
    found = os.statvfs(path)
    return Space(found.f_frsize, found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree)


def _by_inode(method: Callable[Concatenate[Vfs, P], Awaitable[T]]) -> Callable[Concatenate[Vfs, P], Awaitable[T]]:
    """A question about what the kernel found before. When that is gone by now something else may have taken its place,
    as when a program opens a file in the moment in which another is renamed over it: it must never see ENOENT."""

    @functools.wraps(method)
    async def ask(self: Vfs, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(self, *args, **kwargs)
        except MissingError as error:
            if type(error) is not MissingError:
                raise
            raise GoneError(str(error)) from error

    return ask


class Vfs:
    def __init__(self, root: Folder, space: Callable[[], Space], threads: int = THREADS) -> None:
        self.inodes = Inodes(root)
        self.handles = Handles()
        self.folders = OpenFolders(self.inodes, self.handles)
        self._space = space
        self._threads = Threads(threads)
        self._questions = Questions()
        self.held = HeldFiles(self._look_up_again)
        self._stale: list[Invalidation] = []

    # ------------------------------------------------------------------------------------------ entries

    async def lookup(self, parent: int, name: bytes, pid: int = 0) -> Attr | None:
        """None: there is no such name, and the kernel may remember that. MissingError: it may not. ``pid`` is who asks;
        0 where that is not known."""
        folder = self.inodes.folder(parent).ready() or await self._worked_out(parent, pid)
        found = folder.find(_encoded(name))
        if found is None:
            if folder.token() is None:
                raise MissingError(f"{encode_name(name)} does not exist.")
            evicted = self.inodes.tell_absent(parent, name)
            if evicted is not None:
                self._stale.append(StaleEntry(*evicted))
            return None
        node, attr = found
        attr = self.held.found(attr)
        self.inodes.tell(node, attr.inode, parent, name, attr.size)
        return attr

    def forget(self, counts: Sequence[tuple[int, int]]) -> None:
        for node in self.inodes.forget(counts):
            if isinstance(node, Folder):
                self.folders.forgotten(node.inode)

    async def mkdir(self, parent: int, name: bytes, mode: int, caller: Caller) -> Attr:
        folder = self.inodes.folder(parent)
        inherited, caller = _inherited(folder, caller)
        return await self._make(
            parent, name, lambda encoded: folder.make_folder(encoded, stat.S_IMODE(mode) | inherited, caller)
        )

    async def mknod(self, parent: int, name: bytes, mode: int, caller: Caller) -> Attr:
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise RefusedError("kgfs keeps files, folders and symbolic links; no devices, pipes or sockets.")
        folder = self.inodes.folder(parent)
        caller = _inherited(folder, caller)[1]
        return await self._make(parent, name, lambda encoded: folder.make_file(encoded, stat.S_IMODE(mode), caller))

    async def symlink(self, parent: int, name: bytes, target: bytes, caller: Caller) -> Attr:
        folder = self.inodes.folder(parent)
        caller = _inherited(folder, caller)[1]
        return await self._make(parent, name, lambda encoded: folder.make_link(encoded, encode_name(target), caller))

    async def create(self, parent: int, name: bytes, mode: int, flags: int, caller: Caller) -> tuple[int, Attr]:
        """Make and open. A file that somebody else made meanwhile is opened, unless O_EXCL forbids it."""
        folder = self.inodes.folder(parent)
        caller = _inherited(folder, caller)[1]
        handles: list[Handle] = []

        def make(making: Callable[[str, int, Caller], F], encoded: str) -> F:
            node = making(encoded, stat.S_IMODE(mode), caller)
            if node is not None:
                handles.append(_open_node(node, flags & ~os.O_TRUNC))
            return node

        try:
            attr = await self._make(
                parent, name, partial(make, folder.make_file), partial(make, folder.make_file_at_once)
            )
        except ExistsError:
            if flags & os.O_EXCL:
                raise
            return await self._open_existing(parent, name, flags)
        return self._opened(handles[0], attr.inode, flags), attr

    async def _open_existing(self, parent: int, name: bytes, flags: int) -> tuple[int, Attr]:
        attr = await self.lookup(parent, name)
        if attr is None:
            raise MissingError(f"{encode_name(name)} was removed by somebody else just now.")
        try:
            fh = await self.open(attr.inode, flags)
            return fh, await self.getattr(attr.inode)
        except BaseException:
            self.forget([(attr.inode, 1)])
            raise

    async def link(self, inode: int, parent: int, name: bytes) -> NoReturn:
        raise RefusedError("kgfs has no hard links. Copy the file, or make a symbolic link.")

    async def unlink(self, parent: int, name: bytes) -> None:
        await self._remove(parent, name, self.inodes.folder(parent).remove_file)

    async def rmdir(self, parent: int, name: bytes) -> None:
        await self._remove(parent, name, self.inodes.folder(parent).remove_folder)

    async def rename(self, parent: int, name: bytes, goal: int, new_name: bytes, flags: int) -> None:
        if flags & ~RENAME_NOREPLACE:
            raise BadInputError("kgfs cannot exchange two names in one step.")
        source, target = self.inodes.folder(parent), self.inodes.folder(goal)
        old, new = _encoded(name), _encoded(new_name)
        moved = source.find(old)
        if moved is None:
            self._stale.append(StaleEntry(parent, name))
            raise MissingError(f"{old} does not exist.")
        replaced = target.find(new)
        believed_absent = self.inodes.take_absent(goal, new_name)
        try:
            await self._threads.change(lambda: source.move(old, target, new, replace=not flags & RENAME_NOREPLACE))
        except KgfsError:
            if believed_absent:
                self._stale.append(StaleEntry(goal, new_name))
            raise
        if replaced is not None and replaced[1].inode != moved[1].inode:
            self.inodes.removed(replaced[1].inode, (goal, new_name), unlinked(replaced[1]))
        self.inodes.moved(moved[1].inode, (parent, name), (goal, new_name))

    @_by_inode
    async def readlink(self, inode: int) -> bytes:
        node = self.inodes.node(inode)
        if not isinstance(node, Link):
            raise BadInputError("Not a symbolic link.")
        return node.target()

    # --------------------------------------------------------------------------------------- attributes

    @_by_inode
    async def getattr(self, inode: int) -> Attr:
        known = self.inodes.known(inode)
        if known.gone is not None:
            return known.gone
        try:
            attr = self.held.shown(inode, known.node.attr())
            known.tell_size(attr.size)
            return attr
        except MissingError:
            if self.handles.has_folder(inode):
                return left_open(inode, FOLDER_MODE)
            handle = self.handles.fixed(inode) if known.opened else None
            if handle is None:
                raise
            return left_open(inode, FILE_MODE, handle.size)

    @_by_inode
    async def setattr(self, inode: int, wanted: AttrChange, fh: int | None = None) -> Attr:
        """With ``fh`` a size is set through that handle (ftruncate)."""
        known = self.inodes.known(inode)
        if fh is not None and wanted.size is not None:
            opened = self.handles.file(fh)
            size = wanted.size
            await self._with_handle(opened, lambda: opened.handle.truncate(size))
            if known.gone is not None:
                known.gone = replace(known.gone, size=size)
            wanted = replace(wanted, size=None)
        if known.gone is not None:
            known.gone = changed(known.gone, wanted)
        elif wanted != _NOTHING:
            node = known.node
            return await self._threads.change(lambda: node.change(wanted))
        return await self.getattr(inode)

    async def access(self, inode: int, mask: int) -> bool:
        """Never asked where the kernel checks permissions itself (``default_permissions``)."""
        self.inodes.known(inode)
        return True

    @_by_inode
    async def listxattr(self, inode: int) -> list[bytes]:
        return [os.fsencode(name) for name in self.inodes.node(inode).attributes()]

    @_by_inode
    async def getxattr(self, inode: int, name: bytes) -> bytes:
        return self.inodes.node(inode).attribute(_attribute_name(name))

    async def setxattr(self, inode: int, name: bytes, value: bytes) -> None:
        node, attribute = self.inodes.node(inode), _attribute_name(name)
        await self._threads.change(lambda: node.set_attribute(attribute, value))

    async def removexattr(self, inode: int, name: bytes) -> None:
        self.inodes.node(inode).attribute(_attribute_name(name))
        raise UnsupportedError("kgfs keeps no extended attributes of others, and its own cannot be removed.")

    async def statfs(self) -> Space:
        return self._space()

    # -------------------------------------------------------------------------------------------- files

    @_by_inode
    async def open(self, inode: int, flags: int) -> int:
        known = self.inodes.known(inode)
        node = known.node
        if isinstance(node, Folder):
            raise IsAFolderError("This is a folder.")
        if not isinstance(node, File):
            raise BadInputError("Only files can be opened.")
        file = node
        reads = not flags & (os.O_ACCMODE | os.O_TRUNC | os.O_APPEND)
        handle = file.open_at_once() if reads else None
        if handle is None:
            handle = await self._threads.change(lambda: _open_node(file, flags))
        if flags & os.O_TRUNC and known.gone is not None:
            known.gone = replace(known.gone, size=0)
        return self._opened(handle, inode, flags)

    def _opened(self, handle: Handle, inode: int, flags: int) -> int:
        writes = flags & os.O_ACCMODE != os.O_RDONLY
        known = self.inodes.known(inode)
        known.writers += writes
        if isinstance(handle, Fixed):
            handle.keep_cache = known.opens(handle.content_id)
            if not handle.direct_io:
                # It changed, and the kernel is not told yet: by the size it knows it would cut the new bytes short.
                handle.direct_io = known.size not in (-1, handle.size) or not self.held.hold(inode, handle)
        return self.handles.add(OpenFile(handle, inode, writes))

    async def read(self, fh: int, offset: int, length: int) -> bytes:
        opened = self.handles.file(fh)
        if opened.handle.quick:
            return opened.handle.read(offset, length)
        found = opened.handle.at_hand(offset, length)
        if found is None:
            async with opened.turn:
                found = opened.handle.at_hand(offset, length)
                if found is None:
                    found = await self._inside(opened, lambda: opened.handle.read(offset, length), abandon=True)
        return found

    async def write(self, fh: int, offset: int, data: bytes) -> int:
        """Always all of it, or an error."""
        opened = self.handles.file(fh)
        written = _at_once(opened, lambda: opened.handle.write_at_once(offset, data))
        if written is None:
            written = await self._with_handle(opened, lambda: opened.handle.write(offset, data))
        known = self.inodes.get(opened.inode)
        if known is None:
            return written
        known.written = time.monotonic()
        if known.gone is not None:
            known.gone = written_to(known.gone, offset + written)
        return written

    async def flush(self, fh: int) -> None:
        """Comes at each close(), also of duplicated descriptors; a handle that cannot write has nothing to flush."""
        opened = self.handles.file(fh)
        if not opened.writes:
            return
        pending = _at_once(opened, opened.handle.flush_at_once)
        if pending is None:
            await self._with_handle(opened, opened.handle.flush)
        elif not pending.durable:
            await self._threads.told(pending.then)

    async def fsync(self, fh: int) -> None:
        opened = self.handles.file(fh)
        await self._with_handle(opened, opened.handle.sync)

    async def release(self, fh: int) -> None:
        opened = self.handles.take_file(fh)
        known = self.inodes.get(opened.inode)
        if known is not None and isinstance(opened.handle, Fixed):
            known.opened -= 1
        if isinstance(opened.handle, Fixed) and not opened.handle.direct_io and self.held.release(opened.inode):
            self._stale.append(StaleInode(opened.inode, data=True))
        if opened.writes:
            if known is not None:
                known.writers -= 1
                known.written = time.monotonic()
            if not _at_once(opened, opened.handle.release_at_once):
                await self._with_handle(opened, opened.handle.release)
        elif not _at_once(opened, opened.handle.release_at_once):
            with suppress(StoppingError):  # nothing is lost with a handle that only reads
                await self._with_handle(opened, opened.handle.release, abandon=True)

    def handle(self, fh: int) -> Handle:
        return self.handles.file(fh).handle

    # ------------------------------------------------------------------------------------------ folders

    @_by_inode
    async def opendir(self, inode: int, pid: int = 0) -> int:
        """``pid`` as with ``lookup``."""
        ready = self.inodes.folder(inode).ready() or await self._worked_out(inode, pid)
        return self.folders.open(inode, ready)

    async def readdir(self, fh: int, start: int) -> tuple[Listing, bool]:
        """See :meth:`OpenFolders.listing`."""
        return self.folders.listing(fh, start)

    async def fsyncdir(self, fh: int) -> None:
        await self._threads.change(self.inodes.folder(self.handles.folder(fh).inode).sync)

    async def releasedir(self, fh: int) -> None:
        self.handles.take_folder(fh)

    # ---------------------------------------------------------------------------------------- lifecycle

    def take_stale(self) -> list[Invalidation]:
        """What the kernel believes wrongly, found out in passing; each is handed out once."""
        stale, self._stale = self._stale, []
        return stale

    def stop_waiting(self) -> None:
        """From now on nothing waits: slow reads under way fail, new ones are refused. Changes go to their end."""
        self._threads.stop()
        self._questions.stop()

    async def release_all(self) -> list[KgfsError]:
        """Release what is still open for writing once no request can come any more; returns what could not be kept."""
        failures = []
        for fh in self.handles.writers():
            try:
                await self.release(fh)
            except KgfsError as error:
                failures.append(error)
        return failures

    # ------------------------------------------------------------------------------------------- inside

    async def _worked_out(self, inode: int, pid: int) -> Folder:
        return await self._questions.ask(self.inodes.folder(inode).work_out, pid)

    def _look_up_again(self, inode: int) -> None:
        known = self.inodes.get(inode)
        self._stale += [StaleEntry(*place) for place in known.places()] if known is not None else []

    async def _make(
        self,
        parent: int,
        name: bytes,
        make: Callable[[str], Node],
        make_at_once: Callable[[str], Node | None] = lambda encoded: None,
    ) -> Attr:
        encoded = _encoded(name)
        # News of this very entry may arrive while the thread is still making it. The kernel must not be told to drop
        # what it is about to learn: that would cut off a shell that stands in a folder it has just made.
        believed_absent = self.inodes.take_absent(parent, name)

        def make_and_look() -> tuple[Node, Attr]:
            node = make(encoded)
            return node, node.attr()

        try:
            made = make_at_once(encoded)
            node, attr = (made, made.attr()) if made is not None else await self._threads.change(make_and_look)
        except KgfsError:
            if believed_absent:
                self._stale.append(StaleEntry(parent, name))
            raise
        self.inodes.tell(node, attr.inode, parent, name, attr.size)
        return attr

    async def _remove(self, parent: int, name: bytes, remove: Callable[[str], None]) -> None:
        encoded = _encoded(name)
        found = self.inodes.folder(parent).find(encoded)
        try:
            await self._threads.change(lambda: remove(encoded))
        except MissingError:
            self._stale.append(StaleEntry(parent, name))
            raise
        if found is not None:
            self.inodes.removed(found[1].inode, (parent, name), unlinked(found[1]))

    async def _with_handle(self, opened: OpenFile, call: Callable[[], T], *, abandon: bool = False) -> T:
        try:
            opened.turn.acquire_nowait()  # acquire() takes a turn of the event loop even where nobody has it
        except trio.WouldBlock:
            await opened.turn.acquire()
        try:
            return await self._inside(opened, call, abandon=abandon)
        finally:
            opened.turn.release()

    async def _inside(self, opened: OpenFile, call: Callable[[], T], *, abandon: bool = False) -> T:
        def inside() -> T:
            with opened.inside:
                return call()

        return await (self._threads.ask(inside) if abandon else self._threads.change(inside))


_NOTHING = AttrChange()


def _at_once(opened: OpenFile, call: Callable[[], T]) -> T | None:
    """What the handle answers, unless somebody else is in it or waits for it."""
    if opened.turn.locked() or not opened.inside.acquire(blocking=False):
        return None
    try:
        return call()
    finally:
        opened.inside.release()


def _open_node(node: File, flags: int) -> Handle:
    mode = flags & os.O_ACCMODE
    return node.open(
        read=mode != os.O_WRONLY,
        write=mode != os.O_RDONLY,
        truncate=bool(flags & os.O_TRUNC),
        append=bool(flags & os.O_APPEND),
    )


def _encoded(name: bytes) -> str:
    if len(name) > MAX_NAME_BYTES:
        raise NameTooLongError(f"A name can have {MAX_NAME_BYTES} bytes; this one has {len(name)}.")
    if name.isascii() and b"%" not in name and (plain := name.decode("ascii")).isprintable():
        return plain
    return encode_name(name)


def _attribute_name(name: bytes) -> str:
    if not name.startswith(b"user."):
        raise UnsupportedError("Only extended attributes in user. are known.")
    return os.fsdecode(name)


def _inherited(folder: Folder, caller: Caller) -> tuple[int, Caller]:
    """The set-group-id rule of folders: what is made inside gets the folder's group, and folders the bit."""
    attr = folder.attr()
    if attr.mode & stat.S_ISGID:
        return stat.S_ISGID, replace(caller, gid=attr.gid)
    return 0, caller
