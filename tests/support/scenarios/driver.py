"""What a scenario can do. Paths are bytes below a writable folder; failures are OSErrors, as a program sees them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Stat:
    mode: int
    inode: int
    nlink: int
    uid: int
    gid: int
    size: int
    atime_ns: int
    mtime_ns: int


class Opened(Protocol):
    def read(self, length: int, offset: int) -> bytes: ...

    def write(self, data: bytes, offset: int = 0) -> int:
        """With O_APPEND the offset is ignored."""
        ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None: ...

    def stat(self) -> Stat: ...

    def close(self) -> None: ...


class OpenedFolder(Protocol):
    """A listing under way."""

    def take(self, count: int) -> list[bytes]:
        """The next names, fewer at the end."""
        ...

    def close(self) -> None: ...


class Driver(Protocol):
    def open(self, path: bytes, flags: int, mode: int = 0o644) -> Opened: ...

    def open_folder(self, path: bytes) -> OpenedFolder: ...

    def listdir(self, path: bytes = b"") -> list[bytes]: ...

    def stat(self, path: bytes = b"") -> Stat:
        """Of the thing itself, links not followed."""
        ...

    def mkdir(self, path: bytes, mode: int = 0o755) -> None: ...

    def rmdir(self, path: bytes) -> None: ...

    def unlink(self, path: bytes) -> None: ...

    def rename(self, old: bytes, new: bytes, flags: int = 0) -> None:
        """``flags`` of renameat2(2)."""
        ...

    def symlink(self, target: bytes, path: bytes) -> None: ...

    def readlink(self, path: bytes) -> bytes: ...

    def link(self, old: bytes, new: bytes) -> None: ...

    def mkfifo(self, path: bytes) -> None: ...

    def chmod(self, path: bytes, mode: int) -> None: ...

    def chown(self, path: bytes, uid: int, gid: int) -> None: ...

    def utime(self, path: bytes, atime_ns: int, mtime_ns: int) -> None: ...

    def truncate(self, path: bytes, size: int) -> None: ...

    def free_bytes(self) -> int: ...

    def getxattr(self, path: bytes, name: str) -> bytes: ...

    def listxattr(self, path: bytes) -> list[str]: ...

    def setxattr(self, path: bytes, name: str, value: bytes) -> None: ...


def write_file(driver: Driver, path: bytes, content: bytes, flags: int | None = None) -> None:
    """As ``cat > path`` does."""
    opened = driver.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC if flags is None else flags)
    try:
        offset = 0
        while offset < len(content):
            offset += opened.write(content[offset : offset + 65536], offset)
    finally:
        opened.close()


def read_file(driver: Driver, path: bytes) -> bytes:
    opened = driver.open(path, os.O_RDONLY)
    try:
        parts = []
        offset = 0
        while part := opened.read(65536, offset):
            parts.append(part)
            offset += len(part)
        return b"".join(parts)
    finally:
        opened.close()
