"""Compare what two graphs show, row by row, independent of their keys and epochs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, TypeVar

from kgfs.stores.graph.kinds import KINDS
from kgfs.stores.graph.sqlite import Graph

T = TypeVar("T")
K = TypeVar("K", int, str)

PAGE = 1000

Compared = Callable[[int], None]
"""A callback that receives the number of documents and concepts compared so far."""


def difference(one: Graph, other: Graph, ontologies: Sequence[str], compared: Compared) -> str:
    """Return a description for people of the first row that differs; '' if both graphs show the same. Compares
    documents with their sources, and concepts with their evidence, its numbers, the next free number, and their
    relationships with the evidence of those. Epochs may differ. Memory is constant. Nothing may be published in
    either graph meanwhile."""
    done = 0
    for ontology in ontologies:
        if (counts := one.counts(ontology)) != (others := other.counts(ontology)):
            return f"{counts} in ontology {ontology}, and {others} in the copy"
        if (at := one.changed_at(ontology)) != (others_at := other.changed_at(ontology)):
            return f"ontology {ontology} changed at {at}, and at {others_at} in the copy"
        for row, others_row in zip_longest(_rows(one, ontology), _rows(other, ontology)):
            if row != others_row:
                return f"{row}, and {others_row} in the copy"
            if row[0] in ("document", "concept"):
                done += 1
                compared(done)
    return ""


def _rows(graph: Graph, ontology: str) -> Iterator[tuple[str, Any]]:
    for document in _paged(partial(graph.documents, ontology), lambda row: row.doc_id, ""):
        yield "document", document
        for source in _paged(partial(graph.sources, document.doc_id), lambda row: row.chunk_index, -1):
            yield "source", source
    for kind in KINDS.values():
        if kind.compared:
            yield from ((kind.word, row) for row in graph.rows(kind.table, ontology))
    yield "what persons said of claims", graph.claims.marks(ontology)
    yield "terms", [graph.terms.lines(ontology, *part) for part, _ in graph.terms.parts(ontology, 1 << 16)]
    for concept in _paged(partial(graph.concepts, ontology), lambda row: row.name, ""):
        yield "concept", concept
        yield from _evidence(graph, concept.concept_id)
        yield "mentions", (graph.named.file(concept.concept_id), graph.named.documents(concept.concept_id))
        for related in _paged(partial(graph.related, concept.concept_id, ""), lambda row: f"{row.type}/{row.name}", ""):
            yield "related", related
            if not related.incoming:
                yield from _evidence(graph, related.relationship_id)


def _evidence(graph: Graph, owner: str) -> Iterator[tuple[str, Any]]:
    for instance in _paged(partial(graph.instances, owner), lambda row: row.n, 0):
        yield "evidence", instance
    yield "next number", graph.next_numbers([owner])


def _paged(page: Callable[[K, int], list[T]], key: Callable[[T], K], after: K) -> Iterator[T]:
    while rows := page(after, PAGE):
        yield from rows
        if len(rows) < PAGE:
            return
        after = key(rows[-1])
