"""Write a published document's vectors, and remove those that its publication makes obsolete."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from kgfs.domain.documents import Document
from kgfs.ingest.reading import embeddings
from kgfs.stores.readings import Decisions, Reading
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.unindexing import unindex, unindex_dead


class Vectors(Protocol):
    """Loads the vectors of a Reading, or a part of them: those of a long document are large."""

    def __call__(self, *, labels: bool = True, windows: bool = True) -> embeddings.Embeddings | None:
        """Return them; None where there are none."""
        ...


def index(
    stores: Stores,
    document: Document,
    reading: Reading,
    decisions: Decisions,
    load: Vectors,
    superseded: Sequence[str],
    touched: Collection[str],
) -> None:
    """Put the vectors of Sources and of founded concepts in place of those of ``superseded`` documents.

    ``touched`` are concepts that may have left the graph; their vectors are removed if they have. The graph must show
    the document already. Idempotent. The commit to the graph writes the full-text index itself.
    """
    unindex(stores, (*superseded, document.doc_id), touched)
    if stores.vectors is None or (labels := load(windows=False)) is None:
        return
    founded = embeddings.concept_rows(document.ontology, reading, decisions, labels)
    del labels
    found = load(labels=False)
    assert found is not None, "it was loaded just now"
    payloads = embeddings.payloads(stores.graph, stores.vectors, document.doc_id)
    rows = embeddings.source_rows(found, document.ontology, document.doc_id, payloads)
    # In a repeated run, a founded concept may have been merged into another one since.
    living = stores.graph.concepts_by_id([row.item for row in founded])
    rows += [row for row in founded if row.item in living]
    stores.vectors.upsert(rows)
    unindex_dead(stores, [document.doc_id], living.keys())
