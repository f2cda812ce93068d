"""Score the sentences that may answer a question, and decide whether they do. Pure functions.

The score of a sentence adds what its section, its document and the sentence itself have of the question, by words and, where
a model has compared them, by meaning. An answer begins with the best sentence.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kgfs.knowledge.ask.question import BACKGROUND, Question, heaviest_missing, share_of, words_among

K1, B = 1.2, 0.75
NOTHING = -10.0
"""How surely the Sources answer where there are none, or where nothing is asked about."""
FEW = 100
"""Sources of a home up to which its size does not count."""
LEAD = 1.0
"""How far a sentence that says what the question wants defined is before all others: as far as a further one may be behind."""
SURE = 1.0
"""How surely the Sources answer where a sentence says what the question wants defined, at least."""
LEAST_SPREAD = 0.15
"""The least spread of cosines that counts as one: among a few sentences small differences say nothing."""
BEST = 5
"""The sentences whose surroundings are looked at for a word of the question that is missing."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What counts how much. Found on documents annotated with questions (docs/asking.md has the figures).

    The last ones are those of the decision whether the Sources answer, with meaning and by words alone.
    """

    section: float = 0.35
    document: float = 0.53
    meaning: float = 0.58
    meaning_in_place: float = 0.9
    head: float = 0.55
    beyond_head: float = 0.16
    behind: float = -6.0
    share_alone: float = 3.0
    front: float = -1.0
    asked: float = 0.27
    verb: float = 1.0
    news: float = 0.31
    missing: float = -2.45
    covered: float = 3.3
    closest: float = 9.0
    bias: float = -5.86
    missing_alone: float = -1.33
    covered_alone: float = 6.92
    bias_alone: float = -3.42
    size: float = -0.3


@dataclass(frozen=True, slots=True)
class Bag:
    """The forms of a text, counted."""

    counts: Mapping[str, int]
    length: int

    @classmethod
    def of(cls, forms: Sequence[str]) -> Bag:
        return cls(Counter(forms), len(forms))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may answer, and what surrounds it. Sections and documents are shared by their candidates."""

    document: int
    section: int
    kind: str
    """The kind of its block (:class:`.sentences.Block`); meta for all of a section of references and the like."""
    text: str
    forms: frozenset[str]
    quoted: frozenset[str]
    """Its forms, and those of the sentence before where it points back to that: they are quoted together."""
    block: frozenset[str]
    """The forms of its block, and of the blocks that lead to it."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The bags of sections and documents, by the numbers that candidates name."""

    sections: Sequence[Bag]
    """With the title and the path of each."""
    documents: Sequence[Bag]
    heads: Sequence[frozenset[str]]
    """The forms of each document's title, path and first paragraph."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a model says of a candidate. None where it was not asked."""

    meaning: float | None = None
    """Cosine to the question of the sentence with both neighbours."""
    in_place: float | None = None
    """The same with title and section path."""
    verb: bool | None = None
    """Whether the sentence has a verb."""


@dataclass(frozen=True, slots=True)
class Scored:
    order: tuple[int, ...]
    """Candidates, best first."""
    scores: tuple[float, ...]
    """By candidate."""
    answerable: float
    """How surely the sources answer; they do above 0."""


def score(
    question: Question,
    candidates: Sequence[Candidate],
    around: Surroundings,
    judged: Sequence[Judged],
    weights: Weights,
) -> Scored:
    """Return the order of the candidates, and whether they answer."""
    if not candidates:
        return Scored((), (), NOTHING)
    sections, documents = _bm25(question, around.sections), _bm25(question, around.documents)
    heads = [share_of(question, head) for head in around.heads]
    closest = max((one.meaning for one in judged if one.meaning is not None), default=None)
    beyond = [share_of(question, one.forms - around.heads[one.document]) for one in candidates]
    if closest is None:
        told = weights.share_alone, [share_of(question, one.quoted) for one in candidates]
    else:
        told = weights.behind, _behind(question, candidates)
    columns = [
        (weights.section, standardised([sections[one.section] for one in candidates])),
        (weights.document, standardised([documents[one.document] for one in candidates])),
        (weights.meaning, standardised(_known([one.meaning for one in judged]), LEAST_SPREAD)),
        (weights.meaning_in_place, standardised(_known([one.in_place for one in judged]), LEAST_SPREAD)),
        (weights.head, standardised([heads[one.document] for one in candidates])),
        (weights.beyond_head, standardised(beyond)),
        told,
    ]
    own = [math.fsum(weight * values[at] for weight, values in columns) for at in range(len(candidates))]
    for at, (one, judgement) in enumerate(zip(candidates, judged, strict=True)):
        own[at] += weights.front * (one.kind == "meta") + weights.asked * fits(question.asked, one.text)
        own[at] += weights.verb * (judgement.verb is not False) + weights.news * math.log1p(
            len(one.forms - question.forms)
        )
    order = sorted(range(len(candidates)), key=lambda at: (-round(own[at], 9), at))
    answerable = _answerable(question, [candidates[at] for at in order], closest, weights)
    return Scored(tuple(order), tuple(own), answerable)


def led(scored: Scored, leads: Collection[int]) -> Scored:
    """Return the same with the candidates that say what the question wants defined before all others. Then it is answered."""
    if not leads:
        return scored
    best = scored.scores[scored.order[0]]
    first = [at for at in scored.order if at in leads]
    scores = list(scored.scores)
    for place, at in enumerate(first):
        scores[at] = best + LEAD + (len(first) - place) * 1e-6
    rest = [at for at in scored.order if at not in leads]
    return Scored((*first, *rest), tuple(scores), max(scored.answerable, SURE))


def _answerable(question: Question, best: Sequence[Candidate], closest: float | None, weights: Weights) -> float:
    """Return how surely the best candidates answer: by the heaviest word that is missing near all of them, by the largest share
    of the question that stands near one, by the closest meaning of any, and by the number of the home's Sources.
    """
    if not question.tells:
        return NOTHING
    blocks = [one.block for one in best[:BEST]]
    missing = heaviest_missing(question, frozenset().union(*blocks)) / math.log(question.total)
    covered = max(share_of(question, block) for block in blocks)
    # The best of more candidates has more of any question by chance.
    size = weights.size * math.log(max(question.total - BACKGROUND, FEW) / FEW)
    if closest is None:
        return weights.bias_alone + weights.missing_alone * missing + weights.covered_alone * covered + size
    return weights.bias + weights.missing * missing + weights.covered * covered + weights.closest * closest + size


def _bm25(question: Question, bags: Sequence[Bag]) -> list[float]:
    mean = sum(bag.length for bag in bags) / len(bags) if bags else 1.0
    found = []
    for bag in bags:
        norm = K1 * (1 - B + B * bag.length / (mean or 1.0))
        found.append(
            math.fsum(
                word.rarity * count * (K1 + 1) / (count + norm)
                for word in question.words
                if (count := bag.counts.get(word.form, 0))
            )
        )
    return found


def _behind(question: Question, candidates: Sequence[Candidate]) -> list[float]:
    """Return how far each sentence is behind the one of its section that has most of the question's words: what surrounds
    a sentence speaks for its neighbours as well.
    """
    shares = [words_among(question, one.quoted) for one in candidates]
    most: dict[int, float] = {}
    for one, share in zip(candidates, shares, strict=True):
        most[one.section] = max(share, most.get(one.section, 0.0))
    return [most[one.section] - share for one, share in zip(candidates, shares, strict=True)]


def _known(values: Sequence[float | None]) -> list[float]:
    """Return the values, unknown ones as the least that is known."""
    least = min((value for value in values if value is not None), default=0.0)
    return [least if value is None else value for value in values]


def standardised(values: Sequence[float], least: float = 0.0) -> list[float]:
    """Return the z-scores, by a spread of ``least`` where it is smaller; zeros where all values are equal."""
    mean = math.fsum(values) / len(values)
    spread = max(math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)), least)
    return [(value - mean) / spread if spread > 1e-12 else 0.0 for value in values]


_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
    r"|half|third|quarter|dozen|hundred|thousand|million|none|no|double|doubled|twice)\b",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b[12]\d{3}\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun"
    r"|Jul|Aug|Sep|Oct|Nov|Dec|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)\b"
)
_NAME = re.compile(r"(?<=[a-z,;:(] )[A-Z][a-z]+|^[A-Z][a-z]+ [A-Z][a-z]+")
_REASON = re.compile(
    r"\b(?:because|since|therefore|so that|in order to|due to|reason|caused?|thus|hence|as a result)\b", re.IGNORECASE
)
_FITTING = {"date": _DATE, "number": _NUMBER, "name": _NAME, "reason": _REASON}


def fits(asked: str, text: str) -> bool:
    """Return whether a sentence has what the question asks for: a date, a number, a name or a reason."""
    return asked in _FITTING and _FITTING[asked].search(text) is not None
