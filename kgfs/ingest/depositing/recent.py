"""Rows of names that were read lately: whoever walks through files is asked for each several times within a moment."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from kgfs.domain.documents import Name
from kgfs.stores.journal.contract import Journal

MAX_REMEMBERED = 20_000
"""Rows; then all are given up together."""


class RecentNames:
    """For answers that are taken back when news are heard; what is kept by ``Journal.seq`` must be read anew.

    What this process commits counts at once, what others do from when it is :meth:`heard`, which who shows names to a
    kernel calls ten times a second. Until it was called first nothing is remembered. Any thread may ask."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._heard: Hashable | None = None
        self._standing: Hashable = None
        self._rows: dict[int, Name] = {}

    def heard(self, position: Hashable) -> None:
        """News of what other processes did were heard up to ``position``."""
        self._heard = position

    def name(self, name_id: int) -> Name | None:
        """The row of a living name; None if there is none. Quick."""
        # Before it is read: a row from before a change must not be taken for one from after it.
        rows = self._current()
        if rows is None:
            return self._journal.names.name(name_id)
        row = rows.get(name_id)
        if row is None:
            row = self._journal.names.name(name_id)
            if row is not None:
                _remember(rows, (row,))
        return row

    def children(self, parent: int, after: str, limit: int) -> list[Name]:
        """As ``Names.children``; what it finds is remembered."""
        rows = self._current()
        found = self._journal.names.children(parent, after, limit)
        if rows is not None:
            _remember(rows, found)
        return found

    def _current(self) -> dict[int, Name] | None:
        if self._heard is None:
            return None
        standing = self._heard, self._journal.commits
        if standing != self._standing:
            self._rows, self._standing = {}, standing
        return self._rows


def _remember(rows: dict[int, Name], found: Iterable[Name]) -> None:
    for row in found:
        if len(rows) >= MAX_REMEMBERED:
            rows.clear()
        rows[row.id] = row
