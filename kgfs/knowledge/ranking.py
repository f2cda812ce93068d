"""The ranking of Sources for a question, by words and by meaning together. Pure functions.

The score of a Source is the weighted sum of z-scores among the candidates (the distance from their mean in standard
deviations, so that no scale counts more): BM25 of header and text, BM25 of the header, the cosine, BM25 of the neighbours.
PRIOR times the score of its document is added: the mean of the document's BEST best Sources, so that a document that
covers the question in several places ranks before one that mentions it once. Then Sources of prose lend their scores to
those that are like them. docs/search.md says what was measured.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

WORDS, HEADER, MEANING, BESIDE = 1.0, 0.5, 1.3, 0.2
"""The weights of the z-scores."""
PRIOR = 0.25
"""The weight of the document's score."""
BEST = 2
"""The number of Sources that make the document's score."""
SMOOTHED = 50
"""The number of best Sources among which those of prose lend their scores."""
LIKE = 5
"""The number of Sources that a Source takes scores from."""
BY_MEANING, BY_WORDS = 0.4, 0.3
"""The share of a score that comes from Sources like it, where likeness is that of vectors, and where it is that of words."""

ChunkRef = tuple[str, int]
"""The doc_id and chunk index of a Source."""
Likeness = Callable[[Sequence[ChunkRef]], Sequence[Sequence[float]]]
"""A function that returns the cosines between Sources, as a square matrix; an empty one where they are not known."""


@dataclass(frozen=True, slots=True)
class Match:
    """How well a Source matches the question."""

    text: float
    """BM25 of header and text; 0 where the Source has none of the words."""
    cosine: float | None
    """The cosine of its best window; None where it is unknown."""
    header: float = 0.0
    """BM25 of the header."""
    beside: float = 0.0
    """The greater BM25 of the Sources before and behind it."""
    is_code: bool = False


def ranked(
    matches: Mapping[ChunkRef, Match], likeness: Likeness = lambda places: (), share: float = BY_MEANING
) -> list[tuple[ChunkRef, float]]:
    """Return the Sources with their scores, best first; ties are in order of document and chunk.

    ``share`` is what a score takes from Sources alike. Scores are rounded, so that they do not depend on the order of
    additions.
    """
    places = sorted(matches)
    own = _own([matches[place] for place in places])
    of_document: dict[str, list[float]] = defaultdict(list)
    for (doc_id, _), score in zip(places, own, strict=True):
        of_document[doc_id].append(score)
    prior = {doc_id: _mean(sorted(scores, reverse=True)[:BEST]) for doc_id, scores in of_document.items()}
    scores = {place: score + PRIOR * prior[place[0]] for place, score in zip(places, own, strict=True)}
    order = _ordered(scores)
    prose = [place for place, _ in order[:SMOOTHED] if not matches[place].is_code]
    if len(prose) > 1 and (cosines := likeness(prose)):
        lent = smoothed([scores[place] for place in prose], cosines, share)
        order = _ordered({**scores, **dict(zip(prose, lent, strict=True))})
    return order


def smoothed(scores: Sequence[float], cosines: Sequence[Sequence[float]], share: float) -> list[float]:
    """Return each score, of which ``share`` is replaced by the mean of those of the LIKE Sources most like it, weighted by
    their cosines. Negative cosines, and that of a Source with itself, are 0."""
    found = []
    for own, (at, row) in zip(scores, enumerate(cosines), strict=True):
        near = sorted(((-cosine, other) for other, cosine in enumerate(row) if other != at and cosine > 0))[:LIKE]
        total = math.fsum(-cosine for cosine, _ in near)
        lent = math.fsum(-cosine * scores[other] for cosine, other in near) / total if total else 0.0
        found.append((1 - share) * own + share * lent)
    return found


def _own(matches: Sequence[Match]) -> list[float]:
    known = [match.cosine for match in matches if match.cosine is not None]
    least = min(known, default=0.0)
    parts = (
        (WORDS, [match.text for match in matches]),
        (HEADER, [match.header for match in matches]),
        (MEANING, [least if match.cosine is None else match.cosine for match in matches]),
        (BESIDE, [match.beside for match in matches]),
    )
    standard = [[weight * score for score in _standard(values)] for weight, values in parts]
    return [math.fsum(scores) for scores in zip(*standard, strict=True)]


def _ordered(scores: Mapping[ChunkRef, float]) -> list[tuple[ChunkRef, float]]:
    rounded = ((place, round(score, 6)) for place, score in scores.items())
    return sorted(rounded, key=lambda found: (-found[1], found[0]))


def _standard(values: Sequence[float]) -> list[float]:
    """Return the z-scores; zeros where all values are equal."""
    mean = _mean(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)) if values else 0.0
    return [(value - mean) / spread if spread > 1e-12 else 0.0 for value in values]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
