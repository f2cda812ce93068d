"""``source.txt``: an excerpt of a Text with a quote highlighted, and where in the file the quote stands.

    file: documents/watts_zen.txt
    lines: 12-13
    characters: 345:420
    section: Zen > Direct experience

      11 | Words pointed at it, never more.
    > 12 | A teacher held up a finger. ==Zen is not the finger==
    > 13 | ==but the moon.== Nobody laughed.

A line ends at LF only. Where a quote spans several lines the marks are closed before a line end (LF, or CR LF) and opened
again after the next gutter; the line end itself stays a part of the quote and has its place among the spans. So the
spans cover neither mark nor gutter, and joined they are the quote, whatever the Text contains.

The path and the note are the only parts that change while the excerpt does not, and the marks are a setting: sizes are
therefore stored without the three (:func:`base_size`) and completed when asked for (:func:`size`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kgfs.render.words import encode, fold, lines_of

STALE = (
    "stale: the file has newer content, which does not stand in the graph yet; this is evidence in an earlier version"
)
REMOVED = "original removed: no file has this content any more"

Span = tuple[int, int]
"""Characters of the shown file, from 0, end exclusive."""

_LINE_END = re.compile(r"\r?\n")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Whole consecutive Sources around one quote. Offsets are of the Text."""

    text: str
    start: int
    """Of ``text``, in characters."""
    line: int
    """The line on which ``text`` starts."""
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
    """Where the document stands now: what may change without the excerpt."""

    path: str
    """Below the ontology's folder, as names are encoded: ``documents/a.txt``, ``versions/a.txt@/1.txt``, …"""
    note: str = ""
    """STALE, REMOVED or nothing."""


@dataclass(frozen=True, slots=True)
class Marks:
    start: str = "=="
    end: str = "=="


def render(excerpt: Excerpt, origin: Origin, marks: Marks) -> bytes:
    body, _ = _body(excerpt, marks)
    return encode(_header(excerpt, origin) + body)


def spans(excerpt: Excerpt, origin: Origin, marks: Marks) -> tuple[Span, ...]:
    """Where the quote stands in the rendered file: one span, or several where marks or gutter cut it."""
    _, found = _body(excerpt, marks)
    return shifted(found, len(_header(excerpt, origin)))


def shifted(found: tuple[Span, ...], by: int) -> tuple[Span, ...]:
    return tuple((start + by, end + by) for start, end in found)


def base_size(excerpt: Excerpt) -> int:
    """Bytes of the file without path, note and marks: what is stored at commit."""
    return len(render(excerpt, Origin(""), Marks("", "")))


def size(base: int, quote: str, origin: Origin, marks: Marks) -> int:
    """Bytes of the file, from its :func:`base_size`."""
    marked = sum(1 for piece in _LINE_END.split(quote) if piece)
    note = len(encode(_note(origin)))
    return base + len(encode(origin.path)) + note + marked * len(encode(marks.start + marks.end))


def _header(excerpt: Excerpt, origin: Origin) -> str:
    before = excerpt.text.count("\n", 0, excerpt.quote_start - excerpt.start)
    line = excerpt.line + before
    last_line = line + excerpt.quote.count("\n", 0, -1)
    return "".join(
        (
            f"file: {origin.path}\n",
            _note(origin),
            f"{lines_of(line, last_line).replace(' ', ': ')}\n",
            f"characters: {excerpt.quote_start}:{excerpt.quote_end}\n",
            f"page: {excerpt.page}\n" if excerpt.page is not None else "",
            f"section: {fold(' > '.join(excerpt.section_path))}\n" if excerpt.section_path else "",
            "\n",
        )
    )


def _note(origin: Origin) -> str:
    return f"note: {origin.note}\n" if origin.note else ""


def _body(excerpt: Excerpt, marks: Marks) -> tuple[str, tuple[Span, ...]]:
    start, end = excerpt.quote_start - excerpt.start, excerpt.quote_end - excerpt.start
    width = len(str(excerpt.line + excerpt.text.count("\n")))
    out: list[str] = []
    found: list[Span] = []
    written = 0

    def write(piece: str, *, of_quote: bool = False) -> None:
        nonlocal written
        if of_quote and piece:
            if found and found[-1][1] == written:
                found[-1] = (found[-1][0], written + len(piece))
            else:
                found.append((written, written + len(piece)))
        written += len(piece)
        out.append(piece)

    for number, (begin, line) in enumerate(_lines(excerpt.text), excerpt.line):
        a, b = max(start, begin), min(end, begin + len(line))
        write(f"{'>' if a < b else ' '} {number:>{width}} | ")
        if a < b:
            quoted = excerpt.text[a:b]
            line_end = _LINE_END.search(quoted)
            words = quoted[: line_end.start()] if line_end else quoted
            write(line[: a - begin])
            if words:
                write(marks.start)
                write(words, of_quote=True)
                write(marks.end)
            write(line_end[0] if line_end else "", of_quote=True)
            write(line[b - begin :])
        else:
            write(line)
    if not excerpt.text.endswith("\n"):
        write("\n")
    return "".join(out), tuple(found)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line with the offset where it begins, its LF included."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        yield begin, text[begin:end]
        begin = end
