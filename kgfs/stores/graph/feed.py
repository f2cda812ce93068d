"""The change feed: the entries that each commit added to, changed in and removed from derived directories. Mounts
use it to invalidate the kernel's caches.

A projection of the graph follows the ids of documents, concepts and relationships that commits touched. A purge erases the words of the feed and keeps the ids in it. So a projection that is behind can continue from its
position after a purge too, and nothing of the purged text is kept for it.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from kgfs.stores.graph.vocabulary import Change

TOUCHED = "touched"
"""The ``kind`` of a feed row that was reduced to an id: ``what`` is ``document`` or ``owner``, ``owner`` is the
id."""
REDACTIONS = "redactions"
"""The row of ``meta`` that counts how often a purge erased the feed's words."""
REDACTED_AT = "redacted_at"
"""The row of ``meta`` with the graph's epoch at the last such purge."""

_IDS = """
    SELECT change.epoch AS epoch,
        CASE change.kind WHEN 'touched' THEN change.what WHEN 'document' THEN 'document' ELSE 'owner' END AS what,
        CASE change.kind WHEN 'document' THEN change.name WHEN 'concept' THEN concept.concept_id ELSE change.owner END AS id
    FROM change LEFT JOIN concept
        ON change.kind = 'concept' AND concept.ontology = change.owner AND concept.name = change.name"""

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


@dataclass(slots=True)
class Touched:
    """The ids that the commits up to ``epoch`` touched."""

    epoch: int
    documents: set[str] = field(default_factory=set)
    owners: set[str] = field(default_factory=set)
    """Ids of concepts and of relationships, living and dead."""


def touched(connection: sqlite3.Connection, after: int, limit: int) -> Touched | None:
    """Return the ids that the epochs above ``after`` touched. The result covers whole epochs: the first one in any
    case, and further ones while their rows are at most ``limit`` in total. None if the feed does not reach back
    that far, or if ``after`` is above the graph's epoch."""
    meta = dict(connection.execute("SELECT name, value FROM meta"))
    if after < meta.get("touched_above", meta["changes_above"]) or after > meta["epoch"]:
        return None
    upto, last, total = meta["epoch"], after, 0
    for epoch, count in connection.execute(
        "SELECT epoch, count(*) FROM change WHERE epoch > ? GROUP BY epoch ORDER BY epoch", (after,)
    ):
        if total and total + count > limit:
            upto = last
            break
        total, last = total + count, epoch
    found = Touched(upto)
    for _, kind, id_ in connection.execute(f"{_IDS} WHERE change.epoch > ? AND change.epoch <= ?", (after, upto)):
        if id_ is not None:
            (found.documents if kind == "document" else found.owners).add(id_)
    return found


def reduce_to_ids(connection: sqlite3.Connection) -> None:
    """Erase the words of the feed and keep the ids. Counts the redaction, so that a projection erases the words
    too."""
    connection.execute(
        "INSERT OR IGNORE INTO meta SELECT 'touched_above', value FROM meta WHERE name = 'changes_above'"
    )
    (newest,) = connection.execute("SELECT coalesce(max(key), 0) FROM change").fetchone()
    connection.execute(
        "INSERT INTO change (epoch, what, kind, ontology, owner, name)"
        f" SELECT DISTINCT epoch, what, 'touched', '', id, '' FROM ({_IDS})"
        " WHERE id IS NOT NULL ORDER BY epoch, what, id",
    )
    connection.execute("DELETE FROM change WHERE key <= ?", (newest,))
    connection.execute(
        "UPDATE meta SET value = (SELECT value FROM meta WHERE name = 'epoch') WHERE name = 'changes_above'"
    )
    connection.execute(
        "INSERT INTO meta VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1", (REDACTIONS,)
    )
    connection.execute(
        "INSERT OR REPLACE INTO meta SELECT ?, value FROM meta WHERE name = 'epoch'",
        (REDACTED_AT,),
    )
