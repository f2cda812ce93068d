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
the Text is delimited values, rows counting up from ``row`` and columns from 1.
"""

Locator = dict[str, str | int]

_CELL_END = re.compile(r"(?<!\\)\|")


def locate(text: str, places: Sequence[Place], position: int) -> Locator:
    """Return the locator of a position: ``{page}``, ``{slide}``, ``{sheet, row, column}``, ``{row, column}``,
    ``{message}``, ``{entry}`` or ``{cell}``; empty if the Text has no such places. Pages, slides, rows, columns,
    messages and cells count from 1."""
    behind = bisect_right(places, position, key=lambda place: place[0])
    if not behind:
        return {}
    start, place = places[behind - 1]
    found = {name: value for name, value in place.items() if name not in ("cells", "separator")}
    if "cells" in place:
        line = text.rfind("\n", start, position) + 1 or start
        found["row"] = int(place["row"]) + max(0, text.count("\n", start, position) - 1)
        bars = len(_CELL_END.findall(text, line, position))
        found["column"] = int(place["cells"]) + max(0, bars - 1)
    elif "separator" in place:
        row, column = _cell_at(text, start, position, str(place["separator"]))
        found["row"], found["column"] = int(place["row"]) + row, column
    return found


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
