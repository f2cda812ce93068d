"""Tables in text form: values separated by commas, semicolons or tabs."""

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


def table_blocks(lines: Sequence[Line]) -> list[Block]:
    """Return one table block for each stretch of lines."""
    return stretches(lines, "table")


def row_places(name: str, text: str) -> list[Place]:
    """Return a place for each ROWS rows. A row ends at a line end outside quotes; quotes count where a cell begins with
    one that is closed."""
    separator = _separator(name, text)
    row_pattern = _row_pattern(separator)
    one, many = re.compile(row_pattern), re.compile(f"{row_pattern}{{{ROWS}}}+")
    places: list[Place] = []
    row, at = 1, 0
    while at < len(text):
        if (row - 1) % ROWS == 0:
            places.append((at, {"row": row, "separator": separator}))
            if found := many.match(text, at):
                row, at = row + ROWS, found.end()
                continue
        found = one.match(text, at)
        at = found.end() if found else text.find("\n", at) + 1 or len(text)  # a quote is never closed: it is a sign
        row += 1
    return places


def _row_pattern(separator: str) -> str:
    """Return the pattern of a whole row. It never goes back, so that many rows take linear time."""
    other = f"[^{re.escape(separator)}\\n]"
    cell = f'(?>"(?:[^"]++|"")*+"{other}*+|(?!"){other}++|)'
    return f"(?>{cell}(?:{re.escape(separator)}{cell})*+\\n)"


def _separator(name: str, text: str) -> str:
    if name.lower().endswith(".tsv"):
        return "\t"
    sample = text[:_SAMPLE]
    return max(",;\t|", key=lambda each: (sample.count(each), each == ","))


FORMAT = text_format(
    "table/4", MEDIA_TYPE, frozenset({"csv", "tsv"}), table_blocks, places=row_places, title=named_by_file
)
