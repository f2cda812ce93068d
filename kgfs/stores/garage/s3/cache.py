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
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import xxhash

from kgfs.stores import timing
from kgfs.stores.disk_reserve import missing_free
from kgfs.stores.garage.contract import Sums
from kgfs.stores.garage.durable import make_folder, os_errors
from kgfs.stores.garage.s3.names import key_hash
from kgfs.stores.garage.sidecar import decode_sums, encode_sums
from kgfs.stores.locks import locked

PAGE = 4096
"""The disk's unit of allocation in bytes: a file takes a multiple of it."""
LARGE = 256 << 10
"""The size in bytes from which the disk space of a file is allocated in one call. That saves a quarter of the time of
writing a MiB on ext4."""
_STATE = struct.Struct("<qq")
_LENGTH_BUT_SIZE = len(encode_sums(Sums(0, "0" * 64, ("0" * 16,)))) - 1


@dataclass(frozen=True, slots=True)
class Fetched:
    """The content of a cache file that is to be written."""

    content: bytes | memoryview
    round: int
    """The cache's round before the content was fetched (see :meth:`Cache.round`)."""

    @property
    def room(self) -> int:
        """Return the disk space of the file in bytes."""
        return room(len(self.content))


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

    @property
    def keeps(self) -> bool:
        """Return whether the cache stores anything: its limit is not 0."""
        return self._limit > 0

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
            _remove(path)
            return None
        return sums, content or None

    def block(self, key: str, number: int, sums: Sums) -> bytes | None:
        """Return a verified block of an object, or None if it is not cached."""
        path = self._path(key, number)
        raw = self._read(path)
        if raw is None or xxhash.xxh3_64_hexdigest(raw) == sums.blocks[number]:
            return raw
        _remove(path)
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
        start = length_before(size)
        # One byte more detects appended bytes.
        buffer = bytearray(start + size + 1)
        try:
            found = os.preadv(descriptor, [buffer], 0, os.RWF_NOWAIT)
        except OSError:  # the read would block, or the kernel cannot tell
            return None
        finally:
            os.close(descriptor)
        return bytes(buffer[start:-1]) if found == start + size else None

    def block_cached(self, key: str, number: int, buffer: memoryview) -> bool:
        """Fill ``buffer`` with a block of that size if the block is in the page cache, and return whether it was
        filled.

        The block is not verified. The use is not recorded, since recording might wait for the disk.
        """
        file = self.open_block(key, number)
        if file is None:
            return False
        with file:
            return is_cached(file, buffer)

    def open_block(self, key: str, number: int) -> FileIO | None:
        """Return the open file of a cached block, or None. The block is not verified. The caller closes the file."""
        if self._limit:
            with suppress(OSError):
                return FileIO(self._path(key, number))
        return None

    def open_blocks(self, key: str, count: int) -> dict[int, FileIO]:
        """Return the open files, by number, of those of the first ``count`` blocks that are cached. See
        :meth:`open_block`."""
        found = ((number, self.open_block(key, number)) for number in range(count))
        return {number: file for number, file in found if file is not None}

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
        if not self._is_there():
            return
        path = Path(self._path(key))
        with os_errors(f"clearing {key} from the cache"), self._locked() as state:
            used, round_ = _read_state(state)
            for file in path.parent.glob(f"{path.name}*"):
                with suppress(FileNotFoundError):
                    used -= room(file.stat().st_size)
                    file.unlink()
            _write_state(state, max(0, used), round_ + 1)

    def clear(self) -> None:
        """Remove all objects from the cache, as :meth:`forget` removes one. File names do not tell to which object a
        file belongs."""
        if not self._is_there():
            return
        with os_errors(f"clearing the cache {self._folder}"), self._locked() as state:
            for _, _, path in self._files():
                path.unlink(missing_ok=True)
            _write_state(state, 0, _read_state(state)[1] + 1)

    def close(self) -> None:
        """Do nothing: the cache holds nothing open."""

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
                _note_use(file)
                return file.readall()
        except OSError:
            return None  # not cached, or no longer readable: the bucket has the content

    def _keep(self, path: str, content: bytes | memoryview, round_: int) -> None:
        self._write({path: Fetched(content, round_)})

    def _write(self, files: Mapping[str, Fetched]) -> None:
        """Write those files whose round is still current, as many as there is space for.

        The files are written under their final names while the lock keeps other processes from forgetting. A reader
        treats an incomplete file as absent.
        """
        with suppress(OSError), self._locked() as state:  # most likely a full disk: skip caching
            used, now = _read_state(state)
            files = {path: file for path, file in files.items() if file.round == now and file.room <= self._limit}
            if not files:
                return
            _write_state(state, used + sum(file.room for file in files.values()), now)
            free = -missing_free(self._top)
            for path, file in files.items():
                if used + file.room > self._limit:
                    swept = self._sweep(max(0, self._limit * 9 // 10 - file.room))
                    used, free = swept, free + used - swept
                if file.room <= free and _made(path, file.content):
                    used, free = used + file.room, free - file.room
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
        for entry in self._folder.glob("*"):
            if entry.name == "state":
                continue
            for path in entry.iterdir() if entry.is_dir() else (entry,):
                with suppress(FileNotFoundError):
                    found = path.stat()
                    yield found.st_mtime, found.st_size, path

    def _is_there(self) -> bool:
        return self.keeps or (self._folder / "state").exists()

    def _locked(self) -> AbstractContextManager[int]:
        return locked(f"{self._top}/state")


def is_cached(file: FileIO, buffer: memoryview) -> bool:
    """Fill ``buffer`` from the start of a file if the bytes are in the page cache, and return whether it was
    filled."""
    try:
        return os.preadv(file.fileno(), [buffer], 0, os.RWF_NOWAIT) == len(buffer)
    except (OSError, ValueError):  # the read would block, the kernel cannot tell, or the file was closed meanwhile
        return False


def length_before(size: int) -> int:
    """Return the length in bytes of the checksums that precede a content of ``size`` bytes that is one block."""
    return _LENGTH_BUT_SIZE + len(str(size))


def _parted(raw: bytes) -> tuple[Sums | None, bytes]:
    """Return the checksums in a cache file and, for an object of one block, the content after them. The content is
    not verified."""
    *head, content = raw.split(b"\n", 3)
    sums = decode_sums(b"\n".join((*head, b""))) if len(head) == 3 else None
    return (sums, content) if sums and len(sums.blocks) == 1 else (decode_sums(raw), b"")


def _made(path: str, content: bytes | memoryview) -> bool:
    """Create a file with this content, and return whether it was created. False if the file exists, or if it cannot
    be written."""
    try:
        descriptor = _new(path)
    except OSError:
        return False
    try:
        if len(content) >= LARGE:
            with suppress(OSError):  # not every filesystem supports it; a full disk fails the write as well
                os.posix_fallocate(descriptor, 0, len(content))
        if os.write(descriptor, content) == len(content):
            return True
    except OSError:
        pass
    finally:
        os.close(descriptor)
    _remove(path)
    return False


def _new(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:  # the first file in its folder
        Path(path).parent.mkdir(0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def _note_use(file: FileIO) -> None:
    if time.time() - os.fstat(file.fileno()).st_mtime > timing.CACHE_FRESH:
        os.utime(file.fileno())


def room(size: int) -> int:
    """Return the disk space in bytes of a file of ``size`` bytes."""
    return -(-size // PAGE) * PAGE


def _read_state(descriptor: int) -> tuple[int, int]:
    """Return (bytes counted, round)."""
    raw = os.pread(descriptor, _STATE.size, 0)
    return _STATE.unpack(raw) if len(raw) == _STATE.size else (0, 0)


def _write_state(descriptor: int, used: int, round_: int) -> None:
    os.pwrite(descriptor, _STATE.pack(used, round_), 0)
