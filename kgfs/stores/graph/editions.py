"""Rows of editions: written before they are seen, removed after they are not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from kgfs.render.words import folded_size
from kgfs.stores.graph.rows import INSTANCE, LEAVING, SOURCE, STAGED, instance_values, slots, source_values
from kgfs.stores.graph.vocabulary import InstanceRow, SourceRow

BELONGING = (("instance", "owner, n, document"), ("mention", "concept, document, ordinal"))
"""Tables of an edition besides its sources, with their primary keys."""


def open_edition(connection: sqlite3.Connection, doc_id: str, commit_id: str) -> int:
    """The key of the staged edition, made if it is new. One that was abandoned and is still being removed is not
    taken up again, since it has lost rows."""
    found = connection.execute(
        "SELECT key, state FROM document WHERE doc_id = ? AND commit_id = ?", (doc_id, commit_id)
    ).fetchone()
    if found and found[1] == STAGED:
        return int(found[0])
    if found:
        connection.execute(
            "UPDATE document SET commit_id = commit_id || ' ' || key WHERE key = ? AND state = ?", (found[0], LEAVING)
        )
    cursor = connection.execute(
        f"INSERT INTO document (state, doc_id, commit_id) VALUES ({STAGED}, ?, ?)", (doc_id, commit_id)
    )
    return int(cursor.lastrowid or 0)


def put_sources(connection: sqlite3.Connection, edition: int, rows: Sequence[SourceRow]) -> None:
    for row in rows:
        former = connection.execute(
            "SELECT key FROM source WHERE document = ? AND chunk_index = ?", (edition, row.chunk_index)
        ).fetchone()
        if former:
            _remove_sources(connection, [former[0]])
        cursor = connection.execute(
            f"INSERT INTO source (document, {', '.join(SOURCE)}) VALUES (?, {slots(len(SOURCE))})",
            [edition, *source_values(row)],
        )
        if not row.gated:
            connection.execute(
                "INSERT INTO source_words (rowid, full_text) VALUES (?, ?)", (cursor.lastrowid, row.full_text)
            )


def put_instances(connection: sqlite3.Connection, edition: int, rows: Sequence[InstanceRow]) -> None:
    connection.executemany(
        f"INSERT OR REPLACE INTO instance (document, {', '.join(INSTANCE)}, quote_size)"
        f" VALUES (?, {slots(len(INSTANCE))}, ?)",
        [[edition, *instance_values(row), folded_size(row.quote)] for row in rows],
    )


def remove_some(connection: sqlite3.Connection, limit: int) -> None:
    """Remove at most about ``limit`` rows of editions that left; each edition goes with the last of its rows."""
    while limit > 0:
        found = connection.execute(f"SELECT key FROM document WHERE state = {LEAVING} LIMIT 1").fetchone()
        if found is None:
            return
        limit -= _remove_of(connection, found[0], limit)


def remove_edition(connection: sqlite3.Connection, edition: int) -> None:
    """All of one edition at once."""
    _remove_of(connection, edition, 1 << 62)


def _remove_of(connection: sqlite3.Connection, edition: int, limit: int) -> int:
    """How many rows of the edition were removed; fewer than ``limit`` only where it is gone itself."""
    keys = [key for (key,) in connection.execute("SELECT key FROM source WHERE document = ? LIMIT ?", (edition, limit))]
    _remove_sources(connection, keys)
    removed = len(keys)
    for table, key in BELONGING:
        if removed < limit:
            removed += connection.execute(
                f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE document = ? LIMIT ?)",
                (edition, limit - removed),
            ).rowcount
    if removed < limit:
        connection.execute("DELETE FROM claim WHERE document = ?", (edition,))
        connection.execute("DELETE FROM record WHERE document = ?", (edition,))
        connection.execute("DELETE FROM document WHERE key = ?", (edition,))
        removed += 1
    return removed


def _remove_sources(connection: sqlite3.Connection, keys: Sequence[int]) -> None:
    # An external-content index must be told the words that it forgets. It is told each by a statement of its own that
    # selects nothing: those that select begin a savepoint, and the index writes a segment at each.
    connection.executemany(
        "INSERT INTO source_words (source_words, rowid, full_text) VALUES ('delete', ?, ?)",
        _worded(connection, sorted(keys)),
    )
    connection.executemany("DELETE FROM source WHERE key = ?", ((key,) for key in keys))


def _worded(connection: sqlite3.Connection, keys: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Of those that the full-text index has."""
    for key in keys:
        yield from connection.execute("SELECT key, full_text FROM source WHERE key = ? AND gated = ''", (key,))


def empty(connection: sqlite3.Connection) -> None:
    """Empty every table but the ingest versions, and count from epoch 0 again."""
    connection.execute("INSERT INTO source_words (source_words) VALUES ('delete-all')")
    kept = ("meta", "ingest_version", "source_words")
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    for (table,) in tables.fetchall():
        if table not in kept and not table.startswith("source_words_"):
            connection.execute(f'DELETE FROM "{table}"')
    connection.execute("UPDATE meta SET value = 0 WHERE name IN ('epoch', 'changes_above', 'touched_above')")
    connection.execute("DELETE FROM meta WHERE name = 'followed'")
    connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'clears'")
