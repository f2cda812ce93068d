"""Find Sources by meaning under all filters, and read documents whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from kgfs.app import timing
from kgfs.app.home import open_to_read
from kgfs.app.queries import named_document
from kgfs.compute.deadline import Deadline
from kgfs.config import Config
from kgfs.errors import MissingError
from kgfs.ingest.lifecycle.citable import issued
from kgfs.knowledge import match
from kgfs.knowledge.cite import resolve
from kgfs.knowledge.match import COUNT, THRESHOLD, MatchedChunk, MatchFilters, WholeDocument

_CHUNK_ID = re.compile(r"[0-9a-f]{12,64}")


def match_chunks(
    config: Config,
    wanted: str | Sequence[float],
    threshold: float = THRESHOLD,
    count: int = COUNT,
    filters: MatchFilters | None = None,
) -> list[MatchedChunk]:
    """Return the Sources that are closest in meaning to words or to a vector of the home's embedding model, best first.

    At most ``count``, with a cosine of at least ``threshold``; every vector that the filters allow is compared. Raise NoWorkerError
    where no worker runs, BadInputError for a bad filter, number or vector, and MissingError for an unknown ontology.
    """
    with open_to_read(config) as stores:
        patience = Deadline(timing.MATCH)
        return match.match_chunks(stores, config.run, wanted, threshold, count, filters or MatchFilters(), patience)


def get_document(config: Config, named: str, *, content: bool = True) -> WholeDocument:
    """Return a document that the graph shows, with its whole content.

    ``named`` is a doc_id, the ``chunk_id`` of one of its Sources, a path in a mount, or ``ONTOLOGY/PATH``. Raise MissingError for
    an unknown name, and for a document that the graph does not show.
    """
    with open_to_read(config) as stores:
        if _CHUNK_ID.fullmatch(named) and stores.graph.document(named) is None:
            try:
                ref, _ = resolve(stores, named, partial(issued, stores, config.chunk_index_db))
            except MissingError:
                pass  # a file may have such a name
            else:
                return match.whole_document(stores, ref.doc_id, content=content)
        found = named_document(config, stores, named, trashed=False)
        doc_id = found.document.doc_id if found.document else ""
        return match.whole_document(stores, doc_id, content=content)
