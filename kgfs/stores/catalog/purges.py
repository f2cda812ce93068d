"""Leave publications of purged documents out of facts that are replayed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kgfs.stores.catalog.facts import DocumentForgotten, DocumentRead, DocumentText, Fact, ForgettingDone


def purges_among(facts: Iterable[tuple[int, Fact]]) -> dict[str, int]:
    """Return ``doc_id`` → the number of the last of these numbered facts that purges it."""
    found: dict[str, int] = {}
    for number, fact in facts:
        if isinstance(fact, ForgettingDone) and fact.purge:
            found |= dict.fromkeys(fact.doc_ids, number)
    return found


def without_purged(facts: Iterable[tuple[int, Fact]], erased: Mapping[str, int]) -> Iterator[tuple[int, Fact]]:
    """Yield numbered facts without publications of documents that a later fact purges.

    ``erased`` maps ``doc_id`` to the number of the purging fact. Of such a publication only its effect on other
    documents is left: the documents that it superseded leave the graph.
    """
    for number, fact in facts:
        if not isinstance(fact, (DocumentRead, DocumentText, DocumentForgotten)) or number >= erased.get(
            fact.doc_id, 0
        ):
            yield number, fact
        elif isinstance(fact, DocumentRead):
            for doc_id in fact.superseded:
                yield number, DocumentForgotten(doc_id, "orphans", f"{fact.commit_id}-{doc_id}", fact.at)
