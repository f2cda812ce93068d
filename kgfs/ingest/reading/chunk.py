"""Chunk: cut a Text into the spans of its Sources, an exact partition along its structure."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import islice, pairwise

import xxhash

from kgfs.domain.places import locate
from kgfs.domain.text import Chunk, Text
from kgfs.formats.headings import section_paths
from kgfs.ingest.reading.structure.clusters import cluster_border
from kgfs.ingest.reading.structure.cuts import cuts
from kgfs.ingest.reading.structure.units import Unit, split, units_of
from kgfs.models.contract import Tokens

METHOD = "structure/1"
"""Name and version of the method; a change of the boundaries needs a new one."""

_NEXT_WORD = re.compile(r"\s(?=\S)")

_COUNTED_BATCH = 4096
"""Units whose tokens are counted in one call, so that memory stays flat however long the Text is."""

_HEAVY = 0.6
"""Limit of a unit's tokens as a share of ``size``. A unit above it, with more tokens per byte than usual, is cut
again."""


def chunk(
    text: Text, tokens: Tokens, size: int = 400, overlap: int = 60, *, poll: Callable[[], None] = lambda: None
) -> list[Chunk]:
    """Return spans of about ``size`` tokens that, joined, are the Text; none for an empty Text.

    No chunk has more than 1.5 × ``size`` tokens unless a single cluster of characters has. ``Chunk.tokens`` is the
    sum over the chunk's units, which may be slightly more than the chunk has as a whole. ``context_start`` is about
    ``overlap`` tokens before the start, at a word. A boundary depends only on the text near it (see ``cuts``).
    ``section_path`` is the path of the chunk's first block; a document's header counts as part of the section after
    it. ``poll`` is called often, and an exception that it raises ends the work.
    """
    content = text.text
    starts, ranks, counts = _counted(text, tokens, size, poll)
    if not starts:
        return []
    ends = starts[1:]
    ends.append(len(content))
    hashes = array("Q")
    for start, end in zip(starts, ends, strict=True):
        poll()
        hashes.append(_hash(content[start:end]))
    firsts = [0, *cuts(ranks, hashes, counts, size, poll), len(starts)]
    path_at = _paths(text)
    chunks: list[Chunk] = []
    line, offset, context_start = 1, 0, 0
    for first, behind in pairwise(firsts):
        poll()
        start, end = starts[first], ends[behind - 1]
        weight = sum(counts[first:behind])
        line_behind = line + content.count("\n", start, end)
        offset_behind = offset + _bytes(content[start:end])
        chunks.append(
            Chunk(
                index=len(chunks),
                start=start,
                end=end,
                line_start=line,
                line_end=line_behind - (content[end - 1] == "\n"),
                byte_start=offset,
                byte_end=offset_behind,
                section_path=path_at(start, end),
                tokens=weight,
                context_start=context_start,
                page=_page(text, start, end),
            )
        )
        context_start = _context_start(content, end, overlap * (end - start) / max(1, weight))
        line, offset = line_behind, offset_behind
    return chunks


def _counted(
    text: Text, tokens: Tokens, size: int, poll: Callable[[], None]
) -> tuple[array[int], array[int], array[int]]:
    """Return the starts of all units, their ranks and their numbers of tokens. No unit is much heavier than ``size`` allows.

    They are arrays, since a text of 500 MB has millions of units.
    """
    content = text.text
    found = units_of(text, size)
    starts, ranks, counts = array("Q"), array("B"), array("L")
    batch = list(islice(found, _COUNTED_BATCH))
    while batch:
        poll()
        following = list(islice(found, _COUNTED_BATCH))
        end = following[0][0] if following else len(content)
        for unit, count in _weighed(content, batch, end, tokens, size):
            starts.append(unit[0])
            ranks.append(unit[1])
            counts.append(count)
        batch = following
    return starts, ranks, counts


def _weighed(content: str, units: list[Unit], end: int, tokens: Tokens, size: int) -> Iterator[tuple[Unit, int]]:
    """Yield adjacent units, the last ending at ``end``, with their numbers of tokens.

    Units that are too heavy are cut again.
    """
    ends = [*(start for start, _ in units[1:]), end]
    pieces = [content[start:behind] for (start, _), behind in zip(units, ends, strict=True)]
    for unit, behind, piece, count in zip(units, ends, pieces, tokens.counts(pieces), strict=True):
        if count > _HEAVY * size:
            longest = max(1, _bytes(piece) * size // (4 * count))
            lighter = [unit, *split(content, unit[0], behind, longest)]
            if len(lighter) > 1:
                yield from _weighed(content, lighter, behind, tokens, size)
                continue
        yield unit, count


def _hash(unit: str) -> int:
    return xxhash.xxh3_64_intdigest(unit.encode("utf-8", "surrogatepass"))


def _bytes(piece: str) -> int:
    return len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogatepass"))


def _page(text: Text, start: int, end: int) -> int | None:
    """Return the page of the first character of a chunk that is not white space."""
    if not text.places:
        return None
    piece = text.text[start:end]
    page = locate(text.text, text.places, start + len(piece) - len(piece.lstrip())).get("page")
    return page if isinstance(page, int) else None


def _context_start(content: str, end: int, length: float) -> int:
    """Return a position about ``length`` characters before ``end``, at the start of a word if there is one."""
    at = max(0, end - round(length))
    if at in (0, end) or (content[at - 1].isspace() and not content[at].isspace()):
        return at
    word = _NEXT_WORD.search(content, at, end)
    return word.end() if word else cluster_border(content, at, 0, end)


def _paths(text: Text) -> Callable[[int, int], tuple[str, ...]]:
    """Return a function that gives the section path of a chunk from its start and end.

    White space and a header at the start of the Text belong to the section that follows in the chunk.
    """
    sections = list(section_paths(text.blocks))
    headings = [start for start, _ in sections]
    body = next((block.start for block in text.blocks if block.kind != "meta"), 0)

    def of(start: int, end: int) -> tuple[str, ...]:
        n = bisect_right(headings, max(start, body) if body < end else start)
        return sections[n - 1][1] if n else ()

    return of
