"""The grid of a table whose cells span rows and columns."""

from __future__ import annotations

from collections.abc import Iterable

REPEATED = 200
"""Characters of the longest cell whose words are repeated in the rows below that it spans."""
MOST_COLUMNS = 1000
"""Columns that one cell can span, as in HTML, and in which spans of rows are followed."""
MOST_REPEATED = 1 << 20
"""Characters that are repeated in one document."""

TO_THE_END = 1 << 30
"""The rows of a cell that spans all that follow."""


class Grid:
    """Lays out rows, one table after the other.

    A cell that spans rows heads each of them, so its words are repeated there, unless they are long. They are not
    repeated in the columns that it spans.
    """

    def __init__(self) -> None:
        self._below: dict[int, tuple[int, str]] = {}
        """Columns of cells that span rows below: the number of these rows, and the words."""
        self._left = MOST_REPEATED

    def begin(self) -> None:
        """Begin a table, or a group of rows which no cell leaves."""
        self._below = {}

    def row(self, cells: Iterable[tuple[str, int, int]]) -> list[str]:
        """Return the words of a row by column. A cell is given as its words and the rows and columns that it spans."""
        above = self._below
        self._below = {column: (rows - 1, words) for column, (rows, words) in above.items() if rows > 1}
        found: list[str] = []
        for words, rows, columns in cells:
            while len(found) in above:
                found.append(self._repeated(above[len(found)][1]))
            columns = min(max(columns, 1), MOST_COLUMNS - min(len(found), MOST_COLUMNS - 1))
            for column in range(len(found), min(len(found) + columns, MOST_COLUMNS) if rows > 1 else 0):
                self._below[column] = rows - 1, words if column == len(found) and len(words) <= REPEATED else ""
            found += [words, *[""] * (columns - 1)]
        while len(found) in above:
            found.append(self._repeated(above[len(found)][1]))
        return found

    def _repeated(self, words: str) -> str:
        self._left -= len(words)
        return words if self._left >= 0 else ""
