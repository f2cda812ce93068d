"""Search a home for documents, and for passages."""

from __future__ import annotations

from collections.abc import Sequence

from kgfs.app import timing
from kgfs.app.home import open_to_read
from kgfs.compute.deadline import Deadline
from kgfs.config import Config
from kgfs.errors import BadInputError
from kgfs.knowledge.by_document import CHUNKS_PER_DOCUMENT, LIMIT, Shape, documents
from kgfs.knowledge.nesting import search_nested
from kgfs.knowledge.search import LIMIT as PASSAGES
from kgfs.knowledge.search import Found, passages
from kgfs.render.results import Results
from kgfs.render.search import ResultPage
from kgfs.stores.resolve import ontology_called
from kgfs.stores.stores import Stores


def search(
    config: Config,
    words: str,
    ontology: str = "",
    limit: int = LIMIT,
    page: int = 1,
    *,
    within: Sequence[str] = (),
    chunks_per_doc: int = CHUNKS_PER_DOCUMENT,
    include_adjacent: bool = True,
    min_score: float | None = None,
    rerank: bool = False,
) -> Results:
    """Return a page of the documents that match the words best, in one ontology or in all. ``limit`` counts documents.

    ``within`` are questions in whose documents is searched, each in those of the one before. Of each document at most
    ``chunks_per_doc`` matched Sources are shown and, with ``include_adjacent``, their neighbours. ``min_score`` is the least
    cosine of Sources that have none of the words; None for that of the model, which counts only where no word occurs. With
    ``rerank`` the configured reranker orders the best documents (:func:`kgfs.app.windows.reranked`); ``search/`` in a mount never
    ranks so, since a model that reads them takes longer than a folder may take to open.

    Raise MissingError for an unknown ontology, BadInputError for a number that is out of range, and with ``rerank`` the errors of
    :func:`kgfs.app.windows.rerank`.
    """
    if page < 1 or limit < 1:
        raise BadInputError("Pages count from 1, and have a document or more.")
    shape = Shape(chunks_per_doc, include_adjacent)
    with open_to_read(config) as stores:
        found = _found(config, stores, words, ontology, within, min_score)
        if not rerank:
            return documents(stores, found, page, limit, shape)[0]
        from kgfs.app.windows import NET, reranked  # needed where a reranker is configured only

        return reranked(config, stores, documents(stores, found, 1, NET, shape)[0], page, limit)


def search_passages(
    config: Config,
    words: str,
    ontology: str = "",
    limit: int = PASSAGES,
    *,
    within: Sequence[str] = (),
    min_score: float | None = None,
) -> ResultPage:
    """Return the passages that match the words best, whatever documents they are of. Other arguments and errors are as for
    :func:`search`."""
    with open_to_read(config) as stores:
        return passages(stores, _found(config, stores, words, ontology, within, min_score), limit)[0]


def _found(
    config: Config, stores: Stores, words: str, ontology: str, within: Sequence[str], min_score: float | None
) -> Found:
    searched = ontology_called(stores, ontology).id if ontology else ""
    questions, patience = (*within, words), Deadline(timing.SEARCH)
    return search_nested(stores, config.run, questions, searched, patience, min_score=min_score, by_worker=True)
