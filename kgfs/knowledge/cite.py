"""Resolve a ``chunk_id``: the Source that it was issued for, and what is there now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kgfs.domain.documents import Document
from kgfs.domain.places import Locator
from kgfs.errors import MissingError
from kgfs.knowledge.document_location import standing_of
from kgfs.stores.chunk_index import ChunkRef
from kgfs.stores.readings import Reading, load_reading, text_of
from kgfs.stores.stores import Stores

REMOVED = "the original was emptied from the trash"

Issued = Callable[[str], Sequence[ChunkRef]]
"""Returns the Sources for which a ``chunk_id`` was issued, the latest published first. Blocks."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A Source that a ``chunk_id`` was issued for. Positions are in the Text of ``reading``."""

    chunk_id: str
    ontology: str
    """The ontology's name, even if the ontology was removed."""
    doc_id: str
    document: str
    """The present path of its bytes, below the ontology's folder: in ``documents/``, ``versions/`` or ``archive/``."""
    paths: tuple[str, ...]
    """All files in ``documents/`` that have these bytes."""
    content_hash: str
    key: str
    reading: str
    text_sha256: str
    char_start: int
    char_end: int
    byte_start: int
    byte_end: int
    line_start: int
    line_end: int
    page: int | None
    locator: Locator
    """Of the first character that is not white space; empty while there is no text."""
    section_path: tuple[str, ...]
    shown: bool
    """Whether the graph has this Source now."""
    text: str | None
    """The text of the Source. None where it is gone; ``reason`` says why."""
    reason: str = ""


def resolve(stores: Stores, chunk_id: str, issued: Issued) -> tuple[ChunkRef, bool]:
    """Return the Source that the id was issued for, and whether the graph shows it.

    If several Readings have it, the one that the graph shows wins, else the last. Raises MissingError where the id
    was never issued, or where its document was purged. Quick, unless ``issued`` must be asked because the graph does
    not show the id.
    """
    held = stores.graph.chunk_ids_held([chunk_id]).get(chunk_id)
    row = stores.graph.document(held[0]) if held else None
    if held and row is not None:
        return ChunkRef(row.doc_id, row.reading, held[1]), True
    for ref in issued(chunk_id):
        if stores.catalog.names.document(ref.doc_id) is not None:
            return ref, False
    raise MissingError(f"No Source has the chunk_id '{chunk_id}': it was never issued, or its document was purged.")


def cited(stores: Stores, chunk_id: str, issued: Issued) -> Cited:
    """Return what is known of the Source that the id was issued for. Raises as :func:`resolve` does. Blocks, because
    it reads the garage.
    """
    ref, shown = resolve(stores, chunk_id, issued)
    return _cited(stores, chunk_id, ref, shown=shown)


def _cited(stores: Stores, chunk_id: str, ref: ChunkRef, *, shown: bool) -> Cited:
    document = stores.catalog.names.document(ref.doc_id)
    if document is None:
        raise MissingError(f"The document of '{chunk_id}' was purged.")
    reading = load_reading(stores.garage.objects, ref.doc_id, ref.reading)
    chunk = reading.chunks[ref.chunk_index]
    text = _text(stores, document, reading)
    passage = text[chunk.start : chunk.end] if text is not None else None
    standing = standing_of(stores.catalog.names, ref.doc_id)
    return Cited(
        chunk_id=chunk_id,
        ontology=_ontology(stores, document),
        doc_id=ref.doc_id,
        document=standing.origin.path,
        paths=standing.paths,
        content_hash=document.sha256,
        key=document.key,
        reading=ref.reading,
        text_sha256=reading.text_sha256,
        char_start=chunk.start,
        char_end=chunk.end,
        byte_start=chunk.byte_start,
        byte_end=chunk.byte_end,
        line_start=chunk.line_start,
        line_end=chunk.line_end,
        page=chunk.page,
        locator=reading.locator(text, chunk.start + len(passage) - len(passage.lstrip())) if text and passage else {},
        section_path=chunk.section_path,
        shown=shown,
        text=passage,
        reason="" if text is not None else REMOVED,
    )


def _text(stores: Stores, document: Document, reading: Reading) -> str | None:
    try:
        return text_of(stores.garage.objects, document, reading)
    except MissingError:
        if stores.catalog.promises(document.key):
            raise  # the original is promised and was lost, which is not the same as removed
        return None


def _ontology(stores: Stores, document: Document) -> str:
    names = stores.catalog.names
    known = (*names.ontologies(), *names.removed_ontologies())
    return next((ontology.name for ontology in known if ontology.id == document.ontology), "")
