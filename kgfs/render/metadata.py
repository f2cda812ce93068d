"""``metadata.json`` of an archive folder: everything that is known about one Document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from kgfs.domain.documents import Document, Succession
from kgfs.domain.mails import Mail
from kgfs.render.conversation import NAME
from kgfs.render.words import as_guessed, json_page, time_of

Link = Callable[[str], str]
"""The name of a file in a document's folder of the archive → the link to it."""


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
    attachments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of each part its name → what is known of it."""
    parents: tuple[str, ...] = ()
    """The Documents that hold this one as a part, the first one first."""
    own_name: str = ""
    """The name of the original in the folder, and of its readable form; '' where there is none."""
    readable: str = ""
    pages: int = 0
    language: str = ""
    dimensions: str = ""
    guessed_encoding: str = ""
    mail: Mail | None = None
    thread: tuple[str, ...] = ()
    """The other mails of the conversation that the graph shows, by date."""
    concepts: int = 0
    """How many concepts the graph shows of it."""
    no_concepts: str = ""
    """Why it gave none; '' where it has some, and while it is not read."""
    gate: tuple[tuple[int, int, str], ...] = ()
    """Of each block that the gate judged, or of neighbours judged alike, its first and last line and what is said of it."""
    ingested_at: int = 0
    """0, and title, media type and Text empty, while the graph does not show the document."""


def source_uri(document: Document) -> str:
    """Return where the document was first found, below the ontology's folder: in documents/, or in its parent."""
    first_path = document.source_id.partition("/")[2]
    if document.parent:
        return f"archive/{document.parent}/attachments/{first_path.rpartition('/')[2]}"
    return f"documents/{first_path}"


def _mail(metadata: Metadata, link: Link) -> dict[str, Any]:
    mail = metadata.mail
    first, last = (mail.date_start, mail.date_end) if mail else (0, 0)
    return {
        "subject": mail.subject if mail else None,
        "participants": list(mail.participants) if mail else [],
        "email_subject": mail.subject if mail else None,
        "email_participants": list(mail.participants) if mail else [],
        "email_initiator": (mail.participants[0] if mail.participants else None) if mail else None,
        "email_date_start": time_of(first) if first else None,
        "email_date_end": time_of(last) if last else None,
        "email_message_count": mail.messages if mail else None,
        "message_id": mail.message_id or None if mail else None,
        "email_browse_uri": link(f"{metadata.own_name}.md") if mail else None,
        "email_download_uri": link(metadata.own_name) if mail else None,
        "thread": {doc_id: f"archive/{doc_id}/{NAME}.md" for doc_id in metadata.thread},
    }


def _linking(metadata: Metadata, base_url: str) -> Link:
    """Return what makes a link to a file of the document's folder in the archive: below the ontology's folder, or, with
    a base URL, below that and the ontology's name, quoted as URLs are."""

    def link(name: str) -> str:
        below = f"archive/{metadata.document.doc_id}/{name}"
        return f"{base_url.rstrip('/')}/{quote(f'{metadata.ontology}/{below}')}" if base_url else below

    return link


def render(metadata: Metadata, base_url: str = "") -> bytes:
    """Return the file. Fields of mails and of parts are there, and empty, of any other document.

    ``base_url`` stands before the links to the archive; where it is empty they are paths.
    """
    document = metadata.document
    link = _linking(metadata, base_url)
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
            "source_uri": source_uri(document),
            "source_title": metadata.title,
            "document_type": metadata.media_type,
            "file_path": source_uri(document),
            "file_name": first_path.rpartition("/")[2],
            "file_hash": document.sha256,
            **_mail(metadata, link),
            "parent_id": document.parent or None,
            "root_id": document.root or document.doc_id,
            "depth": document.depth,
            "path": first_path.split("/")[-1 - document.depth :] if document.parent else [],
            "parents": list(metadata.parents),
            "attachments": dict(metadata.attachments),
            "attachment_content_type": metadata.media_type or None if document.parent else None,
            "attachment_size_bytes": document.size if document.parent else None,
            "pages": metadata.pages or None,
            "language": metadata.language or None,
            "dimensions": metadata.dimensions or None,
            "encoding": as_guessed(metadata.guessed_encoding) or None,
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
            "concepts": metadata.concepts,
            "no_concepts": metadata.no_concepts or None,
            "gate": [{"line_start": first, "line_end": last, "verdict": said} for first, last, said in metadata.gate],
            "deposited_at": time_of(document.deposited_at),
            "ingested_at": time_of(metadata.ingested_at) if metadata.ingested_at else None,
            "created_at": time_of(document.deposited_at),
            "updated_at": time_of(max(document.deposited_at, metadata.ingested_at)),
            "processed_at": time_of(metadata.ingested_at) if metadata.ingested_at else None,
            "status": document.state.value,
            "error_message": document.reason or None,
            "content_version": metadata.version or 1,
            "archive_path": f"archive/{document.doc_id}",
            "archive_browse_uri": link(metadata.readable or "text.txt") if metadata.ingested_at else None,
            "archive_download_uri": link(metadata.own_name or "original"),
            "download_uri": f"archive/{document.doc_id}/original",
            "browse_uri": f"archive/{document.doc_id}/text.txt" if metadata.ingested_at else None,
        }
    )
