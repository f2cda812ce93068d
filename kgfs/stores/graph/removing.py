"""Remove rows of the graph: those of editions that left, those about purged documents, and all."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from kgfs.stores.graph.editions import remove_sources
from kgfs.stores.graph.kinds import KINDS, OF_DOCUMENTS
from kgfs.stores.graph.rows import LEAVING


def remove_some(connection: sqlite3.Connection, limit: int) -> None:
    """Delete at most about ``limit`` rows of editions that left. The row of an edition itself is deleted last."""
    while limit > 0:
        found = connection.execute(f"SELECT key FROM document WHERE state = {LEAVING} LIMIT 1").fetchone()
        if found is None:
            return
        limit -= _remove_of(connection, found[0], limit)


def _remove_of(connection: sqlite3.Connection, edition: int, limit: int) -> int:
    """Delete rows of an edition and return their number. The number is below ``limit`` only if the edition itself
    was deleted."""
    keys = [key for (key,) in connection.execute("SELECT key FROM source WHERE document = ? LIMIT ?", (edition, limit))]
    remove_sources(connection, keys)
    removed = len(keys)
    for kind in KINDS.values():
        if removed < limit:
            removed += connection.execute(
                f"DELETE FROM {kind.table} WHERE ({kind.key}) IN"
                f" (SELECT {kind.key} FROM {kind.table} WHERE document = ? LIMIT ?)",
                (edition, limit - removed),
            ).rowcount
    if removed < limit:
        connection.execute("DELETE FROM document WHERE key = ?", (edition,))
        removed += 1
    return removed


def forget_earlier(connection: sqlite3.Connection, doc_ids: Sequence[str]) -> None:
    """Delete the rows that are kept about documents after these have left."""
    for table in OF_DOCUMENTS:
        connection.executemany(f"DELETE FROM {table} WHERE doc_id = ?", [(doc_id,) for doc_id in doc_ids])


def empty(connection: sqlite3.Connection) -> None:
    """Empty every table but the ingest versions, and set the epoch to 0."""
    connection.execute("INSERT INTO source_words (source_words) VALUES ('delete-all')")
    kept = ("meta", "ingest_version", "source_words")
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    for (table,) in tables.fetchall():
        if table not in kept and not table.startswith("source_words_"):
            connection.execute(f'DELETE FROM "{table}"')
    connection.execute("UPDATE meta SET value = 0 WHERE name IN ('epoch', 'changes_above', 'touched_above')")
    connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'clears'")
