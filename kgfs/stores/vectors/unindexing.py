"""What leaves the vectors when it has left the graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter


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
