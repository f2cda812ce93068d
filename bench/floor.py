"""The thinnest filesystem pyfuse3 can carry: what the speed of kgfs is compared with.

``python -m bench.floor MOUNTPOINT PLAN [--writes DIR]`` mounts the tree that PLAN lists (see ``bench.speed.plan``) from
memory: attributes prepared before the first request, contents all one filler, long timeouts, pages kept, extended
attributes refused for good. What is written goes to files in DIR, without hashing or syncing. Requests are counted, and
``.kgfs/metrics.prom`` tells them as kgfs does, so that both can be asked alike. Says ``ready`` once it serves.
"""

from __future__ import annotations

import argparse
import errno
import os
import stat
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyfuse3
import trio
from pyfuse3 import EntryAttributes, FileInfo, FUSEError, ReaddirToken, RequestContext, SetattrFields, StatvfsData

from bench.speed.plan import FOLDER, LINK, Planned, read_plan

TIMEOUT = 3600.0
FILLER_SIZE = 1 << 20
FILLER = (b"The finger that points at the moon is not the moon, and no line of this file says more.\n" * 24000)[
    : 2 * FILLER_SIZE
]
METRICS = b"metrics.prom"


class Floor(pyfuse3.Operations):
    supports_dot_lookup = False
    enable_writeback_cache = False

    def __init__(self, plan: Sequence[Planned], writes: Path) -> None:
        super().__init__()
        self._writes = writes
        self._attrs: dict[int, EntryAttributes] = {}
        self._children: dict[int, dict[bytes, EntryAttributes]] = {}
        self._listed: dict[int, list[tuple[bytes, EntryAttributes]]] = {}
        self._targets: dict[int, bytes] = {}
        self._files: dict[int, int] = {}
        self._counts: Counter[str] = Counter()
        self._absent = EntryAttributes()
        self._absent.st_ino = 0
        self._absent.entry_timeout = TIMEOUT
        self._last = 1
        self._new(pyfuse3.ROOT_INODE, stat.S_IFDIR | 0o755, 0, 0)
        folders = {"": pyfuse3.ROOT_INODE}
        for planned in plan:
            above, _, name = planned.path.rpartition("/")
            attr = self._add(folders[above], os.fsencode(name), planned)
            if planned.kind == FOLDER:
                folders[planned.path] = attr.st_ino
        metrics = self._add(self._add(1, b".kgfs", Planned(".kgfs", FOLDER)).st_ino, METRICS, Planned(""))
        self._metrics = metrics.st_ino

    def _new(self, inode: int, mode: int, size: int, mtime: int) -> EntryAttributes:
        attr = EntryAttributes()
        attr.st_ino, attr.st_mode, attr.st_size, attr.st_nlink = inode, mode, size, 1
        attr.st_uid, attr.st_gid = os.getuid(), os.getgid()
        attr.st_blocks, attr.st_blksize = (size + 511) // 512, 4096
        attr.st_mtime_ns = attr.st_ctime_ns = attr.st_atime_ns = mtime
        attr.entry_timeout = attr.attr_timeout = TIMEOUT
        self._attrs[inode] = attr
        if stat.S_ISDIR(mode):
            self._children[inode] = {}
            self._listed[inode] = []
        return attr

    def _add(self, parent: int, name: bytes, planned: Planned) -> EntryAttributes:
        self._last += 1
        kind = {FOLDER: stat.S_IFDIR | 0o755, LINK: stat.S_IFLNK | 0o777}.get(planned.kind, stat.S_IFREG | 0o644)
        attr = self._new(self._last, kind, planned.size, planned.mtime)
        if planned.kind == LINK:
            self._targets[self._last] = b"x" * planned.size
        self._children[parent][name] = attr
        self._listed[parent].append((name, attr))
        return attr

    # --------------------------------------------------------------------------------- names, attributes

    async def lookup(self, parent_inode: int, name: bytes, ctx: RequestContext) -> EntryAttributes:
        self._counts["lookup"] += 1
        return self._children[parent_inode].get(name, self._absent)

    async def forget(self, inode_list: Sequence[tuple[int, int]]) -> None:
        self._counts["forget"] += 1

    async def getattr(self, inode: int, ctx: RequestContext) -> EntryAttributes:
        self._counts["getattr"] += 1
        return self._attrs[inode]

    async def setattr(
        self, inode: int, attr: EntryAttributes, fields: SetattrFields, fh: int | None, ctx: RequestContext
    ) -> EntryAttributes:
        self._counts["setattr"] += 1
        known = self._attrs[inode]
        if fields.update_size:
            os.truncate(self._writes / str(inode), attr.st_size)
            known.st_size = attr.st_size
        if fields.update_mtime:
            known.st_mtime_ns = attr.st_mtime_ns
        if fields.update_mode:
            known.st_mode = attr.st_mode
        return known

    async def access(self, inode: int, mode: int, ctx: RequestContext) -> bool:
        return True

    async def readlink(self, inode: int, ctx: RequestContext) -> bytes:
        self._counts["readlink"] += 1
        return self._targets[inode]

    async def statfs(self, ctx: RequestContext) -> StatvfsData:
        data = StatvfsData()
        data.f_bsize = data.f_frsize = 4096
        data.f_blocks = data.f_bfree = data.f_bavail = 1 << 30
        data.f_files = data.f_ffree = data.f_favail = 1 << 30
        data.f_namemax = 255
        return data

    async def getxattr(self, inode: int, name: bytes, ctx: RequestContext) -> bytes:
        self._counts["getxattr"] += 1
        raise FUSEError(errno.ENOTSUP)

    async def listxattr(self, inode: int, ctx: RequestContext) -> Sequence[bytes]:
        self._counts["listxattr"] += 1
        return ()

    async def mkdir(self, parent_inode: int, name: bytes, mode: int, ctx: RequestContext) -> EntryAttributes:
        self._counts["mkdir"] += 1
        return self._add(parent_inode, name, Planned("", FOLDER))

    async def unlink(self, parent_inode: int, name: bytes, ctx: RequestContext) -> None:
        self._counts["unlink"] += 1
        attr = self._children[parent_inode].pop(name)
        self._listed[parent_inode].remove((name, attr))
        (self._writes / str(attr.st_ino)).unlink(missing_ok=True)

    # ----------------------------------------------------------------------------------------- contents

    async def open(self, inode: int, flags: int, ctx: RequestContext) -> FileInfo:
        self._counts["open"] += 1
        return FileInfo(fh=inode, keep_cache=inode != self._metrics, direct_io=inode == self._metrics)

    async def create(
        self, parent_inode: int, name: bytes, mode: int, flags: int, ctx: RequestContext
    ) -> tuple[FileInfo, EntryAttributes]:
        self._counts["create"] += 1
        attr = self._add(parent_inode, name, Planned(""))
        path = self._writes / str(attr.st_ino)
        self._files[attr.st_ino] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return FileInfo(fh=attr.st_ino, keep_cache=True), attr

    async def read(self, fh: int, off: int, size: int) -> bytes:
        self._counts["read"] += 1
        if fh == self._metrics:
            return self._text()[off : off + size]
        size = min(size, self._attrs[fh].st_size - off)
        start = off % FILLER_SIZE
        return FILLER[start : start + size]

    async def write(self, fh: int, off: int, buf: bytes) -> int:
        self._counts["write"] += 1
        os.pwrite(self._files[fh], buf, off)
        attr = self._attrs[fh]
        attr.st_size = max(attr.st_size, off + len(buf))
        return len(buf)

    async def flush(self, fh: int) -> None:
        self._counts["flush"] += 1

    async def fsync(self, fh: int, datasync: bool) -> None:
        self._counts["fsync"] += 1

    async def release(self, fh: int) -> None:
        self._counts["release"] += 1
        descriptor = self._files.pop(fh, None)
        if descriptor is not None:
            os.close(descriptor)

    # ------------------------------------------------------------------------------------------ folders

    async def opendir(self, inode: int, ctx: RequestContext) -> int:
        self._counts["opendir"] += 1
        return inode

    async def readdir(self, fh: int, start_id: int, token: ReaddirToken) -> None:
        self._counts["readdir"] += 1
        listed = self._listed[fh]
        for position in range(start_id, len(listed)):
            name, attr = listed[position]
            if not pyfuse3.readdir_reply(token, name, attr, position + 1):
                return

    async def releasedir(self, fh: int) -> None:
        self._counts["releasedir"] += 1

    def _text(self) -> bytes:
        lines = (f'kgfs_fuse_requests_total{{operation="{name}"}} {n}' for name, n in sorted(self._counts.items()))
        return ("\n".join(lines) + "\n").encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mountpoint", type=Path)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--writes", type=Path, required=True)
    arguments = parser.parse_args()
    floor = Floor(read_plan(arguments.plan), arguments.writes)
    pyfuse3.init(floor, str(arguments.mountpoint), {*pyfuse3.default_options, "fsname=floor", "subtype=floor"})
    print("ready", flush=True)
    try:
        trio.run(pyfuse3.main)
    finally:
        pyfuse3.close(unmount=False)


if __name__ == "__main__":
    main()
