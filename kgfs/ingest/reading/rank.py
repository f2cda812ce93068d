"""Rank: choose the concepts and relationships of a document from what was found in its Sources.

The order is not by frequency. The score of a concept depends on its relevance to its Sources, the number of Sources
that mention it, how early it first appears, whether the title or a heading names it, and whether the text defines it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, FoundRelationship, Quote
from kgfs.domain.text import Chunk
from kgfs.ingest.reading import by_name, choice, choice_by_counts
from kgfs.ingest.reading.validate import ValidConcept, ValidExtraction, ValidRelationship
from kgfs.models.contract import Signs
from kgfs.models.extractor import by_counts, junk
from kgfs.models.extractor.quotes import TELLING

Vectors = npt.NDArray[np.float32]

QUOTES = 8
"""Most quotes that are kept per concept of an extractor that gives no signs, defining ones first."""
FEWEST = 15
TOKENS_PER_CONCEPT = 20
"""A short document keeps fewer concepts than ``limit``: one per so many tokens, but at least FEWEST."""
RELATIONSHIP_CONFIDENCE = 0.5
"""Least confidence of a relationship that is kept."""
DEEP = 5
"""Number of the most relevant Sources that count for a concept's relevance."""
CLEAR = 0.7
"""Least confidence at which a relationship raises the score of its ends."""


@dataclass(slots=True)
class _Group:
    """One concept of the document: all spellings with the same ``key``. A long document has tens of thousands."""

    key: str
    relevance: dict[int, float] = field(default_factory=dict)
    """Relevance in each Source that mentions it, by the Source's position in the document. Empty if there are signs."""
    frequency: int = 0
    forms: dict[str, int] = field(default_factory=dict)
    found: int = 0
    """The number of concepts of Sources that it has."""
    kinds: dict[str, int] = field(default_factory=dict)
    """How many of these have each kind other than ``term``."""
    quotes: list[Quote] = field(default_factory=list)
    """In order of the Sources, no span twice."""
    definitions: tuple[tuple[float, int, str], ...] = ()
    """(-score of the quote, start, definition) per defining quote."""
    score: float = 0.0
    signs: Signs | None = None
    odds: float | None = None


class Gathered:
    """What the Sources of a document gave, grouped by concept. Sources are added in their order."""

    def __init__(self, extractions: Iterable[ValidExtraction] = ()) -> None:
        self.groups: dict[str, _Group] = {}
        self.relationships: list[ValidRelationship] = []
        self.leads: list[str] = []
        self._places = 0
        for extraction in extractions:
            self.add(extraction)

    def skip(self) -> None:
        """Count a Source that gave nothing."""
        self._places += 1

    def add(self, extraction: ValidExtraction) -> None:
        """Add what the next Source gave."""
        for concept in extraction.concepts:
            language = concept.signs.language if concept.signs else ""
            if not concept.quotes or (junk.reason(concept.label) and not language):
                continue
            key = by_counts.key_of(concept.label, language) if language else key_of(concept.label)
            _add(self.groups.setdefault(key, _Group(key)), self._places, concept)
        self.relationships += extraction.relationships
        self.leads += extraction.leads
        self._places += 1


class Meaning(Protocol):
    """The vectors that a choice among candidates needs."""

    def __call__(self, labels: Sequence[str]) -> tuple[Vectors, Vectors] | None:
        """Return one row a label, and the windows of the document; None without an embedder."""
        ...


def no_meaning(labels: Sequence[str]) -> None:
    """Return None: there is no embedder."""


def rank(
    title: str,
    chunks: Sequence[Chunk],
    validated: Sequence[ValidExtraction],
    limit: int,
    meaning: Meaning = no_meaning,
) -> tuple[tuple[FoundConcept, ...], tuple[FoundRelationship, ...]]:
    """Return the document's concepts, most salient first, and the relationships between them in order of the Text.

    ``chunks`` and ``validated`` correspond one to one. At most ``limit`` concepts are returned, fewer for a short
    document. Pieces of longer phrases that never stand alone are ranked last. The function is pure: ties are broken
    by the normalised label.
    """
    return rank_gathered(title, chunks, Gathered(validated), limit, meaning)


def rank_gathered(
    title: str, chunks: Sequence[Chunk], gathered: Gathered, limit: int, meaning: Meaning = no_meaning
) -> tuple[tuple[FoundConcept, ...], tuple[FoundRelationship, ...]]:
    """Return the same for extractions that are grouped already. Sets scores and odds of the groups."""
    groups = gathered.groups
    if any(group.signs for group in groups.values()):
        signs = {group.key: group.signs for group in groups.values() if group.signs}
        chosen = _chosen(gathered, title, meaning)
        kept = {group.key: replace(_found(group), kinds=by_name.kinds(group.key, signs)) for group in chosen}
        return tuple(kept.values()), _relationships(gathered, kept)
    _score(groups, _linked(gathered), title, chunks)
    tokens = sum(chunk.tokens for chunk in chunks)
    count = min(limit, max(FEWEST, round(tokens / TOKENS_PER_CONCEPT)))
    ordered = sorted(groups.values(), key=lambda group: (-group.score, group.key))
    kept = {group.key: _found(group) for group in _without_parts(ordered)[:count]}
    return tuple(kept.values()), _relationships(gathered, kept)


def said_once(text: str, concepts: Iterable[FoundConcept]) -> tuple[FoundConcept, ...]:
    """Return the concepts with each sentence quoted once, where it stands first: a letterhead that every page repeats says
    nothing more. White space makes no difference. A repetition that defines, or has a higher score, lends both to the first."""
    return tuple(replace(concept, quotes=_once(text, concept.quotes)) for concept in concepts)


def _once(text: str, quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    found: dict[str, Quote] = {}
    for quote in quotes:
        words = " ".join(text[quote.start : quote.end].split())
        first = found.get(words, quote)
        found[words] = replace(first, defines=first.defines or quote.defines, score=max(first.score, quote.score))
    return tuple(found.values())


def ranking(title: str, validated: Sequence[ValidExtraction], meaning: Meaning = no_meaning) -> list[str]:
    """Return the labels of all candidates of a document, the likeliest first, before any is left out."""
    return [_label(group) for group in _by_odds(Gathered(validated).groups.values(), title, meaning)]


def _chosen(gathered: Gathered, title: str, meaning: Meaning) -> list[_Group]:
    """Return the candidates that may be concepts or terms, the likeliest first, with score and log odds.

    A noun phrase of a heading may be a term whatever its odds are.
    """
    banned = choice.speakers(gathered.leads)
    looked = [
        group
        for group in gathered.groups.values()
        if group.key not in banned and key_of(_label(group)) not in banned and _passed_on(group, title)
    ]
    ordered = _by_odds(looked, title, meaning)
    return [one for one in ordered if choice.is_term(one.odds or 0.0) or (one.signs is not None and one.signs.heading)]


def _passed_on(group: _Group, title: str) -> bool:
    signs = _signs(group, title)
    if signs.language:
        return choice_by_counts.passed_on(signs)
    return choice.passed_on(signs, group.frequency, defined=bool(group.definitions))


def _signs(group: _Group, title: str) -> Signs:
    """Return the signs of a group. A title counts as a heading."""
    signs = group.signs or Signs()
    return replace(signs, heading=True) if group.key == key_of(title) else signs


def _by_odds(groups: Collection[_Group], title: str, meaning: Meaning) -> list[_Group]:
    """Set score and log odds of the groups, and return them, the likeliest first."""
    vectors = meaning([_label(group) for group in groups]) if groups else None
    like = choice.likeness(*vectors) if vectors else ([0.35] * len(groups), [0.35] * len(groups))
    for group, document, labels in zip(groups, *like, strict=True):
        best = max(quote.score for quote in group.quotes)
        signs = _signs(group, title)
        if signs.language:
            group.odds = choice_by_counts.log_odds(_label(group), title, signs, best)
        else:
            group.odds = choice.log_odds(_label(group), title, signs, document, labels, best)
        group.score = round(choice.probability(group.odds), 4)
    return sorted(groups, key=lambda group: (-(group.odds or 0.0), group.key))


def _label(group: _Group) -> str:
    return min(group.forms, key=lambda form: (-group.forms[form], form))


def _without_parts(ordered: Sequence[_Group]) -> list[_Group]:
    """Move pieces of longer phrases, such as "time Pythoneer Tim", to the end if they never stand alone."""
    within: Counter[str] = Counter()
    for group in ordered:
        words = group.key.split()
        pieces = {" ".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1)}
        for piece in pieces - {group.key}:
            within[piece] = max(within[piece], group.frequency)
    return sorted(ordered, key=lambda group: within[group.key] >= group.frequency)


def key_of(label: str) -> str:
    """Return the key that spellings of one concept share: the normalised label with its last word in the singular."""
    return junk.fold(normalise_label(label))


def _add(group: _Group, place: int, concept: ValidConcept) -> None:
    group.frequency += concept.frequency
    if concept.signs is not None:
        group.signs = group.signs + concept.signs if group.signs else concept.signs
    else:
        group.relevance[place] = max(concept.relevance, group.relevance.get(place, 0.0))
    group.forms[concept.label] = group.forms.get(concept.label, 0) + concept.frequency
    group.found += 1
    if concept.kind != "term":
        group.kinds[concept.kind] = group.kinds.get(concept.kind, 0) + 1
    for quote in concept.quotes:
        _quote(group.quotes, quote)
    if concept.definition:
        best = max((quote for quote in concept.quotes if quote.defines), key=lambda quote: quote.score, default=None)
        if best is not None:
            group.definitions += ((-best.score, best.start, concept.definition),)


def _quote(quotes: list[Quote], quote: Quote) -> None:
    """Add a quote; of two of one span, which are of one Source, the one with the higher score is kept."""
    for at in range(len(quotes) - 1, -1, -1):
        known = quotes[at]
        if known.chunk != quote.chunk:
            break
        if (known.start, known.end) == (quote.start, quote.end):
            if quote.score > known.score:
                quotes[at] = quote
            return
    quotes.append(quote)


def _linked(gathered: Gathered) -> set[str]:
    """Return the keys of the ends of relationships with a confidence of CLEAR or more."""
    return {
        key_of(end)
        for stated in gathered.relationships
        if stated.confidence >= CLEAR and stated.type != "RELATED_TO"
        for end in (stated.subject, stated.object)
    }


def _score(groups: dict[str, _Group], linked: set[str], title: str, chunks: Sequence[Chunk]) -> None:
    """Set the score of each group, 0 to 1.

    The weights add up to 1 and were chosen by hand on documents with known titles.
    """
    places = max(len(chunks), 1)
    beyond_one = 1 - 1 / places  # the relevance within a single Source is relevance to what its title says
    titled = _words(title)
    headed = [_words(" ".join(chunk.section_path)) for chunk in chunks]
    for group in groups.values():
        relevance = sorted(group.relevance.values(), reverse=True)
        spread = math.log1p(len(relevance)) / math.log1p(places)
        words = _words(group.key)
        score = (
            0.22 * relevance[0]
            + 0.22 * _harmonic(relevance, places)
            + 0.18 * spread * math.sqrt(relevance[0])
            + 0.05 * (1 - min(group.relevance) / places)
            + 0.20 * beyond_one * _share(words, titled)
            + 0.03 * max(_share(words, headed[place]) for place in group.relevance)
            + 0.05 * bool(group.definitions)
            + 0.05 * (group.key in linked)
        )
        group.score = round(score, 4)


def _harmonic(relevance: Sequence[float], places: int) -> float:
    """Return the mean of the best DEEP values, the n-th weighing 1/n.

    Missing values count as 0 where the document has enough Sources.
    """
    weights = [1 / n for n in range(1, min(DEEP, places) + 1)]
    return sum(value * weight for value, weight in zip(relevance, weights, strict=False)) / sum(weights)


def _share(words: set[str], others: set[str]) -> float:
    """Return the share of ``words`` that are among ``others``."""
    return len(words & others) / len(words) if words else 0.0


def _words(text: str) -> set[str]:
    return {junk.fold(word) for word in normalise_label(text).replace("-", " ").split() if word not in junk.STOP_WORDS}


def _found(group: _Group) -> FoundConcept:
    forms = sorted(group.forms, key=lambda form: (-group.forms[form], form))
    named = min(group.kinds, key=lambda kind: (-group.kinds[kind], kind), default="term")
    if group.kinds.get(named, 0) * 2 <= group.found:
        named = "term"
    best = sorted(group.quotes, key=lambda quote: (not quote.defines, -quote.score, quote.start))
    if group.odds is None:
        best = best[:QUOTES]
    elif any(quote.defines or quote.score >= TELLING for quote in best):
        best = [quote for quote in best if quote.defines or quote.score >= TELLING]
    else:
        best = best[:1]
    return FoundConcept(
        label=forms[0],
        norm=normalise_label(forms[0]),
        forms=tuple(forms),
        kind=named,
        score=group.score,
        definition=min(group.definitions)[2] if group.definitions else "",
        quotes=tuple(sorted(best, key=lambda quote: (quote.start, quote.end))),
        odds=group.odds,
    )


def _relationships(gathered: Gathered, kept: dict[str, FoundConcept]) -> tuple[FoundRelationship, ...]:
    """Return the relationships between kept concepts, each statement once per quote, with its highest confidence."""
    found: dict[tuple[str, str, str, int, int], FoundRelationship] = {}
    for stated in gathered.relationships:
        subject, object_ = kept.get(key_of(stated.subject)), kept.get(key_of(stated.object))
        if subject is None or object_ is None or subject is object_ or stated.confidence < RELATIONSHIP_CONFIDENCE:
            continue
        place = (subject.norm, stated.type, object_.norm, stated.quote.start, stated.quote.end)
        known = found.get(place)
        if known is None or known.confidence < stated.confidence:
            found[place] = FoundRelationship(subject.norm, stated.type, object_.norm, stated.quote, stated.confidence)
    return tuple(
        sorted(found.values(), key=lambda stated: (stated.quote.start, stated.subject, stated.type, stated.object))
    )
