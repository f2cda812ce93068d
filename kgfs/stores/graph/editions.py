"""Write the rows of editions. An edition is one document under one commit id. Its rows are written
before it becomes visible and deleted after it has left."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from kgfs.render.words import folded_size
from kgfs.stores.graph.columns import of_sources
from kgfs.stores.graph.rows import INSTANCE, LEAVING, SOURCE, STAGED, instance_values, slots, source_values
from kgfs.stores.graph.vocabulary import DocumentRow, InstanceRow, SourceRow


def open_edition(connection: sqlite3.Connection, doc_id: str, commit_id: str) -> int:
    """Return the key of the staged edition, creating it if it is new. An abandoned edition that is still being
    deleted is not reused, since rows of it are missing."""
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


def put_sources(
    connection: sqlite3.Connection, edition: int, rows: Sequence[SourceRow], document: DocumentRow | None
) -> None:
    """Insert sources of a staged edition, with their words in the full-text index unless they are gated. A source
    with the same chunk index is replaced. ``document`` fills the columns that repeat what the document says."""
    repeated = of_sources(document) if document else {}
    columns = (*SOURCE, *repeated)
    for row in rows:
        former = connection.execute(
            "SELECT key FROM source WHERE document = ? AND chunk_index = ?", (edition, row.chunk_index)
        ).fetchone()
        if former:
            remove_sources(connection, [former[0]])
        cursor = connection.execute(
            f"INSERT INTO source (document, {', '.join(columns)}) VALUES (?, {slots(len(columns))})",
            [edition, *source_values(row), *repeated.values()],
        )
        if not row.gated:
            connection.execute(
                "INSERT INTO source_words (rowid, full_text) VALUES (?, ?)", (cursor.lastrowid, row.full_text)
            )


def put_instances(
    connection: sqlite3.Connection, edition: int, document: DocumentRow | None, rows: Sequence[InstanceRow]
) -> None:
    """Insert evidence of an edition; a row with the same owner and number is replaced."""
    connection.executemany(
        f"INSERT OR REPLACE INTO instance (document, {', '.join(INSTANCE)}, quote_size)"
        f" VALUES (?, {slots(len(INSTANCE))}, ?)",
        [[edition, *instance_values(row), folded_size(row.quote)] for row in rows],
    )


def remove_sources(connection: sqlite3.Connection, keys: Sequence[int]) -> None:
    """Delete Sources, with their words in the full-text index."""
    # To delete a row of an external-content index, its text must be given. Each row is deleted by a statement
    # without a SELECT: a statement with one begins a savepoint, and the index writes a segment at each savepoint.
    connection.executemany(
        "INSERT INTO source_words (source_words, rowid, full_text) VALUES ('delete', ?, ?)",
        _worded(connection, sorted(keys)),
    )
    connection.executemany("DELETE FROM source WHERE key = ?", ((key,) for key in keys))


def _worded(connection: sqlite3.Connection, keys: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield key and text of those of these sources that the full-text index contains."""
    for key in keys:
        yield from connection.execute("SELECT key, full_text FROM source WHERE key = ? AND gated = ''", (key,))
