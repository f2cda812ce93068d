"""Markdown (CommonMark's block structure, tables of GitHub's dialect, YAML or TOML front matter)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgfs.domain.text import Block
from kgfs.formats.contract import text_format
from kgfs.formats.headings import words_of
from kgfs.formats.lines import SHORT, Line, end_of_indented, end_of_paragraph

_ATX = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_ATX_TAIL = re.compile(r"(?:^|[ \t])#+$")
_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?:\s|$)")
_DELIMITER_ROW = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$")
_SIGNS = re.compile(r"^(?:#{1,6} \S|```|~~~|\[[^\]\n]{1,80}\]: \S)|\]\(https?://", re.MULTILINE)


def signs(start: str) -> int:
    """Count headings, fences and links of Markdown."""
    return sum(1 for _ in _SIGNS.finditer(start))


def markdown_blocks(lines: Sequence[Line]) -> list[Block]:
    blocks: list[Block] = []
    i = 0

    def add(kind: str, first: int, behind: int, level: int = 0, title: str = "") -> int:
        blocks.append(Block(kind, lines[first].start, lines[behind - 1].stop, level, title))
        return behind

    if behind := _front_matter(lines):
        i = add("meta", 0, behind)
    while i < len(lines):
        line = lines[i]
        if not line.body:
            i += 1
        elif line.indent >= 4:
            i = add("code", i, end_of_indented(lines, i, 4))
        elif _fence(line):
            i = add("code", i, _end_of_fence(lines, i))
        elif heading := _ATX.match(line.body):
            title = _ATX_TAIL.sub("", line.body[heading.end() :][:SHORT])
            i = add("heading", i, i + 1, len(heading[1]), words_of(title))
        elif _is_rule(line):
            i = add("rule", i, i + 1)
        elif line.body[0] == ">":
            i = add("quote", i, end_of_paragraph(lines, i))
        elif _ITEM.match(line.body):
            i = add("list", i, _end_of_list(lines, i))
        elif _is_table(lines, i):
            i = add("table", i, _end_of_table(lines, i))
        else:
            behind, level = _end_of_text(lines, i)
            if level:
                title = " ".join(lines[k].body for k in range(i, behind - 1))
                i = add("heading", i, behind, level, words_of(title))
            else:
                i = add("paragraph", i, behind)
    return blocks


def _front_matter(lines: Sequence[Line]) -> int:
    """Return the line after a front matter that opens the text; 0 without one."""
    if not lines or lines[0].body not in ("---", "+++") or lines[0].indent:
        return 0
    closing = ("---", "...") if lines[0].body == "---" else ("+++",)
    if len(lines) < 2 or not re.match(r"[\w\"'#-]", lines[1].body):
        return 0
    for i in range(1, len(lines)):
        if lines[i].body in closing and not lines[i].indent:
            return i + 1
    return 0


def _fence(line: Line) -> str:
    if line.body[0] not in "`~":
        return ""
    found = _FENCE.match(line.body)
    return found[0] if found else ""


def _end_of_fence(lines: Sequence[Line], at: int) -> int:
    """Return the line after the closing fence, or the end of the text if the fence is never closed."""
    fence = _fence(lines[at])
    for i in range(at + 1, len(lines)):
        body = lines[i].body
        if body.startswith(fence) and body.count(fence[0]) == len(body):
            return i + 1
    return len(lines)


def _is_rule(line: Line) -> bool:
    body = line.body
    if body[0] not in "-*_" or len(body) > SHORT:
        return False
    return body.count(body[0]) >= 3 and not body.strip(body[0] + " \t")


def _is_table(lines: Sequence[Line], at: int) -> bool:
    if at + 1 >= len(lines) or "|" not in lines[at].body:
        return False
    row = lines[at + 1].body
    return "-" in row[:SHORT] and "|" in row[:SHORT] and bool(_DELIMITER_ROW.match(row[: 10 * SHORT]))


def _end_of_table(lines: Sequence[Line], at: int) -> int:
    i = at + 2
    while i < len(lines) and "|" in lines[i].body:
        i += 1
    return i


def _end_of_list(lines: Sequence[Line], at: int) -> int:
    """Return the line after all items of a list, with what is indented below them.

    Blank lines between items are included, and fences with all their content.
    """
    i = last = at
    blank = False
    while i < len(lines):
        line = lines[i]
        if not line.body:
            blank = True
            i += 1
            continue
        item = _ITEM.match(line.body)
        if i > at and not item and line.indent < 2 and (blank or _interrupts(line)):
            break
        if i > at and _is_rule(line) and line.indent < 2:
            break
        blank = False
        i = last = _end_of_fence(lines, i) if _fence(line) else i + 1
    return last


def _interrupts(line: Line) -> bool:
    """Return whether a line ends the paragraph before it although no blank line is between them."""
    return bool(_ATX.match(line.body) or _fence(line) or _is_rule(line) or line.body[0] == ">")


def _end_of_text(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """Return (line after a paragraph, 0), or (line after its underline, level) if it is a setext heading."""
    i = at + 1
    while i < len(lines) and lines[i].body:
        line = lines[i]
        if line.indent < 4:
            underline = line.body[0] in "=-" and line.body.count(line.body[0]) == len(line.body)
            if underline and i - at <= 3 and all(lines[k].stop - lines[k].start <= SHORT for k in range(at, i)):
                return i + 1, 1 if line.body[0] == "=" else 2
            if _interrupts(line) or (_ITEM.match(line.body) and line.body[0] in "-+*1"):
                break
        i += 1
    return i, 0


EXTENSIONS = frozenset({"md", "markdown", "mdown", "mkd", "mdx", "qmd", "rmd"})
FORMAT = text_format("markdown/2", "text/markdown", EXTENSIONS, markdown_blocks, signs)
