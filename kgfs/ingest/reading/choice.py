"""Choose concepts among the candidates of a document, by a logistic function of what the document shows of each.

``docs/knowledge.md`` states the function. What depends on the document alone is computed when it is read
(:func:`log_odds`); the share of documents that have the candidate is known when it is published (:func:`is_concept`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept
from kgfs.models.contract import Signs
from kgfs.models.extractor import junk

Vectors = npt.NDArray[np.float32]

CONCEPT = 0.65
"""The least probability of a concept."""
TERM = 0.35
"""The least probability of a term, which can be looked up and is no concept."""
TELLING = 0.5
"""The least Q of a concept's best sentence. Wikilinks and tags need none."""
SPEAKER = 3
"""A lead that stands so often is a speaker or a field."""
_LIBRARY = 83
"""Documents of the ontologies that the weight of the share was fitted on."""
_BIAS = -4.57


def passed_on(signs: Signs, mentions: int, *, defined: bool) -> bool:
    """Return whether a candidate is looked at: the writer marked it, or at least two sentences are about it."""
    if signs.structure:
        return True
    if signs.record or signs.pointed * 2 >= max(mentions, 1):
        return False
    return defined or signs.whole >= 3 or (signs.whole >= 2 and signs.subject >= 1)


def log_odds(signs: Signs, words: int, like_document: float, like_labels: float, best: float) -> float:
    """Return the log odds that a candidate is worth looking up.

    ``like_document`` and ``like_labels`` are the cosines of its label to the document and to the mean of all labels,
    0 without an embedder. ``best`` is the Q of its best sentence: without a telling sentence, and without a link or
    tag, it is never above that of a term.
    """
    odds = (
        _BIAS
        + 0.37 * math.log(max(signs.rank, 1))
        + 2.46 * signs.link
        + 0.71 * signs.tag
        + (1.27 if signs.heading and words > 1 else 0)
        + 0.36 * signs.heading
        + 0.29 * signs.says
        + 3.34 * like_document
        - 2.29 * like_labels
        + 0.78 * math.log1p(signs.whole)
        + 1.04 * signs.strong
        - 2.36 * signs.participle
    )
    if best < TELLING and not (signs.link or signs.tag):
        odds = min(odds, _logit(CONCEPT) - 0.1)
    return round(odds, 3)


def is_concept(found: FoundConcept, having: int, others: int) -> bool:
    """Return whether a candidate is a concept, given how many of the ``others`` documents of the ontology have it."""
    if found.odds is None:
        return True
    share = having / max(others, _LIBRARY)
    return found.odds - 0.76 * math.log1p(share * _LIBRARY) >= _logit(CONCEPT)


def is_term(odds: float) -> bool:
    """Return whether a candidate with these log odds may be a term, or a concept."""
    return odds >= _logit(TERM)


def probability(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def likeness(labels: Vectors, windows: Vectors) -> tuple[list[float], list[float]]:
    """Return the cosine of each label to the mean of a document's windows, and to the mean of the labels.

    Rounded, so that the last bits of another machine's arithmetic decide nothing.
    """
    document, typical = _direction(windows), _direction(labels)
    return (
        [round(float(one), 3) for one in labels @ document],
        [round(float(one), 3) for one in labels @ typical],
    )


def speakers(leads: Iterable[str]) -> Collection[str]:
    """Return the keys of leads that stand SPEAKER times or more, and of their single words."""
    counts = Counter(normalise_label(lead) for lead in leads)
    often = [lead for lead, count in counts.items() if count >= SPEAKER]
    return {junk.fold(word) for lead in often for word in (lead, *lead.split())}


def _direction(rows: Vectors) -> Vectors:
    mean = rows.mean(axis=0)
    return np.asarray(mean / (np.linalg.norm(mean) or 1.0))


def _logit(probability: float) -> float:
    return math.log(probability / (1 - probability))
