"""Choose the sentences that an answer quotes. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from kgfs.knowledge.ask.scoring import Candidate, Scored

MOST = 5
"""The most sentences that an answer quotes."""
BELOW = 1.0
"""How much lower than the best one a further sentence may score."""


def chosen(candidates: Sequence[Candidate], scored: Scored) -> list[int]:
    """Return the numbers of the sentences to quote, grouped by document, documents and their first sentences best first.

    The further sentences of a document stand in order of the Text, which is that of the numbers. A sentence that says the same words
    as one before is left out.
    """
    if not scored.order:
        return []
    least = scored.scores[scored.order[0]] - BELOW
    taken: list[int] = []
    for at in scored.order:
        if scored.scores[at] < least or len(taken) == MOST:
            break
        if all(candidates[at].forms != candidates[other].forms for other in taken):
            taken.append(at)
    documents = dict.fromkeys(candidates[at].document for at in taken)
    grouped: list[int] = []
    for document in documents:
        first, *others = (at for at in taken if candidates[at].document == document)
        grouped += [first, *sorted(others)]
    return grouped
