"""Rebuild graph and vectors from the ledger and the Readings, without asking a model.

What changed them is carried out again in the order of the ledger, with the decisions, times and commit ids it had, so
the result equals what was built step by step. To make a new kind of fact part of this, register how it is carried out
again: :func:`replay_in_graph` and, where it changes vectors, :func:`replay_in_vectors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import singledispatch

from kgfs.domain import Document
from kgfs.errors import StoreError
from kgfs.ingest import embeddings
from kgfs.ingest.publication import carry_out, text_of
from kgfs.ingest.reading import Decisions, Reading, decode_decisions, decode_reading
from kgfs.ingest.ship import entries
from kgfs.stores.journal.facts import DocumentForgotten, DocumentRead, Fact, decode
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter, Vectors


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
        replay_in_graph(fact, stores)
        if isinstance(fact, DocumentRead):
            done += 1
            progress(done)
    return done


def rebuild_vectors(stores: Stores) -> None:
    """As ``rebuild``, with a graph that is complete. Nothing without a store of vectors."""
    if stores.vectors is None:
        return
    stores.vectors.clear()
    replayed = ReplayedVectors(stores, stores.vectors)
    for fact in _facts(stores):
        replay_in_vectors(fact, replayed)
    if gone := frozenset(concept for concept in replayed.founded if stores.graph.concept(concept) is None):
        stores.vectors.delete(Filter(kind="concept", items=gone))


# ------------------------------------------------------------------------------------------------ graph


@singledispatch
def replay_in_graph(fact: Fact, stores: Stores) -> None:
    """Do again what this fact did to the graph, with the commit id it did it under. Most facts did nothing to it."""


@replay_in_graph.register
def _(fact: DocumentRead, stores: Stores) -> None:
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


@replay_in_graph.register
def _(fact: DocumentForgotten, stores: Stores) -> None:
    stores.graph.forget(fact.commit_id, [fact.doc_id], fact.at)


# ---------------------------------------------------------------------------------------------- vectors


@dataclass(slots=True)
class ReplayedVectors:
    stores: Stores
    """Their graph is complete: it shows how things stand after the last fact."""
    vectors: Vectors
    founded: set[str] = field(default_factory=set)
    """Concepts that got a row so far. Rows of those that the graph does not have any more go at the end."""


@singledispatch
def replay_in_vectors(fact: Fact, replayed: ReplayedVectors) -> None:
    """Do again what this fact did to the vectors. Most facts did nothing to them."""


@replay_in_vectors.register
def _(fact: DocumentRead, replayed: ReplayedVectors) -> None:
    stores, vectors = replayed.stores, replayed.vectors
    for doc_id in (*fact.superseded, fact.doc_id):
        vectors.delete(Filter(kind="source", doc_id=doc_id))
    document, reading, decisions = _kept(stores, fact)
    found = embeddings.load(stores.garage.objects, reading)
    if found is None or vectors.model != reading.embedding_model:
        return
    concepts = embeddings.concept_rows(document.ontology, decisions, found)
    vectors.upsert(embeddings.source_rows(found, document.ontology, document.doc_id) + concepts)
    replayed.founded |= {row.item for row in concepts}


@replay_in_vectors.register
def _(fact: DocumentForgotten, replayed: ReplayedVectors) -> None:
    replayed.vectors.delete(Filter(kind="source", doc_id=fact.doc_id))


# ------------------------------------------------------------------------------------------------------


def _facts(stores: Stores) -> Iterator[Fact]:
    return map(decode, entries(stores.journal, stores.garage.ledger))


def _kept(stores: Stores, fact: DocumentRead) -> tuple[Document, Reading, Decisions]:
    document, objects = stores.journal.names.document(fact.doc_id), stores.garage.objects
    if document is None:
        raise StoreError(f"The ledger publishes document {fact.doc_id} that it never deposited.")
    key = f"readings/{fact.doc_id}/{fact.reading}.json"
    reading = decode_reading(objects.get(key), key)
    return document, reading, decode_decisions(objects.get(fact.decisions), fact.decisions)
