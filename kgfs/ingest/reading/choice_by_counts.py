"""Choose concepts among candidates that were found by counts, in languages whose grammar is not read.

The log odds are a weighted sum of what the document shows; the weights were set by reading samples in German, French and Spanish.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from kgfs.domain.languages import UNKNOWN
from kgfs.ingest.reading.choice import CONCEPT
from kgfs.models.contract import Signs
from kgfs.models.extractor.by_counts import key_of

TELLING = 0.5
"""The least worth of the best sentence of a concept; links and tags need none."""
SURE = math.log(CONCEPT / (1 - CONCEPT))
"""The log odds from which a candidate is a concept."""
_WEIGHTS = {
    "bias": -1.3,
    "several words": 0.7,
    "long word": 0.5,
    "short word": -0.6,
    "code name": 0.6,
    "acronym": 0.8,
    "name": 0.5,
    "link": 3.3,
    "tag": 1.2,
    "heading": 0.9,
    "heading of several": 0.6,
    "emphasis": 1.0,
    "code": 0.6,
    "whole": 0.75,
    "begins": 0.6,
    "in the title": 0.6,
    "unknown language": -0.8,
}
_COMPOUND = 12
"""Letters of a word that is long: a compound of German or Dutch, a technical word elsewhere."""
_SHORT = 4
_CODE = re.compile(r"[_.]\w|[a-z][A-Z]|\(\)")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9-]*[A-Z0-9]s?")


def passed_on(signs: Signs) -> bool:
    """Return whether a candidate is looked at: the writer marked it, or two sentences have it as a whole phrase."""
    return signs.structure or signs.whole >= 2


def log_odds(label: str, title: str, signs: Signs, best: float) -> float:
    """Return the log odds that a candidate is worth looking up. ``best`` is the worth of its best sentence."""
    words = label.split()
    several = len(words) > 1
    code, acronym = bool(_CODE.search(label)), bool(_ACRONYM.fullmatch(label))
    titled = key_of(title, signs.language).split()
    own = key_of(label, signs.language).split()
    features: Sequence[tuple[str, float]] = (
        ("bias", 1),
        ("several words", several),
        ("long word", not several and len(label) >= _COMPOUND),
        ("short word", not several and len(label) <= _SHORT and not acronym),
        ("code name", code),
        ("acronym", acronym),
        ("name", label[:1].isupper() and signs.language != "de" and not (code or acronym or signs.heading)),
        ("link", signs.link),
        ("tag", signs.tag),
        ("heading", signs.heading),
        ("heading of several", signs.heading and several),
        ("emphasis", signs.strong),
        ("code", signs.code),
        ("whole", math.log1p(signs.whole)),
        ("begins", math.log1p(signs.subject)),
        ("in the title", sum(word in titled for word in own) / max(len(own), 1)),
        ("unknown language", signs.language == UNKNOWN),
    )
    odds = sum(_WEIGHTS[name] * value for name, value in features)
    if best < TELLING and not (signs.link or signs.tag):
        odds = min(odds, SURE - 0.1)
    return round(odds, 3)
