"""``metadata.json`` of an archive folder: everything that is known about one Document."""

from __future__ import annotations

from dataclasses import dataclass

from kgfs.domain.documents import Document, Succession
from kgfs.render.words import json_page, time_of


@dataclass(frozen=True, slots=True)
class Metadata:
    document: Document
    ontology: str
    """The name of the ontology."""
    paths: tuple[str, ...]
    """The present paths of the document below documents/, encoded as names are."""
    version: int
    """The newest version number that the document has had; 0 if it had none."""
    version_path: str
    """The path that had that version."""
    versions: tuple[Succession, ...] = ()
    """Every version of a path that the document was, in order of deposit."""
    title: str = ""
    media_type: str = ""
    text_sha256: str = ""
    text_length: int = 0
    chunks: int = 0
    ingested_at: int = 0
    """0, and the five fields above empty, while the graph does not show the document."""


def render(metadata: Metadata) -> bytes:
    """Return the file. Fields of mails and of parts of documents are there, and empty while none are read."""
    document = metadata.document
    first_path = document.source_id.partition("/")[2]
    return json_page(
        {
            "doc_id": document.doc_id,
            "ontology": metadata.ontology,
            "title": metadata.title,
            "paths": [f"documents/{path}" for path in metadata.paths],
            "content_hash": document.sha256,
            "key": document.key,
            "source_id": document.source_id,
            "source_uri": f"documents/{first_path}",
            "file_name": first_path.rpartition("/")[2],
            "subject": None,
            "participants": [],
            "parent_id": None,
            "root_id": document.doc_id,
            "depth": 0,
            "attachments": {},
            "size": document.size,
            "media_type": metadata.media_type,
            "state": document.state.value,
            "reason": document.reason,
            "version": metadata.version,
            "version_path": metadata.version_path,
            "versions": [
                {
                    "path": held.version.path,
                    "n": held.version.n,
                    "minted_at": time_of(held.version.minted_at),
                    "supersedes": held.supersedes or None,
                    "superseded_by": held.superseded_by or None,
                }
                for held in metadata.versions
            ],
            "ingest_version": document.ingest_version,
            "reading": document.reading,
            "text_sha256": metadata.text_sha256,
            "text_length": metadata.text_length,
            "chunks": metadata.chunks,
            "deposited_at": time_of(document.deposited_at),
            "ingested_at": time_of(metadata.ingested_at) if metadata.ingested_at else None,
            "download_uri": f"archive/{document.doc_id}/original",
            "browse_uri": f"archive/{document.doc_id}/text.txt" if metadata.ingested_at else None,
        }
    )
