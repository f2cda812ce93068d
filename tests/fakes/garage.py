"""A garage that lives and dies with its process: the fake that tests of higher rooms stand on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock

from kgfs.errors import BadInputError, ExistsError, MissingError, OvertakenError, StoreError
from kgfs.stores.garage.contract import GarageEntry, GarageObjects, Ledger, Reader, Segment, SegmentReader, Sums
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.garage.listing import check_key
from kgfs.stores.garage.prefixes import PrefixObjects
from kgfs.stores.garage.reader import end_of_span
from kgfs.stores.garage.segments import check_entries, encode_line, segment_path
from kgfs.stores.garage.sums import sums_of


class MemoryReader:
    def __init__(self, content: bytes, sums: Sums) -> None:
        self._content = content
        self._sums = sums

    @property
    def sums(self) -> Sums:
        return self._sums

    def read_at(self, offset: int, length: int) -> bytes:
        return self._content[offset : end_of_span(self._sums.size, offset, length)]

    def cached(self, offset: int, length: int) -> bytes | None:
        return self.read_at(offset, length)

    def close(self) -> None:
        self._content = b""


class MemoryObjects:
    """Objects in a dictionary. Nothing rots here, and nothing is durable."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[bytes, Sums]] = {}
        self._kept_at: dict[str, int] = {}
        self._lock = Lock()

    def put(self, key: str, content: bytes | Path, sums: Sums | None = None, *, move: bool = False) -> Sums:
        check_key(key)
        with os_errors(f"keeping {key}"):
            raw = content.read_bytes() if isinstance(content, Path) else content
            sums = sums or sums_of(raw)
            if sums.size != len(raw):
                raise BadInputError(f"{key}: {len(raw)} bytes, but the sums say {sums.size}.")
            with self._lock:
                _, kept = self._kept.setdefault(key, (raw, sums))
                self._kept_at.setdefault(key, time.time_ns())
            if kept.sha256 != sums.sha256:
                raise ExistsError(f"{key}: another content is kept under this key.")
            if move and isinstance(content, Path):
                content.unlink()
        return kept

    def stat(self, key: str) -> Sums:
        return self._find(key)[1]

    def exists(self, key: str) -> bool:
        check_key(key)
        return key in self._kept

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        content, sums = self._find(key)
        return content[start : end_of_span(sums.size, start, length)]

    def open(self, key: str) -> Reader:
        return MemoryReader(*self._find(key))

    def cached(self, key: str, sha256: str, size: int) -> bytes | None:
        content, sums = self._kept.get(key, (b"", None))
        return content if sums is not None and sums.sha256 == sha256 else None

    def delete(self, key: str) -> bool:
        check_key(key)
        with self._lock:
            self._kept_at.pop(key, None)
            return self._kept.pop(key, None) is not None

    def has_sums(self, key: str) -> bool:
        return key in self._kept

    def salvage(self, key: str) -> bytes:
        return self._find(key)[0]

    def sweep(self, begun_before: float | None = None) -> None:
        """Nothing outlives a process."""

    def left_over(self) -> Iterator[tuple[str, float]]:
        return iter(())

    def forget(self, key: str) -> None:
        """There is no cache."""

    def leave_room(self) -> None:
        """Everything here is needed."""

    def keys(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        with self._lock:
            found = sorted((key, sums.size) for key, (_, sums) in self._kept.items() if key.startswith(prefix))
        yield from found

    def names(self, folder: str = "") -> list[str]:
        prefix = f"{'/'.join(check_key(folder))}/" if folder else ""
        with self._lock:
            below = [key[len(prefix) :] for key in self._kept if key.startswith(prefix)]
        return sorted({head + slash for head, slash, _ in (rest.partition("/") for rest in below)})

    def entry(self, path: str) -> GarageEntry:
        check_key(path)
        with self._lock:
            if path in self._kept:
                return GarageEntry(False, self._kept[path][1].size, self._kept_at[path])
            below = [at for key, at in self._kept_at.items() if key.startswith(f"{path}/")]
        if not below:
            raise MissingError(f"{path}: neither an object nor a folder.")
        return GarageEntry(True, 0, max(below))

    def _find(self, key: str) -> tuple[bytes, Sums]:
        check_key(key)
        try:
            return self._kept[key]
        except KeyError:
            raise MissingError(f"{key}: no such object.") from None


_SEGMENT = segment_path(Path(), 1).name


class MemorySegment:
    def __init__(self, content: Callable[[], bytes]) -> None:
        self._content = content

    def read_at(self, offset: int, length: int) -> bytes:
        return self._content()[offset : offset + length]

    def close(self) -> None:
        """Nothing is held."""


class MemoryLedger:
    def __init__(self) -> None:
        self._entries: list[bytes] = []
        self._appended_at = 0
        self._lock = Lock()

    def append(self, first_seq: int, entries: Sequence[bytes]) -> int:
        check_entries(first_seq, entries)
        with self._lock:
            last = len(self._entries)
            if first_seq > last + 1:
                raise StoreError(f"the ledger ends with entry {last}, so {first_seq} cannot follow.")
            kept = self._entries[first_seq - 1 :][: len(entries)]
            if list(entries[: len(kept)]) != kept:
                raise OvertakenError(f"the ledger has other entries from {first_seq} on.")
            self._entries.extend(entries[last + 1 - first_seq :])
            self._appended_at = time.time_ns()
            return len(self._entries)

    def beyond(self, seq: int) -> bool:
        return self.last_seq() > seq

    def mend(self, known: Callable[[int], bytes | None]) -> list[int]:
        return []

    def faults(self) -> list[str]:
        return []

    def last_seq(self) -> int:
        return len(self._entries)

    def replay(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        with self._lock:
            found = self._entries[after:]
        yield from enumerate(found, after + 1)

    def segments(self) -> list[Segment]:
        content = self._content()
        return [Segment(_SEGMENT, len(content), self._appended_at)] if content else []

    def open_segment(self, name: str) -> SegmentReader:
        if name != _SEGMENT or not self._entries:
            raise MissingError(f"{name}: no such segment.")
        return MemorySegment(self._content)

    def _content(self) -> bytes:
        with self._lock:
            return b"".join(encode_line(seq, entry) for seq, entry in enumerate(self._entries, 1))


class MemoryGarage:
    def __init__(self) -> None:
        self._objects = PrefixObjects(MemoryObjects())
        self._ledger = MemoryLedger()

    @property
    def objects(self) -> GarageObjects:
        return self._objects

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    def taken_over_by(self) -> str:
        return ""

    def confirm_owner(self) -> None:
        """Nobody else has it."""

    def close(self) -> None:
        """Nothing to do."""
