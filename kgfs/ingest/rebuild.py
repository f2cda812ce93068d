"""Rebuild graph and vectors from the ledger and the Readings, without asking a model.

Publications and forgettings are carried out again in the order of the ledger, with the decisions, times and commit ids
they had, so the result equals the graph built step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from kgfs.domain import Document
from kgfs.errors import StoreError
from kgfs.ingest import embeddings
from kgfs.ingest.publication import carry_out, text_of
from kgfs.ingest.reading import Decisions, Reading, decode_decisions, decode_reading
from kgfs.ingest.ship import entries
from kgfs.stores.journal.facts import DocumentForgotten, DocumentRead, Fact, decode
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter


def rebuild(stores: Stores, progress: Callable[[int], None] = lambda done: None) -> int:
    """Drop graph and vectors and make them anew; how many publications were carried out. Blocks for long; nobody else
    may publish meanwhile (the caller holds the worker's lock or the home is not in use). Killed in the middle it is
    to be begun again."""
    done = rebuild_graph(stores, progress)
    rebuild_vectors(stores)
    return done


def rebuild_graph(stores: Stores, progress: Callable[[int], None] = lambda done: None) -> int:
    """As ``rebuild``, without the vectors."""
    stores.graph.clear()
    done = 0
    for fact in _facts(stores):
        if isinstance(fact, DocumentRead):
            _publish(stores, fact)
            done += 1
            progress(done)
        elif isinstance(fact, DocumentForgotten):
            stores.graph.forget(fact.commit_id, [fact.doc_id], fact.at)
    return done


def rebuild_vectors(stores: Stores) -> None:
    """As ``rebuild``, with a graph that is complete. Nothing without a store of vectors."""
    vectors = stores.vectors
    if vectors is None:
        return
    vectors.clear()
    founded: set[str] = set()
    for fact in _facts(stores):
        if isinstance(fact, DocumentRead):
            for doc_id in (*fact.superseded, fact.doc_id):
                vectors.delete(Filter(kind="source", doc_id=doc_id))
            document, reading, decisions = _kept(stores, fact)
            found = embeddings.load(stores.garage.objects, reading)
            if found is not None and vectors.model == reading.embedding_model:
                rows = embeddings.source_rows(found, document.ontology, document.doc_id)
                concepts = embeddings.concept_rows(document.ontology, decisions, found)
                vectors.upsert(rows + concepts)
                founded |= {row.item for row in concepts}
        elif isinstance(fact, DocumentForgotten):
            vectors.delete(Filter(kind="source", doc_id=fact.doc_id))
    if gone := frozenset(concept for concept in founded if stores.graph.concept(concept) is None):
        vectors.delete(Filter(kind="concept", items=gone))


def _facts(stores: Stores) -> Iterator[Fact]:
    return map(decode, entries(stores.journal, stores.garage.ledger))


def _publish(stores: Stores, fact: DocumentRead) -> None:
    document, reading, decisions = _kept(stores, fact)
    carry_out(
        stores.graph,
        replace(document, deposit=fact.deposit),
        reading,
        decisions,
        text=text_of(stores.garage.objects, document, reading),
        content_version=fact.content_version,
        supersedes=fact.superseded,
        at=fact.at,
    )


def _kept(stores: Stores, fact: DocumentRead) -> tuple[Document, Reading, Decisions]:
    document, objects = stores.journal.names.document(fact.doc_id), stores.garage.objects
    if document is None:
        raise StoreError(f"The ledger publishes document {fact.doc_id} that it never deposited.")
    key = f"readings/{fact.doc_id}/{fact.reading}.json"
    reading = decode_reading(objects.get(key), key)
    return document, reading, decode_decisions(objects.get(fact.decisions), fact.decisions)
