"""The ranking of Sources for a question, by words and by meaning together. Pure functions.

The score of a Source is the weighted sum of z-scores among the candidates (the distance from their mean in standard
deviations, so that no scale counts more): BM25 of header and text, BM25 of the header, the cosine, BM25 of the neighbours.
Where a few Sources of FEW documents are candidates, the shares of the greatest BM25 and the cosine itself stand in place of z-scores,
which would make much of any difference between two.
PRIOR times the score of its document is added: the mean of the document's BEST best Sources, so that a document that
covers the question in several places ranks before one that mentions it once. Then Sources of prose lend their scores to
those that are like them. docs/search.md says what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it is loaded where something is searched
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]

WORDS, HEADER, MEANING, BESIDE = 1.0, 0.5, 1.3, 0.2
"""The weights of the z-scores."""
PROSE_HEADER, PROSE_BESIDE = 0.25, 0.0
"""Those of prose: all Sources of a section share its header, and what stands beside a passage is another passage."""
PRIOR, PROSE_PRIOR = 0.25, 0.5
"""The weight of the document's score."""
ALONE = 1.5
"""How many times the best BM25 of the Sources with a vector a Source without one must have to be as close as they are on
average: then it has a word that they lack. Else it counts as the least close. Gated Sources have no vector."""
FEW, FEW_SOURCES = 3, 12
"""The numbers of documents and of Sources up to which scores are no z-scores, and no Source lends its score."""
FEW_MEANING = 1.0
"""The weight of the cosine among them: the only document with a rare word comes first."""
BEST = 2
"""The number of Sources that make the document's score."""
SMOOTHED = 50
"""The number of best Sources among which those of prose lend their scores."""
LIKE = 5
"""The number of Sources that a Source takes scores from."""
BY_MEANING, BY_WORDS = 0.4, 0.3
"""The share of a score that comes from Sources like it, where likeness is that of vectors, and where it is that of words. It is
divided by the number of Sources of the same document among the best: what is like a passage of a long document is mostly its
own document, which the document's score counts already."""

ChunkRef = tuple[str, int]
"""The doc_id and chunk index of a Source."""
Likeness = Callable[[Sequence[ChunkRef]], Any]
"""A function that returns the cosines between Sources, as a square matrix (lists, or an array); an empty one where they are
not known."""


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


@dataclass(frozen=True, slots=True)
class Ranked:
    """Sources that answer a question, in their order."""

    order: tuple[tuple[ChunkRef, float], ...]
    """The Sources and their scores, best first."""
    matches: Mapping[ChunkRef, Match]
    """How each of them matches."""
    all_words: bool
    """Whether every Source with one of the words is in ``order``; else there are more, which score lower by words."""
    only_text: str
    """Why meaning was not used; '' where it was."""
    by_table: bool
    """Whether the index of words was not made yet, and the graph's own full text ranked."""
    strange: frozenset[str] = frozenset()
    """Words of the question that occur nowhere in the home; none where the index of words was not made yet."""
    rare: str = ""
    """The word of the question that the fewest of the searched documents have, if these are few; '' for none."""
    having: frozenset[str] = frozenset()
    """The documents that have it."""


def ranked(
    matches: Mapping[ChunkRef, Match], likeness: Likeness = lambda places: (), share: float = BY_MEANING
) -> list[tuple[ChunkRef, float]]:
    """Return the Sources with their scores, best first; ties are in order of document and chunk.

    ``share`` is what a score takes from Sources alike, at most. Scores are rounded, so that they do not depend on the order of
    additions.
    """
    import numpy as np

    places = sorted(matches)
    if not places:
        return []
    number: dict[str, int] = {}
    documents = np.array([number.setdefault(doc_id, len(number)) for doc_id, _ in places])
    of_few = len(number) <= FEW and len(places) <= FEW_SOURCES
    own = _own([matches[place] for place in places], of_few)
    order = np.lexsort((-own, documents))  # by document, its best Sources first
    first = np.searchsorted(documents[order], np.arange(len(number)))
    behind = np.append(first[1:], len(order))
    rest = np.minimum(first + BEST, behind)
    sums = np.concatenate([[0.0], np.cumsum(own[order])])
    prior = (sums[rest] - sums[first]) / (rest - first)
    is_code = np.array([matches[place].is_code for place in places])
    scores = own + np.where(is_code, PRIOR, PROSE_PRIOR) * prior[documents]
    best = np.lexsort((np.arange(len(places)), -np.round(scores, 6)))[:SMOOTHED]
    prose = best[~is_code[best]].tolist()
    if len(prose) > 1 and not of_few and len(cosines := likeness([places[at] for at in prose])):
        of_document = np.bincount(documents[prose])[documents[prose]]
        scores[prose] = smoothed(scores[prose], cosines, share / of_document)
    scores = np.round(scores, 6)
    best = np.lexsort((np.arange(len(places)), -scores))
    return [(places[at], score) for at, score in zip(best.tolist(), scores[best].tolist(), strict=True)]


def smoothed(
    scores: Sequence[float] | Numbers, cosines: Sequence[Sequence[float]] | Numbers, share: float | Numbers
) -> Numbers:
    """Return each score, of which ``share`` (of all, or of each) is replaced by the mean of those of the LIKE Sources most like it,
    weighted by their cosines. Negative cosines, and that of a Source with itself, are 0."""
    import numpy as np

    own, near = np.asarray(scores, float), np.maximum(np.asarray(cosines, float), 0.0)
    np.fill_diagonal(near, 0.0)
    most = np.argsort(-near, axis=1, kind="stable")[:, :LIKE]
    weights = np.take_along_axis(near, most, axis=1)
    total = weights.sum(axis=1)
    lent = (weights * own[most]).sum(axis=1) / np.where(total > 0, total, 1.0)
    found: Numbers = (1 - share) * own + share * lent
    return found


def _own(matches: Sequence[Match], of_few: bool) -> Numbers:
    import numpy as np

    known = [(match.text, match.cosine) for match in matches if match.cosine is not None]
    least = min((cosine for _, cosine in known), default=0.0)
    mean = sum(cosine for _, cosine in known) / max(len(known), 1)
    alone = ALONE * max((text for text, _ in known), default=0.0)

    def closeness(match: Match) -> float:
        return match.cosine if match.cosine is not None else mean if match.text > alone else least

    columns = np.array([(match.text, match.header, closeness(match), match.beside) for match in matches])
    meaning = FEW_MEANING if of_few else MEANING
    code, prose = (WORDS, HEADER, meaning, BESIDE), (WORDS, PROSE_HEADER, meaning, PROSE_BESIDE)
    if of_few:
        most = np.maximum(columns.max(axis=0), 1e-12)
        most[2] = 1.0
        standard = columns / most
    else:
        from_mean = columns - columns.mean(axis=0)
        spread = np.sqrt((from_mean**2).mean(axis=0))
        standard = np.where(spread > 1e-12, from_mean / np.maximum(spread, 1e-12), 0.0)
    weights = [code if match.is_code else prose for match in matches]
    found: Numbers = (standard * np.array(weights)).sum(axis=1)
    return found
