"""Plain text: paragraphs, simple headings, lists and indented code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgfs.domain.text import Block
from kgfs.formats.contract import text_format
from kgfs.formats.headings import is_adornment
from kgfs.formats.lines import Line, end_of_paragraph

_ITEM = re.compile(r"(?:[-+*•‣–]|\(?\d{1,3}[.)]|\(?[a-z]\))\s")
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})\.?\s+(?=[^\W\d_])")
_LONGEST_HEADING = 90


def plain_blocks(lines: Sequence[Line]) -> list[Block]:
    blocks: list[Block] = []
    margin = 0
    i = 0
    while i < len(lines):
        if not lines[i].body:
            i += 1
            continue
        behind = end_of_paragraph(lines, i)
        start, stop = lines[i].start, lines[behind - 1].stop
        if level := _underlined(lines, i):
            blocks.append(Block("heading", start, lines[i + 1].stop, level, lines[i].body))
            behind = i + 2
        elif behind == i + 1 and is_adornment(lines[i].body, 4):
            blocks.append(Block("rule", start, stop))
        elif behind == i + 1 and (level := _lone_heading(lines[i].body)):
            blocks.append(Block("heading", start, stop, level, lines[i].body))
        else:
            indent = min(lines[k].indent for k in range(i, behind))
            is_item = bool(_ITEM.match(lines[i].body[:8]))
            if is_item:
                _add_list_item(blocks, start, stop)
            elif indent >= margin + 4 and blocks:
                blocks.append(Block("code", start, stop))
            else:
                margin = indent
                blocks.append(Block("paragraph", start, stop))
        i = behind
    return blocks


def _add_list_item(blocks: list[Block], start: int, stop: int) -> None:
    """Add a list item. Items with blank lines between them are one list."""
    if blocks and blocks[-1].kind == "list":
        start = blocks.pop().start
    blocks.append(Block("list", start, stop))


def _underlined(lines: Sequence[Line], at: int) -> int:
    """Return the level of a heading that starts at this line with an underline below it; 0 if none does."""
    title = lines[at].body
    if at + 1 >= len(lines) or len(title) > _LONGEST_HEADING or is_adornment(title):
        return 0
    below = lines[at + 1].body
    if not is_adornment(below) or below[0] not in "=-~^*#" or not len(title) - 3 <= len(below) <= len(title) + 12:
        return 0
    return {"=": 1, "#": 1, "*": 1, "-": 2}.get(below[0], 3)


def _lone_heading(body: str) -> int:
    """Return the level of a single line that looks like a heading; 0 if it does not."""
    if len(body) > _LONGEST_HEADING or body[-1] in ".,;:!?":
        return 0
    if numbered := _NUMBERED.match(body):
        return numbered[1].count(".") + 1 if body[numbered.end()].isupper() else 0
    letters = sum(char.isalpha() for char in body)
    return 1 if body.isupper() and letters >= 3 and letters * 2 > len(body) else 0


FORMAT = text_format("plain/2", "text/plain", frozenset(), plain_blocks)
