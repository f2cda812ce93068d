"""A text split into lines, as the scanners of structure need it."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import NamedTuple, overload

from kgfs.domain.text import Block

MARK = "\ufeff"
"""The byte-order mark, which stays in a Text as its first character."""

SHORT = 300
"""Headings, rules and table borders are looked for only in lines of at most this many characters."""

CACHED = 4096
"""Lines that are kept for the next question about them."""

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


class Lines(Sequence[Line]):
    """The lines of a text, made as they are asked for: a text of hundreds of megabytes has millions."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = array("Q", (match.start() for match in _LINE.finditer(text)))
        self._cached = dict[int, Line]()

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, at: int) -> Line: ...
    @overload
    def __getitem__(self, at: slice) -> list[Line]: ...
    def __getitem__(self, at: int | slice) -> Line | list[Line]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        found = self._cached.get(at)
        if found is None:
            if at < 0:
                at += len(self)
            if len(self._cached) >= CACHED:
                self._cached.clear()
            found = self._cached[at] = self._made(at)
        return found

    def _made(self, at: int) -> Line:
        start = self._starts[at]
        behind = self._starts[at + 1] if at + 1 < len(self._starts) else len(self._text)
        line = _line(start, self._text[start:behind])
        if at == 0 and self._text.startswith(MARK):
            return line._replace(body=line.body[1:].strip() or line.body)
        return line


def lines_of(text: str) -> Lines:
    return Lines(text)


def _line(start: int, raw: str) -> Line:
    right = raw.rstrip()
    body = right.lstrip()
    space = len(right) - len(body)
    if space and "\t" in right[:space]:
        return Line(start, start + len(right), len(right[:space].expandtabs()), body)
    return Line(start, start + len(right), space, body)


def end_of_indented(lines: Sequence[Line], at: int, indent: int) -> int:
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


def end_of_paragraph(lines: Sequence[Line], at: int) -> int:
    """Return the index of the next blank line from ``at``, or the number of lines."""
    while at < len(lines) and lines[at].body:
        at += 1
    return at


def stretches(lines: Sequence[Line], kind: str) -> list[Block]:
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
