"""OpenDocument texts (ODT): headings, paragraphs, lists, tables, notes, comments, headers and footers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kgfs.errors import UnreadableTextError
from kgfs.formats.contract import Format
from kgfs.formats.numerals import whole_number
from kgfs.formats.odt_numbering import Numbering
from kgfs.formats.package import Package, attribute, child, local
from kgfs.formats.pieces import Piece, cell_of, heading, table

_LEFT_OUT = frozenset({"tracked-changes", "sequence-decls", "variable-decls", "bookmark-ref", "forms", "note-citation"})
_INSIDE = frozenset(
    {"section", "index-body", "table-of-content", "alphabetical-index", "illustration-index", "index-title"}
)


def pieces(content: bytes) -> Iterator[Piece]:
    package = Package(content)
    manifest = package.xml("META-INF/manifest.xml")
    if manifest is not None and any(local(each) == "encryption-data" for each in manifest.iter()):
        raise UnreadableTextError("encrypted: give the password to a copy")
    root, styles = package.xml("content.xml"), package.xml("styles.xml")
    body = child(child(root, "body"), "text")
    if body is None:
        raise UnreadableTextError("damaged: its text cannot be read")
    meta = package.xml("meta.xml")
    title = next((each.text or "" for each in (meta.iter() if meta is not None else ()) if local(each) == "title"), "")
    yield Piece("", facts={"title": title})
    yield from _furniture(styles)
    reader = _Reader(root, styles)
    yield from reader.blocks(body)
    yield from reader.notes
    if reader.links:
        lines = [f"- {words}: {target}" for target, words in reader.links.items()]
        yield Piece("furniture", "\n".join(["Links:", *lines]))
    yield Piece("", facts={"note": package.note()})


def _furniture(styles: Any | None) -> Iterator[Piece]:
    given = set()
    for each in styles.iter() if styles is not None else ():
        if local(each) in ("header", "footer"):
            words = "\n".join(piece.text for piece in _Reader().blocks(each))
            if words.strip() and words not in given:
                given.add(words)
                yield Piece("furniture", words)


class _Reader:
    def __init__(self, *styles: Any) -> None:
        """Take the roots that define list styles."""
        self._numbering = Numbering(styles)
        self.notes: list[Piece] = []
        self.links: dict[str, str] = {}
        self._aside: list[Piece] = []

    def blocks(self, parent: Any) -> Iterator[Piece]:
        for element in parent:
            name = local(element)
            if name == "h":
                yield from self._heading(element, "")
            elif name == "p":
                if words := self._words(element).strip():
                    yield Piece("paragraph", words)
            elif name == "list":
                style = self._numbering.style_of(element, "")
                yield from self._list(element, 0, style, self._numbering.begin(element, style))
            elif name == "table":
                yield from self._table(element)
            elif name in _INSIDE:
                yield from self.blocks(element)
            elif name in ("frame", "a"):
                self._frame(element)
            aside, self._aside = self._aside, []
            yield from aside

    def _heading(self, element: Any, mark: str) -> Iterator[Piece]:
        """Yield a heading; ``mark`` is its number in a list, without which the outline numbers it."""
        words = self._words(element).strip()
        level = attribute(element, "outline-level")
        depth = whole_number(level, 1)
        if words:
            number = mark or self._numbering.heading(element, depth - 1)
            yield heading(f"{number} {words}" if number != "-" else words, depth)

    def _list(self, element: Any, level: int, style: str, counts: dict[int, int]) -> Iterator[Piece]:
        """Yield the blocks of a list: runs of its lines, and what stands in it as a block of its own."""
        lines: list[str] = []
        for item in element:
            mark = ""
            if local(item) == "list-item" and any(local(each) != "list" for each in item):
                mark = self._numbering.item(item, style, level, counts)
            for each in item:
                name = local(each)
                if name == "p":
                    if words := self._words(each).strip():
                        lines.append("  " * level + (f"{mark} " if mark else "  ") + words)
                        mark = ""
                    continue
                if name == "list":
                    found = self._list(each, level + 1, self._numbering.style_of(each, style), counts)
                elif name == "h":
                    found = self._heading(each, mark)
                    mark = ""
                else:
                    found = self.blocks([each])
                for piece in found:
                    if piece.kind == "list":
                        lines.append(piece.text)
                    else:
                        if lines:
                            yield Piece("list", "\n".join(lines))
                        lines = []
                        yield piece
        if lines:
            yield Piece("list", "\n".join(lines))

    def _table(self, element: Any) -> Iterator[Piece]:
        rows: list[list[str]] = []
        nested: list[Piece] = []
        for row in element.iter():
            if local(row) != "table-row" or _table_of(row) is not element:
                continue
            cells: list[str] = []
            for cell in row:
                if local(cell) not in ("table-cell", "covered-table-cell"):
                    continue
                parts: list[Piece] = []
                for piece in self.blocks(cell):
                    (nested if piece.kind == "table" else parts).append(piece)
                repeat = attribute(cell, "number-columns-repeated")
                words = " ".join(piece.text.lstrip("# ") for piece in parts)
                cells += [words] * (min(whole_number(repeat, 1), 50))
            rows.append(cells)
        if words := table(rows):
            yield Piece("table", words)
        yield from nested

    def _words(self, element: Any) -> str:
        parts = [element.text or ""]
        for each in element:
            name = local(each)
            if name == "s":
                count = attribute(each, "c")
                parts.append(" " * (min(whole_number(count, 1), 100)))
            elif name in ("tab", "line-break"):
                parts.append("\t" if name == "tab" else "\n")
            elif name == "note":
                citation = child(each, "note-citation")
                label = (citation.text or "").strip() if citation is not None else ""
                label = label or str(len(self.notes) + 1)
                parts.append(f"[^{label}]")
                body = child(each, "note-body")
                words = " ".join(piece.text for piece in (self.blocks(body) if body is not None else ()))
                self.notes.append(Piece("paragraph", f"[^{label}]: {words}"))
            elif name == "annotation":
                words = " ".join(piece.text for piece in self.blocks(each))
                self._aside.append(Piece("paragraph", f"Comment: {words}"))
            elif name == "ruby-text":
                parts.append(f"({self._words(each)})")
            elif name == "frame":
                self._frame(each)
            elif name == "a":
                words = self._words(each)
                parts.append(words)
                target = attribute(each, "href")
                if target and not target.startswith("#") and target != words.strip():
                    self.links.setdefault(target, " ".join(words.split()))
            elif name and name not in _LEFT_OUT:
                parts.append(self._words(each))
            parts.append(each.tail or "")
        return "".join(parts)

    def _frame(self, element: Any) -> None:
        for each in element:
            if local(each) == "text-box":
                kept, self._aside = self._aside, []
                self._aside = [*kept, *self.blocks(each)]
            elif local(each) in ("title", "desc") and each.text:
                self._aside.append(Piece("paragraph", f"![{cell_of(each.text)}]"))
            elif local(each) == "frame":
                self._frame(each)


def _table_of(element: Any) -> Any | None:
    return next((found for found in element.iterancestors() if local(found) == "table"), None)


def _is_odt(content: bytes) -> bool:
    return content.startswith(b"PK\x03\x04") and b"application/vnd.oasis.opendocument.text" in content[:200]


FORMAT = Format(
    "odt/3",
    "application/vnd.oasis.opendocument.text",
    frozenset({"odt", "ott"}),
    pieces=pieces,
    signature=_is_odt,
    binary=True,
)
