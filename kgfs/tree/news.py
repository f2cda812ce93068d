"""What the kernel must be told to forget."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StaleEntry:
    """A name in a folder, present or absent, is not what the kernel was told."""

    parent: int
    name: bytes


@dataclass(frozen=True, slots=True)
class StaleInode:
    """The attributes of an inode, and with ``data`` its contents, are not what the kernel was told."""

    inode: int
    data: bool = False


Invalidation = StaleEntry | StaleInode
