"""The driver without a kernel: walks a Vfs on an event loop in a thread of its own and does what the kernel would do
before it asks (walking paths, checking types, placing appended data)."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from kgfs.errors import KgfsError, MissingError
from kgfs.tree.node import ROOT_INODE, Attr, AttrChange, Caller
from kgfs.tree.vfs import Vfs
from tests.support.scenarios.driver import Stat

T = TypeVar("T")

NOREPLACE = 1


def _stat(attr: Attr) -> Stat:
    return Stat(attr.mode, attr.inode, attr.nlink, attr.uid, attr.gid, attr.size, attr.atime, attr.mtime)


def _failure(number: int, path: bytes) -> OSError:
    return OSError(number, os.strerror(number), path)


class Loop:
    """A trio event loop in a thread, asked from outside."""

    def __init__(self) -> None:
        self._started = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._serve,), daemon=True)
        self._thread.start()
        self._started.wait()

    async def _serve(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._end = trio.Event()
        self._started.set()
        await self._end.wait()

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """KgfsErrors come out as the OSError a program would see."""
        try:
            return trio.from_thread.run(call, trio_token=self._token)
        except KgfsError as error:
            raise OSError(error.errno, str(error)) from error

    def stop(self) -> None:
        trio.from_thread.run_sync(self._end.set, trio_token=self._token)
        self._thread.join()


async def _given(answer: T) -> T:
    return answer


class MemoryFile:
    def __init__(self, driver: MemoryDriver, fh: int, inode: int, flags: int) -> None:
        self._driver, self._fh, self._inode, self._flags = driver, fh, inode, flags

    def _run(self, call: Callable[[], Awaitable[T]]) -> T:
        return self._driver.loop.run(call)

    def read(self, length: int, offset: int) -> bytes:
        if self._flags & os.O_ACCMODE == os.O_WRONLY:
            raise _failure(errno.EBADF, b"")
        return self._run(lambda: self._driver.vfs.files.read(self._fh, offset, length))

    def write(self, data: bytes, offset: int = 0) -> int:
        if self._flags & os.O_ACCMODE == os.O_RDONLY:
            raise _failure(errno.EBADF, b"")
        at = self.stat().size if self._flags & os.O_APPEND else offset
        return self._run(lambda: self._driver.vfs.files.write(self._fh, at, data))

    def truncate(self, size: int) -> None:
        self._run(lambda: self._driver.vfs.setattr(self._inode, AttrChange(size=size), self._fh))

    def sync(self) -> None:
        self._run(lambda: self._driver.vfs.files.fsync(self._fh))

    def stat(self) -> Stat:
        async def stat() -> Stat:
            return _stat(await self._driver.vfs.getattr(self._inode))

        return self._run(stat)

    def close(self) -> None:
        async def close() -> None:
            vfs = self._driver.vfs
            try:
                await vfs.files.flush(self._fh)
            finally:
                await vfs.files.release(self._fh)
                vfs.forget([(self._inode, 1)])

        self._run(close)


class MemoryFolder:
    def __init__(self, driver: MemoryDriver, fh: int, walked: list[int]) -> None:
        self._driver, self._fh, self._walked, self._position = driver, fh, walked, 0

    def take(self, count: int) -> list[bytes]:
        async def take() -> list[bytes]:
            vfs = self._driver.vfs
            listing, stale = await vfs.folders.listing(self._fh, self._position)
            names: list[bytes] = []
            while len(names) < count and self._position < len(listing):
                position, self._position = self._position, self._position + 1
                page = await vfs.folders.page(self._fh, position) if stale else [(position, listing.entry(position))]
                names += [entry.name for at, entry in page if at == position and entry is not None]
            return names

        return self._driver.loop.run(take)

    def close(self) -> None:
        async def close() -> None:
            self._driver.vfs.releasedir(self._fh)
            self._driver.vfs.forget([(inode, 1) for inode in self._walked])

        self._driver.loop.run(close)


class MemoryDriver:
    def __init__(self, loop: Loop, vfs: Vfs, folder: bytes = b"", caller: Caller | None = None) -> None:
        self.loop, self.vfs, self._base = loop, vfs, folder
        self._caller = caller or Caller(os.getuid(), os.getgid(), os.getpid())

    # Inside the loop: paths. Every walk counts lookups, and gives them back at its end.

    async def _walk(self, path: bytes) -> tuple[int, Attr, list[int]]:
        """Inode, attributes and the lookups taken on the way."""
        inode, taken = ROOT_INODE, []
        attr = await self.vfs.getattr(inode)
        for part in b"/".join((self._base, path)).split(b"/"):
            if not part:
                continue
            if not stat.S_ISDIR(attr.mode):
                self.vfs.forget([(one, 1) for one in taken])
                raise _failure(errno.ENOTDIR, path)
            try:
                found = await self.vfs.lookup(inode, part)
            except KgfsError:
                self.vfs.forget([(one, 1) for one in taken])
                raise
            if found is None:
                self.vfs.forget([(one, 1) for one in taken])
                raise _failure(errno.ENOENT, path)
            inode, attr = found.inode, found
            taken.append(inode)
        return inode, attr, taken

    async def _found(self, parent: int, name: bytes) -> Attr | None:
        try:
            return await self.vfs.lookup(parent, name)
        except MissingError as error:  # absent, too, and not to be remembered
            if type(error) is not MissingError:
                raise
            return None

    def _at(self, path: bytes, call: Callable[[int, Attr], Awaitable[T]]) -> T:
        async def run() -> T:
            inode, attr, taken = await self._walk(path)
            try:
                return await call(inode, attr)
            finally:
                self.vfs.forget([(one, 1) for one in taken])

        return self.loop.run(run)

    def _in(self, path: bytes, call: Callable[[int, bytes, Attr | None], Awaitable[T]]) -> T:
        """Call with the parent's inode, the last part and what stands there."""
        folder, _, name = path.rpartition(b"/")

        async def run(parent: int, attr: Attr) -> T:
            if not stat.S_ISDIR(attr.mode):
                raise _failure(errno.ENOTDIR, path)
            found = await self._found(parent, name)
            try:
                return await call(parent, name, found)
            finally:
                if found is not None:
                    self.vfs.forget([(found.inode, 1)])

        return self._at(folder, run)

    # What a program can do.

    def open(self, path: bytes, flags: int, mode: int = 0o644) -> MemoryFile:
        async def call(parent: int, name: bytes, found: Attr | None) -> MemoryFile:
            if found is None and not flags & os.O_CREAT:
                raise _failure(errno.ENOENT, path)
            if found is None:
                fh, made = await self.vfs.create(parent, name, stat.S_IFREG | mode, flags, self._caller)
                return MemoryFile(self, fh, made.inode, flags)
            if flags & os.O_CREAT and flags & os.O_EXCL:
                raise _failure(errno.EEXIST, path)
            if stat.S_ISDIR(found.mode) and flags & os.O_ACCMODE != os.O_RDONLY:
                raise _failure(errno.EISDIR, path)
            fh = await self.vfs.files.open(found.inode, flags)
            await self.vfs.lookup(parent, name)  # the open file holds its inode
            return MemoryFile(self, fh, found.inode, flags)

        return self._in(path, call)

    def open_folder(self, path: bytes) -> MemoryFolder:
        async def run() -> MemoryFolder:
            inode, _, taken = await self._walk(path)
            return MemoryFolder(self, await self.vfs.opendir(inode), taken)

        return self.loop.run(run)

    def listdir(self, path: bytes = b"") -> list[bytes]:
        folder = self.open_folder(path)
        try:
            return folder.take(1 << 30)
        finally:
            folder.close()

    def stat(self, path: bytes = b"") -> Stat:
        async def call(inode: int, attr: Attr) -> Stat:
            return _stat(await self.vfs.getattr(inode))

        return self._at(path, call)

    def mkdir(self, path: bytes, mode: int = 0o755) -> None:
        self._make(path, lambda parent, name: self.vfs.mkdir(parent, name, stat.S_IFDIR | mode, self._caller))

    def symlink(self, target: bytes, path: bytes) -> None:
        self._make(path, lambda parent, name: self.vfs.symlink(parent, name, target, self._caller))

    def mkfifo(self, path: bytes) -> None:
        self._make(path, lambda parent, name: self.vfs.mknod(parent, name, stat.S_IFIFO | 0o644, self._caller))

    def _make(self, path: bytes, make: Callable[[int, bytes], Awaitable[Attr]]) -> None:
        async def call(parent: int, name: bytes, found: Attr | None) -> None:
            if found is not None:
                raise _failure(errno.EEXIST, path)
            self.vfs.forget([((await make(parent, name)).inode, 1)])

        self._in(path, call)

    def rmdir(self, path: bytes) -> None:
        async def call(parent: int, name: bytes, found: Attr | None) -> None:
            if found is None:
                raise _failure(errno.ENOENT, path)
            if not stat.S_ISDIR(found.mode):
                raise _failure(errno.ENOTDIR, path)
            await self.vfs.rmdir(parent, name)

        self._in(path, call)

    def unlink(self, path: bytes) -> None:
        async def call(parent: int, name: bytes, found: Attr | None) -> None:
            if found is None:
                raise _failure(errno.ENOENT, path)
            if stat.S_ISDIR(found.mode):
                raise _failure(errno.EISDIR, path)
            await self.vfs.unlink(parent, name)

        self._in(path, call)

    def rename(self, old: bytes, new: bytes, flags: int = 0) -> None:
        async def from_to(parent: int, name: bytes, found: Attr | None) -> None:
            if found is None:
                raise _failure(errno.ENOENT, old)
            folder, _, new_name = new.rpartition(b"/")
            goal, _, taken = await self._walk(folder)
            try:
                there = await self._found(goal, new_name)
                if there is not None:
                    taken.append(there.inode)
                    if flags & NOREPLACE:
                        raise _failure(errno.EEXIST, new)
                    if stat.S_ISDIR(there.mode) and not stat.S_ISDIR(found.mode):
                        raise _failure(errno.EISDIR, new)
                    if stat.S_ISDIR(found.mode) and not stat.S_ISDIR(there.mode):
                        raise _failure(errno.ENOTDIR, new)
                await self.vfs.rename(parent, name, goal, new_name, flags)
            finally:
                self.vfs.forget([(inode, 1) for inode in taken])

        self._in(old, from_to)

    def readlink(self, path: bytes) -> bytes:
        return self._at(path, lambda inode, _: self.vfs.readlink(inode))

    def link(self, old: bytes, new: bytes) -> None:
        async def call(inode: int, _: Attr) -> None:
            folder, _slash, name = new.rpartition(b"/")
            parent, _attr, taken = await self._walk(folder)
            try:
                await self.vfs.link(inode, parent, name)
            finally:
                self.vfs.forget([(one, 1) for one in taken])

        self._at(old, call)

    def _change(self, path: bytes, wanted: AttrChange) -> None:
        self._at(path, lambda inode, _: self.vfs.setattr(inode, wanted))

    def chmod(self, path: bytes, mode: int) -> None:
        self._change(path, AttrChange(mode=mode))

    def chown(self, path: bytes, uid: int, gid: int) -> None:
        self._change(path, AttrChange(uid=uid, gid=gid))

    def utime(self, path: bytes, atime_ns: int, mtime_ns: int) -> None:
        self._change(path, AttrChange(atime=atime_ns, mtime=mtime_ns))

    def truncate(self, path: bytes, size: int) -> None:
        self._change(path, AttrChange(size=size))

    def free_bytes(self) -> int:
        space = self.loop.run(lambda: _given(self.vfs.statfs()))
        return space.available * space.block

    def getxattr(self, path: bytes, name: str) -> bytes:
        return self._at(path, lambda inode, _: self.vfs.getxattr(inode, name.encode()))

    def listxattr(self, path: bytes) -> list[str]:
        return [name.decode() for name in self._at(path, lambda inode, _: self.vfs.listxattr(inode))]

    def setxattr(self, path: bytes, name: str, value: bytes) -> None:
        self._at(path, lambda inode, _: self.vfs.setxattr(inode, name.encode(), value))
