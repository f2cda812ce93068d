"""The filesystem without a kernel: every request of FUSE in our own types, raising KgfsError only.

All methods run on one trio event loop. Quick questions are plain functions; what may block goes to one of a bounded
number of threads, and is given up on cancellation only where nothing is changed. Where even those may wait for a server they are
asked by the methods called ``…_awaited``.
Names come and go as bytes. Lookups are counted here (``lookup``, ``mkdir``, ``mknod``, ``create``, ``symlink`` and
``told`` count one each) and given back by ``forget``.
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Concatenate, NoReturn, ParamSpec, TypeVar

from kgfs.domain.names import MAX_NAME_BYTES, encode_name
from kgfs.errors import (
    BadInputError,
    ExistsError,
    KgfsError,
    MissingError,
    NameTooLongError,
    RefusedError,
    UnsupportedError,
)
from kgfs.tree.awaited import Awaited
from kgfs.tree.folders import OpenFolders
from kgfs.tree.gate import Gate
from kgfs.tree.handles import Handles
from kgfs.tree.inodes import Inodes
from kgfs.tree.invalidation import Invalidation, StaleEntry
from kgfs.tree.listing import Listing
from kgfs.tree.node import (
    FILE_MODE,
    FOLDER_MODE,
    Attr,
    AttrChange,
    Caller,
    File,
    Folder,
    Handle,
    Link,
    Node,
)
from kgfs.tree.open_files import OpenFiles, open_node, raise_gone
from kgfs.tree.pinned_sizes import PinnedSizes
from kgfs.tree.questions import Questions
from kgfs.tree.threads import THREADS, Threads
from kgfs.tree.unlinked import changed, left_open, resized, unlinked

T = TypeVar("T")
F = TypeVar("F", File, File | None)
P = ParamSpec("P")

RENAME_NOREPLACE = 1
"""The one flag of renameat2(2) that is honoured."""


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


def _by_inode(method: Callable[Concatenate[Vfs, P], T]) -> Callable[Concatenate[Vfs, P], T]:
    """A question about what the kernel found before: see :func:`raise_gone`."""

    @functools.wraps(method)
    def ask(self: Vfs, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except MissingError as error:
            raise_gone(error)

    return ask


class Vfs:
    def __init__(
        self, root: Folder, space: Callable[[], Space], threads: int = THREADS, *, waits: bool = False
    ) -> None:
        """``waits``: what is called *quick* of this tree's nodes may have to wait for a server."""
        self.inodes = Inodes(root)
        self.handles = Handles()
        self._stale: list[Invalidation] = []

        def outdated(news: Invalidation) -> None:
            self._stale.append(news)

        self.folders = OpenFolders(self.inodes, self.handles, outdated)
        self._space = space
        self._threads = Threads(threads)
        self._questions = Questions()
        self.pinned = PinnedSizes(self._look_up_again)
        self.files = OpenFiles(self.inodes, self.handles, self.pinned, self._threads, outdated)
        self.awaited = Awaited(self.inodes, self.handles, self.pinned, self._threads) if waits else None

    # ------------------------------------------------------------------------------------------ entries

    def ready(self, inode: int) -> Folder | None:
        """The folder of that inode, or what it shows, if it can be asked without waiting."""
        return self.inodes.folder(inode).ready() if self.awaited is None else None

    async def lookup(self, parent: int, name: bytes, pid: int = 0) -> Attr | None:
        """None: there is no such name, and the kernel may remember that. MissingError: it may not. ``pid`` is who asks;
        0 where that is not known."""
        ready = self.ready(parent)
        if ready is not None:
            return self.find(ready, parent, name)
        if self.awaited is not None:
            return await self.awaited.lookup(parent, name, _encoded(name))
        attr = self.find(await self._worked_out(parent, pid), parent, name)
        if self.ready(parent) is None:  # there were news meanwhile: they came before the kernel had this to forget
            self._stale.append(StaleEntry(parent, name))
        return attr

    def find(self, folder: Folder, parent: int, name: bytes) -> Attr | None:
        """``lookup`` in a folder that is :meth:`ready`."""
        found = folder.find(_encoded(name))
        if found is None:
            if folder.token() is None:
                raise MissingError(f"{encode_name(name)} does not exist.")
            evicted = self.inodes.tell_absent(parent, name)
            if evicted is not None:
                self._stale.append(StaleEntry(*evicted))
            return None
        node, attr = found
        attr = self.pinned.found(attr)
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
                handles.append(open_node(node, flags & ~os.O_TRUNC))
            return node

        try:
            attr = await self._make(
                parent, name, partial(make, folder.make_file), partial(make, folder.make_file_at_once)
            )
        except ExistsError:
            if flags & os.O_EXCL:
                raise
            return await self._open_existing(parent, name, flags)
        return self.files.opened(handles[0], attr.inode, flags), attr

    async def _open_existing(self, parent: int, name: bytes, flags: int) -> tuple[int, Attr]:
        attr = await self.lookup(parent, name)
        if attr is None:
            raise MissingError(f"{encode_name(name)} was removed by somebody else just now.")
        try:
            fh = await self.files.open(attr.inode, flags)
            return fh, self.getattr(attr.inode)
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
    def readlink(self, inode: int) -> bytes:
        node = self.inodes.node(inode)
        if not isinstance(node, Link):
            raise BadInputError("Not a symbolic link.")
        return node.target()

    # --------------------------------------------------------------------------------------- attributes

    @_by_inode
    def getattr(self, inode: int) -> Attr:
        known = self.inodes.known(inode)
        if known.unlinked is not None:
            return known.unlinked
        try:
            attr = self.pinned.shown(inode, known.node.attr_again())
            known.tell_size(attr.size)
            return attr
        except MissingError as error:
            return self._left_open(inode, error)

    async def getattr_awaited(self, inode: int) -> Attr:
        assert self.awaited is not None
        try:
            return await self.awaited.attr(inode)
        except MissingError as error:
            return self._left_open(inode, error)

    @_by_inode
    def _left_open(self, inode: int, error: MissingError) -> Attr:
        """Of what has left, for those who have it open."""
        if self.handles.has_folder(inode):
            return left_open(inode, FOLDER_MODE)
        known = self.inodes.get(inode)
        handle = self.handles.fixed(inode) if known is not None and known.opened else None
        if handle is None:
            raise error
        return left_open(inode, FILE_MODE, handle.size)

    async def setattr(self, inode: int, wanted: AttrChange, fh: int | None = None) -> Attr:
        """With ``fh`` a size is set through that handle (ftruncate)."""
        try:
            return await self._changed(inode, wanted, fh)
        except MissingError as error:
            raise_gone(error)

    async def _changed(self, inode: int, wanted: AttrChange, fh: int | None) -> Attr:
        known = self.inodes.known(inode)
        if fh is not None and wanted.size is not None:
            opened = self.handles.file(fh)
            size = wanted.size
            await self.files.with_handle(opened, lambda: opened.handle.truncate(size))
            if known.unlinked is not None:
                known.unlinked = resized(known.unlinked, size)
            wanted = replace(wanted, size=None)
        if known.unlinked is not None:
            known.unlinked = changed(known.unlinked, wanted)
        elif wanted != _NOTHING:
            node = known.node
            return await self._threads.change(lambda: node.change(wanted))
        return self.getattr(inode)

    def access(self, inode: int, mask: int) -> bool:
        """Never asked where the kernel checks permissions itself (``default_permissions``)."""
        self.inodes.known(inode)
        return True

    @_by_inode
    def listxattr(self, inode: int) -> list[bytes]:
        return [os.fsencode(name) for name in self.inodes.node(inode).attributes()]

    async def listxattr_awaited(self, inode: int) -> list[bytes]:
        assert self.awaited is not None
        return [os.fsencode(name) for name in await self.awaited.of(inode, lambda node: node.attributes())]

    @_by_inode
    def getxattr(self, inode: int, name: bytes) -> bytes:
        return self.inodes.node(inode).attribute(_attribute_name(name))

    async def getxattr_awaited(self, inode: int, name: bytes) -> bytes:
        assert self.awaited is not None
        attribute = _attribute_name(name)
        return await self.awaited.of(inode, lambda node: node.attribute(attribute))

    async def setxattr(self, inode: int, name: bytes, value: bytes) -> None:
        node, attribute = self.inodes.node(inode), _attribute_name(name)
        await self._threads.change(lambda: node.set_attribute(attribute, value))

    async def removexattr(self, inode: int, name: bytes) -> None:
        self.inodes.node(inode).attribute(_attribute_name(name))
        raise UnsupportedError("kgfs keeps no extended attributes of others, and its own cannot be removed.")

    def statfs(self) -> Space:
        return self._space()

    # ------------------------------------------------------------------------------------------ folders

    @_by_inode
    def opendir_at_once(self, inode: int) -> int | None:
        """None where its entries must be waited for."""
        ready = self.ready(inode)
        return None if ready is None else self.folders.open(inode, ready)

    async def opendir(self, inode: int, pid: int = 0) -> int:
        """``pid`` as with ``lookup``."""
        fh = self.opendir_at_once(inode)
        if fh is not None:
            return fh
        if self.awaited is not None:
            return self.awaited.opendir(inode)
        try:
            return self.folders.open(inode, await self._worked_out(inode, pid))
        except MissingError as error:
            raise_gone(error)

    def readdir(self, fh: int, start: int) -> tuple[Listing, bool]:
        """See :meth:`OpenFolders.listing`."""
        return self.folders.listing(fh, start)

    async def fsyncdir(self, fh: int) -> None:
        await self._threads.change(self.inodes.folder(self.handles.folder(fh).inode).sync)

    def releasedir(self, fh: int) -> None:
        self.handles.take_folder(fh)

    # ---------------------------------------------------------------------------------------- lifecycle

    def hold_changes(self) -> Gate:
        """From now on changes wait until it is opened; reading goes on."""
        return self._threads.hold_changes()

    def add_stale(self, news: Iterable[Invalidation]) -> None:
        """What the kernel believes wrongly, found out elsewhere."""
        self._stale.extend(news)

    def take_stale(self) -> list[Invalidation]:
        """What the kernel believes wrongly, found out in passing; each is handed out once."""
        stale, self._stale = self._stale, []
        return stale

    def stop_waiting(self) -> None:
        """From now on nothing waits: slow reads under way fail, new ones are refused. Changes go to their end."""
        self._threads.stop()
        self._questions.stop()

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
            made = None if self._threads.are_held() else make_at_once(encoded)
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


_NOTHING = AttrChange()


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
