"""Compute attributes of a removed file or folder for processes that still have it open, since the node itself can no
longer be read.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import replace
from typing import NoReturn

from kgfs.errors import GoneError, MissingError
from kgfs.tree.node import Attr, AttrChange


def unlinked(attr: Attr) -> Attr:
    """Return the attributes after the removal of the last name at the present time."""
    return replace(attr, nlink=0, ctime=time.time_ns())


def left_open(inode: int, mode: int, size: int = 0) -> Attr:
    """Return attributes of a derived file, or of a folder, that was removed while it was open. A file has the
    ``size`` of the bytes that are open.
    """
    now = time.time_ns()
    return Attr(inode, mode, 0, os.getuid(), os.getgid(), size, now, now, now)


def written_to(attr: Attr, end: int) -> Attr:
    """Return the attributes after a write that ended at offset ``end``."""
    return resized(attr, max(attr.size, end))


def resized(attr: Attr, size: int) -> Attr:
    """Return the attributes after a change of the bytes at the present time, with the new size."""
    now = time.time_ns()
    return replace(attr, size=size, mtime=now, ctime=now)


def changed(attr: Attr, wanted: AttrChange) -> Attr:
    """Return the attributes after a setattr."""
    if wanted.size is not None:
        attr = resized(attr, wanted.size)
    changes = {name: value for name in ("uid", "gid", "atime", "mtime") if (value := getattr(wanted, name)) is not None}
    if wanted.mode is not None:
        changes["mode"] = stat.S_IFMT(attr.mode) | stat.S_IMODE(wanted.mode)
    return replace(attr, ctime=time.time_ns(), **changes)


def raise_gone(error: MissingError) -> NoReturn:
    """Raise GoneError for a request about a node that the kernel found earlier. An error of a subclass of
    MissingError is raised unchanged.

    A new node may have taken the name of the missing node, for example if a program opens a file while another file
    is renamed over it. The program must never see ENOENT then.
    """
    if type(error) is not MissingError:
        raise error
    raise GoneError(str(error)) from error
