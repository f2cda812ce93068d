"""Values of the columns that follow from a document's row, for readers that query the file itself.

kgfs does not read these columns. Columns of mails and of parts are empty for other documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kgfs.domain.parts import archived_name, companion
from kgfs.render.conversation import NAME as MAIL
from kgfs.stores.graph.rows import packed
from kgfs.stores.graph.vocabulary import DocumentRow, Publication


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
