"""A graph of any size, written without reading anything."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from pathlib import Path

from bench.generated import document_row, instance_row, source_row
from kgfs.domain.identity import relationship_id_of
from kgfs.domain.knowledge import Mention
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import (
    Batch,
    ConceptRow,
    InstanceRow,
    Publication,
    RelationshipRow,
    SourceRow,
)

ONTOLOGY = "0123456789ab"
SOURCES, QUOTES, CONCEPTS = 100, 3000, 40
"""Of each document."""
NAMED = 2000
"""Concepts there are in all, at most."""
TEXT = "Meditation is a practice in which a person trains attention and awareness. " * 10


def generate(path: Path, documents: int, quotes: int = QUOTES, sources: int = SOURCES) -> None:
    """Write a graph of so many documents to a file."""
    with closing(Graph(path)) as graph:
        for number in range(documents):
            publish(graph, number, sources, quotes)


def publish(graph: Graph, number: int, sources: int, quotes: int) -> None:
    doc_id, commit_id = f"{number:016x}", f"publish-{number:016x}"
    owners = [f"{(number * 7 + step) % NAMED:024x}" for step in range(CONCEPTS)]
    texts = [source_row(doc_id, index, TEXT, index * len(TEXT), index + 1) for index in range(sources)]
    given = dict.fromkeys(owners, 0) | {owner: n - 1 for owner, n in graph.next_numbers(owners).items()}
    rows: list[InstanceRow] = []
    for at in range(quotes):
        owner = owners[at % CONCEPTS]
        given[owner] += 1
        rows.append(_instance(texts, owner, "concept", given[owner], at))
    pairs = [(a, b) for a, b in pairwise(owners) if a != b]
    relationships = [RelationshipRow(relationship_id_of(a, "USES", b), ONTOLOGY, a, "USES", b) for a, b in pairs]
    numbers = graph.next_numbers([row.relationship_id for row in relationships])
    rows += [
        _instance(texts, row.relationship_id, "relationship", numbers[row.relationship_id], at)
        for at, row in enumerate(relationships)
    ]
    graph.stage(commit_id, doc_id, Batch(texts, {"instance": rows}))
    concepts = [
        ConceptRow(owner, ONTOLOGY, f"concept {owner}", f"concept-{owner}", _mention(doc_id, number, owner))
        for owner in owners
    ]
    file, sha256 = f"{doc_id}.txt", doc_id * 4
    document = document_row(doc_id, ONTOLOGY, file, texts, sha256, f"sources/x/{file}", number + 1)
    graph.publish(Publication(commit_id, document, concepts, relationships, (), number + 1))


def _instance(sources: list[SourceRow], owner: str, kind: str, n: int, at: int) -> InstanceRow:
    source = sources[at % len(sources)]
    start = source.char_start + at // len(sources) * 13 % 550
    return instance_row(source, owner, kind, n, start, start + 200, source.line_start)


def _mention(doc_id: str, number: int, owner: str) -> Mention:
    label = f"Concept {owner}"
    return Mention(doc_id, number + 1, label, (label,), "term", 0.5, "")
