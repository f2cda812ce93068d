"""What a document's bytes say, and how that is cut into Sources. Offsets count characters of the Text (code points), from
0, end exclusive; ``line_*`` count from 1 and a line ends at LF only.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """A structural unit of a Text. Blocks are ordered, do not overlap and, with the white space
    between them attached to the one before, cover the Text."""

    kind: str
    """heading, paragraph, list, code, table, quote, meta (field lists, front matter), rule."""
    start: int
    end: int
    level: int = 0
    """Of a heading, from 1."""
    title: str = ""
    """Of a heading: its words without markup."""


@dataclass(frozen=True, slots=True)
class Text:
    """What the parser made of a document's bytes."""

    text: str
    sha256: str
    """Of ``text`` encoded as UTF-8 (surrogates passed through)."""
    parser: str
    """Name and version, ``plain/1``."""
    media_type: str
    encoding: str
    """Codec whose exact decoding of the original ``text`` is; empty when the parser made the text itself."""
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """The span of one Source. Spans of consecutive chunks meet: joined they are the Text."""

    index: int
    start: int
    end: int
    line_start: int
    line_end: int
    """The line of the last character."""
    byte_start: int
    byte_end: int
    """Of the Text as UTF-8."""
    section_path: tuple[str, ...]
    tokens: int
    context_start: int
    """``context_start:start`` is the overlap shown to models as context; never part of the Source."""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's word on one Source; ``reason`` is empty when it passes."""

    passed: bool
    reason: str = ""
