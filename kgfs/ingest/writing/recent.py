"""A cache of rows of names that were read lately: a walk over files asks for each row several times within a
moment."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from kgfs.domain.documents import Name
from kgfs.stores.catalog.sqlite import Catalog

MAX_REMEMBERED = 20_000
"""Rows in the cache. When it is full all rows are dropped together."""


class RecentNames:
    """A cache of rows for answers that are invalidated when changes are heard of. Answers that are cached by
    ``Catalog.seq`` must be read anew.

    A commit of this process counts at once. A commit of another process counts from the next call of :meth:`heard`,
    which a process that shows names to a kernel makes ten times a second. Before the first such call nothing is
    cached. Any thread may call.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._heard: Hashable | None = None
        self._standing: Hashable = None
        self._rows: dict[int, Name] = {}

    def heard(self, position: Hashable) -> None:
        """Note that changes by other processes are known up to ``position``. Rows read before another position are
        dropped."""
        self._heard = position

    def name(self, name_id: int) -> Name | None:
        """Return the row of a living name; None if there is none. Quick."""
        # The cache is chosen before the row is read: a row from before a change must not get into the cache for the
        # time after it.
        rows = self._current()
        if rows is None:
            return self._catalog.names.name(name_id)
        row = rows.get(name_id)
        if row is None:
            row = self._catalog.names.name(name_id)
            if row is not None:
                _remember(rows, (row,))
        return row

    def children(self, parent: int, after: str, limit: int) -> list[Name]:
        """Return what ``Names.children`` returns, and cache the rows."""
        rows = self._current()
        found = self._catalog.names.children(parent, after, limit)
        if rows is not None:
            _remember(rows, found)
        return found

    def _current(self) -> dict[int, Name] | None:
        if self._heard is None:
            return None
        standing = self._heard, self._catalog.commits
        if standing != self._standing:
            self._rows, self._standing = {}, standing
        return self._rows


def _remember(rows: dict[int, Name], found: Iterable[Name]) -> None:
    for row in found:
        if len(rows) >= MAX_REMEMBERED:
            rows.clear()
        rows[row.id] = row
