"""A local disk cache of contents that were read from or put into the bucket, shared by all processes of a home.

``<folder>/<first two of h>/<h>`` holds the checksums of the object whose key has the hash ``h``, followed by its
content if that is one block. ``<h>.<n>`` holds block ``n`` of a longer object. Files that are incomplete, because
they are being written or because of a kill or power loss, and corrupt files are detected by the checksums and count
as absent. The cache holds nothing that is needed: a file that cannot be written is not cached.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from io import FileIO
from pathlib import Path

import xxhash

from kgfs.stores import timing
from kgfs.stores.disk_reserve import missing_free
from kgfs.stores.garage.contract import Sums
from kgfs.stores.garage.durable import make_folder, os_errors
from kgfs.stores.garage.s3.names import key_hash
from kgfs.stores.garage.sums import decode_sums, encode_sums
from kgfs.stores.locks import locked

PAGE = 4096
"""The disk's unit of allocation in bytes: a file takes a multiple of it."""
_STATE = struct.Struct("<qq")
_LENGTH_BUT_SIZE = len(encode_sums(Sums(0, "0" * 64, ("0" * 16,)))) - 1


class Cache:
    """A cache of at most ``limit`` bytes of disk space. The least recently used files are removed first. A limit of 0
    disables it.

    Any number of threads and processes may use it: one lock guards the count of bytes. Bytes are counted before they
    are written. A kill may leave the count too high; the next sweep corrects it.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._top = str(folder)
        self._limit = limit
        if limit:
            with os_errors(f"opening the cache {folder}"):
                if not folder.parent.is_dir():
                    make_folder(folder.parent)
                folder.mkdir(mode=0o700, exist_ok=True)  # not durable, for nothing in the cache is
                descriptor = os.open(f"{self._top}/state", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                os.close(descriptor)

    def round(self) -> int:
        """Return the current round of the cache, a number that grows whenever an object is forgotten.

        Ask for it before fetching bytes, and pass it to the ``keep_…`` methods: they store nothing if an object was
        forgotten meanwhile. The round is 0 if the cache is disabled, and -1 if its files were removed.
        """
        if not self._limit:
            return 0
        try:
            descriptor = os.open(f"{self._top}/state", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return -1  # the cache was removed: store nothing
        try:
            return _read_state(descriptor)[1]
        finally:
            os.close(descriptor)

    def kept(self, key: str) -> tuple[Sums, bytes | None] | None:
        """Return the checksums of an object and, if it has exactly one block, the verified content. None if they are
        not cached."""
        path = self._path(key)
        raw = self._read(path)
        if raw is None:
            return None
        sums, content = _parted(raw)
        if sums is None or (content and xxhash.xxh3_64_hexdigest(content) != sums.blocks[0]):
            Path(path).unlink(missing_ok=True)
            return None
        return sums, content or None

    def block(self, key: str, number: int, sums: Sums) -> bytes | None:
        """Return a verified block of an object, or None if it is not cached."""
        path = self._path(key, number)
        raw = self._read(path)
        if raw is None or xxhash.xxh3_64_hexdigest(raw) == sums.blocks[number]:
            return raw
        Path(path).unlink(missing_ok=True)
        return None

    def cached(self, key: str, size: int) -> bytes | None:
        """Return the content of an object of one block if it is in the page cache and has ``size`` bytes, else None.

        The content is not verified.
        """
        if not self._limit:
            return None
        try:
            descriptor = os.open(self._path(key), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        start = _LENGTH_BUT_SIZE + len(str(size))
        # One byte more detects appended bytes.
        buffer = bytearray(start + size + 1)
        try:
            found = os.preadv(descriptor, [buffer], 0, os.RWF_NOWAIT)
        except OSError:  # the read would block, or the kernel cannot tell
            return None
        finally:
            os.close(descriptor)
        return bytes(buffer[start:-1]) if found == start + size else None

    def keep_sums(self, key: str, sums: Sums, round_: int) -> None:
        """Cache the checksums of an object."""
        self._keep(self._path(key), encode_sums(sums), round_)

    def keep_whole(self, key: str, sums: Sums, content: bytes, round_: int) -> None:
        """Cache an object of one block with its checksums in one file, for most of the cost is creating a file."""
        self._keep(self._path(key), encode_sums(sums) + content, round_)

    def keep_block(self, key: str, number: int, block: bytes | memoryview, round_: int) -> None:
        """Cache one block of an object."""
        self._keep(self._path(key, number), block, round_)

    def holds(self, key: str) -> bool:
        """Return whether anything of an object is cached, whole or not."""
        return Path(self._path(key)).exists()

    def forget(self, key: str) -> None:
        """Remove an object from the cache, and invalidate fetches that are under way.

        When this returns nothing of the object is cached, and no thread or process that is fetching it now will cache
        it. If this cache is disabled, the call still does so for the other processes of the home. Raise StoreError if
        the cache's disk fails.
        """
        if not (self._limit or (self._folder / "state").exists()):
            return
        path = Path(self._path(key))
        with os_errors(f"clearing {key} from the cache"), self._locked() as state:
            used, round_ = _read_state(state)
            for file in path.parent.glob(f"{path.name}*"):
                with suppress(FileNotFoundError):
                    used -= room(file.stat().st_size)
                    file.unlink()
            _write_state(state, max(0, used), round_ + 1)

    def leave_room(self) -> None:
        """Remove as many bytes of the cache as the disk lacks of its free reserve."""
        if not self._limit:
            return
        with suppress(OSError):
            if (missing := missing_free(self._top)) > 0:
                with self._locked() as state:
                    used, now = _read_state(state)
                    if used:
                        _write_state(state, self._sweep(max(0, used - missing)), now)

    def used(self) -> int:
        """Return the disk space of all cache files in bytes."""
        return sum(room(size) for _, size, _ in self._files())

    def _path(self, key: str, number: int | None = None) -> str:
        """Return the path of a cache file as a string, for making a Path takes longer than looking the file up."""
        name = key_hash(key)
        return f"{self._top}/{name[:2]}/{name}" if number is None else f"{self._top}/{name[:2]}/{name}.{number}"

    def _read(self, path: str) -> bytes | None:
        if not self._limit:
            return None
        try:
            with FileIO(path) as file:
                if time.time() - os.fstat(file.fileno()).st_mtime > timing.CACHE_FRESH:
                    os.utime(file.fileno())  # it was used
                return file.readall()
        except OSError:
            return None  # not cached, or no longer readable: the bucket has the content

    def _keep(self, path: str, content: bytes | memoryview, round_: int) -> None:
        """Write a file if its round is still current and there is space for it.

        It is written under its final name while the lock keeps other processes from forgetting. A reader treats an
        incomplete file as absent.
        """
        size = room(len(content))
        if size > self._limit:
            return
        with suppress(OSError), self._locked() as state:  # most likely a full disk: skip caching
            used, now = _read_state(state)
            if round_ != now or Path(path).exists():
                return
            if used + size > self._limit:
                used = self._sweep(max(0, self._limit * 9 // 10 - size))
            _write_state(state, used + size, now)
            if size > -missing_free(self._top) or not _made(path, content):
                _write_state(state, used, now)

    def _sweep(self, wanted: int) -> int:
        """Remove the least recently used files until at most ``wanted`` bytes are left, and return how many are left.
        The caller holds the lock."""
        found = sorted(self._files())
        used = sum(room(size) for _, size, _ in found)
        for _, size, path in found:
            if used <= wanted:
                break
            path.unlink(missing_ok=True)
            used -= room(size)
        return used

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """Yield (time of last use, size in bytes, path) of every file."""
        for path in self._folder.glob("*/*"):
            with suppress(FileNotFoundError):
                found = path.stat()
                yield found.st_mtime, found.st_size, path

    def _locked(self) -> AbstractContextManager[int]:
        return locked(f"{self._top}/state")


def _parted(raw: bytes) -> tuple[Sums | None, bytes]:
    """Return the checksums in a cache file and, for an object of one block, the content after them. The content is
    not verified."""
    *head, content = raw.split(b"\n", 3)
    sums = decode_sums(b"\n".join((*head, b""))) if len(head) == 3 else None
    return (sums, content) if sums and len(sums.blocks) == 1 else (decode_sums(raw), b"")


def _made(path: str, content: bytes | memoryview) -> bool:
    """Create a file with this content, and return whether that succeeded."""
    try:
        with open(path, "xb", buffering=0, opener=_for_the_owner) as file:
            if file.write(content) == len(content):
                return True
    except FileNotFoundError:  # the first file in its folder
        Path(path).parent.mkdir(0o700, exist_ok=True)
        return _made(path, content)
    except OSError:
        pass
    Path(path).unlink(missing_ok=True)
    return False


def _for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def room(size: int) -> int:
    """Return the disk space in bytes of a file of ``size`` bytes."""
    return -(-size // PAGE) * PAGE


def _read_state(descriptor: int) -> tuple[int, int]:
    """Return (bytes counted, round)."""
    raw = os.pread(descriptor, _STATE.size, 0)
    return _STATE.unpack(raw) if len(raw) == _STATE.size else (0, 0)


def _write_state(descriptor: int, used: int, round_: int) -> None:
    os.pwrite(descriptor, _STATE.pack(used, round_), 0)
