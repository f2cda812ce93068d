"""Remove vectors of what was removed from the graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter


def unindex_dead(stores: Stores, doc_ids: Iterable[str], concept_ids: Collection[str]) -> None:
    """Remove the rows of those documents and concepts that are not in the graph by now.

    A process calls this after it has put rows of these documents and concepts into vectors that other processes also
    write. Every process that removes something from the graph removes its rows *after* that. So either those rows are
    removed after they were put, or this call sees that their document or concept is gone. Raise the stores' UnavailableError
    and TimedOutError; then repeat the whole call.
    """
    unindex(stores, [doc_id for doc_id in doc_ids if stores.graph.document(doc_id) is None], concept_ids)


def unindex(stores: Stores, doc_ids: Iterable[str], concept_ids: Collection[str]) -> frozenset[str]:
    """Remove the Sources of these documents, and the rows of those concepts that are not alive. Return the ids of
    these concepts.

    Without a vector store do nothing and return an empty set.
    """
    if stores.vectors is None:
        return frozenset()
    if left := frozenset(doc_ids):
        stores.vectors.delete(Filter(kind="source", doc_ids=left))
    if gone := frozenset({*concept_ids} - stores.graph.concepts_by_id(concept_ids).keys()):
        stores.vectors.delete(Filter(kind="concept", items=gone))
    return gone
