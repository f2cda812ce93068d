"""Rebuild graph and vectors from the ledger and the Readings, without asking a model.

Publications and forgettings are carried out again in the order of the ledger, with the decisions, times and commit ids
they had, so the result equals the graph built step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kgfs.domain import Document
from kgfs.errors import StoreError
from kgfs.ingest import embeddings
from kgfs.ingest.publication import carry_out, text_of
from kgfs.ingest.reading import Decisions, Reading, decode_decisions, decode_reading
from kgfs.stores.journal.facts import DocumentForgotten, DocumentRead, Fact, VersionMinted, decode
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter


def rebuild(stores: Stores, progress: Callable[[int], None] = lambda done: None) -> int:
    """Drop graph and vectors and make them anew; how many publications were carried out. Blocks for long; nobody else
    may publish meanwhile (the caller holds the worker's lock or the home is not in use)."""
    stores.graph.clear()
    if stores.vectors is not None:
        stores.vectors.clear()
    versions: dict[str, int] = {}
    done = 0
    for fact in _facts(stores):
        if isinstance(fact, VersionMinted):
            versions[fact.doc_id] = fact.n
        elif isinstance(fact, DocumentRead):
            document = stores.journal.names.document(fact.doc_id)
            if document is None:
                raise StoreError(f"The ledger publishes document {fact.doc_id} that it never deposited.")
            _publish(stores, document, fact, versions.get(fact.doc_id, 1))
            done += 1
            progress(done)
        elif isinstance(fact, DocumentForgotten):
            stores.graph.forget(fact.commit_id, [fact.doc_id], fact.at)
            if stores.vectors is not None:
                stores.vectors.delete(Filter(kind="source", doc_id=fact.doc_id))
    return done


def _facts(stores: Stores) -> Iterator[Fact]:
    """All facts in order: from the ledger, and those it does not have yet from its front."""
    last = 0
    for last, entry in stores.garage.ledger.replay():  # noqa: B007 - the last number is used after the loop
        yield decode(entry)
    first, entries = stores.journal.unshipped(limit=1 << 62)
    for number, entry in enumerate(entries, first):
        if number > last:
            yield decode(entry)


def _publish(stores: Stores, document: Document, fact: DocumentRead, content_version: int) -> None:
    objects = stores.garage.objects
    reading_key = f"readings/{fact.doc_id}/{fact.reading}.json"
    reading: Reading = decode_reading(objects.get(reading_key), reading_key)
    decisions: Decisions = decode_decisions(objects.get(fact.decisions), fact.decisions)
    carry_out(
        stores.graph,
        document,
        reading,
        decisions,
        text=text_of(objects, document, reading),
        content_version=content_version,
        supersedes=fact.superseded,
        at=fact.at,
    )
    found = embeddings.load(objects, reading)
    if stores.vectors is not None and found is not None and stores.vectors.model == reading.embedding_model:
        for doc_id in fact.superseded:
            stores.vectors.delete(Filter(kind="source", doc_id=doc_id))
        rows = embeddings.source_rows(found, document.ontology, document.doc_id)
        stores.vectors.upsert(rows + embeddings.concept_rows(document.ontology, decisions, found))
