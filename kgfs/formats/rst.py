"""reStructuredText, and the plainer texts that follow its conventions (PEPs with their mail-like header)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgfs.domain.text import Block
from kgfs.formats.contract import text_format
from kgfs.formats.headings import is_adornment, words_of
from kgfs.formats.lines import SHORT, Line, end_of_indented, end_of_paragraph

_ITEM = re.compile(r"(?:[-+*•‣]|\(?(?:\d{1,4}|#|[A-Za-z]|[ivxIVX]{2,5})[.)])\s")
_FIELD = re.compile(r":[^\s:`][^:`]{0,80}:(?:\s|$)")
_HEADER = re.compile(r"[A-Z][\w-]{0,40}:(?:\s|$)")
_DIRECTIVE = re.compile(r"\.\.\s+(?:\|[^|]{1,80}\|\s+)?([A-Za-z][\w:+.-]{0,60})::(?:\s|$)")
_NOTE = re.compile(r"\.\.\s+\[[^\]]{1,80}\]\s")
_BORDER = re.compile(r"=+(?:\s+=+)+$")

_KIND_OF_DIRECTIVE = {
    "code": ("code-block", "code", "sourcecode", "parsed-literal", "highlight", "productionlist", "math", "doctest",
             "testcode", "testsetup", "testoutput", "prompt", "literalinclude", "graphviz", "raw"),
    "table": ("table", "list-table", "csv-table"),
    "meta": ("image", "figure", "toctree", "contents", "include", "meta", "index", "sectnum", "default-role", "role",
             "currentmodule", "module", "unicode"),
}  # fmt: skip
_DIRECTIVES = {name: kind for kind, names in _KIND_OF_DIRECTIVE.items() for name in names}
_SIGNS = re.compile(r"^\.\. (?:[\w-]{1,40}::|_[^\n:]{1,80}:)|^:[A-Za-z-]{2,20}: |:[a-z]{2,10}:`", re.MULTILINE)
_PEP = re.compile(r"\ufeff?PEP: \d")
_CERTAIN = 1 << 30


def signs(start: str) -> int:
    """Count directives, targets, fields and roles. The header of a PEP counts as certain."""
    return _CERTAIN if _PEP.match(start) else sum(1 for _ in _SIGNS.finditer(start))


def rst_blocks(lines: Sequence[Line]) -> list[Block]:
    return _Scan(lines).run()


class _Scan:
    """One pass over the lines. The level of a heading is the order in which its style first appeared."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.blocks: list[Block] = []
        self.styles: list[tuple[str, bool]] = []
        self.literal_follows = False
        self.tables_end = True

    def run(self) -> list[Block]:
        i = self._header()
        while i < len(self.lines):
            if not self.lines[i].body:
                i += 1
                continue
            literal, self.literal_follows = self.literal_follows, False
            i = self._block(i, literal)
        return self.blocks

    def _add(self, kind: str, first: int, behind: int, level: int = 0, title: str = "") -> int:
        self.blocks.append(Block(kind, self.lines[first].start, self.lines[behind - 1].stop, level, title))
        return behind

    def _header(self) -> int:
        """Add the mail-like header of a PEP and return the line after it; 0 if there is none.

        A header has at least two fields and ends at the first blank line.
        """
        behind = end_of_paragraph(self.lines, 0)
        fields = [line for line in self.lines[:behind] if not line.indent]
        if len(fields) < 2 or not all(_HEADER.match(line.body) for line in fields):
            return 0
        return self._add("meta", 0, behind)

    def _block(self, i: int, literal: bool) -> int:
        line = self.lines[i]
        body = line.body
        if literal and line.indent:
            return self._add("code", i, end_of_indented(self.lines, i, line.indent))
        if behind := self._heading(i):
            return behind
        if len(body) <= SHORT and is_adornment(body, 4) and self._alone(i):
            return self._add("rule", i, i + 1)
        if body.startswith("..") and (len(body) == 2 or body[2].isspace()):
            return self._explicit(i)
        if body.startswith(">>>"):
            return self._add("code", i, end_of_paragraph(self.lines, i))
        if body[0] in "+=" and (behind := self._table(i)):
            return self._add("table", i, behind)
        if body[0] == ":" and _FIELD.match(body):
            return self._add("meta", i, self._end_of_items(i, _FIELD))
        if _ITEM.match(body):
            behind = self._end_of_items(i, _ITEM)
            self._announce(behind)
            return self._add("list", i, behind)
        if not line.indent and i + 1 < len(self.lines) and self.lines[i + 1].body and self.lines[i + 1].indent:
            return self._definition(i)
        behind = end_of_paragraph(self.lines, i)
        self._announce(behind)
        return self._add("quote" if line.indent else "paragraph", i, behind)

    def _announce(self, behind: int) -> None:
        """Record whether the text before line ``behind`` ends with ``::``, so that a literal block follows."""
        self.literal_follows = self.lines[behind - 1].body.endswith("::")

    def _heading(self, i: int) -> int:
        """Add the heading that begins at line ``i`` and return the line after it; 0 if none begins there."""
        lines = self.lines
        first = lines[i]
        if i + 1 >= len(lines) or len(first.body) > SHORT:
            return 0
        title = lines[i + 1]
        if is_adornment(first.body) and not first.indent and i + 2 < len(lines):
            over = lines[i + 2].body == first.body and title.body and not is_adornment(title.body, 1)
            if over and len(first.body) >= min(len(title.body), 4):
                return self._add("heading", i, i + 3, self._level(first.body[0], True), words_of(title.body))
        under = title.body
        if first.indent or title.indent or not under or len(under) > SHORT or not is_adornment(under, 2):
            return 0
        if is_adornment(first.body, 4) or len(under) < min(len(first.body), 4) or under == "::":
            return 0
        return self._add("heading", i, i + 2, self._level(under[0], False), words_of(first.body))

    def _level(self, char: str, overlined: bool) -> int:
        style = (char, overlined)
        if style not in self.styles:
            self.styles.append(style)
        return self.styles.index(style) + 1

    def _alone(self, i: int) -> bool:
        return (i == 0 or not self.lines[i - 1].body) and (i + 1 >= len(self.lines) or not self.lines[i + 1].body)

    def _explicit(self, i: int) -> int:
        """Add a directive, footnote, link target or comment, and return the line after it.

        What is indented below it is a part of it.
        """
        line = self.lines[i]
        behind = max(i + 1, end_of_indented(self.lines, i + 1, line.indent + 1))
        if found := _DIRECTIVE.match(line.body):
            return self._add(_DIRECTIVES.get(found[1].lower(), "paragraph"), i, behind)
        return self._add("list" if _NOTE.match(line.body) else "meta", i, behind)

    def _definition(self, i: int) -> int:
        """Add a term with its indented definition, or a paragraph with a hanging indent. Return the line after it."""
        behind = end_of_paragraph(self.lines, i)
        if all(self.lines[k].indent for k in range(i + 1, behind)):
            self._announce(behind)
            if not self.literal_follows:
                behind = max(behind, end_of_indented(self.lines, behind, 1))
            return self._add("list", i, behind)
        self._announce(behind)
        return self._add("paragraph", i, behind)

    def _end_of_items(self, i: int, marker: re.Pattern[str]) -> int:
        """Return the line after all items at this indent.

        The blank lines between them and what is indented below them are included.
        """
        lines = self.lines
        indent = lines[i].indent
        last = i
        blank = False
        for k in range(i, len(lines)):
            line = lines[k]
            if not line.body:
                blank = True
                continue
            if k > i and line.indent <= indent and (line.indent < indent or not marker.match(line.body)) and blank:
                break
            blank = False
            last = k + 1
        return last

    def _table(self, i: int) -> int:
        """Return the line after the grid or simple table that begins at line ``i``; 0 if none does."""
        lines = self.lines
        body = lines[i].body
        if body[0] == "+":
            return end_of_paragraph(lines, i) if body.startswith("+-") and body.endswith("+") else 0
        if not _BORDER.match(body[:SHORT]):
            return 0
        if self.tables_end:
            for k in range(i + 2, len(lines)):
                border = lines[k].body[:1] == "=" and _BORDER.match(lines[k].body[:SHORT])
                if border and (k + 1 == len(lines) or not lines[k + 1].body):
                    return k + 1
            self.tables_end = False  # no table ends below this line, so later searches are skipped: linear time
        return end_of_paragraph(lines, i)


FORMAT = text_format("rst/2", "text/x-rst", frozenset({"rst", "rest"}), rst_blocks, signs)
