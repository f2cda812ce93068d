"""Choose concepts among the candidates of a document, by a logistic function of what the document shows of each.

``docs/knowledge.md`` states the function. What depends on the document alone is computed when it is read
(:func:`log_odds`); the share of documents that have the candidate is known when it is published (:func:`is_concept`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept
from kgfs.models.contract import Signs
from kgfs.models.extractor import junk
from kgfs.models.extractor.speakers import SPEAKER

Vectors = npt.NDArray[np.float32]

CONCEPT = 0.65
"""The least probability of a concept."""
TERM = 0.35
"""The least probability of a term, which can be looked up and is no concept."""
NEARLY = 0.05
"""Log odds below CONCEPT that a candidate may have and still be treated as one that may be a concept. Those without a telling
sentence have more."""
TELLING = 0.7
"""The least Q of a concept's best sentence. Wikilinks need none, nor tags of notes."""
_LIBRARY = 83
"""Documents of the ontologies that the weight of the share was fitted on."""
_BIAS = -1.95
_LIKE_DOCUMENT, _LIKE_LABELS = 5.32, -3.38
_BEST = 1.48
"""The weight of the Q of the best sentence."""
_DEFINED = 0.7
"""The weight of a definition. Chosen by reading: of 67 judged labels with a definition 64 were good."""
_SHARE = -1.2
"""The weight of ln(1 + documents of the ontology that have the candidate)."""
_WEIGHTS = {
    "rank of one word": 0.7,
    "rank of several": 0.23,
    "several words": 1.5,
    "long": -2.74,
    "code name": 1.51,
    "acronym": 2.03,
    "name": -0.26,
    "link": 3.3,
    "tag": 0.07,
    "heading": 0.67,
    "heading of several": 0.71,
    "emphasis": 0.79,
    "code": 0.45,
    "whole": 0.32,
    "participle": -1.6,
    "in the title": 0.66,
}
_MIDDLE = 8.5
"""The logarithm of a middle background rank."""
_LONG = 3
_CODE = re.compile(r"[_.]\w|[a-z][A-Z]|\(\)")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9-]+s?")
_PHRASE = re.compile(r"[\s-]")
_WORD = re.compile(r"\w+")
_FILE = re.compile(
    r"[\w)-]\.(?:md|markdown|mdx|rst|txt|rtf|pdf|docx?|xlsx?|pptx?|od[tsp]|epub|eml|csv|tsv|html?|png|jpe?g|gif|svg|webp|mp[34]|zip)\b",
    re.IGNORECASE,
)
"""The name of a document, picture or recording."""
_NUMBERED = re.compile(r"([A-Za-z]{1,12})-(\d{1,4})")


def _logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


MOST_OF_A_TERM = _logit(CONCEPT) - 0.1
"""The greatest log odds of what cannot be a concept."""


def passed_on(signs: Signs, mentions: int, *, defined: bool) -> bool:
    """Return whether a candidate is looked at: the writer marked it, or at least two sentences are about it."""
    if signs.structure:
        return True
    if signs.record or signs.pointed * 2 >= max(mentions, 1):
        return False
    return defined or signs.whole >= 3 or (signs.whole >= 2 and signs.subject >= 1)


def could_be_a_term(label: str, signs: Signs, mentions: int) -> bool:
    """Return whether a candidate that is not passed on may be a term, and no concept: said whole in a sentence, and a
    phrase, a name or an acronym."""
    if signs.record or signs.pointed * 2 >= max(mentions, 1) or not signs.whole:
        return False
    return bool(_PHRASE.search(label)) or label[:1].isupper() or bool(_CODE.search(label))


def log_odds(
    label: str,
    title: str,
    signs: Signs,
    like_document: float,
    like_labels: float,
    best: float,
    *,
    passed: bool = True,
    defined: bool = False,
) -> float:
    """Return the log odds that a candidate is worth looking up.

    ``like_document`` and ``like_labels`` are the cosines of its label to the document and to the mean of all labels,
    0 without an embedder. ``best`` is the Q of its best sentence: without a telling sentence, a link or a definition it
    is never above that of a term; nor is that of a candidate that is not ``passed`` on.
    """
    odds = _BIAS + sum(_WEIGHTS[name] * value for name, value in features(label, title, signs).items())
    odds += _LIKE_DOCUMENT * like_document + _LIKE_LABELS * like_labels + _BEST * best
    odds += _DEFINED * defined
    if (best < TELLING and not (signs.link or defined)) or not passed:
        odds = min(odds, MOST_OF_A_TERM)
    return round(odds, 3)


def features(label: str, title: str, signs: Signs) -> dict[str, float]:
    """Return what the odds are a weighted sum of, by name: the signs, and what the label looks like."""
    key = junk.fold(normalise_label(label)).split()
    several = len(key) > 1
    code, acronym = bool(_CODE.search(label)), bool(_ACRONYM.fullmatch(label))
    marked = signs.heading or signs.link
    titled = {junk.fold(word) for word in _WORD.findall(normalise_label(title))}
    rank = math.log(max(signs.rank, 1)) - _MIDDLE
    return {
        "rank of one word": rank if not (several or code or acronym) else 0.0,
        "rank of several": rank if several else 0.0,
        "several words": several,
        "long": len(key) > _LONG,
        "code name": code,
        "acronym": acronym,
        "name": label[:1].isupper() and not (acronym or code or marked),
        "link": signs.link,
        "tag": signs.tag,
        "heading": signs.heading and not several,
        "heading of several": signs.heading and several,
        "emphasis": signs.strong,
        "code": signs.code,
        "whole": math.log1p(signs.whole),
        "participle": signs.participle,
        "in the title": sum(word in titled for word in key) / max(len(key), 1),
    }


def numbered(labels: Iterable[str]) -> set[str]:
    """Return the labels that number the items of a document: letters, a hyphen and a number, where 1, 2 and 3 are all there.

    They can be looked up, and are no concepts.
    """
    series: dict[str, dict[int, str]] = {}
    for label in labels:
        if found := _NUMBERED.fullmatch(label):
            series.setdefault(found[1], {})[int(found[2])] = label
    return {label for members in series.values() if {1, 2, 3} <= members.keys() for label in members.values()}


def names_file(label: str) -> bool:
    """Return whether a label has the name of a document's file in it: it can be looked up, and is no concept. Names of files
    of programs, such as ``pyproject.toml``, may be concepts."""
    return _FILE.search(label) is not None


def is_concept(found: FoundConcept, having: int, others: int) -> bool:
    """Return whether a candidate is a concept, given how many of the ``others`` documents of the ontology have it."""
    if found.odds is None:
        return True
    share = having / max(others, _LIBRARY)
    return found.odds + _SHARE * math.log1p(share * _LIBRARY) >= _logit(CONCEPT)


def may_be_concept(found: FoundConcept) -> bool:
    """Return whether a candidate may be a concept, however few documents have it. One a little below, which a new version of
    a document may keep as one, counts as such."""
    return found.odds is None or found.odds > _logit(CONCEPT) - NEARLY


def is_term(odds: float) -> bool:
    """Return whether a candidate with these log odds may be a term, or a concept."""
    return odds >= _logit(TERM)


def probability(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def likeness(labels: Vectors, windows: Vectors, typical: int) -> tuple[list[float], list[float]]:
    """Return the cosine of each label to the mean of a document's windows, and to the mean of the first ``typical`` labels.

    Rounded, so that the last bits of another machine's arithmetic decide nothing.
    """
    document, direction = _direction(windows), _direction(labels[:typical])
    return (
        [round(float(one), 3) for one in labels @ document],
        [round(float(one), 3) for one in labels @ direction],
    )


def speakers(leads: Iterable[str]) -> Collection[str]:
    """Return the keys of leads that stand SPEAKER times or more, and of their single words."""
    counts = Counter(normalise_label(lead) for lead in leads)
    often = [lead for lead, count in counts.items() if count >= SPEAKER]
    return {junk.fold(word) for lead in often for word in (lead, *lead.split())}


def _direction(rows: Vectors) -> Vectors:
    mean = rows.mean(axis=0)
    return np.asarray(mean / (np.linalg.norm(mean) or 1.0))
