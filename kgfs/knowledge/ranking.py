"""The ranking of Sources for a question, by full text and meaning together. Pure functions.

The score of a Source is its own score plus PRIOR times the score of its document. Its own score is the sum of its z-scores
by BM25 and by cosine among the candidates (the distance from their mean in standard deviations, so that neither scale
counts more). The score of a document is the mean of its BEST best own scores: a document that covers the question in
several places ranks before one that mentions it once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PRIOR = 0.5
"""The weight of the document's score."""
BEST = 2
"""The number of Sources that make the document's score."""

ChunkRef = tuple[str, int]
"""The doc_id and chunk index of a Source."""


@dataclass(frozen=True, slots=True)
class Match:
    """How well a Source matches the question."""

    text: float
    """BM25; 0 where the Source has none of the words."""
    cosine: float | None
    """The cosine of its best window; None where it is unknown."""


def ranked(matches: Mapping[ChunkRef, Match]) -> list[tuple[ChunkRef, float]]:
    """Return the Sources with their scores, best first; ties are in order of document and chunk.

    Scores are rounded, so that they do not depend on the order of additions.
    """
    places = sorted(matches)
    texts = _standard([matches[place].text for place in places])
    known = [cosine for place in places if (cosine := matches[place].cosine) is not None]
    least = min(known, default=0.0)
    cosines = _standard([least if (cosine := matches[place].cosine) is None else cosine for place in places])
    own = {place: text + cosine for place, text, cosine in zip(places, texts, cosines, strict=True)}
    of_document: dict[str, list[float]] = defaultdict(list)
    for (doc_id, _), score in own.items():
        of_document[doc_id].append(score)
    prior = {doc_id: _mean(sorted(scores, reverse=True)[:BEST]) for doc_id, scores in of_document.items()}
    scored = [(place, round(score + PRIOR * prior[place[0]], 6)) for place, score in own.items()]
    return sorted(scored, key=lambda found: (-found[1], found[0]))


def _standard(values: Sequence[float]) -> list[float]:
    """Return the z-scores; zeros where all values are equal."""
    mean = _mean(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)) if values else 0.0
    return [(value - mean) / spread if spread > 1e-12 else 0.0 for value in values]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
