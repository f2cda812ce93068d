"""A text split into lines, as the scanners of structure need it."""

from __future__ import annotations

import re
from typing import NamedTuple

from kgfs.domain.text import Block

MARK = "\ufeff"
"""The byte-order mark, which stays in a Text as its first character."""

SHORT = 300
"""Headings, rules and table borders are looked for only in lines of at most this many characters."""

_LINE = re.compile(r"[^\r\n]+(?:\r\n|[\r\n])?|\r\n|[\r\n]")
"""CRLF, LF and a lone CR end a line here, because structure follows what an editor shows. Line numbers count LF only.
"""


class Line(NamedTuple):
    start: int
    stop: int
    """The offset after the last character that is not white space."""
    indent: int
    """Columns of white space before ``body``; a tab goes to the next multiple of 8."""
    body: str
    """The line without outer white space (and without byte-order mark); empty for a blank line."""


def lines_of(text: str) -> list[Line]:
    found = [_line(match.start(), match.group()) for match in _LINE.finditer(text)]
    if text.startswith(MARK):
        first = found[0]
        found[0] = first._replace(body=first.body[1:].strip() or first.body)
    return found


def _line(start: int, raw: str) -> Line:
    right = raw.rstrip()
    body = right.lstrip()
    space = len(right) - len(body)
    if space and "\t" in right[:space]:
        return Line(start, start + len(right), len(right[:space].expandtabs()), body)
    return Line(start, start + len(right), space, body)


def end_of_indented(lines: list[Line], at: int, indent: int) -> int:
    """Return the index of the first line from ``at`` that is neither blank nor indented by ``indent``.

    Blank lines before that line are not included: the index is that of the first of them.
    """
    last = at
    for i in range(at, len(lines)):
        if lines[i].body:
            if lines[i].indent < indent:
                break
            last = i + 1
    return last


def end_of_paragraph(lines: list[Line], at: int) -> int:
    """Return the index of the next blank line from ``at``, or the number of lines."""
    while at < len(lines) and lines[at].body:
        at += 1
    return at


def stretches(lines: list[Line], kind: str) -> list[Block]:
    """Return one block of the given kind for each run of lines without a blank one."""
    blocks: list[Block] = []
    i = 0
    while i < len(lines):
        if not lines[i].body:
            i += 1
            continue
        behind = end_of_paragraph(lines, i)
        blocks.append(Block(kind, lines[i].start, lines[behind - 1].stop))
        i = behind
    return blocks
