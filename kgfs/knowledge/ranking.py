"""In which order Sources answer a question: full text and meaning together. Pure.

What a Source scores is the sum of its z-scores by BM25 and by cosine among the candidates (the distance from their mean
in standard deviations, so that neither scale counts more), and half of the mean of the two best such sums of its document: a
document that speaks of the matter in several places comes before one that mentions it once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PRIOR = 0.5
"""Share of the document's own score."""
BEST = 2
"""How many Sources make the document's score."""

Place = tuple[str, int]
"""doc_id and chunk index of a Source."""


@dataclass(frozen=True, slots=True)
class Match:
    """How well a Source matches."""

    text: float
    """BM25; 0 where it has none of the words."""
    cosine: float | None
    """Of its best window; None where it is not known."""


def ranked(matches: Mapping[Place, Match]) -> list[tuple[Place, float]]:
    """Best first, ties in order of document and place. Scores are rounded, so that they do not depend on the order of
    additions."""
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
    """z-scores; zeros where all are the same."""
    mean = _mean(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)) if values else 0.0
    return [(value - mean) / spread if spread > 1e-12 else 0.0 for value in values]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
