"""Reuse vectors that the same model has computed for the same words, so that they are not computed again.

An edit of one paragraph changes few Sources, and a move to another ontology none. Embedding is most of the cost of
reading.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kgfs.domain.documents import Document
from kgfs.errors import CorruptError, MissingError
from kgfs.ingest.reading import embeddings
from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import load_reading, text_of


@dataclass(slots=True)
class Former:
    """Vectors that are known, by text of a Source and by label."""

    windows: embeddings.ByText = field(default_factory=dict)
    labels: embeddings.Labels = field(default_factory=dict)


def former_vectors(objects: Objects, documents: Iterable[Document], model: str) -> Former:
    """Return the vectors of the newest Readings of ``documents`` by ``model``.

    Vectors that are missing, corrupt or by another model are skipped, since they only have to be computed again.
    """
    found = Former()
    for document in documents:
        try:
            _add(found, objects, document, model)
        except (MissingError, CorruptError):
            continue
    return found


def _add(found: Former, objects: Objects, document: Document, model: str) -> None:
    if not document.reading:
        return
    reading = load_reading(objects, document.doc_id, document.reading)
    kept = embeddings.load(objects, reading, model)
    if kept is None:
        return
    text = text_of(objects, document, reading)
    spans = {chunk.index: (chunk.start, chunk.end) for chunk in reading.chunks}
    for index, rows in embeddings.windows_of(kept):
        start, end = spans[index]
        found.windows.setdefault(embeddings.embedded_text(reading.context, text[start:end]), rows)
    for concept, row in zip(reading.concepts, kept.concepts, strict=True):
        found.labels.setdefault(concept.label, row)
