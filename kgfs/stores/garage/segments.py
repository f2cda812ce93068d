"""The line format of ledger segments: ``<xxh3 of the rest> <seq> <entry>``, text that ``grep`` can search.

The file name of a segment is the number of its first entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import xxhash

from kgfs.errors import BadInputError, CorruptError

_SUFFIX = ".log"


@dataclass(frozen=True, slots=True)
class Line:
    """One verified line of a segment."""

    seq: int
    entry: bytes
    end: int
    """The offset in the segment after the line."""


def check_entries(first_seq: int, entries: Sequence[bytes]) -> None:
    """Raise BadInputError for entries that no ledger can hold: a number below 1, an empty entry, or one with LF or
    NUL. JSON needs neither LF nor NUL."""
    if first_seq < 1:
        raise BadInputError(f"ledger entries are numbered from 1, not {first_seq}.")
    for seq, entry in enumerate(entries, first_seq):
        if not entry or b"\n" in entry or b"\0" in entry:
            raise BadInputError(f"ledger entry {seq} is not one line of JSON.")


def segment_path(folder: Path, first: int) -> Path:
    """Return the file of the segment that begins with entry ``first``."""
    return folder / f"{first:016d}{_SUFFIX}"


def segments(folder: Path) -> list[tuple[int, Path]]:
    """Return (number of the first entry, file) of the segments in a folder, in order."""
    found = (path for path in folder.iterdir() if path.suffix == _SUFFIX and path.stem.isdigit())
    return sorted((int(path.stem), path) for path in found)


def encode_line(seq: int, entry: bytes) -> bytes:
    """Return the line for an entry, with its checksum and a final LF."""
    body = b"%d %s" % (seq, entry)
    return b"%s %s\n" % (xxhash.xxh3_64_hexdigest(body).encode(), body)


def lines(segment: str, raw: bytes, seq: int, *, last: bool, offset: int = 0) -> Iterator[Line]:
    """Yield the lines in ``raw``: the part of a segment from ``offset`` on, which begins with entry ``seq``.

    In the last segment of a ledger (``last``) a torn tail ends the iteration. A crash tears only what was not
    acknowledged: the end of an append is missing or is zeros. So a bad line is a torn tail if no good line follows
    and the segment does not end with a line end. Every other bad line is corruption: raise CorruptError.
    """
    start = 0
    while start < len(raw):
        end = raw.find(b"\n", start) + 1 or len(raw)
        entry = _decode(raw[start:end], seq)
        if entry is None:
            if last and _is_torn(raw[start:]):
                return
            raise CorruptError(f"ledger segment {segment}: entry {seq} is not what was kept. Run kgfs check --repair.")
        yield Line(seq, entry, offset + end)
        start, seq = end, seq + 1


def _decode(line: bytes, seq: int | None) -> bytes | None:
    """Return the entry in a line, or None if the line is damaged or its number is not ``seq``. A ``seq`` of None
    accepts any number."""
    digest, _, body = line.removesuffix(b"\n").partition(b" ")
    number, _, entry = body.partition(b" ")
    good = line.endswith(b"\n") and digest == xxhash.xxh3_64_hexdigest(body).encode()
    return entry if good and seq in (None, int(number)) else None


def decode_line(line: bytes) -> tuple[int, bytes] | None:
    """Return (number, entry) of an intact line, else None. The lines around it do not matter."""
    entry = _decode(line, None)
    return None if entry is None else (int(line.partition(b" ")[2].partition(b" ")[0]), entry)


def _is_torn(tail: bytes) -> bool:
    """Return whether ``tail``, whose first line is bad, is what a crash leaves."""
    *whole, rest = tail.split(b"\n")
    return rest != b"" and not any(_decode(line + b"\n", None) for line in whole)
