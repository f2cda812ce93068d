"""Render ``terms.tsv``: what could be looked up and is no concept, one line each."""

from __future__ import annotations

from dataclasses import dataclass

from kgfs.render.words import encode, fold

HEADER = b"term\tcount\tdoc_id\tline_start\tchar_start\tchar_end\n"


@dataclass(frozen=True, slots=True)
class ShownTerm:
    """A term with its first place. Characters ``char_start:char_end`` of the Text have it; lines count from 1."""

    term: str
    count: int
    """The number of places that have it, in all documents that count it as a term."""
    doc_id: str
    line_start: int
    char_start: int
    char_end: int


def line(term: ShownTerm) -> bytes:
    return encode(
        f"{fold(term.term)}\t{term.count}\t{term.doc_id}\t{term.line_start}\t{term.char_start}\t{term.char_end}\n"
    )
