"""Columns of prose whose lines a PDF draws across the page, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kgfs.formats.pdf_forms import Box

FEWEST = 3
"""Lines that a gutter runs through at least."""
MOST = 20
"""Gutters that are followed."""
WIDE = 0.8
"""Heights of a line that a gutter is wide at least; spaces between words are narrower."""
STRAIGHT = 1.5
"""Points by which the left edges of a column's lines differ at most."""
STEADY = 0.6
"""The share of a column's lines that are not indented at least."""
LETTERS = 10
"""Characters of a line of a column, on average: cells of tables are shorter."""

Line = tuple[str, int]
"""A line, and the index of its first character."""
Gap = tuple[int, float, float]
"""A gap of a line: the place of its space in the line, its left and right edge in points."""


def by_columns(lines: Sequence[Line], box_of: Callable[[int], Box | None]) -> Iterator[Line]:
    """Yield the lines of a page; those that gutters cut into columns of prose column by column, tables as they are."""
    run: list[tuple[Line, list[Gap]]] = []
    gutters: list[tuple[float, float]] = []
    for line in lines:
        gaps = list(_gaps(*line, box_of))
        common = [
            (max(a, left), min(b, right)) for a, b in gutters for _, left, right in gaps if a < right and left < b
        ]
        if not common:
            yield from _columns(run, gutters)
            run, common = [], [(left, right) for _, left, right in gaps]
        gutters = common[:MOST]
        run.append((line, gaps))
    yield from _columns(run, gutters)


def _gaps(line: str, start: int, box_of: Callable[[int], Box | None]) -> Iterator[Gap]:
    for at in range(1, len(line) - 1):
        if line[at] == " " and line[at - 1] != " " and line[at + 1] != " ":
            before, behind = box_of(start + at - 1), box_of(start + at + 1)
            if before and behind and behind[0] - before[2] > WIDE * (before[3] - before[1]):
                yield at, before[2], behind[0]


def _columns(run: list[tuple[Line, list[Gap]]], gutters: list[tuple[float, float]]) -> Iterator[Line]:
    gutters = [gutter for gutter in gutters if _is_straight([gaps for _, gaps in run], gutter)]
    columns: list[list[Line]] = [[] for _ in range(len(gutters) + 1)]
    for (line, start), gaps in run:
        cuts = [at for a, b in gutters for at, left, right in gaps if left <= a and b <= right]
        edges = [-1, *cuts, len(line)]
        for column, first, last in zip(columns, edges, edges[1:], strict=False):
            column.append((line[first + 1 : last], start + first + 1))
    if len(columns) > 1 and all(map(_is_prose, columns)):
        for column in columns:
            yield from column
    else:
        yield from (line for line, _ in run)


def _is_straight(lines: list[list[Gap]], gutter: tuple[float, float]) -> bool:
    """Return whether most lines behind a gutter begin at the same place, as those of a column do."""
    begins = [right for gaps in lines for _, left, right in gaps if left <= gutter[0] and gutter[1] <= right]
    most = max((sum(1 for other in begins if abs(begin - other) <= STRAIGHT) for begin in begins[:FEWEST]), default=0)
    return most >= max(FEWEST, STEADY * len(lines))


def _is_prose(column: list[Line]) -> bool:
    """Return whether the lines of a column go on from each other, as cells of a table do not."""
    words = [line.strip() for line, _ in column]
    goes_on = sum(1 for line in words[1:] if line[:1].islower())
    return goes_on * 2 >= len(words) - 1 and sum(map(len, words)) >= LETTERS * len(words)
