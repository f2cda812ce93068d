"""Render the lists of places, one line each: ``mentions.tsv`` of a concept, every place where it is named; and
``terms.tsv``, what could be looked up and is no concept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgfs.render.words import encode, fold

MENTIONS_HEADER = b"doc_id\tline_start\tchar_start\tchar_end\tchunk_id\n"
TERMS_HEADER = b"term\tcount\tdoc_id\tline_start\tchar_start\tchar_end\n"


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A place that names a concept. Characters ``char_start:char_end`` of the Text have it; lines count from 1."""

    line_start: int
    char_start: int
    char_end: int
    chunk_id: str


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


def mention_lines(doc_id: str, places: Iterable[NamedPlace]) -> bytes:
    """Return the lines of one document."""
    return "".join(
        f"{doc_id}\t{one.line_start}\t{one.char_start}\t{one.char_end}\t{one.chunk_id}\n" for one in places
    ).encode()


def term_line(term: ShownTerm) -> bytes:
    return encode(
        f"{fold(term.term)}\t{term.count}\t{term.doc_id}\t{term.line_start}\t{term.char_start}\t{term.char_end}\n"
    )
