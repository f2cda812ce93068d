"""Nested searches: ``search/<a>/<b>/`` has what <b> finds within the documents of <a>."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kgfs.compute.deadline import Deadline
from kgfs.knowledge.claims_found import found_claims
from kgfs.knowledge.filters import allowed, ontology_asked
from kgfs.knowledge.intent import read_intent
from kgfs.knowledge.query import parse
from kgfs.knowledge.search import Found, by_words, search, with_phrases
from kgfs.knowledge.timing import SEARCH_MODEL
from kgfs.stores.stores import Stores

EVERY = 1 << 30
"""More Sources than any home has."""


def search_nested(
    stores: Stores,
    run: Path,
    words: Sequence[str],
    ontology: str,
    patience: Deadline,
    *,
    min_score: float | None = None,
    by_worker: bool = False,
) -> Found:
    """Return what the last of these questions finds within the documents of all before it. Blocks as :func:`.search.search`.

    The documents of a question are those that pass its filters and have one of its words (by stem, or part of a name in
    code) or, where no document has any, those that it finds by meaning. Filters of one question hold for all that follow.
    ``min_score``, which counts for the last one, ``by_worker`` and errors are those of :func:`.search.search`.
    """
    within: frozenset[str] | None = None
    follows_names = False
    for outer in words[:-1]:
        query = parse(outer)
        ontology = ontology_asked(stores, query, ontology)
        follows_names = follows_names or query.filtered
        within = _documents_of(stores, run, outer, ontology, within, patience)
    found = search(stores, run, words[-1], ontology, patience, within=within, min_score=min_score, by_worker=by_worker)
    return replace(
        _with_claims(stores, run, found, patience),
        outer=tuple(words[:-1]),
        follows_names=follows_names or found.follows_names,
    )


def _with_claims(stores: Stores, run: Path, found: Found, patience: Deadline) -> Found:
    """Return what was found with what the question is after, and with the claims that answer it."""
    words = found.query.words
    if not words:
        return found
    intent = read_intent(stores, found.ontology, words, neighbours=False)
    within = frozenset(found.doc_ids) if found.doc_ids is not None else None
    limited = patience.within(SEARCH_MODEL)
    claims = found_claims(
        stores, run, found.ontology, words, intent.domain, within, limited, meaning=not found.only_text
    )
    return replace(found, intent=replace(intent, expansions=()), claims=claims)


def _documents_of(
    stores: Stores, run: Path, words: str, ontology: str, within: frozenset[str] | None, patience: Deadline
) -> frozenset[str] | None:
    """Return the documents of a question, within those given; None for all there are."""
    query = parse(words)
    doc_ids = allowed(stores, query, ontology) if query.filtered else None
    if within is not None:
        doc_ids = within if doc_ids is None else doc_ids & within
    patience.check()
    if not query.words:
        return doc_ids
    graph = stores.graph
    only = with_phrases(graph, query, ontology) if query.phrases else None
    having = by_words(graph, graph.word_view(), query, ontology, EVERY, doc_ids, only)
    if having:
        return frozenset(doc_id for (doc_id, _), _ in having)
    found = search(stores, run, words, ontology, patience, within=within)
    return frozenset(doc_id for (doc_id, _), _ in found.order)
