"""Which existing concepts a new document is compared with by meaning.

Exact labels and aliases are matched against the whole ontology whatever the strategy; likeness of embeddings only
against what the strategy offers, so that the cost of a match does not grow with the graph. So what a strategy does not
offer stays a concept of its own where only its meaning, not its name, is that of a known one:

- ``popularity`` joins to what is said most of, and leaves the rest apart;
- ``random`` joins to anything, each document to others;
- ``hybrid`` does the first with most of the list and the second with the rest.
"""

from __future__ import annotations

import hashlib

from kgfs.errors import BadInputError
from kgfs.settings import STRATEGIES
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.vocabulary import EVERYTHING, Concept, Scope

POPULAR_SHARE = 0.7
"""Of a hybrid offer; the rest is a random tail."""


def offer(
    graph: Graph, ontology: str, strategy: str, limit: int, content_hash: str, scope: Scope = EVERYTHING
) -> list[Concept]:
    """Return at most ``limit`` concepts in ``scope``, no one twice, for a document with that content. They are the same in all homes that
    have read the same documents.

    ``popularity``: those with most relationships and evidence; ``random``: a sample seeded by the content;
    ``hybrid``: the popular ones and a random tail.
    """
    seed = int(hashlib.sha256(content_hash.encode()).hexdigest()[:12], 16)
    if strategy == "popularity":
        return graph.popular(ontology, limit, scope)
    if strategy == "random":
        return graph.sample(ontology, limit, seed, scope)
    if strategy == "hybrid":
        head = graph.popular(ontology, int(limit * POPULAR_SHARE), scope)
        shown = {concept.concept_id for concept in head}
        tail = [c for c in graph.sample(ontology, limit, seed, scope) if c.concept_id not in shown]
        return [*head, *tail[: limit - len(head)]]
    raise BadInputError(f"Unknown strategy '{strategy}'; known are {', '.join(STRATEGIES)}.")
