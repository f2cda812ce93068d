"""Choose the existing concepts that a new document is compared with by similarity of embeddings.

Exact labels and aliases are matched against the whole ontology, whatever the strategy. Similarity is computed only
against the concepts that the strategy offers, so that the cost of a match does not grow with the graph. A concept
that is not offered is not recognised by its meaning, only by its name:

- ``popularity`` joins to the most frequent concepts, and leaves the rest apart;
- ``random`` joins to any concepts, different ones for each document;
- ``hybrid`` takes most of the list by popularity and the rest at random.
"""

from __future__ import annotations

import hashlib

from kgfs.errors import BadInputError
from kgfs.settings import STRATEGIES
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import EVERYTHING, Concept, Scope

POPULAR_SHARE = 0.7
"""Share of popular concepts in a hybrid offer; the rest is a random sample."""


def offer(
    graph: Graph, ontology: str, strategy: str, limit: int, content_hash: str, scope: Scope = EVERYTHING
) -> list[Concept]:
    """Return at most ``limit`` different concepts in ``scope`` for a document with that content.

    The result is the same in all homes that have read the same documents. ``popularity`` takes the concepts with most
    relationships and evidence, ``random`` a sample seeded by the content, ``hybrid`` the popular ones and a random
    sample. Raise BadInputError for an unknown strategy.
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
