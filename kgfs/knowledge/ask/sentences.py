"""Cut the Text of a section into blocks and sentences: the exact spans that an answer may quote. Pure functions.

Plain text, Markdown and reStructuredText are handled alike, by what their lines look like. A block is a paragraph, a list
item, a row of a table, a heading, code, or front matter. Headings and code are no sentences of an answer; their words count for
the sentences beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kgfs.domain.sentences import sentence_starts

LONGEST = 700
"""Characters of a sentence that an answer quotes; a longer one is cut at a line end or space."""

LEAST = 3
"""Words that a sentence of an answer has."""

_FENCE = re.compile(r"\s*(```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*+•–]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+(?=\S)")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_RULE = re.compile(r"\s*(?:([=\-~^\"'`#*+:.<>_])\1{2,}|\|?[\s:|+=-]+)\s*$")
_HASHES = re.compile(r"\s{0,3}#{1,6}\s")
_FIELD = re.compile(r"(?:[A-Z][A-Za-z-]{1,30}|:[^:`\n]{1,40}):(?:\s|$)")
_FRONT = re.compile(r"---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_DIRECTIVE = re.compile(r"\s*\.\.(?:\s|$)")
_CODE = re.compile(
    r"\s*(?:>>>|\$ |#include|def \w+\(|class \w+.*:$|(?:from [\w.]+ )?import \w|return\b|if .*:$|else:|for .*:$|while .*:$"
    r"|try:|except.*:$|with .*:$|raise \w|@\w|[}{])|.*[;{}]\s*$|\s*[\w.\[\]\"', ]+\s*=\s*\S"
)
_WORD = re.compile(r"\w")
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    """paragraph, item, row, heading, code or meta (front matter, field lists)."""
    start: int
    end: int
    """The span in the text, without white space around."""


@dataclass(frozen=True, slots=True)
class Sentence:
    block: int
    """The index of its block."""
    start: int
    end: int


def blocks_of(text: str, *, begins: bool = False) -> list[Block]:
    """Return the blocks of a text in order. ``begins`` tells whether the text is the beginning of its document, where
    front matter stands.
    """
    found: list[Block] = []
    at = 0
    if begins and (front := _FRONT.match(text)):
        found.append(_block("meta", text, 0, front.end()))
        at = front.end()
    lines: list[tuple[int, int, str]] = []
    fenced = ""
    is_head = begins and not found
    for start, end, line in _lines(text, at):
        if fence := _FENCE.match(line):
            if fenced and fence[1] == fenced:
                found.append(_block("code", text, lines[0][0] if lines else start, end))
                lines, fenced = [], ""
                continue
            if not fenced:
                found += _cut(text, lines, is_head)
                lines, fenced = [], fence[1]
        if fenced:
            lines.append((start, end, line))
        elif not line.strip():
            found += _cut(text, lines, is_head)
            is_head = is_head and not found
            lines = []
        else:
            lines.append((start, end, line))
    found += [_block("code", text, lines[0][0], lines[-1][1])] if fenced and lines else _cut(text, lines, is_head)
    return [block for block in found if _WORD.search(text, block.start, block.end)]


def _lines(text: str, at: int) -> Iterator[tuple[int, int, str]]:
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield at, end, text[at:end]
        at = end + 1


def _cut(text: str, lines: list[tuple[int, int, str]], is_head: bool) -> list[Block]:
    """Return the blocks of lines that stand together without a blank line."""
    if not lines:
        return []
    if is_head and _FIELD.match(lines[0][2]):
        return [_block("meta", text, lines[0][0], lines[-1][1])]
    found: list[Block] = []
    kind, start, end = "", 0, 0
    for place, (first, last, line) in enumerate(lines):
        ruled = place + 1 < len(lines) and bool(_RULE.match(lines[place + 1][2]))
        if _HASHES.match(line) or (ruled and place == 0 and not _ROW.match(line)):
            now = "heading"
        elif _ROW.match(line):
            now = "row"
        elif _ITEM.match(line):
            now = "item"
        elif _RULE.match(line):
            now = "rule"
        elif _DIRECTIVE.match(line) and not kind:
            now = "code"
        else:
            now = "" if kind in ("item", "paragraph", "code") else "paragraph"
        if now:
            if kind:
                found.append(_block(kind, text, start, end))
            marker = _ITEM.match(line) if now == "item" else None
            kind, start = now, first + (marker.end() if marker else 0)
        end = last
    found.append(_block(kind, text, start, end))
    return [_recognised(text, block) for block in found if block.kind != "rule"]


def _recognised(text: str, block: Block) -> Block:
    """Return a paragraph as code where most of its lines look like code."""
    if block.kind != "paragraph":
        return block
    lines = text[block.start : block.end].split("\n")
    code = sum(_CODE.match(line) is not None for line in lines)
    return Block("code", block.start, block.end) if 2 * code > len(lines) else block


def _block(kind: str, text: str, start: int, end: int) -> Block:
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return Block(kind, start, end)


def sentences_of(text: str, blocks: list[Block]) -> list[Sentence]:
    """Return the sentences of all blocks but headings and code, in order."""
    found: list[Sentence] = []
    for place, block in enumerate(blocks):
        if block.kind in ("heading", "code"):
            continue
        cut = _line_starts if block.kind == "meta" else sentence_starts
        starts = [block.start, *cut(text, block.start, block.end), block.end]
        for start, end in pairwise(starts):
            while start < end:
                border = end if end - start <= LONGEST else _border(text, start, start + LONGEST)
                piece = _block("", text, start, border)
                if len(_WORDS.findall(text, piece.start, piece.end)) >= LEAST:
                    found.append(Sentence(place, piece.start, piece.end))
                start = border
    return found


def _line_starts(text: str, start: int, end: int) -> Iterator[int]:
    for found in re.finditer(r"\n(?=[^\s])", text[start:end]):
        yield start + found.end()


def _border(text: str, start: int, end: int) -> int:
    for mark in ("\n", " "):
        at = text.rfind(mark, start + LONGEST // 2, end)
        if at > 0:
            return at + 1
    return end
