"""Tables in text form: values separated by commas, semicolons or tabs. The Text is the exact decoding."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgfs.domain.places import Place
from kgfs.domain.text import Block
from kgfs.formats.contract import named_by_file, text_format
from kgfs.formats.lines import Line, stretches

MEDIA_TYPE = "text/csv"
ROWS = 500
"""Rows between two places; the rows between are counted from there."""
_SAMPLE = 1 << 14
_MANY = re.compile(rf'(?>(?:[^"\n]++|"[^"]*+")*+\n){{{ROWS}}}+')
"""ROWS rows at once, whose quotes are all closed. Never goes back, so that it takes linear time."""


def table_blocks(lines: Sequence[Line]) -> list[Block]:
    """Return one table block for each stretch of lines."""
    return stretches(lines, "table")


def row_places(name: str, text: str) -> list[Place]:
    """Return a place for each ROWS rows. A row ends at a line end outside double quotes."""
    separator = _separator(name, text)
    places: list[Place] = []
    row, at, begin = 1, 0, 0
    while at < len(text):
        if (row - 1) % ROWS == 0:
            places.append((begin, {"row": row, "separator": separator}))
            if many := _MANY.match(text, at):
                at = begin = many.end()
                row += ROWS
                continue
        end = text.find("\n", at)
        end = len(text) if end < 0 else end + 1
        while text.count('"', begin, end) % 2 and end < len(text):  # the row goes on behind a line end within quotes
            further = text.find('"', end)
            if further < 0:
                break
            following = text.find("\n", further)
            end = len(text) if following < 0 else following + 1
        at = begin = end
        row += 1
    return places


def _separator(name: str, text: str) -> str:
    if name.lower().endswith(".tsv"):
        return "\t"
    sample = text[:_SAMPLE]
    return max(",;\t|", key=lambda each: (sample.count(each), each == ","))


FORMAT = text_format(
    "table/3", MEDIA_TYPE, frozenset({"csv", "tsv"}), table_blocks, places=row_places, title=named_by_file
)
