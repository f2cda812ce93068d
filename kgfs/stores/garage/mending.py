"""Find and repair corrupt lines of a ledger's segment files. The caller holds the ledger's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kgfs.errors import CorruptError
from kgfs.stores.garage.segments import decode_line, encode_line, lines, segments


@dataclass(frozen=True, slots=True)
class Segment:
    """The state of one segment file."""

    path: Path
    first: int
    entries: dict[int, bytes]
    """The intact entries by number."""
    lost: tuple[int, ...]
    """The numbers of the entries that are corrupt or missing."""
    torn: int
    """The length of a torn tail in bytes."""


def survey(root: Path) -> Iterator[Segment]:
    """Yield the state of every segment in order. One segment is in memory at a time."""
    found = segments(root)
    for index, (first, path) in enumerate(found):
        raw, last = path.read_bytes(), index == len(found) - 1
        try:
            whole = list(lines(path.name, raw, first, last=last))
        except CorruptError:
            entries = {seq: entry for seq, entry in map(_number, raw.splitlines(keepends=True)) if seq >= first}
            end = max(entries, default=first - 1) if last else found[index + 1][0] - 1
            yield Segment(path, first, entries, tuple(seq for seq in range(first, end + 1) if seq not in entries), 0)
        else:
            end = whole[-1].end if whole else 0
            yield Segment(path, first, {line.seq: line.entry for line in whole}, (), len(raw) - end)


def mended(segment: Segment, known: Callable[[int], bytes | None]) -> bytes | None:
    """Return the content of the segment with the lost entries restored, or None if ``known`` lacks one of them."""
    out = dict(segment.entries)
    for seq in segment.lost:
        entry = known(seq)
        if entry is None:
            return None
        out[seq] = entry
    return b"".join(encode_line(seq, out[seq]) for seq in sorted(out))


def _number(line: bytes) -> tuple[int, bytes]:
    found = decode_line(line)
    return found or (0, b"")
