"""reStructuredText as Markdown, as far as readability needs it: headings, literal blocks, quotes, tables.

Everything else (paragraphs, lists, fields, directives, inline markup) is readable as it is and stays. A line ends at
LF; the carriage returns of CR LF are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ADORNMENT = re.compile(r"([!-/:-@[-`{-~])\1*\s*$")
_CODE = re.compile(r"(\s*)\.\. (?:code-block|code|sourcecode|highlight)::\s*(\S*)\s*$")
_OPTION = re.compile(r"\s+:[\w-]+:")
_GRID = re.compile(r"\s*\+[-=+]+\+\s*$")
_SIMPLE = re.compile(r"\s*=+( +=+)+\s*$")
_NO_PROSE = re.compile(r"(?:[-*+•]|\w{1,4}[.)]|\(\w+\)|\.\.|:[^:]+:|\|)(?:\s|$)")
_FENCE = re.compile(r"`{3,}")


def to_markdown(text: str) -> str:
    """Return the text as Markdown. Pure; one pass over the lines. The result ends in a newline unless it is empty."""
    lines = text.replace("\r\n", "\n").expandtabs(8).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    out = _Converter(lines).convert()
    return "\n".join(out) + "\n" if out else ""


class _Converter:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0
        self._out: list[str] = []
        self._styles: list[tuple[str, bool]] = []
        """Adornments (character, overlined) in the order of their first appearance, which is their level."""
        self._in_prose = False
        """Whether the last unit at the margin was a heading or paragraph. Text indented below it is a quote; below a
        list, field or directive it is a part of that."""

    def convert(self) -> list[str]:
        while self._at < len(self._lines):
            if not (self._heading() or self._code() or self._table() or self._quote()):
                self._plain()
        return self._out

    def _line(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._lines[at] if 0 <= at < len(self._lines) else ""

    def _heading(self) -> bool:
        over = _ADORNMENT.match(self._line())
        if over and self._line(1).strip() and self._line(2).rstrip() == self._line().rstrip() and len(over[0]) > 2:
            return self._titled(self._line(1), over[1], overlined=True)
        under = _ADORNMENT.match(self._line(1))
        title = self._line().rstrip()
        if (
            not under
            or not title
            or title[0] == " "
            or _ADORNMENT.match(title)
            or self._line(-1).strip()
            or len(under[0].rstrip()) < min(len(title), 4)
        ):
            return False
        return self._titled(title, under[1], overlined=False)

    def _titled(self, title: str, char: str, *, overlined: bool) -> bool:
        style = (char, overlined)
        if style not in self._styles:
            self._styles.append(style)
        level = min(self._styles.index(style) + 1, 6)
        self._out += ["#" * level + " " + title.strip()]
        self._at += 3 if overlined else 2
        self._in_prose = True
        if self._line().strip():
            self._out.append("")
        return True

    def _code(self) -> bool:
        found = _CODE.match(self._line())
        if not found:
            return False
        self._at += 1
        self._in_prose = False
        while _OPTION.match(self._line()):
            self._at += 1
        self._literal(len(found[1]), found[2])
        return True

    def _literal(self, indent: int, language: str = "") -> None:
        """Write the indented block that follows as a fenced block; do nothing if none follows."""
        start = self._at
        while start < len(self._lines) and not self._lines[start].strip():
            start += 1
        end = self._end_of_block(start, indent)
        if end > start:
            self._blank()
            self._fenced(_dedented(self._lines[start:end]), language)
            self._at = end

    def _end_of_block(self, start: int, indent: int) -> int:
        """Return the line after the last line from ``start`` that is indented deeper than ``indent``."""
        end = at = start
        while at < len(self._lines) and (not self._lines[at].strip() or _indent(self._lines[at]) > indent):
            at += 1
            if self._lines[at - 1].strip():
                end = at
        return end

    def _table(self) -> bool:
        grid = bool(_GRID.match(self._line()))
        if self._line(-1).strip() or not (grid or _SIMPLE.match(self._line())):
            return False
        end = self._at
        borders = 0
        while end < len(self._lines):
            line = self._lines[end]
            if grid and not line.strip():
                break
            if not grid and not line.strip() and borders >= 2 and _SIMPLE.match(self._lines[end - 1]):
                break
            borders += bool(_SIMPLE.match(line))
            end += 1
        if not grid and borders < 2:
            return False
        self._fenced(_dedented(self._lines[self._at : end]))
        self._at = end
        return True

    def _quote(self) -> bool:
        """Write an indented paragraph after a blank line, below prose, as a quote. Return whether there was one."""
        line = self._line()
        if not line.startswith(" ") or not line.strip() or self._line(-1).strip() or not self._in_prose:
            return False
        end = self._end_of_block(self._at, 0)
        block = _dedented(self._lines[self._at : end])
        if block[-1].endswith("::"):
            return False
        self._out += [f"> {each}".rstrip() for each in block]
        self._at = end
        return True

    def _plain(self) -> None:
        line = self._line()
        if line.strip() and not line.startswith(" ") and not self._line(-1).strip():
            self._in_prose = not _NO_PROSE.match(line)
        self._at += 1
        stripped = line.rstrip()
        if not stripped.endswith("::") or stripped.lstrip().startswith(".. "):
            self._out.append(line)
            return
        indent = _indent(line)
        following = self._at
        while following < len(self._lines) and not self._lines[following].strip():
            following += 1
        if following == self._at or following == len(self._lines) or _indent(self._lines[following]) <= indent:
            self._out.append(line)
            return
        if stripped.strip() != "::":
            self._out.append(stripped[:-1] if stripped[-3:-2].strip() else stripped[:-3].rstrip())
        self._literal(indent)

    def _fenced(self, lines: Sequence[str], language: str = "") -> None:
        longest = max((len(run) for line in lines for run in _FENCE.findall(line)), default=2)
        fence = "`" * max(3, longest + 1)
        self._out += [fence + language, *lines, fence]

    def _blank(self) -> None:
        if self._out and self._out[-1].strip():
            self._out.append("")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _dedented(lines: Sequence[str]) -> list[str]:
    depth = min((_indent(line) for line in lines if line.strip()), default=0)
    return [line[depth:] for line in lines]
