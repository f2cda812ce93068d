"""What a home knows, in words that do not depend on random ids and times: for comparing two homes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.domain.knowledge import RELATIONSHIP_TYPES
from kgfs.stores.stores import Stores

SYMMETRIC = {name for name, inverse in RELATIONSHIP_TYPES.items() if name == inverse}
"""The types whose ends are ordered by their concept ids, which are random."""


def knowledge_of(home: Path) -> dict[str, Any]:
    with open_home(load(home)) as stores:
        return knowledge_in(stores)


def knowledge_in(stores: Stores) -> dict[str, Any]:
    graph, names = stores.graph, stores.catalog.names
    found: dict[str, Any] = {}
    for ontology in names.ontologies():
        documents = {}
        for row in graph.documents(ontology.id, limit=100_000):
            paths = sorted(names.path(name.id) or "" for name in names.names_of(row.doc_id))
            sources = [(s.char_start, s.char_end, s.gated) for s in graph.sources(row.doc_id, limit=100_000)]
            documents[row.doc_id] = {"paths": paths, "title": row.source_title, "sources": sources}
        concepts = {}
        for concept in graph.concepts(ontology.id, limit=100_000):
            related = [
                (
                    r.type,
                    r.name,
                    r.incoming and r.type not in SYMMETRIC,
                    r.confidence,
                    evidence(graph, r.relationship_id, documents),
                )
                for r in graph.related(concept.concept_id, limit=100_000)
            ]
            concepts[concept.name] = {
                "label": concept.label,
                "aliases": concept.aliases,
                "description": concept.description,
                "size": concept.size,
                "evidence": evidence(graph, concept.concept_id, documents),
                "mentions": mentions(graph, concept.concept_id, documents),
                "related": related,
            }
        found[ontology.name] = {
            "documents": sorted(documents.values(), key=lambda d: d["paths"]),
            "concepts": concepts,
            "states": {s.value: n for s, n in names.counts(ontology.id).items() if n},
        }
    return found


def evidence(graph: Any, owner: str, documents: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (i.n, documents[i.doc_id]["paths"], i.quote, i.char_start, i.char_end, i.source_size, i.defines)
        for i in graph.instances(owner, limit=100_000)
    ]


def mentions(graph: Any, concept_id: str, documents: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            documents[doc_id]["paths"],
            [line.split(b"\t")[1:4] for line in graph.named.lines(concept_id, doc_id).splitlines()],
        )
        for doc_id, _ in graph.named.documents(concept_id)
    ]
