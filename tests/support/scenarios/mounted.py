"""The driver that lets the operating system do it, on a folder of a real mount."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

from tests.support.scenarios.driver import Stat

_libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100


def _stat(found: os.stat_result) -> Stat:
    return Stat(
        found.st_mode,
        found.st_ino,
        found.st_nlink,
        found.st_uid,
        found.st_gid,
        found.st_size,
        found.st_atime_ns,
        found.st_mtime_ns,
    )


class MountedFile:
    def __init__(self, descriptor: int, flags: int) -> None:
        self._descriptor = descriptor
        self._append = bool(flags & os.O_APPEND)

    def read(self, length: int, offset: int) -> bytes:
        return os.pread(self._descriptor, length, offset)

    def write(self, data: bytes, offset: int = 0) -> int:
        return os.write(self._descriptor, data) if self._append else os.pwrite(self._descriptor, data, offset)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def stat(self) -> Stat:
        return _stat(os.fstat(self._descriptor))

    def close(self) -> None:
        os.close(self._descriptor)


class MountedFolder:
    def __init__(self, path: bytes) -> None:
        self._scan: Iterator[os.DirEntry[bytes]] = os.scandir(path)

    def take(self, count: int) -> list[bytes]:
        names = []
        for entry in self._scan:
            names.append(entry.name)
            if len(names) == count:
                break
        return names

    def close(self) -> None:
        self._scan.close()  # type: ignore[attr-defined]


class MountDriver:
    def __init__(self, folder: Path) -> None:
        self._folder = os.fsencode(folder)

    def _at(self, path: bytes) -> bytes:
        return self._folder + b"/" + path if path else self._folder

    def open(self, path: bytes, flags: int, mode: int = 0o644) -> MountedFile:
        return MountedFile(os.open(self._at(path), flags | os.O_CLOEXEC, mode), flags)

    def open_folder(self, path: bytes) -> MountedFolder:
        return MountedFolder(self._at(path))

    def listdir(self, path: bytes = b"") -> list[bytes]:
        return os.listdir(self._at(path))

    def stat(self, path: bytes = b"") -> Stat:
        return _stat(os.lstat(self._at(path)))

    def mkdir(self, path: bytes, mode: int = 0o755) -> None:
        os.mkdir(self._at(path), mode)

    def rmdir(self, path: bytes) -> None:
        os.rmdir(self._at(path))

    def unlink(self, path: bytes) -> None:
        os.unlink(self._at(path))

    def rename(self, old: bytes, new: bytes, flags: int = 0) -> None:
        if _libc.renameat2(AT_FDCWD, self._at(old), AT_FDCWD, self._at(new), flags) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), old, None, new)

    def symlink(self, target: bytes, path: bytes) -> None:
        os.symlink(target, self._at(path))

    def readlink(self, path: bytes) -> bytes:
        return os.readlink(self._at(path))

    def link(self, old: bytes, new: bytes) -> None:
        os.link(self._at(old), self._at(new))

    def mkfifo(self, path: bytes) -> None:
        os.mkfifo(self._at(path))

    def chmod(self, path: bytes, mode: int) -> None:
        os.chmod(self._at(path), mode)

    def chown(self, path: bytes, uid: int, gid: int) -> None:
        os.lchown(self._at(path), uid, gid)

    def utime(self, path: bytes, atime_ns: int, mtime_ns: int) -> None:
        os.utime(self._at(path), ns=(atime_ns, mtime_ns), follow_symlinks=False)

    def truncate(self, path: bytes, size: int) -> None:
        os.truncate(self._at(path), size)

    def free_bytes(self) -> int:
        found = os.statvfs(self._folder)
        return found.f_bavail * found.f_frsize

    def getxattr(self, path: bytes, name: str) -> bytes:
        return os.getxattr(self._at(path), name, follow_symlinks=False)

    def listxattr(self, path: bytes) -> list[str]:
        return os.listxattr(self._at(path), follow_symlinks=False)

    def setxattr(self, path: bytes, name: str, value: bytes) -> None:
        os.setxattr(self._at(path), name, value, follow_symlinks=False)
