"""What leaves the vectors when it has left the graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter


def look_again(stores: Stores, doc_ids: Iterable[str], concept_ids: Collection[str]) -> None:
    """For who has just put rows of these into vectors that other machines use, too: take out those of what is not in the graph
    by now. Whoever takes something out of the graph takes out its rows *after* that: either after they were put, or what
    left is seen to have left here. AwayError and TimedOutError as the stores have it; the whole is to be done again then."""
    unindex(stores, [doc_id for doc_id in doc_ids if stores.graph.document(doc_id) is None], concept_ids)


def unindex(stores: Stores, doc_ids: Iterable[str], concept_ids: Collection[str]) -> frozenset[str]:
    """Take out the Sources of these documents, and those of the concepts that do not live (any more), which are returned. Nothing
    without vectors."""
    if stores.vectors is None:
        return frozenset()
    if left := frozenset(doc_ids):
        stores.vectors.delete(Filter(kind="source", doc_ids=left))
    if gone := frozenset({*concept_ids} - stores.graph.concepts_by_id(concept_ids).keys()):
        stores.vectors.delete(Filter(kind="concept", items=gone))
    return gone
