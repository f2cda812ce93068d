"""Tables in text form: values separated by commas or tabs, one row a line."""

from __future__ import annotations

from kgfs.domain.text import Block
from kgfs.formats.contract import text_format
from kgfs.formats.lines import Line, stretches


def table_blocks(lines: list[Line]) -> list[Block]:
    """Return one table block for each stretch of lines."""
    return stretches(lines, "table")


FORMAT = text_format("table/1", "text/csv", frozenset({"csv", "tsv"}), table_blocks)
