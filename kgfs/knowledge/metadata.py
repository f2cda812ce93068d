"""The content of a document's ``metadata.json``."""

from __future__ import annotations

from dataclasses import replace

from kgfs.domain.documents import State
from kgfs.errors import MissingError
from kgfs.knowledge.document_location import standing_of
from kgfs.render.metadata import Metadata
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
    )
    changed = changed_at(stores, doc_id)
    if row is None:
        return page, changed
    page = replace(
        page,
        title=row.source_title,
        media_type=row.document_type,
        text_sha256=row.text_sha256,
        text_length=row.content_length,
        chunks=row.chunk_count,
        ingested_at=row.ingested_at,
    )
    return page, changed


def changed_at(stores: Stores, doc_id: str) -> int:
    """Return the time when a document's state, its paths, or what the graph shows of it last changed (nanoseconds).
    Quick. Raises MissingError for an unknown document.
    """
    document, row = stores.catalog.names.document(doc_id), stores.graph.document(doc_id)
    if document is None:
        raise MissingError(f"No document has the id {doc_id}.")
    located = standing_of(stores.catalog.names, doc_id).changed_at
    return max(document.deposited_at, document.removed_at, located, row.ingested_at if row else 0)
