"""Contents read from or put into the bucket, kept on the local disk for all processes of a home.

``<folder>/<first two of h>/<h>`` holds the sums of the object with hash of key ``h`` and behind them its content, if that is
one block; ``<h>.<n>`` holds block ``n`` of a longer one. What is being written, what a kill or a power cut left half and what rotted is noticed by its sums and counts as absent. Nothing here
is needed: whatever cannot be written is not cached.
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

from kgfs.stores.garage.contract import Sums
from kgfs.stores.garage.durable import make_folder, os_errors
from kgfs.stores.garage.s3.names import key_hash
from kgfs.stores.garage.sidecar import decode_sums, encode_sums
from kgfs.stores.locks import locked
from kgfs.stores.spare import lacking

PAGE = 4096
"""What a file takes of the disk is a multiple of it."""
LARGE = 256 << 10
"""Bytes from which on the room of a file is asked for at once, which takes a quarter off what writing a MiB costs on ext4."""
FRESH = 60.0
"""Seconds in which a second use of a file is not noted again."""
_STATE = struct.Struct("<qq")
_LENGTH_BUT_SIZE = len(encode_sums(Sums(0, "0" * 64, ("0" * 16,)))) - 1


@dataclass(frozen=True, slots=True)
class Fetched:
    """What is to be a file of the cache."""

    content: bytes | memoryview
    round: int
    """Of the cache, before it was fetched."""

    @property
    def room(self) -> int:
        """Bytes that it takes of the disk."""
        return room(len(self.content))


class Cache:
    """At most ``limit`` bytes of disk; the files used longest ago go first. 0 keeps nothing.

    Any number of threads and processes: one lock guards the count of bytes. Bytes are counted before they are written;
    a count that a kill left too high is put right by the next sweep.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._top = str(folder)
        self._limit = limit
        if limit:
            with os_errors(f"opening the cache {folder}"):
                if not folder.parent.is_dir():
                    make_folder(folder.parent)
                folder.mkdir(mode=0o700, exist_ok=True)  # not durable, as nothing here is
                descriptor = os.open(f"{self._top}/state", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                os.close(descriptor)

    @property
    def keeps(self) -> bool:
        return self._limit > 0

    def round(self) -> int:
        """To be asked before bytes are fetched, and given to :meth:`keep`: what was deleted meanwhile is not kept."""
        if not self._limit:
            return 0
        try:
            descriptor = os.open(f"{self._top}/state", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return -1  # somebody removed the cache: then nothing is kept
        try:
            return _read_state(descriptor)[1]
        finally:
            os.close(descriptor)

    def kept(self, key: str) -> tuple[Sums, bytes | None] | None:
        """The sums of an object and, if it has only one block, that."""
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
        path = self._path(key, number)
        raw = self._read(path)
        if raw is None or xxhash.xxh3_64_hexdigest(raw) == sums.blocks[number]:
            return raw
        _remove(path)
        return None

    def at_hand(self, key: str, size: int) -> bytes | None:
        """The content of an object of one block, if it is in the kernel's pages and has ``size`` bytes; verified by nobody
        yet."""
        if not self._limit:
            return None
        try:
            descriptor = os.open(self._path(key), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        start = length_before(size)
        # One byte more shows what was appended.
        buffer = bytearray(start + size + 1)
        try:
            found = os.preadv(descriptor, [buffer], 0, os.RWF_NOWAIT)
        except OSError:  # it would wait, or cannot tell
            return None
        finally:
            os.close(descriptor)
        return bytes(buffer[start:-1]) if found == start + size else None

    def block_at_hand(self, key: str, number: int, buffer: memoryview) -> bool:
        """Whether ``buffer`` was filled with a block of that size, which was in the kernel's pages; verified by nobody yet.
        That it was used is not noted, which might wait for the disk."""
        file = self.open_block(key, number)
        if file is None:
            return False
        with file:
            return is_at_hand(file, buffer)

    def open_block(self, key: str, number: int) -> FileIO | None:
        """If it is cached, verified by nobody yet; the caller closes it."""
        if self._limit:
            with suppress(OSError):
                return FileIO(self._path(key, number))
        return None

    def open_blocks(self, key: str, count: int) -> dict[int, FileIO]:
        """Those of the first ``count`` blocks that are cached, as :meth:`open_block`."""
        found = ((number, self.open_block(key, number)) for number in range(count))
        return {number: file for number, file in found if file is not None}

    def keep_sums(self, key: str, sums: Sums, round_: int) -> None:
        self._keep(self._path(key), encode_sums(sums), round_)

    def keep_whole(self, key: str, sums: Sums, content: bytes, round_: int) -> None:
        """An object of one block: in one file, for most of what it costs to keep is to make a file."""
        self._keep(self._path(key), encode_sums(sums) + content, round_)

    def keep_block(self, key: str, number: int, block: bytes | memoryview, round_: int) -> None:
        self._keep(self._path(key, number), block, round_)

    def forget(self, key: str) -> None:
        """Nothing of the object is cached when this returns, nor will be by who is fetching it now; not by others either,
        where this one keeps nothing itself."""
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
        """As :meth:`forget`, of all objects: which of the files here is whose is not told by their names."""
        if not self._is_there():
            return
        with os_errors(f"clearing the cache {self._folder}"), self._locked() as state:
            for _, _, path in self._files():
                path.unlink(missing_ok=True)
            _write_state(state, 0, _read_state(state)[1] + 1)

    def close(self) -> None:
        """Nothing is held."""

    def leave_room(self) -> None:
        """Keep as much less as the disk is fuller than it should be."""
        if not self._limit:
            return
        with suppress(OSError):
            if (missing := lacking(self._top)) > 0:
                with self._locked() as state:
                    used, now = _read_state(state)
                    if used:
                        _write_state(state, self._sweep(max(0, used - missing)), now)

    def used(self) -> int:
        """Bytes of disk that count."""
        return sum(room(size) for _, size, _ in self._files())

    def _path(self, key: str, number: int | None = None) -> str:
        """A plain string: making paths would take longer than looking for them."""
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
            return None  # not cached, or not readable any more: the bucket has it

    def _keep(self, path: str, content: bytes | memoryview, round_: int) -> None:
        self._write({path: Fetched(content, round_)})

    def _write(self, files: Mapping[str, Fetched]) -> None:
        """Of those whose round it still is as many as there is room for. Written in their places while nobody can forget
        them: half of one is as good as nothing to who reads it."""
        with suppress(OSError), self._locked() as state:  # a full disk, most likely: the cache does without
            used, now = _read_state(state)
            files = {path: file for path, file in files.items() if file.round == now and file.room <= self._limit}
            if not files:
                return
            _write_state(state, used + sum(file.room for file in files.values()), now)
            free = -lacking(self._top)
            for path, file in files.items():
                if used + file.room > self._limit:
                    swept = self._sweep(max(0, self._limit * 9 // 10 - file.room))
                    used, free = swept, free + used - swept
                if file.room <= free and _made(path, file.content):
                    used, free = used + file.room, free - file.room
            _write_state(state, used, now)

    def _sweep(self, wanted: int) -> int:
        """Remove what was used longest ago until ``wanted`` bytes are left; how many are. Holding the lock."""
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


def is_at_hand(file: FileIO, buffer: memoryview) -> bool:
    """Whether ``buffer`` was filled from the start of a file by what is in the kernel's pages."""
    try:
        return os.preadv(file.fileno(), [buffer], 0, os.RWF_NOWAIT) == len(buffer)
    except (OSError, ValueError):  # it would wait, cannot tell, or was closed meanwhile
        return False


def length_before(size: int) -> int:
    """Bytes of the sums that stand before a content of one block of this size."""
    return _LENGTH_BUT_SIZE + len(str(size))


def _parted(raw: bytes) -> tuple[Sums | None, bytes]:
    """Sums and, of an object of one block, what stands behind them: its content, verified by nobody yet."""
    *head, content = raw.split(b"\n", 3)
    sums = decode_sums(b"\n".join((*head, b""))) if len(head) == 3 else None
    return (sums, content) if sums and len(sums.blocks) == 1 else (decode_sums(raw), b"")


def _made(path: str, content: bytes | memoryview) -> bool:
    """Whether there is a new file with that content; not where one is kept already, or where it cannot be written."""
    try:
        descriptor = _new(path)
    except OSError:
        return False
    try:
        if len(content) >= LARGE:
            with suppress(OSError):  # where there is none of it to be had at once; a full disk tells the writing too
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
    except FileNotFoundError:  # the first one in its folder
        Path(path).parent.mkdir(0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def _note_use(file: FileIO) -> None:
    if time.time() - os.fstat(file.fileno()).st_mtime > FRESH:
        os.utime(file.fileno())


def room(size: int) -> int:
    """Bytes that a file of this size takes of the disk."""
    return -(-size // PAGE) * PAGE


def _read_state(descriptor: int) -> tuple[int, int]:
    """(bytes counted, rounds of forgetting)."""
    raw = os.pread(descriptor, _STATE.size, 0)
    return _STATE.unpack(raw) if len(raw) == _STATE.size else (0, 0)


def _write_state(descriptor: int, used: int, round_: int) -> None:
    os.pwrite(descriptor, _STATE.pack(used, round_), 0)
