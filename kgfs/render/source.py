"""``source.txt``: an excerpt of a Text with a quote highlighted, and the position of the quote in the file.

    file: documents/watts_zen.txt
    lines: 12-13
    characters: 345:420
    section: Zen > Direct experience

      11 | Words pointed at it, never more.
    > 12 | A teacher held up a finger. ==Zen is not the finger==
    > 13 | ==but the moon.== Nobody laughed.

A line ends at LF only. Where a quote spans several lines, the marks are closed before a line end (LF, or CR LF) and
opened again after the next gutter. The line end itself remains a part of the quote and is covered by the spans. So the
spans cover neither mark nor gutter, and concatenated they are the quote, whatever the Text contains.

Paths and note are the only parts that change while the excerpt does not, and the marks are a setting. Therefore sizes are
stored without these three (:func:`base_size`) and completed on request (:func:`size`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kgfs.render.words import fold, lines_of, rendered

STALE = (
    "stale: the file has newer content, which does not stand in the graph yet; this is evidence in an earlier version"
)
REMOVED = "original removed: no file has this content any more"

SHOWN_OTHERS = 10
"""The number of other paths that the header names before it refers to ``citation.json``."""

Span = tuple[int, int]
"""Characters of the shown file, from 0, end exclusive."""

_LINE_END = re.compile(r"\r?\n")
GUTTER = len("> ") + len(" | ")
"""Characters before each line, without the digits of its number."""


@dataclass(slots=True, unsafe_hash=True)  # frozen takes many times as long to make
class Excerpt:
    """Whole consecutive Sources around one quote. Offsets are in the Text."""

    text: str
    start: int
    """The offset of ``text``, in characters."""
    line: int
    """The number of the line on which ``text`` starts."""
    quote_start: int
    quote_end: int
    """The quote is not empty and lies within ``text``."""
    section_path: tuple[str, ...] = ()
    page: int | None = None

    @property
    def quote(self) -> str:
        return self.text[self.quote_start - self.start : self.quote_end - self.start]


@dataclass(frozen=True, slots=True)
class Origin:
    """The present location of the document: what may change without a change of the excerpt."""

    path: str
    """The path below the ontology's folder, encoded as names are: ``documents/a.txt``, ``versions/a.txt@/1.txt``, …"""
    note: str = ""
    """STALE, REMOVED or empty."""
    others: tuple[str, ...] = ()
    """The other paths with the same bytes, below the ontology's folder."""


@dataclass(frozen=True, slots=True)
class Marks:
    start: str = "=="
    end: str = "=="


def render(excerpt: Excerpt, origin: Origin, marks: Marks) -> bytes:
    return rendered(_header(excerpt, origin) + _body(excerpt, marks))


def spans(excerpt: Excerpt, origin: Origin, marks: Marks) -> tuple[Span, ...]:
    """Return the spans of the quote in the rendered file: one span, or several where marks or gutter cut it.

    They are counted without rendering the lines around the quote, because every listing of evidence needs the length
    of these numbers.
    """
    begin = excerpt.quote_start - excerpt.start
    gutter = _width(excerpt) + GUTTER
    at = len(_header(excerpt, origin)) + begin + gutter * (excerpt.text.count("\n", 0, begin) + 1)
    found: list[Span] = []
    for _, line in _lines(excerpt.quote):
        line_end = _LINE_END.search(line)
        words = line_end.start() if line_end else len(line)
        if words:
            at += len(marks.start)
            _join(found, at, at + words)
            at += words + len(marks.end)
        if line_end:
            _join(found, at, at + len(line) - words)
            at += len(line) - words + gutter
    return tuple(found)


def _join(found: list[Span], start: int, end: int) -> None:
    """Append a span, merged with the last one where they are adjacent."""
    if found and found[-1][1] == start:
        found[-1] = (found[-1][0], end)
    else:
        found.append((start, end))


def base_size(excerpt: Excerpt) -> int:
    """Return the size of the file in bytes without path, note and marks, as it is stored at commit."""
    return len(render(excerpt, Origin(""), Marks("", "")))


def size(base: int, quote: str, origin: Origin, marks: Marks) -> int:
    """Return the size of the file in bytes, from its :func:`base_size`."""
    marked = sum(1 for piece in _LINE_END.split(quote) if piece)
    note = len(rendered(_others(origin) + _note(origin)))
    return base + len(rendered(origin.path)) + note + marked * len(rendered(marks.start + marks.end))


def _header(excerpt: Excerpt, origin: Origin) -> str:
    before = excerpt.text.count("\n", 0, excerpt.quote_start - excerpt.start)
    line = excerpt.line + before
    last_line = line + excerpt.quote.count("\n", 0, -1)
    return "".join(
        (
            f"file: {origin.path}\n",
            _others(origin),
            _note(origin),
            f"{lines_of(line, last_line).replace(' ', ': ')}\n",
            f"characters: {excerpt.quote_start}:{excerpt.quote_end}\n",
            f"page: {excerpt.page}\n" if excerpt.page is not None else "",
            f"section: {fold(' > '.join(excerpt.section_path))}\n" if excerpt.section_path else "",
            "\n",
        )
    )


def _others(origin: Origin) -> str:
    lines = [f"also: {path}\n" for path in origin.others[:SHOWN_OTHERS]]
    more = len(origin.others) - SHOWN_OTHERS
    return "".join(lines) + (f"also: {more} more, listed in citation.json\n" if more > 0 else "")


def _note(origin: Origin) -> str:
    return f"note: {origin.note}\n" if origin.note else ""


def _body(excerpt: Excerpt, marks: Marks) -> str:
    start, end = excerpt.quote_start - excerpt.start, excerpt.quote_end - excerpt.start
    width = _width(excerpt)
    out: list[str] = []
    for number, (begin, line) in enumerate(_lines(excerpt.text), excerpt.line):
        a, b = max(start, begin), min(end, begin + len(line))
        out.append(f"{'>' if a < b else ' '} {number:>{width}} | ")
        if a < b:
            quoted = excerpt.text[a:b]
            line_end = _LINE_END.search(quoted)
            words = quoted[: line_end.start()] if line_end else quoted
            marked = (marks.start, words, marks.end) if words else ()
            out += (line[: a - begin], *marked, line_end[0] if line_end else "", line[b - begin :])
        else:
            out.append(line)
    if not excerpt.text.endswith("\n"):
        out.append("\n")
    return "".join(out)


def _width(excerpt: Excerpt) -> int:
    """Return the number of digits of the largest line number."""
    return len(str(excerpt.line + excerpt.text.count("\n")))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with the offset of its start, its LF included."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        yield begin, text[begin:end]
        begin = end
