"""Overwrite deleted data of a SQLite database within its pages: an alternative to VACUUM that needs no space for a
second file.

``python -m kgfs.stores.page_scrub DATABASE`` runs as a process of its own, because a process that opens and closes
the database file by itself loses SQLite's locks on it. It holds SQLite's write lock, so no other process writes
meanwhile. Others may read, because only bytes that belong to no row change. A kill at any point leaves an intact
database, and the command can be run again. The file keeps its length. The format is described at
https://www.sqlite.org/fileformat2.html."""

from __future__ import annotations

import os
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from kgfs.errors import BusyError, KgfsError, NoSpaceError, StoreError
from kgfs.stores import timing

HEADER = 100
"""Bytes of the file header, which precedes the first page's own content."""
LOCK_BYTE = 1 << 30
"""The offset of a byte that SQLite uses for locking. The page with this byte holds no data."""
INTERIOR_INDEX, INTERIOR_TABLE, LEAF_INDEX, LEAF_TABLE = 2, 5, 10, 13
ATTEMPTS = 100
"""Attempts to find the log empty while others write."""
EXIT_FULL, EXIT_BUSY = 3, 4

Span = tuple[int, int]


def scrub_pages(path: Path) -> None:
    """Overwrite all deleted data in a database file whose log is empty. The caller has no transaction open on it.
    Raises BusyError if other processes read or write for ``timing.WAL_BUSY`` seconds, NoSpaceError if the disk has no
    space for one page, and StoreError if the file is damaged. After an error the call can be repeated."""
    words = [sys.executable, "-m", __name__, str(path)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        kinds: dict[int, type[KgfsError]] = {EXIT_FULL: NoSpaceError, EXIT_BUSY: BusyError}
        raise kinds.get(done.returncode, StoreError)(
            f"{path}: what was removed cannot be overwritten: {done.stderr.strip()[-500:]}"
        )


def _scrub(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=timing.WAL_BUSY, isolation_level=None)) as connection:
        _hold_with_empty_log(connection, path)
        roots = [root for (root,) in connection.execute("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")]
        # Not closed here: closing it would drop SQLite's locks of this process. The end of the process closes it.
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        _Pages(descriptor).overwrite([1, *roots])
        os.fsync(descriptor)
        # This commit makes other connections drop their cached pages, which they could otherwise write back.
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version={version}")
        connection.execute("COMMIT")


def _hold_with_empty_log(connection: sqlite3.Connection, path: Path) -> None:
    """Begin a write transaction while the log is empty. The database is then complete in its file, and no other
    process writes until the transaction ends. Raises BusyError if others keep the log in use."""
    log = path.with_name(f"{path.name}-wal")
    for _ in range(ATTEMPTS):
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        connection.execute("BEGIN IMMEDIATE")
        if not busy and (not log.exists() or log.stat().st_size == 0):
            return
        connection.execute("ROLLBACK")
        if busy:
            break
    raise BusyError(f"another process has been using it for {timing.WAL_BUSY:.0f} s.")


class _Pages:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        header = os.pread(descriptor, HEADER, 0)
        size = struct.unpack_from(">H", header, 16)[0]
        self._size = 65536 if size == 1 else size
        self._usable = self._size - header[20]
        self._count = os.fstat(descriptor).st_size // self._size
        self._free = struct.unpack_from(">I", header, 32)[0]
        if struct.unpack_from(">I", header, 52)[0]:
            raise StoreError("it is one with auto_vacuum.")
        self._seen = bytearray(self._count + 1)

    def overwrite(self, roots: list[int]) -> None:
        """Scrub all pages of the B-trees with these roots and of the free list. Raises StoreError if a page
        belongs to neither."""
        waiting = list(roots)
        while waiting:
            waiting += self._tree_page(waiting.pop())
        number = self._free
        while number:
            number = self._free_page(number)
        lock_page = LOCK_BYTE // self._size + 1
        if any(not self._seen[number] for number in range(1, self._count + 1) if number != lock_page):
            raise StoreError("a page of it belongs to nothing. Run kgfs check --deep.")

    def _read(self, number: int) -> bytes:
        if not 1 <= number <= self._count or self._seen[number]:
            raise StoreError(f"page {number} is not what it should be. Run kgfs check --deep.")
        self._seen[number] = 1
        return os.pread(self._descriptor, self._size, (number - 1) * self._size)

    def _keep(self, number: int, page: bytes, live: list[Span]) -> None:
        """Overwrite with zeros all bytes of a page outside of the spans ``live``. Bytes after the usable size are
        SQLite's own and are kept."""
        fresh = bytearray(self._size)
        fresh[self._usable :] = page[self._usable :]
        for start, end in live:
            fresh[start:end] = page[start:end]
        if fresh != page:
            os.pwrite(self._descriptor, fresh, (number - 1) * self._size)

    def _tree_page(self, number: int) -> list[int]:
        """Scrub a page of a B-tree and return the numbers of its child pages."""
        page = self._read(number)
        top = HEADER if number == 1 else 0
        kind, free, cells = struct.unpack_from(">BHH", page, top)
        if kind not in (INTERIOR_INDEX, INTERIOR_TABLE, LEAF_INDEX, LEAF_TABLE):
            raise StoreError(f"page {number} is not what it should be. Run kgfs check --deep.")
        is_leaf = kind in (LEAF_INDEX, LEAF_TABLE)
        pointers = top + (8 if is_leaf else 12)
        live = [(0, pointers + 2 * cells), *_free_blocks(page, free)]
        below = [] if is_leaf else list(struct.unpack_from(">I", page, top + 8))
        for (at,) in struct.iter_unpack(">H", page[pointers : pointers + 2 * cells]):
            end, child, overflow, rest = self._cell(page, at, kind)
            live.append((at, max(end, at + 4)))
            if child:
                below.append(child)
            if overflow:
                self._overflow(overflow, rest)
        self._keep(number, page, live)
        return below

    def _cell(self, page: bytes, at: int, kind: int) -> tuple[int, int, int, int]:
        """Return (end of the cell, its child page or 0, its first overflow page or 0, bytes of the payload on
        overflow pages)."""
        child = 0
        if kind in (INTERIOR_INDEX, INTERIOR_TABLE):
            child, at = struct.unpack_from(">I", page, at)[0], at + 4
        if kind == INTERIOR_TABLE:
            return _varint(page, at)[1], child, 0, 0
        payload, at = _varint(page, at)
        if kind == LEAF_TABLE:
            at = _varint(page, at)[1]
        here = self._local(payload, kind)
        if here == payload:
            return at + here, child, 0, 0
        return at + here + 4, child, struct.unpack_from(">I", page, at + here)[0], payload - here

    def _local(self, payload: int, kind: int) -> int:
        """Return the bytes of a payload that are stored in the cell itself."""
        usable = self._usable
        most = usable - 35 if kind == LEAF_TABLE else (usable - 12) * 64 // 255 - 23
        least = (usable - 12) * 32 // 255 - 23
        if payload <= most:
            return payload
        here = least + (payload - least) % (usable - 4)
        return here if here <= most else least

    def _overflow(self, number: int, left: int) -> None:
        while number:
            page = self._read(number)
            here = min(left, self._usable - 4)
            self._keep(number, page, [(0, 4 + here)])
            left -= here
            number = struct.unpack_from(">I", page)[0]

    def _free_page(self, number: int) -> int:
        """Scrub a trunk page of the free list and its leaves. Return the number of the next trunk page, or 0."""
        page = self._read(number)
        following, count = struct.unpack_from(">II", page)
        for (leaf,) in struct.iter_unpack(">I", page[8 : 8 + 4 * count]):
            self._keep(leaf, self._read(leaf), [])
        self._keep(number, page, [(0, 8 + 4 * count)])
        return int(following)


def _free_blocks(page: bytes, at: int) -> Iterator[Span]:
    """Yield the first four bytes of each free block of a page as a span; they link to the next block."""
    while at:
        yield at, at + 4
        at = struct.unpack_from(">H", page, at)[0]


def _varint(page: bytes, at: int) -> tuple[int, int]:
    """Return (value of the varint, offset of its end)."""
    value = 0
    for position in range(at, at + 8):
        byte = page[position]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, position + 1
    return value << 8 | page[at + 8], at + 9


if __name__ == "__main__":
    try:
        _scrub(Path(sys.argv[1]))
    except (StoreError, BusyError, OSError, sqlite3.Error, struct.error, IndexError) as error:
        print(error, file=sys.stderr)
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        is_busy = isinstance(error, BusyError) or code == sqlite3.SQLITE_BUSY
        raise SystemExit(EXIT_FULL if code == sqlite3.SQLITE_FULL else EXIT_BUSY if is_busy else 1) from None
