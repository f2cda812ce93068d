"""Where in the original a position of a Text is: its page, slide, sheet, row and column, message, entry or cell."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence

Place = tuple[int, Mapping[str, str | int]]
"""(position in the Text, locator that holds from there on).

Two further keys make one Place hold for many rows. ``cells`` is the number of the first column: from here on each line
of the Text but the second, which rules the header off, is one row of a Markdown table, and rows count up from ``row``.
``separator`` is a delimiter: from here on
the Text is delimited values, rows counting up from ``row`` and columns from 1. ``goes_on`` tells that the table began
before: no line rules a header off.
"""

Locator = dict[str, str | int]

_KEYS = ("cells", "separator", "goes_on")
_NAMES = (
    ("page", "pages"),
    ("slide", "slides"),
    ("row", "rows"),
    ("message", "messages"),
    ("entry", "entries"),
    ("cell", "cells"),
)
_CELL_END = re.compile(r"(?<!\\)\|")


def locate(text: str, places: Sequence[Place], position: int) -> Locator:
    """Return the locator of a position: ``{page}``, ``{slide}``, ``{sheet, row, column}``, ``{row, column}``,
    ``{message}``, ``{entry}`` or ``{cell}``; empty if the Text has no such places. Pages, slides, rows, columns,
    messages and cells count from 1."""
    behind = bisect_right(places, position, key=lambda place: place[0])
    if not behind:
        return {}
    start, place = places[behind - 1]
    found = {name: value for name, value in place.items() if name not in _KEYS}
    if "cells" in place:
        line = text.rfind("\n", start, position) + 1 or start
        header = 0 if "goes_on" in place else 1
        found["row"] = int(place["row"]) + max(0, text.count("\n", start, position) - header)
        bars = len(_CELL_END.findall(text, line, position))
        found["column"] = int(place["cells"]) + max(0, bars - 1)
    elif "separator" in place:
        row, column = _cell_at(text, start, position, str(place["separator"]))
        found["row"], found["column"] = int(place["row"]) + row, column
    return found


def within(text: str, places: Sequence[Place], start: int, end: int) -> list[Place]:
    """Return the places of the span ``start:end`` of a Text, counted from its start. Empty if the Text has none there."""
    behind = bisect_right(places, start, key=lambda place: place[0])
    found: list[Place] = []
    if behind:
        place = places[behind - 1][1]
        here: dict[str, str | int] = {name: value for name, value in place.items() if name in _KEYS}
        if start > places[behind - 1][0] and here:
            here["goes_on"] = 1
        here |= {name: value for name, value in locate(text, places, start).items() if name != "column"}
        found.append((0, here if start > places[behind - 1][0] else place))
    for at, place in places[behind:]:
        if at >= end:
            break
        found.append((at - start, place))
    return found


def page_in(locator: Mapping[str, str | int]) -> int | None:
    """Return the page of a locator; None where it has none."""
    page = locator.get("page")
    return page if isinstance(page, int) else None


def pages_of(first: Mapping[str, str | int], last: Mapping[str, str | int] | None = None) -> str:
    """Return the page of a locator, or the pages from one to another one: "3", "4-6"; '' where it has none."""
    from_, to = page_in(first), page_in(last or first)
    return "" if from_ is None else str(from_) if to is None or to <= from_ else f"{from_}-{to}"


def in_words(first: Mapping[str, str | int], last: Mapping[str, str | int] | None = None) -> str:
    """Return a locator, or the range from one to another one, for people: "page 3", "sheet Budget, rows 4-6"; '' for none."""
    last = first if last is None else last
    sheet = f"sheet {first['sheet']}" if "sheet" in first else ""
    if sheet and last.get("sheet") != first["sheet"]:
        return f"sheets {first['sheet']} to {last.get('sheet', '')}"
    name = next((names for names in _NAMES if names[0] in first), None)
    if name is None:
        return sheet
    from_, to = first[name[0]], last.get(name[0], first[name[0]])
    place = f"{name[0]} {from_}" if from_ == to else f"{name[1]} {from_}-{to}"
    return f"{sheet}, {place}" if sheet else place


def _cell_at(text: str, start: int, position: int, separator: str) -> tuple[int, int]:
    """Return (rows passed, column from 1) of a position in delimited values that begin a row at ``start``."""
    row, column, quoted = 0, 1, False
    opening = start  # where a quote opens a quoted cell: at its start, or behind the quote that has just closed it
    for found in re.compile(rf'["\n]|{re.escape(separator)}').finditer(text, start, position):
        if found[0] == '"':
            if quoted:
                quoted, opening = False, found.end()
            elif found.start() == opening:
                quoted = text.find('"', found.end()) >= 0  # else it is a sign like others
        elif not quoted and found[0] == "\n":
            row, column, opening = row + 1, 1, found.end()
        elif not quoted:
            column, opening = column + 1, found.end()
    return row, column
