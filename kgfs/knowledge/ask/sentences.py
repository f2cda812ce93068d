"""Cut the Text of a section into blocks and sentences: the exact spans that an answer may quote. Pure functions.

Plain text, Markdown and reStructuredText are handled alike, by what their lines look like. A block is a paragraph, a list
item, a row of a table, a heading, code, markup without text, or front matter. Headings, code and markup are no sentences of an
answer; their words count for the sentences beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile

from kgfs.domain.sentences import sentence_starts
from kgfs.render.search import FUNCTION_WORDS

LONGEST = 700
"""Characters of a sentence that an answer quotes; a longer one is cut at a line end or space."""

LEAST = 3
"""Words that a sentence of an answer has."""

_FENCE = re.compile(r"\s*(```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*+•–]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+(?=\S)")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_RULE = re.compile(r"(?:\s*([=\-~^\"'`#*+:.<>_])\1{2,}\s*|[\s:|+=-]+)$")
_HASHES = re.compile(r"\s{0,3}#{1,6}\s")
_FIELD = re.compile(r"(?:[A-Z][A-Za-z-]{1,30}|:[^:`\n]{1,40}):(?:\s|$)")
_FRONT = re.compile(r"---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_DIRECTIVE = re.compile(r"\s*\.\.(?:\s|$)")
_CODE_DIRECTIVE = re.compile(
    r"\s*\.\. (?:code|code-block|sourcecode|doctest|testcode|highlight)::[ \t]*(?!text\b|none\b)\w"
)
_SIGN = re.compile(r"[()=\[\]{}<>@$]|^\s*(?:>>>|import |from |class |def |#)|:\s*$")
_REFERENCE = re.compile(r"\s*\[[^\]\n]+\]:\s*\S+(?:\s+[\"'(].*)?\s*$")
_CODE = re.compile(
    r"\s*(?:>>>|\$ |#include|def \w+\(|class \w+.*:$|(?:from [\w.]+ )?import \w|return\b|if .*:$|else:|for .*:$|while .*:$"
    r"|try:|except.*:$|with .*:$|raise \w|@\w|[}{])|.*[;{}]\s*$|(?:(?=\s* )\s*|\s*[\w.\[\]\"',][\w.\[\]\"', ]*\s*)=\s*\S"
)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>?|<!--.*?(?:-->|$)")
_MARKUP = re.compile(r"\s*(?:<(?:!--|/?[A-Za-z][\w-]*(?:[\s/>]|$))|>[\s>]*(?:\[![A-Za-z]+\])?[\s\\]*$)")
_QUOTED = re.compile(r"\s*(?:>\s?)+(?=\S)")
_LINK = re.compile(
    r"!?\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\](?:\([^()]*\)|\[[^\[\]]*\])|`[^`<>]*<[^<>`]*>`_{1,2}|<?https?://[^\s<>]+>?"
)
_SHORT = re.compile(r"\b(?:ie|eg|ex|aka|resp|incl)\.\Z")
"""Abbreviations after which no sentence begins, as notes have them; of at most LONGEST_SHORT characters."""
LONGEST_SHORT = 5
_POINTING = re.compile(
    r"[\"'“(*_]*(?:It|Its|This|That|These|Those|They|Their|Them|He|She|His|Her|Such|However|Therefore|Thus|Hence|Also|But|And|So|Then"
    r"|Instead|Otherwise|Moreover|Furthermore|Rather|Similarly|Conversely|Here|For example|For instance|In addition|In other words)\b"
)
_STOPS = ".,;:!?…-–—"
_WORD = re.compile(r"\w")
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    """paragraph, item, row, heading, code, markup or meta (front matter, field lists)."""
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
    literal = -1  # what is indented further may be code, as the lines before it say; -1 for nothing
    within = -1  # what is indented further is code, as its beginning is
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
            if lines and (0 <= within < _indent(lines[0][2]) or _is_literal(lines, literal)):
                found.append(_block("code", text, lines[0][0], lines[-1][1]))
                within = max(within, literal)
            elif lines:
                found += _cut(text, lines, is_head)
                is_head = is_head and not found
                literal = _indent(lines[0][2]) if _introduces_code(lines) else -1
                within = -1
            lines = []
        else:
            lines.append((start, end, line))
    if lines and (fenced or 0 <= within < _indent(lines[0][2]) or _is_literal(lines, literal)):
        found.append(_block("code", text, lines[0][0], lines[-1][1]))
    else:
        found += _cut(text, lines, is_head)
    return [block for block in found if _WORD.search(text, block.start, block.end)]


def _introduces_code(lines: list[tuple[int, int, str]]) -> bool:
    """Return whether the blocks behind these lines are code where they are indented further, as in reStructuredText."""
    return lines[-1][2].rstrip().endswith("::") or _CODE_DIRECTIVE.match(lines[0][2]) is not None


def _is_literal(lines: list[tuple[int, int, str]], literal: int) -> bool:
    """Return whether lines are code because they are indented further than ``literal`` and one of them looks so."""
    return 0 <= literal < _indent(lines[0][2]) and any(_SIGN.search(line) for _, _, line in lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


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
        elif _is_markup(line) or (kind in ("", "markup") and _links_alone(line)):
            now = "markup"
        elif _RULE.match(line):
            now = "rule"
        elif _DIRECTIVE.match(line) and not kind:
            now = "code"
        else:
            now = "" if kind in ("item", "paragraph", "code") else "paragraph"
        if now:
            if kind:
                found.append(_block(kind, text, start, end))
            marker = {"item": _ITEM, "paragraph": _QUOTED}[now].match(line) if now in ("item", "paragraph") else None
            kind, start = now, first + (marker.end() if marker else 0)
        end = last
    found.append(_block(kind, text, start, end))
    return [_recognised(text, block) for block in found if block.kind != "rule"]


def _is_markup(line: str) -> bool:
    """Return whether a line has tags, or the mark of a quoted line, and no text, or says where links lead."""
    if _REFERENCE.match(line):
        return True
    return _MARKUP.match(line) is not None and not _WORD.search(_TAG.sub("", line).partition("[!")[0])


def _links_alone(text: str) -> bool:
    return not _WORD.search(_TAG.sub("", _LINK.sub("", text)))


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
        if block.kind in ("heading", "code", "markup"):
            continue
        cut = _line_starts if block.kind == "meta" else _sentence_starts
        starts = [block.start, *cut(text, block.start, block.end), block.end]
        for start, end in pairwise(starts):
            while start < end:
                border = end if end - start <= LONGEST else _border(text, start, start + LONGEST)
                piece = _block("", text, start, border)
                if len(_WORDS.findall(text, piece.start, piece.end)) >= LEAST:
                    found.append(Sentence(place, piece.start, piece.end))
                start = border
    return found


def _sentence_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Yield where sentences begin: behind a full stop, and on a line of its own. Lines that were wrapped are as long as they can be;
    where the next word would have had room, the line ends on purpose."""
    found = {at for at in sentence_starts(text, start, end) if not _is_shortened(text, start, at)}
    lines = [(first, min(last, end), line) for first, last, line in _lines(text, start) if first < end]
    widest = max((len(line) for _, _, line in lines if "://" not in line), default=0)
    for (_, _, line), (first, last, _) in pairwise(lines):
        following = text[first:last].split(maxsplit=1)
        if following and len(line) + 1 + len(following[0]) <= widest and _begins(line, following[0]):
            found.add(first)
    yield from sorted(found)


def _is_shortened(text: str, start: int, at: int) -> bool:
    """Return whether an abbreviation stands before a place of a text that begins at ``start``."""
    while at > start and text[at - 1].isspace():
        at -= 1
    return _SHORT.search(text, max(start, at - LONGEST_SHORT), at) is not None


def _begins(line: str, word: str) -> bool:
    """Return whether a sentence begins with a word behind a line that ends before it was full: lines are broken before long links,
    too, and no sentence ends with an article or a preposition."""
    said = line.split()
    return (
        bool(said)
        and said[-1][-1] not in _STOPS
        and said[-1].lower() not in FUNCTION_WORDS
        and word.lstrip("*_\"'“(")[:1].isupper()
    )


def end_of_introduced(text: str, blocks: list[Block], sentence: Sentence) -> int:
    """Return the end of the list, or of the code, that a sentence introduces by its colon; the sentence's own end where it introduces
    none, or one that makes it longer than LONGEST."""
    end = sentence.end
    if text[end - 1] != ":" or blocks[sentence.block].end != end:
        return end
    following = blocks[sentence.block + 1 :]
    listed = list(takewhile(lambda block: block.kind == "item", following))
    for block in listed or [block for block in following[:1] if block.kind == "code"]:
        if block.end - sentence.start > LONGEST:
            return sentence.end
        end = block.end
    return end


def says_nothing(sentence: str) -> bool:
    """Return whether a sentence cannot answer: it asks, or is nothing but links and pictures."""
    return sentence.rstrip("*_`\"'”)] ").endswith("?") or _links_alone(sentence)


def points_back(sentence: str) -> bool:
    """Return whether a sentence begins with a word that points to what was said before it."""
    return _POINTING.match(sentence) is not None


def _line_starts(text: str, start: int, end: int) -> Iterator[int]:
    for found in re.finditer(r"\n(?=[^\s])", text[start:end]):
        yield start + found.end()


def _border(text: str, start: int, end: int) -> int:
    for mark in ("\n", " "):
        at = text.rfind(mark, start + LONGEST // 2, end)
        if at > 0:
            return at + 1
    return end
