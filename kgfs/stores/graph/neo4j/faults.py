"""Nodes of the graph that do not fit together. Each question is one walk over what bears a label."""

from __future__ import annotations

from neo4j import ManagedTransaction

from kgfs.stores.graph.neo4j.rows import shown
from kgfs.stores.graph.vocabulary import Fault

_DOCUMENTS = "MATCH (d:Document) WHERE d.space = $space AND d.doc_id IS NOT NULL"
_CONCEPTS = "MATCH (c:Concept) WHERE c.space = $space AND c.id IS NOT NULL"
_RELATIONSHIPS = "MATCH (r:Relationship) WHERE r.space = $space"

QUESTIONS = (
    (
        "evidence without an owner",
        f"{_DOCUMENTS} MATCH (i:Instance {{edition: d.key}}) WHERE NOT EXISTS {{ (:Owner)-[:EVIDENCED_BY]->(i) }}"
        " RETURN [i.owner + '/' + i.n, d.doc_id] AS fault",
    ),
    (
        "evidence without a source",
        f"{_DOCUMENTS} MATCH (i:Instance {{edition: d.key}}) WHERE NOT EXISTS {{ (i)-[:DERIVED_FROM]->(:Source) }}"
        " RETURN [i.owner + '/' + i.n, d.doc_id] AS fault",
    ),
    (
        "concept without a mention",
        f"{_CONCEPTS} AND NOT EXISTS {{ (c)-[:MENTIONED_IN]->(:Document) }} RETURN [c.name, ''] AS fault",
    ),
    (
        "concept that lacks evidence",
        f"{_CONCEPTS} AND c.evidence <> COUNT {{ MATCH (i:Instance {{owner: c.id}})"
        f" {shown('i')} }} RETURN [c.name, ''] AS fault",
    ),
    (
        "neighbour without a relationship",
        f"{_CONCEPTS} MATCH (c)-[x:RELATES_TO]->(o:Concept)"
        " WHERE NOT EXISTS { MATCH (r:Relationship {space: $space, id: x.relationship_id}) }"
        " RETURN [c.id + '/' + x.type + '/' + o.name, ''] AS fault",
    ),
    (
        "relationship without neighbours",
        f"{_RELATIONSHIPS} AND NOT EXISTS {{ MATCH (:Concept {{space: $space, id: r.subject}})"
        "-[:RELATES_TO {relationship_id: r.id}]->(:Concept {space: $space, id: r.object}) } RETURN [r.id, ''] AS fault",
    ),
    (
        "document that lacks sources",
        f"{_DOCUMENTS} AND d.chunk_count <> COUNT {{ MATCH (s:Source {{edition: d.key}}) }} RETURN [d.doc_id, d.doc_id] AS fault",
    ),
    (
        "words",
        f"{_DOCUMENTS} MATCH (s:Source {{edition: d.key}}) WHERE (s.gated = '') <> (s.words IS NOT NULL)"
        " RETURN [s.chunk_id, d.doc_id] AS fault",
    ),
)


def faults(tx: ManagedTransaction, space: str, what: str, question: str) -> list[Fault]:
    return [Fault(what, *row["fault"]) for row in tx.run(question, space=space)]
