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
from kgfs.ingest.reading.gathered import key_of
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
MARKED = 0.55
"""The least Q of the best sentence of what the writer marked."""
LITTLE = 0.1
"""The least Q in a short document of the best sentence of a subject, or below a heading."""
_WHOLE = 0.6
"""The least probability of a concept of a short document."""
_CELL = 0.45
"""The least probability of what fills a cell of a row, in a short document."""
_TOPIC = 0.4
"""The least probability of several words of the topic of an agenda."""
_ECHO = 0.5
"""The least share of a heading's words that its text says again."""
_SURE = 0.9
"""The least probability of a heading that its text does not say again, or that ends with a hollow word."""
_SHORT = 0.2
"""The least probability of the name of a heading, or of a row, of a short document."""
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
_HEADED = _logit(CONCEPT) + 2
"""The least log odds of a concept that a heading names, so that other documents that have it take nothing away."""


def passed_on(signs: Signs, mentions: int, *, defined: bool, told: bool = False) -> bool:
    """Return whether a candidate is looked at: the writer marked it, or at least two sentences are about it.

    ``told``: a sentence of a short document says something of it, which is enough there.
    """
    if signs.structure:
        return True
    if signs.record or (signs.pointed * 2 >= max(mentions, 1) and not defined):
        return False
    return defined or told or signs.whole >= 3 or (signs.whole >= 2 and signs.subject >= 1)


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
    short: bool = False,
) -> float:
    """Return the log odds that a candidate is worth looking up.

    ``like_document`` and ``like_labels`` are the cosines of its label to the document and to the mean of all labels,
    0 without an embedder. ``best`` is the Q of its best sentence: without a telling sentence, a link or a definition it
    is never above that of a term; nor is that of a candidate that is not ``passed`` on. In a ``short`` document any sentence
    will do, and the subject of a sentence needs no more than the odds of a term.
    """
    weighed = {name: _WEIGHTS[name] * value for name, value in features(label, title, signs).items()}
    odds = _BIAS + sum(weighed.values())
    odds += _LIKE_DOCUMENT * like_document + _LIKE_LABELS * like_labels + _BEST * best
    odds += _DEFINED * defined
    halved = odds - (weighed["participle"] + weighed["long"]) / 2
    headed = signs.named >= 0 and best >= (LITTLE if short else TELLING) and not _is_hollow(label)
    if signs.is_person or (headed and halved >= _least_of_heading(label, title, signs, short=short)):
        return round(max(odds, _HEADED), 3)
    empty = best < LITTLE / 2 and signs.heading and not (signs.whole or signs.anchor or signs.strong or signs.tag)
    if empty and not (signs.link or weighed["in the title"]):
        return round(min(odds, MOST_OF_A_TERM), 3)
    if not passed or (_is_hollow(label) and not signs.whole and not signs.link):
        return round(min(odds, MOST_OF_A_TERM), 3)
    if short and (best >= LITTLE / 2 or signs.structure) and not (_is_hollow(label) or signs.plain):
        told = signs.subject > 0 and best >= LITTLE
        least = TERM if told else _CELL if signs.cell and not signs.whole else _WHOLE
        enough = odds + _logit(CONCEPT) - _logit(least)
        return round(max(enough, _marked(label, signs, odds)) if best >= MARKED and signs.structure else enough, 3)
    if best < TELLING and not (signs.link or defined):
        odds = min(odds, MOST_OF_A_TERM) if best < MARKED else _marked(label, signs, odds)
    elif signs.strong or signs.anchor or signs.topic:
        odds = max(odds, _marked(label, signs, odds))
    return round(odds, 3)


def _least_of_heading(label: str, title: str, signs: Signs, *, short: bool) -> float:
    """Return the log odds from which the name of a heading is a concept: fewer where its text says the name again."""
    doubtful = signs.named < _ECHO or (key_of(label) == key_of(title) and not short)
    return _logit(_SURE if doubtful else _SHORT if short else TERM)


def _marked(label: str, signs: Signs, odds: float) -> float:
    """Return the log odds of what the writer marked, of which a sentence with a Q of MARKED or more says something."""
    named = bool(_PHRASE.search(label)) or label[:1].isupper() or bool(_CODE.search(label))
    if _is_hollow(label):
        return min(odds, MOST_OF_A_TERM)
    topical = signs.topic and named and not signs.record and not label.startswith("@")
    least = (
        _TOPIC
        if topical and " " in label
        else 0.5
        if topical or signs.strong or signs.anchor
        else 0.8
        if signs.code or signs.heading
        else 1.0
    )
    return odds + _logit(CONCEPT) - _logit(least) if least < 1 else min(odds, MOST_OF_A_TERM)


def _is_hollow(label: str) -> bool:
    return key_of(label).rpartition(" ")[2] in junk.HOLLOW


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
        "emphasis": signs.strong or signs.anchor,
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
    """Return the keys of leads that stand SPEAKER times or more, and of the single words of those that are a name. A lead that
    has words without capitals is a field: "OpenSSL version:"."""
    leads = list(leads)
    counts = Counter(normalise_label(lead) for lead in leads)
    fields = {normalise_label(lead) for lead in leads if " " in lead and not lead.islower() and not _is_name(lead)}
    often = [lead for lead, count in counts.items() if count >= SPEAKER]
    return {junk.fold(word) for lead in often for word in (lead, *(() if lead in fields else lead.split()))}


def _is_name(lead: str) -> bool:
    return all(word[:1].isupper() for word in lead.split())


def is_used_acronym(label: str, signs: Signs) -> bool:
    """Return whether a label is an acronym that sentences use as a whole phrase, so that it is no speaker."""
    return bool(_ACRONYM.fullmatch(label)) and signs.whole > 0


def _direction(rows: Vectors) -> Vectors:
    mean = rows.mean(axis=0)
    return np.asarray(mean / (np.linalg.norm(mean) or 1.0))
