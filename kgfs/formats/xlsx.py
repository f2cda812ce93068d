"""Spreadsheets (XLSX): every cell, merged ones in each row that they head, the cached values of formulas, comments."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from kgfs.errors import UnreadableTextError
from kgfs.formats.contract import Format
from kgfs.formats.grid import MOST_REPEATED, REPEATED
from kgfs.formats.numerals import whole_number
from kgfs.formats.package import Package, attribute, chart_labels, child, holds_part, local, unescaped
from kgfs.formats.pieces import Piece, cell_of, heading, line_of
from kgfs.formats.sheet_numbers import BUILT_IN, shown

ROWS = 500
"""Rows of one piece of a table."""
WIDEST = 2000
"""Columns of a row that are shown as a table; cells of a row that has more stand one a line."""

_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,8})")
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s+ref\s*=\s*[\"']([A-Z]{1,3}[0-9]{1,8}):([A-Z]{1,3}[0-9]{1,8})[\"']")


def pieces(content: bytes) -> Iterator[Piece]:
    yield from _Workbook(Package(content)).pieces()


class _Workbook:
    def __init__(self, package: Package) -> None:
        self._package = package
        relations = package.relations("").values()
        self._main = next((target for kind, target in relations if kind == "officeDocument"), "xl/workbook.xml")
        self._relations = package.relations(self._main)
        self._root = package.xml(self._main)
        self._strings = self._shared_strings()
        self._codes = self._codes_of_styles()
        self._epoch = datetime(1899, 12, 30)
        if attribute(child(self._root, "workbookPr"), "date1904") in ("1", "true"):
            self._epoch = datetime(1904, 1, 1)

    def pieces(self) -> Iterator[Piece]:
        from lxml import etree

        sheets = child(self._root, "sheets")
        if sheets is None:
            raise UnreadableTextError("damaged: its list of sheets cannot be read")
        yield Piece("", facts={"title": self._package.title(), "pages": len(sheets)})
        for sheet in sheets:
            kind, target = self._relations.get(attribute(sheet, "id"), ("", ""))
            name = attribute(sheet, "name")
            yield heading(name, 2, {"sheet": name})
            if kind == "worksheet":
                try:
                    yield from self._rows(target, name)
                except etree.XMLSyntaxError:  # nothing of it could be made out; the other sheets are read
                    self._package.lost.append(target)
            for other, part in self._package.relations(target).values():
                yield from self._beside(other, part, name)
        yield Piece("", facts={"note": self._package.note()})

    def _beside(self, kind: str, part: str, sheet: str) -> Iterator[Piece]:
        if kind in ("comments", "threadedComment"):
            for comment in self._all(part, "comment", "threadedComment"):
                words = "".join(unescaped(found.text) for found in comment.iter() if local(found) in ("t", "text"))
                if words.strip() and "[Threaded comment]" not in words:
                    at = _position(attribute(comment, "ref"))
                    place: dict[str, str | int] = {"sheet": sheet, "row": at[1], "column": at[0]}
                    yield Piece("paragraph", f"Comment at {attribute(comment, 'ref')}: {words}", place=place)
        elif kind == "drawing":
            shapes = " ".join(found.text or "" for found in self._all(part, "t"))
            if shapes.strip():
                yield Piece("paragraph", shapes, place={"sheet": sheet})
            for other, chart in self._package.relations(part).values():
                if other == "chart" and (labels := chart_labels(self._package.xml(chart))):
                    yield Piece("paragraph", labels, place={"sheet": sheet})

    def _all(self, part: str, *names: str) -> list[Any]:
        root = self._package.xml(part)
        return [found for found in root.iter() if local(found) in names] if root is not None else []

    def _rows(self, part: str, sheet: str) -> Iterator[Piece]:
        """Yield the table of a sheet in pieces. Each run of adjacent rows has a place; rows without a cell have none."""
        from lxml import etree

        content = self._package.read(part)
        if content is None:
            return
        merged = _Merged(content)
        pending: list[list[str]] = []
        begin, expected, first, width = 0, 0, 0, 0
        events = etree.iterparse(
            io.BytesIO(content), tag="{*}row", recover=True, resolve_entities=False, no_network=True
        )
        number = 0
        for _, row in events:
            number = whole_number(attribute(row, "r"), number + 1)
            cells = self._cells(row)
            row.clear()
            while row.getprevious() is not None:
                del row.getparent()[0]
            if not cells:
                continue
            merged.fill(number, cells)
            if not width:
                first, width = min(cells), min(max(cells) - min(cells) + 1, WIDEST)
            elif min(cells) < first or number != expected or len(pending) >= ROWS:
                if pending:
                    yield _table(pending, begin, first, sheet)
                pending = []
                if min(cells) < first:
                    first, width = min(cells), min(max(cells) - min(cells) + 1, WIDEST)
            if not pending:
                begin = number
            last = min(max(cells), first + WIDEST - 1)
            pending.append([cell_of(cells.get(column, "")) for column in range(first, last + 1)])
            expected = number + 1
            for column in sorted(cells):
                if column > last:
                    place: dict[str, str | int] = {"sheet": sheet, "row": number, "column": column}
                    yield Piece("paragraph", cells[column], place=place)
        if pending:
            yield _table(pending, begin, first, sheet)

    def _cells(self, row: Any) -> dict[int, str]:
        """Return the words of a row's cells by column, from 1; without empty ones."""
        cells: dict[int, str] = {}
        column = 0
        for cell in row:
            if local(cell) != "c":
                continue
            column = _position(attribute(cell, "r"))[0] or column + 1
            words = self._value(cell)
            if words.strip():
                cells[column] = words
        return cells

    def _value(self, cell: Any) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return "".join(unescaped(found.text) for found in cell.iter() if local(found) == "t")
        value = child(cell, "v")
        words = value.text or "" if value is not None else ""
        if not words:
            formula = child(cell, "f")
            return f"={formula.text}" if formula is not None and formula.text else ""
        if kind == "s":
            at = whole_number(words, len(self._strings))
            return self._strings[at] if at < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if words == "1" else "FALSE"
        if kind != "n":
            return unescaped(words)
        style = cell.get("s", "0")
        return shown(words, self._codes.get(whole_number(style, 0), ""), self._epoch)

    def _shared_strings(self) -> list[str]:
        part = next((target for kind, target in self._relations.values() if kind == "sharedStrings"), "")
        root = self._package.xml(part) if part else None
        strings = []
        for item in root if root is not None else ():
            if local(item) == "si":
                parts = [found for found in item.iter() if local(found) == "t" and local(found.getparent()) != "rPh"]
                strings.append("".join(unescaped(found.text) for found in parts))
        return strings

    def _codes_of_styles(self) -> dict[int, str]:
        """Return the code of the number format of each cell style that has one."""
        part = next((target for kind, target in self._relations.values() if kind == "styles"), "")
        root = self._package.xml(part) if part else None
        codes = BUILT_IN | {
            whole_number(attribute(each, "numFmtId"), 0): attribute(each, "formatCode")
            for each in (root.iter() if root is not None else ())
            if local(each) == "numFmt"
        }
        formats = child(root, "cellXfs")
        ids = [whole_number(attribute(each, "numFmtId"), 0) for each in (formats if formats is not None else ())]
        return {n: codes[id_] for n, id_ in enumerate(ids) if id_ in codes}


class _Merged:
    """The cells of a sheet that are merged over rows: the upper left one says its words in each row that it heads."""

    def __init__(self, content: bytes) -> None:
        """Take a sheet, which lists them behind its rows."""
        begins: dict[int, list[tuple[int, int]]] = {}
        for found in _MERGED.finditer(content, max(content.rfind(b"</sheetData>"), content.rfind(b":sheetData>"), 0)):
            (column, row), (_, last) = (_position(reference.decode()) for reference in found.groups())
            if column and row < last:
                begins.setdefault(row, []).append((column, last))
        self._begins = begins
        self._open: dict[int, tuple[int, str]] = {}
        """Columns of merged cells that have begun: their last rows, and their words."""
        self._left = MOST_REPEATED

    def fill(self, number: int, cells: dict[int, str]) -> None:
        """Add to the cells of a row, which come in order, those of merged cells above."""
        for column, (last, words) in list(self._open.items()):
            if number > last:
                del self._open[column]
            elif column not in cells and self._left >= len(words):
                self._left -= len(words)
                cells[column] = words
        for column, last in self._begins.pop(number, ()):
            if column in cells and len(cells[column]) <= REPEATED:
                self._open[column] = last, cells[column]


def _table(rows: list[list[str]], row: int, first: int, sheet: str) -> Piece:
    """Return the table of adjacent rows, its first one, the header, as wide as the widest."""
    width = max(map(len, rows))
    head = line_of(rows[0] + [""] * (width - len(rows[0])))
    lines = [head, "|" + " --- |" * width, *map(line_of, rows[1:])]
    return Piece("table", "\n".join(lines), place={"sheet": sheet, "row": row, "cells": first})


def _position(reference: str) -> tuple[int, int]:
    """Return (column, row) from 1 of a reference such as ``B7``; (0, 0) for what is none."""
    found = _REFERENCE.match(reference)
    if not found:
        return 0, 0
    column = 0
    for letter in found[1]:
        column = column * 26 + ord(letter) - 64
    return column, int(found[2])


def _is_xlsx(content: bytes) -> bool:
    return holds_part(content, b"xl/workbook.xml", b"[Content_Types].xml")


FORMAT = Format(
    "xlsx/5",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    frozenset({"xlsx", "xlsm", "xltx"}),
    pieces=pieces,
    signature=_is_xlsx,
    binary=True,
)
