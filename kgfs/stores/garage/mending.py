"""Finding and mending what is wrong with a ledger's segments, line by line. The caller holds the ledger's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kgfs.errors import RotError
from kgfs.stores.garage.segments import decode_line, encode_line, lines, segments


@dataclass(frozen=True, slots=True)
class Segment:
    path: Path
    first: int
    entries: dict[int, bytes]
    """Those that are what was kept."""
    lost: tuple[int, ...]
    torn: int
    """Bytes of a torn tail."""


def survey(root: Path) -> Iterator[Segment]:
    """One segment in memory at a time."""
    found = segments(root)
    for index, (first, path) in enumerate(found):
        raw, last = path.read_bytes(), index == len(found) - 1
        try:
            whole = list(lines(path.name, raw, first, last=last))
        except RotError:
            entries = {seq: entry for seq, entry in map(_number, raw.splitlines(keepends=True)) if seq >= first}
            end = max(entries, default=first - 1) if last else found[index + 1][0] - 1
            yield Segment(path, first, entries, tuple(seq for seq in range(first, end + 1) if seq not in entries), 0)
        else:
            end = whole[-1].end if whole else 0
            yield Segment(path, first, {line.seq: line.entry for line in whole}, (), len(raw) - end)


def mended(segment: Segment, known: Callable[[int], bytes | None]) -> bytes | None:
    """The segment as it was kept; None where an entry stays lost."""
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
