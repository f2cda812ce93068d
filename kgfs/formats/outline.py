"""What is read in program source: its comments, and the names that it defines, with their documentation.

Offsets count characters of the source. All functions are pure, and take time linear in the size of the source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from kgfs.domain.text import Block

LARGEST = 1 << 20
"""Characters of the longest source that is read so. Longer sources are generated, and only found by their words."""

_LICENCE = re.compile(
    r"copyright|\blicen[cs]ed?\b|spdx|permission is hereby granted|all rights reserved", re.IGNORECASE
)
_OWED = re.compile(r"[\s*]*(?:TODO|FIXME|XXX|HACK)\b")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_BLANK = re.compile(r"\n[ \t\r]*\n")


class Kind(StrEnum):
    CLASS = "class"  # or a struct, an interface, a trait, a type …
    FUNCTION = "function"
    CONSTANT = "constant"
    MODULE = "module"


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment or documentation string that stands alone on its lines; comments of adjacent lines are one."""

    start: int
    end: int
    marker: int
    """The end of the mark that it begins with."""


@dataclass(frozen=True, slots=True)
class Defined:
    """A name that the source defines, at the outermost level or in a class."""

    name: str
    kind: Kind
    start: int
    """Where its definition begins: decorators and modifiers belong to it."""
    end: int
    """The end of its first line, or of its name where that is on a later one."""
    level: int
    """1 at the outermost level."""
    doc: Comment | None = None
    member: bool = False
    """Whether it is one of a class."""


@dataclass(frozen=True, slots=True)
class Outline:
    comments: tuple[Comment, ...] = ()
    """In order. Those of documentation are among them; notices of copyright and licence are not."""
    defined: tuple[Defined, ...] = ()
    """In order of the source."""
    doc: Comment | None = None
    """What documents the whole source."""


def outline_of(source: str, comments: Sequence[Comment], defined: Sequence[Defined], doc: Comment | None) -> Outline:
    """Return an outline without the comments that say nothing: notices of licences, and signs alone."""
    told = [one for one in comments if tells(source, one)]
    kept = set(told)
    return Outline(
        tuple(sorted(told, key=lambda one: one.start)),
        tuple(
            sorted(
                (one if one.doc is None or one.doc in kept else _undocumented(one) for one in defined),
                key=lambda one: one.start,
            )
        ),
        doc if doc in kept else None,
    )


def _undocumented(one: Defined) -> Defined:
    return replace(one, doc=None)


def tells(source: str, comment: Comment) -> bool:
    """Return whether a comment has words, and is neither a notice of copyright or licence nor a work that is owed."""
    words = source[comment.marker : comment.end]
    return _WORDS.search(words) is not None and not _LICENCE.search(words) and not _OWED.match(words)


def blocks_of(source: str, outline: Outline) -> list[Block]:
    """Return the blocks of the source: headings where definitions or their documentation begin, comments, and code.

    A heading has the name as its title. Documentation before a definition belongs to its section.
    """
    marks: list[tuple[int, int, str, int, str]] = []
    docs = {one.doc.start: one for one in outline.defined if one.doc is not None and one.doc.start < one.start}
    for comment in outline.comments:
        start, owner = comment.start, docs.get(comment.start)
        if owner is not None:
            marks.append((start, comment.marker, "heading", owner.level, owner.name))
            start = comment.marker
        start += len(source[start : comment.end]) - len(source[start : comment.end].lstrip())
        if start < comment.end:
            marks.append((start, comment.end, "comment", 0, ""))
    for one in outline.defined:
        if one.doc is None or one.doc.start > one.start:
            marks.append((one.start, one.end, "heading", one.level, one.name))
    blocks: list[Block] = []
    at = 0
    for start, end, kind, level, title in sorted(marks):
        if start < at:
            continue
        blocks += _code(source, at, start)
        blocks.append(Block(kind, start, end, level, title))
        at = end
    return blocks + _code(source, at, len(source))


def _code(source: str, start: int, end: int) -> list[Block]:
    """Return one block of code for each run of lines without a blank one."""
    found: list[Block] = []
    borders = [start, *(gap.end() for gap in _BLANK.finditer(source, start, end)), end]
    for first, last in pairwise(borders):
        piece = source[first:last]
        if piece.strip():
            begin = first + len(piece) - len(piece.lstrip())
            found.append(Block("code", begin, begin + len(piece.strip())))
    return found
