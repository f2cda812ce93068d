"""The change feed: the entries that each commit added to, changed in and removed from derived directories. Mounts
use it to invalidate the kernel's caches."""

from __future__ import annotations

import sqlite3

from kgfs.stores.graph.vocabulary import Change

KEPT_CHANGES = 200_000
"""The number of newest rows that are kept at least. The oldest epochs are deleted once there are a tenth more."""


class Feed:
    """Collect the changes of one epoch and write them together."""

    def __init__(self, connection: sqlite3.Connection, epoch: int) -> None:
        self._sql = connection
        self._epoch = epoch
        self._changes: list[tuple[int, str, str, str, str, str]] = []
        """The fields of each Change."""

    def tell(self, what: str, kind: str, ontology: str, owner: str, name: str) -> None:
        """Add one change; the arguments are the fields of :class:`Change`."""
        self._changes.append((self._epoch, what, kind, ontology, owner, name))

    def write(self) -> None:
        """Insert the collected changes, and delete the oldest epochs if the feed has grown too long."""
        self._sql.executemany(
            "INSERT INTO change (epoch, what, kind, ontology, owner, name) VALUES (?, ?, ?, ?, ?, ?)",
            self._changes,
        )
        prune(self._sql)


def prune(connection: sqlite3.Connection) -> None:
    """Delete the oldest epochs if the feed has a tenth more rows than KEPT_CHANGES."""
    oldest, newest = connection.execute(
        "SELECT (SELECT min(key) FROM change), (SELECT max(key) FROM change)"
    ).fetchone()
    if oldest is None or newest - oldest < KEPT_CHANGES * 11 // 10:
        return
    (epoch,) = connection.execute("SELECT epoch FROM change WHERE key = ?", (newest - KEPT_CHANGES,)).fetchone()
    connection.execute("DELETE FROM change WHERE epoch < ?", (epoch,))
    connection.execute(
        "UPDATE meta SET value = max(value, ?) WHERE name IN ('changes_above', 'touched_above')", (epoch - 1,)
    )


def changes(connection: sqlite3.Connection, after: int, limit: int) -> list[Change] | None:
    """Return the changes of whole epochs above ``after``: the first epoch in any case, further ones while they fit
    in ``limit``. None if not all of them are kept, or if ``after`` is above the graph's epoch."""
    meta = dict(connection.execute("SELECT name, value FROM meta"))
    if after < meta["changes_above"] or after > meta["epoch"]:
        return None
    found = [
        Change(*row)
        for row in connection.execute(
            "SELECT epoch, what, kind, ontology, owner, name FROM change WHERE epoch > ? ORDER BY epoch, key LIMIT ?",
            (after, limit + 1),
        )
    ]
    if len(found) <= limit:
        return found
    torn = found[-1].epoch
    whole = [change for change in found if change.epoch < torn]
    if whole:
        return whole
    rows = connection.execute(
        "SELECT epoch, what, kind, ontology, owner, name FROM change WHERE epoch = ? ORDER BY key", (torn,)
    )
    return [Change(*row) for row in rows]
