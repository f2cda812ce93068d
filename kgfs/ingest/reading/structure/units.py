"""Cut a Text into units: the smallest pieces of chunks, each with a rank that tells how good a chunk start it is.

Units are adjacent and cover the Text. They depend only on their own block and the block before it, so an edit
elsewhere never changes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import IntEnum

from kgfs.domain.sentences import sentence_starts
from kgfs.domain.text import Block, Text
from kgfs.ingest.reading.structure.clusters import cluster_border


class Rank(IntEnum):
    """How good a place is for the start of a chunk; higher is better."""

    HARD = 0
    """Within a word."""
    WORD = 1
    """Before a word, or directly after a heading."""
    SENTENCE = 2
    """Before a sentence or a line."""
    ITEM = 3
    """Before a list item, after a blank line within a block, or between a text that ends in a colon and the block
    after it."""
    BLOCK = 4
    HEADING = 5


Unit = tuple[int, Rank]
"""(start, rank); a unit ends where the next one starts."""

Starts = Callable[[str, int, int], Iterator[int]]


def _starts(pattern: str) -> Starts:
    compiled = re.compile(pattern)

    def find(content: str, start: int, end: int) -> Iterator[int]:
        return (found.end() for found in compiled.finditer(content, start, end))

    return find


_LINE_END = r"(?:\n|\r(?!\n))"
_lines = _starts(_LINE_END + r"(?=[^\r\n])")
_items = _starts(_LINE_END + r"(?=[ \t]{0,8}(?:[-+*•‣]|\(?(?:\d{1,4}|#|[A-Za-z])[.)])[ \t])")
_stretches = _starts(_LINE_END + r"[ \t\f]{0,80}(?:\r?\n|\r)(?=[^\r\n])")

_WITHIN: dict[str, tuple[tuple[Rank, Starts], ...]] = {
    "paragraph": ((Rank.SENTENCE, sentence_starts),),
    "quote": ((Rank.SENTENCE, sentence_starts),),
    "list": ((Rank.ITEM, _items), (Rank.ITEM, _stretches), (Rank.SENTENCE, sentence_starts)),
    "code": ((Rank.ITEM, _stretches), (Rank.SENTENCE, _lines)),
}
"""Ranked places for cuts in a long block, by kind of block, the best first. Other kinds are cut like code."""

_UP_TO_LAST_WORD = re.compile(r".*\s(?=\S)", re.DOTALL)


def units_of(text: Text, longest: int) -> Iterator[Unit]:
    """Yield the units of a Text.

    A block of at most ``2 × longest`` bytes of UTF-8 is one unit; a longer one becomes units of at most ``longest``
    bytes.
    """
    content = text.text
    if content and not text.blocks:
        yield 0, Rank.BLOCK
        yield from split(content, 0, len(content), longest)
    before: Block | None = None
    for n, block in enumerate(text.blocks, 1):
        start = block.start if before else 0
        end = text.blocks[n].start if n < len(text.blocks) else len(content)
        yield start, _rank(content, block, before)
        if _exceeds(content, start, end, 2 * longest):
            yield from _cut(content, start, end, _WITHIN.get(block.kind, _WITHIN["code"]), longest)
        before = block


def _rank(content: str, block: Block, before: Block | None) -> Rank:
    if before is not None and before.kind == "heading":
        return Rank.WORD
    if block.kind == "heading":
        return Rank.HEADING
    announced = (
        before is not None and block.kind in ("code", "list", "table", "quote") and content[before.end - 1] == ":"
    )
    return Rank.ITEM if announced else Rank.BLOCK


def _cut(content: str, start: int, end: int, ways: tuple[tuple[Rank, Starts], ...], longest: int) -> Iterator[Unit]:
    """Yield the units of ``start:end`` without the first, cut by the first of the ``ways``.

    Units that are too long are cut by the next of the ``ways``.
    """
    if not ways:
        yield from split(content, start, end, longest)
        return
    rank, starts = ways[0]
    last = start
    for here in starts(content, start, end):
        if here - last >= longest // 8 and end > here:
            if _exceeds(content, last, here, longest):
                yield from _cut(content, last, here, ways[1:], longest)
            yield here, rank
            last = here
    if _exceeds(content, last, end, longest):
        yield from _cut(content, last, end, ways[1:], longest)


def split(content: str, start: int, end: int, longest: int) -> Iterator[Unit]:
    """Cut ``start:end`` into units of at most ``longest`` bytes and yield them without the first. Linear time.

    Cuts are before words or, where a word is longer, within it (between clusters of characters).
    """
    while _exceeds(content, start, end, longest):
        behind = _fitting(content, start, longest)
        if behind >= end:
            return
        word = _UP_TO_LAST_WORD.match(content, start, min(behind + 1, end))
        border = word.end() if word else cluster_border(content, behind, start, end)
        if border >= end:
            return
        yield border, Rank.WORD if word else Rank.HARD
        start = border


def _exceeds(content: str, start: int, end: int, size: int) -> bool:
    return end - start > size or _bytes(content[start:end]) > size


def _bytes(piece: str) -> int:
    return len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogatepass"))


def _fitting(content: str, start: int, longest: int) -> int:
    """Return the end of the longest piece from ``start`` with at most ``longest`` bytes, and at least one character."""
    count = longest
    while count > 1 and (size := _bytes(content[start : start + count])) > longest:
        count = max(1, min(count - 1, count * longest // size))
    return start + count
