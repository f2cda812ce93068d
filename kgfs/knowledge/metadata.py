"""The content of a document's ``metadata.json``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from kgfs.domain.documents import Document, State
from kgfs.domain.parts import PartKind, archived_name, companion
from kgfs.domain.text import BLOCK_VERDICTS
from kgfs.errors import MissingError
from kgfs.knowledge.conversation import is_mail, thread_of
from kgfs.knowledge.document_location import attachment_path, standing_of
from kgfs.knowledge.without_concepts import why_none
from kgfs.render.conversation import NAME as MAIL
from kgfs.render.metadata import Metadata
from kgfs.stores.catalog.rows import PartRow
from kgfs.stores.stores import Stores


def metadata(stores: Stores, doc_id: str) -> tuple[Metadata, int]:
    """Return the page and the time when it last changed (nanoseconds). Quick.

    Raises MissingError for an unknown document. A document that a worker is reading now is shown as queued;
    ``.kgfs/jobs/`` shows the worker.
    """
    names = stores.catalog.names
    document = names.document(doc_id)
    if document is None:
        raise MissingError(f"No document has the id {doc_id}.")
    if document.state is State.WORKING:
        document = replace(document, state=State.QUEUED)
    ontology = names.ontology(document.ontology)
    held = names.version_of(doc_id)
    row = stores.graph.document(doc_id)
    paths = (names.path(name.id) for name in names.names_of(doc_id))
    page = Metadata(
        document=document,
        ontology=ontology.name if ontology else "",
        paths=tuple(path for path in paths if path is not None),
        version=held[0].n if held else 0,
        version_path=held[0].path if held else "",
        versions=tuple(names.succession(doc_id)),
        attachments={row.name: _part(stores, row) for row in names.parts(doc_id)},
        parents=tuple(dict.fromkeys(row.parent for row in names.part_of(doc_id))),
        own_name=own_name(stores, document),
    )
    changed = changed_at(stores, doc_id)
    if row is None:
        return page, changed
    mail = stores.graph.mail(doc_id)
    if mail is not None:
        others = thread_of(stores, row.ontology, mail)
        rows = (stores.graph.document(other.doc_id) for other in others)
        changed = max([changed, *(other.ingested_at for other in rows if other is not None)])
        page = replace(page, mail=mail, thread=tuple(other.doc_id for other in others))
    page = replace(
        page,
        title=row.source_title,
        media_type=row.document_type,
        text_sha256=row.text_sha256,
        text_length=row.content_length,
        chunks=row.chunk_count,
        readable=companion(own_name(stores, document)),
        pages=row.pages,
        language=row.language,
        dimensions=row.dimensions,
        concepts=stores.graph.found_in(doc_id)[0],
        no_concepts=why_none(stores, row),
        guessed_encoding=row.guessed_encoding,
        gate=_gate(stores, doc_id),
        ingested_at=row.ingested_at,
    )
    return page, changed


def _gate(stores: Stores, doc_id: str) -> tuple[tuple[int, int, str], ...]:
    first = stores.graph.source(doc_id, 0)
    said = json.loads(first.metadata).get("gate", ()) if first is not None else ()
    return tuple((start, end, BLOCK_VERDICTS[number]) for start, end, number in said)


def _part(stores: Stores, row: PartRow) -> dict[str, Any]:
    """Return what is known of a part: where it stands in the archive, its state, and the name that it was given."""
    document = stores.catalog.names.document(row.child) if row.child else None
    own = attachment_path(row)
    if row.kind != PartKind.ATTACHMENT and document is not None:
        own = f"archive/{row.child}/{own_name(stores, document)}"
    shown = stores.graph.document(row.child) if row.child else None
    return {
        "doc_id": row.child or None,
        "given_name": row.given,
        "kind": row.kind,
        "content_type": row.media_type,
        "size": row.size,
        "state": _state(document),
        "reason": document.reason or None if document is not None else None,
        "download_uri": own,
        "browse_uri": companion(own) or own if shown is not None else None,
    }


def _state(document: Document | None) -> str | None:
    if document is None:
        return None
    return (State.QUEUED if document.state is State.WORKING else document.state).value


def own_name(stores: Stores, document: Document) -> str:
    """Return the name under which the archive has the original of a Document: ``email.eml`` of a mail, else that of
    ``archived_name``."""
    return MAIL if is_mail(stores, document) else archived_name(document.source_id, document.doc_id)


def changed_at(stores: Stores, doc_id: str) -> int:
    """Return the time when a document's state, its paths, or what the graph shows of it last changed (nanoseconds).
    Quick. Raises MissingError for an unknown document.
    """
    document, row = stores.catalog.names.document(doc_id), stores.graph.document(doc_id)
    if document is None:
        raise MissingError(f"No document has the id {doc_id}.")
    located = standing_of(stores.catalog.names, doc_id).changed_at
    parts = (stores.catalog.names.document(row.child) for row in stores.catalog.names.parts(doc_id) if row.child)
    shown = (stores.graph.document(part.doc_id) for part in parts if part is not None)
    of_parts = max((one.ingested_at for one in shown if one is not None), default=0)
    return max(document.deposited_at, document.removed_at, located, row.ingested_at if row else 0, of_parts)
