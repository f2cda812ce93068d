"""The ledger as segment files in one folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgfs.errors import CorruptError, MissingError, StoreError
from kgfs.stores.garage.contract import Segment, SegmentReader
from kgfs.stores.garage.durable import make_folder, os_errors
from kgfs.stores.garage.mending import mended, survey
from kgfs.stores.garage.segments import check_entries, decode_line, encode_line, lines, segment_path, segments
from kgfs.stores.locks import locked_folder

SEGMENT_SIZE = 8 << 20
"""The size in bytes from which the next append begins a new segment."""

SEGMENT_MODE = 0o600
LONGEST_LINE = 64 << 10
"""Bytes in which the last line is looked for."""


@dataclass(frozen=True, slots=True)
class _Tail:
    """The position of the next entry: ``end`` bytes into the segment whose first entry has the number ``first``."""

    first: int
    end: int
    last: int
    """The number of the last whole entry."""


class SegmentLedger:
    """A ledger in the folder ``root``.

    An append is one write and one sync. A lock on the folder serialises the writers of all processes, and keeps
    readers away from a tail that is being repaired. The next append cuts off a torn tail; readers only stop before
    it. Reading holds one segment in memory.
    """

    def __init__(self, root: Path, segment_size: int = SEGMENT_SIZE) -> None:
        self._root = root
        self._segment_size = segment_size
        self._seen: _Tail | None = None
        self._durable_name = 0
        with os_errors(f"opening the ledger {root}"):
            if not root.is_dir() or not segments(root):  # a segment was made after its folder was durable
                make_folder(root)

    def append(self, first_seq: int, entries: Sequence[bytes]) -> int:
        check_entries(first_seq, entries)
        with os_errors(f"appending to the ledger {self._root}"), locked_folder(self._root) as folder:
            tail = self._tail()
            if first_seq > tail.last + 1:
                raise StoreError(
                    f"the ledger {self._root} ends with entry {tail.last}, so {first_seq} cannot follow: "
                    "entries between are lost. Restore the home from a backup (kgfs restore)."
                )
            if entries:
                new = entries[tail.last + 1 - first_seq :]
                if new and tail.end >= self._segment_size:
                    tail = _Tail(tail.last + 1, 0, tail.last)
                tail = self._write(tail, new, folder)
            self._seen = tail
            return tail.last

    def last_seq(self) -> int:
        with os_errors(f"reading the ledger {self._root}"), locked_folder(self._root, shared=True):
            self._seen = tail = self._tail()
            return tail.last

    def beyond(self, seq: int) -> bool:
        with os_errors(f"reading the ledger {self._root}"), locked_folder(self._root, shared=True):
            last = self._last_line()
        return (self.last_seq() if last is None else last) > seq

    def _last_line(self) -> int | None:
        """Return the number of the last entry by the last line alone, if it is whole; else None. The caller holds the lock.

        What stands before the line is not verified.
        """
        if not (found := segments(self._root)):
            return 0
        with found[-1][1].open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - LONGEST_LINE))
            raw = file.read()
        entry = decode_line(raw[raw.rfind(b"\n", 0, len(raw) - 1) + 1 :])
        return None if entry is None else entry[0]

    def faults(self) -> list[str]:
        with os_errors(f"reading the ledger {self._root}"), locked_folder(self._root, shared=True):
            found = []
            for segment in survey(self._root):
                if segment.lost:
                    found.append(f"{segment.path.name}: entries {segment.lost[0]} to {segment.lost[-1]}")
                if segment.torn:
                    found.append(f"torn: {segment.path.name}, {segment.torn} bytes")
            return found

    def mend(self, known: Callable[[int], bytes | None]) -> list[int]:
        with os_errors(f"mending the ledger {self._root}"), locked_folder(self._root) as folder:
            found = [segment for segment in survey(self._root) if segment.lost or segment.torn]
            whole = [(segment, mended(segment, known)) for segment in found]
            if lost := [seq for segment, raw in whole if raw is None for seq in segment.lost if known(seq) is None]:
                return lost
            for segment, raw in whole:
                fresh = segment.path.with_suffix(".mended")
                fresh.touch(SEGMENT_MODE)
                with fresh.open("wb") as file:
                    file.write(raw or b"")
                    file.flush()
                    os.fsync(file.fileno())
                fresh.rename(segment.path)
                os.fsync(folder)
            self._seen = None
            return []

    def replay(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        with os_errors(f"reading the ledger {self._root}"):
            found = segments(self._root)
            ends = [first for first, _ in found[1:]]
            expected = 0
            for index, (first, path) in enumerate(found):
                if index < len(ends) and ends[index] <= after + 1:
                    continue
                if first > (expected or after + 1) or (expected and first < expected):
                    raise CorruptError(f"the segment before {path.name} lacks entries from {expected or after + 1} on.")
                with locked_folder(self._root, shared=True):
                    raw = path.read_bytes()
                expected = first
                for line in lines(path.name, raw, first, last=index == len(ends)):
                    expected = line.seq + 1
                    if line.seq > after:
                        yield line.seq, line.entry

    def segments(self) -> list[Segment]:
        with os_errors(f"listing the ledger {self._root}"), locked_folder(self._root, shared=True):
            self._seen = tail = self._tail()
            sizes = ((first, path, path.stat()) for first, path in segments(self._root))
            return [
                Segment(path.name, tail.end if first == tail.first else found.st_size, found.st_mtime_ns)
                for first, path, found in sizes
            ]

    def open_segment(self, name: str) -> SegmentReader:
        with os_errors(f"opening the ledger {self._root}"):
            for first, path in segments(self._root):
                if path.name == name:
                    return FileSegment(self._root, path, first)
        raise MissingError(f"{name}: no such segment of the ledger.")

    def _tail(self) -> _Tail:
        """Return the current end of the ledger. The caller holds the lock.

        Read only what was appended since this object last looked.
        """
        found = segments(self._root)
        if not found:
            return _Tail(1, 0, 0)
        first, path = found[-1]
        tail = _Tail(first, 0, first - 1)
        if self._seen and self._seen.first == first and self._seen.end <= path.stat().st_size:
            tail = self._seen
        with path.open("rb") as file:
            file.seek(tail.end)
            raw = file.read()
        for line in lines(path.name, raw, tail.last + 1, last=True, offset=tail.end):
            tail = _Tail(first, line.end, line.seq)
        return tail

    def _write(self, tail: _Tail, entries: Sequence[bytes], folder: int) -> _Tail:
        """Write the entries at the tail, over any torn bytes, sync them, and return the new tail.

        Sync even without entries: the writer of the stored entries may have been killed before they were durable.
        """
        raw = b"".join(encode_line(seq, entry) for seq, entry in enumerate(entries, tail.last + 1))
        descriptor = os.open(segment_path(self._root, tail.first), os.O_WRONLY | os.O_CREAT, SEGMENT_MODE)
        try:
            os.fchmod(descriptor, SEGMENT_MODE)
            os.ftruncate(descriptor, tail.end)
            try:
                _write_all(descriptor, raw, tail.end)
                os.fsync(descriptor)
            except OSError:
                # Cut off the whole lines of a failed append, for they must not be taken for durable ones later.
                os.ftruncate(descriptor, tail.end)
                raise
        finally:
            os.close(descriptor)
        if self._durable_name != tail.first:
            os.fsync(folder)
            self._durable_name = tail.first
        return _Tail(tail.first, tail.end + len(raw), tail.last + len(entries))


class FileSegment:
    """A SegmentReader of one segment file. A read beyond the verified part verifies all lines that follow; each line
    is verified once."""

    def __init__(self, root: Path, path: Path, first: int) -> None:
        self._root = root
        self._path = path
        self._seq = first
        """The number of the first line that is not verified yet."""
        self._end = 0
        """The offset at which that line begins."""
        self._file = path.open("rb", buffering=0)

    def read_at(self, offset: int, length: int) -> bytes:
        with os_errors(f"reading {self._path.name}"):
            if offset + length > self._end:
                self._verify()
            return os.pread(self._file.fileno(), max(0, min(length, self._end - offset)), offset)

    def _verify(self) -> None:
        with locked_folder(self._root, shared=True):
            last = segments(self._root)[-1][1] == self._path
            raw = os.pread(self._file.fileno(), os.fstat(self._file.fileno()).st_size - self._end, self._end)
        for line in lines(self._path.name, raw, self._seq, last=last, offset=self._end):
            self._seq, self._end = line.seq + 1, line.end

    def close(self) -> None:
        self._file.close()


def _write_all(descriptor: int, raw: bytes, offset: int) -> None:
    view = memoryview(raw)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written
