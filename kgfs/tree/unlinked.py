"""Attributes of a file or folder whose name is gone, for those who still have it open: the node itself cannot tell any more."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import replace
from typing import NoReturn

from kgfs.errors import GoneError, MissingError
from kgfs.tree.node import Attr, AttrChange


def unlinked(attr: Attr) -> Attr:
    return replace(attr, nlink=0, ctime=time.time_ns())


def left_open(inode: int, mode: int, size: int = 0) -> Attr:
    """Of a derived file, or of a folder, that left while it was open: a file has the bytes it had."""
    now = time.time_ns()
    return Attr(inode, mode, 0, os.getuid(), os.getgid(), size, now, now, now)


def written_to(attr: Attr, end: int) -> Attr:
    """After a write that ended at ``end``."""
    return resized(attr, max(attr.size, end))


def resized(attr: Attr, size: int) -> Attr:
    """Longer or shorter, or neither: its bytes were changed now."""
    now = time.time_ns()
    return replace(attr, size=size, mtime=now, ctime=now)


def changed(attr: Attr, wanted: AttrChange) -> Attr:
    if wanted.size is not None:
        attr = resized(attr, wanted.size)
    changes = {name: value for name in ("uid", "gid", "atime", "mtime") if (value := getattr(wanted, name)) is not None}
    if wanted.mode is not None:
        changes["mode"] = stat.S_IFMT(attr.mode) | stat.S_IMODE(wanted.mode)
    return replace(attr, ctime=time.time_ns(), **changes)


def raise_gone(error: MissingError) -> NoReturn:
    """For a question about what the kernel found before. When that is gone by now something else may have taken its place,
    as when a program opens a file in the moment in which another is renamed over it: it must never see ENOENT."""
    if type(error) is not MissingError:
        raise error
    raise GoneError(str(error)) from error
