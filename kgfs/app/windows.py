"""Prepare documents for the windows of models, and rank what a search found by a model that reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kgfs.app import timing
from kgfs.compute.deadline import Deadline
from kgfs.compute.likeness import likeness
from kgfs.config import Config
from kgfs.errors import BadInputError, KgfsError
from kgfs.knowledge import windows
from kgfs.knowledge.match import whole_document
from kgfs.knowledge.windows import MAX_SECTIONS, MAX_TOKENS, Alike, Content, Prepared, Relevant
from kgfs.render.results import Pagination, Results
from kgfs.render.search import near_from
from kgfs.stores.stores import Stores

NET = 50
"""The number of documents, best first, that a model ranks again."""


def prepare_for_reranking(
    config: Config, query: str, documents: Sequence[Content], max_tokens: int = MAX_TOKENS
) -> list[Prepared]:
    """Return what a model that ranks is given of each document: all of it up to ``max_tokens``, else its best segment.

    A worker that runs compares meanings; without one the words decide which segment is best.
    """
    return windows.prepare_for_reranking(query, documents, _counter(), _alike(config), max_tokens)


def prepare_for_contradiction_check(
    config: Config,
    claim: str,
    documents: Sequence[Content],
    max_sections: int = MAX_SECTIONS,
    max_tokens: int = MAX_TOKENS,
) -> list[Relevant]:
    """Return the sections of each document that say most of the claim, and where the whole document is."""
    return windows.prepare_for_contradiction_check(
        claim, documents, _counter(), _alike(config), max_sections, max_tokens
    )


def rerank(config: Config, query: str, documents: Sequence[Content]) -> list[tuple[str, float]]:
    """Return (id, score) of the documents by the configured reranker, best first.

    Raise BadInputError where none is configured, and the errors of :class:`kgfs.models.reranker.Reranker`.
    """
    from kgfs.models.reranker import load

    ranker = load(config.models)
    if ranker is None:
        raise BadInputError("No model ranks again: set models.rerank_url, or models.rerank_path.")
    prepared = prepare_for_reranking(config, query, documents)
    scores = ranker.scores(query, [one.text for one in prepared])
    ranked = sorted(zip(scores, range(len(prepared)), strict=True), key=lambda one: (-one[0], one[1]))
    return [(prepared[at].id, score) for score, at in ranked]


def reranked(config: Config, stores: Stores, best: Results, page: int, limit: int) -> Results:
    """Return a page of the documents of ``best``, in the order that the configured reranker gives them. Errors are those of
    :func:`rerank`."""
    by_id = {one.doc_id: one for one in best.documents}
    contents = [Content(doc_id, whole_document(stores, doc_id).content or "") for doc_id in by_id]
    order = [by_id[doc_id] for doc_id, _ in rerank(config, best.wanted or best.words, contents)] if contents else []
    first = (page - 1) * limit
    shown = tuple(replace(one, rank=rank) for rank, one in enumerate(order[first : first + limit], first + 1))
    pagination = Pagination(page, limit, len(order), best.pagination.has_next, len(order) > first + limit)
    named = config.models.rerank_model or config.models.rerank_url or config.models.rerank_path
    having = [one.has_rare for one in order]
    near = near_from(best.near.word, having, first, len(shown)) if best.near else None
    return replace(best, documents=shown, pagination=pagination, near=near, ranked_by=named)


def _counter() -> Callable[[str], int]:
    from kgfs.models import tokens

    return tokens.load().count


def _alike(config: Config) -> Alike:
    def alike(words: str, texts: Sequence[str]) -> Sequence[float] | None:
        try:
            return likeness(config.run, words, texts, [], Deadline(timing.SEGMENTS_ALIKE)).cosines
        except KgfsError:  # no worker, or none that compares: words decide
            return None

    return alike
