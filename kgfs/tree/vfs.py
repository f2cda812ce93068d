"""Implement the filesystem without a kernel: every FUSE request with the project's own types. Only KgfsError is
raised.

All methods run on one trio event loop. A question is asked inline and, if it would have to wait, again in one of a
bounded number of threads; it is abandoned on cancellation. A change runs to its end.

Names are passed as bytes. Lookups are counted here (``lookup``, ``mkdir``, ``mknod``, ``create`` and ``symlink``
count one each, and ``folders.told`` and ``folders.told_listed`` one for each entry), and ``forget`` subtracts them.
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

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
from kgfs.stores.thread_slots import WouldBlock, inline
from kgfs.tree.copying import Copying
from kgfs.tree.folders import OpenFolders
from kgfs.tree.handles import Handles, changed, left_open, raise_gone, resized, unlinked
from kgfs.tree.inodes import Inodes
from kgfs.tree.invalidation import Invalidation, StaleEntry
from kgfs.tree.node import (
    FILE_MODE,
    FOLDER_MODE,
    ROOT_INODE,
    Attr,
    AttrChange,
    Caller,
    File,
    Folder,
    Handle,
    Link,
    Node,
)
from kgfs.tree.open_files import OpenFiles, PinnedSizes, open_node
from kgfs.tree.threads import THREADS, Gate, Threads

T = TypeVar("T")
P = ParamSpec("P")

RENAME_NOREPLACE = 1
"""The only supported flag of renameat2(2)."""


@dataclass(frozen=True, slots=True)
class Space:
    """The result of statfs, in blocks of ``block`` bytes."""

    block: int
    blocks: int
    free: int
    available: int
    files: int
    files_free: int


def space_of(path: str | os.PathLike[str]) -> Space:
    """Return the real space of the file system that contains ``path``."""
    found = os.statvfs(path)
    return Space(found.f_frsize, found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree)


def _by_inode(
    method: Callable[Concatenate[Vfs, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Vfs, P], Coroutine[Any, Any, T]]:
    """Wrap a request about a node that the kernel found earlier: see :func:`raise_gone`."""

    @functools.wraps(method)
    async def ask(self: Vfs, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(self, *args, **kwargs)
        except MissingError as error:
            raise_gone(error)

    return ask


class Vfs:
    """The filesystem below a root folder. Used on the event loop only."""

    def __init__(self, root: Folder, space: Callable[[], Space], threads: int = THREADS) -> None:
        self.inodes = Inodes(root)
        self.handles = Handles()
        self._stale: list[Invalidation] = []
        self._copying = Copying()
        self._space = space
        self._threads = Threads(threads)
        self.folders = OpenFolders(self.inodes, self.handles, self._threads, self._outdated)
        self.pinned = PinnedSizes(self._look_up_again)
        self.files = OpenFiles(self.inodes, self.handles, self.pinned, self._threads, self._outdated)

    def _outdated(self, news: Invalidation) -> None:
        self._stale.append(news)

    # ------------------------------------------------------------------------------------------ entries

    async def lookup(self, parent: int, name: bytes, pid: int = 0) -> Attr | None:
        """Return the attributes of an entry, and count one lookup.

        Return None if there is no such name and the kernel may cache that. Raise MissingError if the kernel must not
        cache it. ``pid`` is the thread that asks; 0 if it is not known.
        """
        encoded, folder = _encoded(name), self._folder(parent, pid)
        if folder.needs_work(encoded):
            worked_out = await self.folders.work_out(folder, pid)
            found = worked_out.find(encoded)
            # Changes that were processed meanwhile came before the kernel had this entry to forget.
            if found is not None and not self._is_worked_out(folder):
                self._stale.append(StaleEntry(parent, name))
        else:
            find = partial(folder.find, encoded)
            try:
                found = inline(find)
            except WouldBlock:
                found = await self._threads.ask(find)
        if found is None:
            if folder.token() is None or folder is not self.inodes.folder(parent):
                raise MissingError(f"{encode_name(name)} does not exist.")
            evicted = self.inodes.tell_absent(parent, name)
            if evicted is not None:
                self._stale.append(StaleEntry(*evicted))
            return None
        node, attr = found
        attr = self.pinned.found(attr)
        self.inodes.tell(node, attr.inode, parent, name, attr.size)
        return self._as_seen(attr, folder, parent)

    def _as_seen(self, attr: Attr, folder: Folder, parent: int) -> Attr:
        """Return the attributes of an entry; if only the caller has it, so that the kernel does not cache its name."""
        return attr if folder is self.inodes.folder(parent) else replace(attr, direct_io=True)

    def _folder(self, inode: int, pid: int) -> Folder:
        """Return the folder as the caller sees it."""
        folder = self.inodes.folder(inode)
        return folder.as_copied_to() if self._copying.is_by_maker(inode, pid) else folder

    @staticmethod
    def _is_worked_out(folder: Folder) -> bool:
        try:
            inline(folder.work_out)
        except WouldBlock:
            return False
        return True

    def forget(self, counts: Sequence[tuple[int, int]]) -> None:
        for node in self.inodes.forget(counts):
            if isinstance(node, Folder):
                self.folders.forgotten(node.inode)

    async def mkdir(self, parent: int, name: bytes, mode: int, caller: Caller) -> Attr:
        folder = self._folder(parent, caller.pid)
        inherited, caller = _inherited(folder, caller)
        made = await self._make(
            folder, parent, name, lambda encoded: folder.make_folder(encoded, stat.S_IMODE(mode) | inherited, caller)
        )
        if parent == ROOT_INODE:
            self._copying.made(made.inode, caller.pid)
        return made

    async def mknod(self, parent: int, name: bytes, mode: int, caller: Caller) -> Attr:
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise RefusedError("kgfs keeps files, folders and symbolic links; no devices, pipes or sockets.")
        folder = self._folder(parent, caller.pid)
        caller = _inherited(folder, caller)[1]
        return await self._make(
            folder, parent, name, lambda encoded: folder.make_file(encoded, stat.S_IMODE(mode), caller)
        )

    async def symlink(self, parent: int, name: bytes, target: bytes, caller: Caller) -> Attr:
        folder = self._folder(parent, caller.pid)
        caller = _inherited(folder, caller)[1]
        return await self._make(
            folder, parent, name, lambda encoded: folder.make_link(encoded, encode_name(target), caller)
        )

    async def create(self, parent: int, name: bytes, mode: int, flags: int, caller: Caller) -> tuple[int, Attr]:
        """Make and open a file. If another process made it meanwhile, open that file, unless O_EXCL forbids it."""
        folder = self._folder(parent, caller.pid)
        caller = _inherited(folder, caller)[1]
        handles: list[Handle] = []

        def make(encoded: str) -> File:
            node = folder.make_file(encoded, stat.S_IMODE(mode), caller)
            handles.append(open_node(node, flags & ~os.O_TRUNC))
            return node

        try:
            attr = await self._make(folder, parent, name, make, inline=True)
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
        return await self._threads.answer(node.target)

    # --------------------------------------------------------------------------------------- attributes

    @_by_inode
    async def getattr(self, inode: int) -> Attr:
        known = self.inodes.known(inode)
        if known.unlinked is not None:
            return known.unlinked
        try:
            attr = self.pinned.shown(inode, await self._threads.answer(known.node.attr_again))
        except MissingError as error:
            return self._left_open(inode, error)
        known.tell_size(attr.size)
        return attr

    def _left_open(self, inode: int, error: MissingError) -> Attr:
        """Return attributes of a removed node for processes that have it open. Raise ``error`` if none has."""
        if self.handles.has_folder(inode):
            return left_open(inode, FOLDER_MODE)
        known = self.inodes.get(inode)
        handle = self.handles.fixed(inode) if known is not None and known.opened else None
        if handle is None:
            raise error
        return left_open(inode, FILE_MODE, handle.size)

    @_by_inode
    async def setattr(self, inode: int, wanted: AttrChange, fh: int | None = None) -> Attr:
        """Change attributes. With ``fh``, a size is set through that handle (ftruncate)."""
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
        return await self.getattr(inode)

    def access(self, inode: int, mask: int) -> bool:
        """Return True. The kernel checks permissions itself and never asks (``default_permissions``)."""
        self.inodes.known(inode)
        return True

    @_by_inode
    async def listxattr(self, inode: int) -> list[bytes]:
        return [os.fsencode(name) for name in await self._threads.answer(self.inodes.node(inode).attributes)]

    @_by_inode
    async def getxattr(self, inode: int, name: bytes) -> bytes:
        return await self._threads.answer(partial(self.inodes.node(inode).attribute, _attribute_name(name)))

    async def setxattr(self, inode: int, name: bytes, value: bytes) -> None:
        node, attribute = self.inodes.node(inode), _attribute_name(name)
        await self._threads.change(lambda: node.set_attribute(attribute, value))

    async def removexattr(self, inode: int, name: bytes) -> None:
        self.inodes.node(inode).attribute(_attribute_name(name))
        raise UnsupportedError("kgfs keeps no extended attributes of others, and its own cannot be removed.")

    def statfs(self) -> Space:
        return self._space()

    # ------------------------------------------------------------------------------------------ folders

    async def opendir(self, inode: int, pid: int = 0) -> int:
        """Open a folder and return its handle. ``pid`` is as for ``lookup``."""
        return await self.folders.open(inode, pid)

    async def fsyncdir(self, fh: int) -> None:
        await self._threads.change(self.inodes.folder(self.handles.folder(fh).inode).sync)

    def releasedir(self, fh: int) -> None:
        self.handles.take_folder(fh)

    # ---------------------------------------------------------------------------------------- lifecycle

    def hold_changes(self) -> Gate:
        """Return a gate. From now on changes wait until it is opened; reads go on."""
        return self._threads.hold_changes()

    def add_stale(self, news: Iterable[Invalidation]) -> None:
        """Add invalidations that were found elsewhere."""
        self._stale.extend(news)

    def take_stale(self) -> list[Invalidation]:
        """Return the invalidations that were found since the last call. Each is returned once."""
        stale, self._stale = self._stale, []
        return stale

    def stop_waiting(self) -> None:
        """Stop all waiting: slow reads in progress fail, and new ones are refused. Changes run to their end."""
        self._threads.stop()

    # ------------------------------------------------------------------------------------------- inside

    def _look_up_again(self, inode: int) -> None:
        known = self.inodes.get(inode)
        self._stale += [StaleEntry(*place) for place in known.places()] if known is not None else []

    async def _make(
        self, folder: Folder, parent: int, name: bytes, make: Callable[[str], Node], *, inline: bool = False
    ) -> Attr:
        encoded = _encoded(name)
        # A change of this very entry may be reported while the thread is still making it. The kernel must not be told
        # to drop what it is about to learn: that would cut off a shell whose working directory is the new folder.
        believed_absent = self.inodes.take_absent(parent, name)

        def make_and_measure() -> tuple[Node, Attr]:
            node = make(encoded)
            return node, node.attr()

        try:
            change = self._threads.change_inline if inline else self._threads.change
            node, attr = await change(make_and_measure)
        except KgfsError:
            if believed_absent:
                self._stale.append(StaleEntry(parent, name))
            raise
        self.inodes.tell(node, attr.inode, parent, name, attr.size)
        return self._as_seen(attr, folder, parent)

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
    """Return the mode bit and the caller for a new entry by the set-group-id rule: new entries get the folder's
    group, and new folders get the bit too.
    """
    attr = folder.attr()
    if attr.mode & stat.S_ISGID:
        return stat.S_ISGID, replace(caller, gid=attr.gid)
    return 0, caller
