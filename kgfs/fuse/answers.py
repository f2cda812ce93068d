"""Convert types of the tree to types of pyfuse3."""

from __future__ import annotations

import stat

import pyfuse3

from kgfs.fuse import timing
from kgfs.tree.listing import Listing
from kgfs.tree.node import ROOT_INODE, Attr, Handle
from kgfs.tree.vfs import Space


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
