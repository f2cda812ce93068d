"""Render ``mentions.tsv``: every place where a concept is named, one line each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

HEADER = b"doc_id\tline_start\tchar_start\tchar_end\tchunk_id\n"


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """One place. Characters ``char_start:char_end`` of the Text; lines count from 1."""

    line_start: int
    char_start: int
    char_end: int
    chunk_id: str


def lines(doc_id: str, places: Iterable[NamedPlace]) -> bytes:
    """Return the lines of one document."""
    return "".join(
        f"{doc_id}\t{one.line_start}\t{one.char_start}\t{one.char_end}\t{one.chunk_id}\n" for one in places
    ).encode()
