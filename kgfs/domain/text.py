"""The Text of a document's bytes, and how it is cut into Sources.

Offsets count characters of the Text (code points), from 0, end exclusive. ``line_*`` count from 1, and a line ends at
LF only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from kgfs.domain.parts import Part
from kgfs.domain.places import Place

LONGEST_PROSE = 64_000_000
"""Characters of a Text up to which concepts are looked for in it, and its Sources get vectors. A longer one is found by its words."""


@dataclass(frozen=True, slots=True)
class Block:
    """A structural unit of a Text.

    Blocks are ordered and do not overlap. With the white space after each block added to it, they cover the Text.
    """

    kind: str
    """heading, paragraph, list, code, table, quote, meta (field lists, front matter), rule, or furniture (menus, side
    bars, footers, repeated page headers: kept, but neither extracted from nor ranked)."""
    start: int
    end: int
    level: int = 0
    """The level of a heading, from 1."""
    title: str = ""
    """The words of a heading, without markup."""


@dataclass(frozen=True, slots=True)
class Text:
    """The result of parsing a document's bytes."""

    text: str
    sha256: str
    """SHA-256 of ``text`` encoded as UTF-8 (surrogates passed through)."""
    parser: str
    """Name and version of the parser, such as ``plain/2``."""
    media_type: str
    encoding: str
    """The codec whose strict decoding of the original is ``text``; empty where the parser made the text itself, or some
    bytes are wrong."""
    title: str
    blocks: tuple[Block, ...]
    places: tuple[Place, ...] = ()
    """Where pages, slides, rows, messages or cells begin, in order; see :func:`kgfs.domain.places.locate`."""
    pages: int = 0
    """The number of pages, slides, sheets, messages or cells; 0 where the format has none."""
    note: str = ""
    """What could not be read, for people; empty if everything was."""
    parts: tuple[Part, ...] = ()
    """The parts that are documents of their own, in order. Their bytes were handed over apart."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the document says of itself as a whole (JSON): of a mail its subject, people, dates and threads."""
    guessed_encoding: str = ""
    """The name of the encoding where it was guessed; empty where it is known."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The span of one Source. Spans of consecutive chunks are adjacent: concatenated they are the Text."""

    index: int
    start: int
    end: int
    line_start: int
    line_end: int
    """The line of the last character."""
    byte_start: int
    byte_end: int
    """Byte offset in the Text as UTF-8."""
    section_path: tuple[str, ...]
    tokens: int
    context_start: int
    """``context_start:start`` is the overlap that models get as context. It is never part of the Source."""
    page: int | None = None
    """The page on which the chunk starts, where the document has pages."""


FURNITURE = "menus, side bars, footers or repeated headers of a page"
"""The reason for which a Source is gated that is no text of its document."""


GATED_FOR: Mapping[str, str] = {
    "too short": "too short",
    "addresses or emoji": "mostly links or emoji",
    FURNITURE: "menus and footers",
    "no verb": "no verb",
    "none of the domains": "no domain noun",
}
"""Words of a reason, and the kind of reason that they tell."""


def gated_for(reason: str) -> str:
    """Return the kind of a reason for which a Source is gated, which may name numbers and domains."""
    return next((kind for words, kind in GATED_FOR.items() if words in reason), "other")


BLOCK_VERDICTS = ("pass", "too short", "mostly links or emoji", "no verb", "no domain noun")
"""What the gate says of a block, by number: that it passes, or the first reason against it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's decision on one Source. ``reason`` is empty when the Source passes."""

    passed: bool
    reason: str = ""
    only_short: bool = False
    """Whether it passes though all its judged blocks are too short, since being short alone gates no Source: a language
    model is not asked about it."""
    judged: tuple[tuple[int, int, int], ...] = ()
    """Of each judged block, in order, its first and last line and the number of what is said of it in BLOCK_VERDICTS."""


MANY_BLOCKS = 1000
"""Blocks of a document above which neighbours that are judged alike are listed as one."""
MOST_LISTED = 5_000
"""Entries of a list of judged blocks."""


def judged_blocks(verdicts: Iterable[Verdict]) -> list[tuple[int, int, int]]:
    """Return what the gate says of the blocks of a document, as ``Verdict.judged``. Of many blocks, neighbours of one verdict
    are joined, and those behind MOST_LISTED are left out."""
    listed = [one for verdict in verdicts for one in verdict.judged]
    if len(listed) <= MANY_BLOCKS:
        return listed
    joined: list[tuple[int, int, int]] = []
    for said, some in groupby(listed, key=lambda one: one[2]):
        lines = [(first, last) for first, last, _ in some]
        joined.append((lines[0][0], lines[-1][1], said))
    return joined[:MOST_LISTED]


def chunk_at(chunks: Sequence[Chunk], start: int, end: int) -> int | None:
    """Return the index of the chunk that has all of a span; None if no chunk has. ``chunks`` are in order of the Text."""
    behind = bisect_right(chunks, start, key=lambda chunk: chunk.start)
    found = chunks[behind - 1] if behind else None
    return found.index if found is not None and start < found.end and end <= found.end else None
