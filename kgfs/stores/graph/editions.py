"""Write the rows of editions. An edition is one document under one commit id. Its rows are written
before it becomes visible and deleted after it has left.

Some columns follow from a document's row, for readers that query the file itself; kgfs does not read them. Columns of
mails and of parts are empty for other documents.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kgfs.domain.markup import words_shown
from kgfs.domain.parts import archived_name, companion
from kgfs.domain.word_forms import without_joiners
from kgfs.render.conversation import NAME as MAIL
from kgfs.render.words import folded_size
from kgfs.stores.graph.rows import INSTANCE, LEAVING, SOURCE, STAGED, instance_values, packed, slots, source_values
from kgfs.stores.graph.vocabulary import DocumentRow, InstanceRow, Publication, SourceRow


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
    """Insert sources of a staged edition, with their words in the full-text index: gated ones are found, too. A source
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
        words = without_joiners(row.full_text)
        connection.execute("INSERT INTO source_words (rowid, full_text) VALUES (?, ?)", (cursor.lastrowid, words))


def put_instances(
    connection: sqlite3.Connection, edition: int, document: DocumentRow | None, rows: Sequence[InstanceRow]
) -> None:
    """Insert evidence of an edition; a row with the same owner and number is replaced."""
    connection.executemany(
        f"INSERT OR REPLACE INTO instance (document, {', '.join(INSTANCE)}, quote_size)"
        f" VALUES (?, {slots(len(INSTANCE))}, ?)",
        [[edition, *instance_values(row), folded_size(words_shown(row.quote))] for row in rows],
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
    """Yield key and indexed text of these sources."""
    for key in keys:
        yield from connection.execute("SELECT key, without_joiners(full_text) FROM source WHERE key = ?", (key,))


def of_document(publication: Publication, chunk_ids: Sequence[str]) -> dict[str, Any]:
    """Return the columns of a published document. ``chunk_ids`` are those of its Sources, in order."""
    row = publication.document
    return {
        "root_id": row.doc_id,
        "file_path": row.source_uri,
        "file_name": row.original_filename,
        "processed_at": row.ingested_at,
        "created_at": publication.deposited_at or row.ingested_at,
        "updated_at": publication.at,
        "archive_path": f"archive/{row.doc_id}",
        "archive_browse_uri": browse_uri(row),
        "archive_download_uri": download_uri(row),
        "version": row.content_version,
        "supersedes": next(iter(publication.supersedes), None),
        "source_type": row.document_type,
        "source_url": row.source_uri,
        "title": row.source_title,
        "storage_type": "single" if len(chunk_ids) == 1 else "chunk",
        "chunk_ids": packed(chunk_ids),
        **publication.about,
    }


def of_sources(row: DocumentRow) -> dict[str, Any]:
    """Return the columns that all Sources of a document repeat."""
    return {
        "source_title": row.source_title,
        "source_uri": row.source_uri,
        "source_id": row.source_id,
        "garage_key": row.garage_key,
        "content_hash": row.content_hash,
        "archive_browse_uri": browse_uri(row),
        "archive_download_uri": download_uri(row),
        "created_at": row.ingested_at,
    }


def browse_uri(row: DocumentRow) -> str:
    """Return the path of the readable form, below the ontology's folder."""
    name = _name(row)
    return f"archive/{row.doc_id}/{companion(name) or name}"


def download_uri(row: DocumentRow) -> str:
    """Return the path of the original, below the ontology's folder."""
    return f"archive/{row.doc_id}/{_name(row)}"


def _name(row: DocumentRow) -> str:
    return MAIL if row.document_type == "message/rfc822" else archived_name(row.source_id, row.doc_id)
