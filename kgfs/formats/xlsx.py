"""Spreadsheets (XLSX): every cell as it is stored, dates in ISO 8601, the cached values of formulas, comments."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from kgfs.errors import UnreadableTextError
from kgfs.formats.contract import Format
from kgfs.formats.numerals import whole_number
from kgfs.formats.package import Package, attribute, chart_labels, child, holds_part, local
from kgfs.formats.pieces import Piece, cell_of, heading, line_of

ROWS = 500
"""Rows of one piece of a table."""
WIDEST = 2000
"""Columns of a row that are shown as a table; cells of a row that has more stand one a line."""

_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,8})")
_BUILT_IN_DATES = {
    14: "d",
    15: "d",
    16: "d",
    17: "d",
    18: "t",
    19: "t",
    20: "t",
    21: "t",
    22: "dt",
    45: "t",
    46: "e",
    47: "t",
}
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]")
_QUOTED = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.|\*.')


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
        self._kinds = self._kinds_of_styles()
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
                words = "".join(found.text or "" for found in comment.iter() if local(found) in ("t", "text"))
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
        pending: list[str] = []
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
            pending.append(line_of(cell_of(cells.get(column, "")) for column in range(first, last + 1)))
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
            return "".join(found.text or "" for found in cell.iter() if local(found) == "t")
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
            return words
        style = cell.get("s", "0")
        shown = self._kinds.get(whole_number(style, 0), "")
        return _date(self._epoch, words, shown) if shown else _shortest(words)

    def _shared_strings(self) -> list[str]:
        part = next((target for kind, target in self._relations.values() if kind == "sharedStrings"), "")
        root = self._package.xml(part) if part else None
        strings = []
        for item in root if root is not None else ():
            if local(item) == "si":
                parts = [found for found in item.iter() if local(found) == "t" and local(found.getparent()) != "rPh"]
                strings.append("".join(found.text or "" for found in parts))
        return strings

    def _kinds_of_styles(self) -> dict[int, str]:
        """Return for each cell style that shows dates what they show: ``d``, ``t`` or ``dt``; ``e`` for hours that passed."""
        part = next((target for kind, target in self._relations.values() if kind == "styles"), "")
        root = self._package.xml(part) if part else None
        custom = {
            whole_number(attribute(each, "numFmtId"), 0): _kind_of(attribute(each, "formatCode"))
            for each in (root.iter() if root is not None else ())
            if local(each) == "numFmt"
        }
        formats = child(root, "cellXfs")
        ids = [whole_number(attribute(each, "numFmtId"), 0) for each in (formats if formats is not None else ())]
        kinds = {n: custom.get(id_, _BUILT_IN_DATES.get(id_, "")) for n, id_ in enumerate(ids)}
        return {n: kind for n, kind in kinds.items() if kind}


def _table(lines: list[str], row: int, first: int, sheet: str) -> Piece:
    ruled = [lines[0], "|" + " --- |" * lines[0].count(" | ") + " --- |", *lines[1:]]
    return Piece("table", "\n".join(ruled), place={"sheet": sheet, "row": row, "cells": first})


def _position(reference: str) -> tuple[int, int]:
    """Return (column, row) from 1 of a reference such as ``B7``; (0, 0) for what is none."""
    found = _REFERENCE.match(reference)
    if not found:
        return 0, 0
    column = 0
    for letter in found[1]:
        column = column * 26 + ord(letter) - 64
    return column, int(found[2])


def _kind_of(code: str) -> str:
    if _ELAPSED.search(code.partition(";")[0].lower()):
        return "e"
    plain = _QUOTED.sub("", code.partition(";")[0]).lower()
    if "general" in plain:
        return ""
    day = "d" if re.search(r"[dy]|mmm", plain) or ("m" in plain and not re.search("[hs]", plain)) else ""
    return day + ("t" if re.search(r"[hs]", plain) else "")


def _date(epoch: datetime, words: str, shown: str) -> str:
    try:
        days = float(words)
        at = epoch + timedelta(seconds=round(days * 86400))
    except (ValueError, OverflowError):
        return words
    if epoch.year < 1900 and 0 <= days < 60:
        at += timedelta(days=1)  # Excel counts a 29 February 1900
    if shown == "e":  # hours that passed, which go on past a day
        return at.strftime("%H:%M:%S") if 0 <= days < 1 else words
    timed = bool(at.hour or at.minute or at.second)
    if 0 <= days < 1 and ("t" in shown or timed):
        return at.strftime("%H:%M:%S")
    return at.strftime(
        "%Y-%m-%dT%H:%M:%S" if "t" in shown or timed else "%Y-%m-%d"
    )  # the time is kept where it is hidden


def _shortest(words: str) -> str:
    """Return a stored number in its shortest form: ``1`` for ``1.0``, ``0.1`` for ``0.10000000000000001``."""
    try:
        number = float(words)
    except ValueError:
        return words
    if number != number or number in (float("inf"), float("-inf")):
        return words
    if re.fullmatch(r"-?[1-9][0-9]{0,99}", words):  # more digits than a float has
        return words
    if number.is_integer() and abs(number) < 1e16:
        return str(int(number))
    return repr(number)


def _is_xlsx(content: bytes) -> bool:
    return holds_part(content, b"xl/workbook.xml", b"[Content_Types].xml")


FORMAT = Format(
    "xlsx/4",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    frozenset({"xlsx", "xlsm", "xltx"}),
    pieces=pieces,
    signature=_is_xlsx,
    binary=True,
)
