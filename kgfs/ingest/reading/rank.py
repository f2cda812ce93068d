"""Rank: choose the concepts and relationships of a document from what was found in its Sources.

The order is not by frequency. The score of a concept depends on its relevance to its Sources, the number of Sources
that mention it, how early it first appears, whether the title or a heading names it, and whether the text defines it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, FoundRelationship, Quote
from kgfs.domain.text import Chunk
from kgfs.ingest.reading import by_name, choice, choice_by_counts
from kgfs.ingest.reading.gathered import Gathered, Group, key_of
from kgfs.ingest.reading.validate import ValidExtraction
from kgfs.models.contract import Signs
from kgfs.models.extractor import junk
from kgfs.models.extractor.quotes import TELLING

Vectors = npt.NDArray[np.float32]

QUOTES = 8
"""Most quotes that are kept per concept of an extractor that gives no signs, defining ones first."""
FEWEST = 15
TOKENS_PER_CONCEPT = 20
"""A short document keeps fewer concepts than ``limit``: one per so many tokens, but at least FEWEST."""
SHORT = 530
"""Tokens of a document, about 400 words, below which one sentence is enough for a concept. A note with links names by these what it is about."""
RELATIONSHIP_CONFIDENCE = 0.5
"""Least confidence of a relationship that is kept."""
DEEP = 5
"""Number of the most relevant Sources that count for a concept's relevance."""
MANY = 50_000
"""Relationships of a document from which on those between terms are left out: about a megabyte of text has as many."""
CLEAR = 0.7
"""Least confidence at which a relationship raises the score of its ends."""


class Meaning(Protocol):
    """The vectors that a choice among candidates needs."""

    def __call__(self, labels: Sequence[str]) -> tuple[Vectors, Vectors] | None:
        """Return one row a label, and the windows of the document; None without an embedder."""
        ...


class CouldBe(Protocol):
    """Tells which of a document's candidates may be concepts."""

    def __call__(self, concepts: Sequence[FoundConcept]) -> Collection[str]:
        """Return the normalised forms of those that may be, as they are when they are complete."""
        ...


def all_forms(concepts: Sequence[FoundConcept]) -> Collection[str]:
    """Return all forms: each may be a concept."""
    return {normalise_label(form) for concept in concepts for form in concept.forms}


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
    title: str,
    chunks: Sequence[Chunk],
    gathered: Gathered,
    limit: int,
    meaning: Meaning = no_meaning,
    could_be: CouldBe = all_forms,
) -> tuple[tuple[FoundConcept, ...], tuple[FoundRelationship, ...]]:
    """Return the same for extractions that are grouped already. Sets scores and odds of the groups.

    Of a document with more than MANY relationships, RELATED_TO is left out where an end is not among the forms that
    ``could_be`` returns for its concepts: it is not shown between terms, of which a long text has hundreds of thousands of pairs.
    """
    groups = gathered.groups
    if any(group.signs for group in groups.values()):
        signs = {group.key: group.signs for group in groups.values() if group.signs}
        links = any(group.signs and group.signs.link for group in groups.values())
        short = not links and sum(chunk.tokens for chunk in chunks) < SHORT
        chosen = _chosen(gathered, title, meaning, short=short)
        kept = {group.key: replace(_found(group, gathered), kinds=by_name.kinds(group.key, signs)) for group in chosen}
        if len(gathered.relationships) > MANY:
            return tuple(kept.values()), _relationships(gathered, kept, could_be(tuple(kept.values())))
        return tuple(kept.values()), _relationships(gathered, kept)
    _score(groups, _linked(gathered), title, chunks)
    tokens = sum(chunk.tokens for chunk in chunks)
    count = min(limit, max(FEWEST, round(tokens / TOKENS_PER_CONCEPT)))
    ordered = sorted(groups.values(), key=lambda group: (-group.score, group.key))
    kept = {group.key: _found(group, gathered) for group in _without_parts(ordered)[:count]}
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
    return [group.label for group in _by_odds(Gathered(validated).groups.values(), title, meaning)]


def _chosen(gathered: Gathered, title: str, meaning: Meaning, *, short: bool) -> list[Group]:
    """Return the candidates that may be concepts or terms, the likeliest first, with score and log odds.

    A noun phrase of a heading may be a term whatever its odds are.
    """
    banned = choice.speakers(gathered.leads)
    strict: list[Group] = []
    told: list[Group] = []
    weak: list[Group] = []
    for group in gathered.groups.values():
        signs = _signs(group, title)
        speaks = group.key in banned or key_of(group.label) in banned
        if speaks and not (signs.is_person or choice.is_used_acronym(group.label, signs)):
            continue
        if _passed_on(group, signs, short=False):
            strict.append(group)
        elif short and _passed_on(group, signs, short=True):
            told.append(group)
        elif not signs.language and choice.could_be_a_term(group.label, signs, group.frequency):
            weak.append(group)
    ordered = _by_odds(strict, title, meaning, told, weak, short=short)
    return [one for one in ordered if choice.is_term(one.odds or 0.0) or (one.signs is not None and one.signs.heading)]


def _passed_on(group: Group, signs: Signs, *, short: bool) -> bool:
    if signs.language:
        return choice_by_counts.passed_on(signs)
    told = short and (signs.whole > 0 or signs.cell)
    return choice.passed_on(signs, group.frequency, defined=bool(group.definitions), told=told)


def _signs(group: Group, title: str) -> Signs:
    """Return the signs of a group. A title counts as a heading."""
    signs = group.signs or Signs()
    return replace(signs, heading=True) if group.key == key_of(title) else signs


def _by_odds(
    passed: Collection[Group],
    title: str,
    meaning: Meaning,
    told: Collection[Group] = (),
    weak: Collection[Group] = (),
    *,
    short: bool = False,
) -> list[Group]:
    """Set score and log odds of the groups, and return them, the likeliest first.

    The ``told`` are passed on because the document is ``short``. The ``weak`` are at most terms.
    """
    groups = [*passed, *told, *weak]
    vectors = meaning([group.label for group in groups]) if groups else None
    typical = len(passed) or len(groups)
    like = choice.likeness(*vectors, typical) if vectors else ([0.35] * len(groups), [0.35] * len(groups))
    numbers = choice.numbered(group.label for group in groups)
    for at, (group, document, labels) in enumerate(zip(groups, *like, strict=True)):
        signs = _signs(group, title)
        if signs.language:
            group.odds = choice_by_counts.log_odds(group.label, title, signs, group.best)
        else:
            group.odds = choice.log_odds(
                group.label,
                title,
                signs,
                document,
                labels,
                group.best,
                passed=at < len(passed) + len(told),
                defined=bool(group.definitions),
                short=short,
            )
        if group.label in numbers or choice.names_file(group.label):
            group.odds = min(group.odds, choice.MOST_OF_A_TERM)
        group.score = round(choice.probability(group.odds), 4)
    return sorted(groups, key=lambda group: (-(group.odds or 0.0), group.key))


def _without_parts(ordered: Sequence[Group]) -> list[Group]:
    """Move pieces of longer phrases, such as "time Pythoneer Tim", to the end if they never stand alone."""
    within: Counter[str] = Counter()
    for group in ordered:
        words = group.key.split()
        pieces = {" ".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1)}
        for piece in pieces - {group.key}:
            within[piece] = max(within[piece], group.frequency)
    return sorted(ordered, key=lambda group: within[group.key] >= group.frequency)


def _linked(gathered: Gathered) -> set[str]:
    """Return the keys of the ends of relationships with a confidence of CLEAR or more."""
    return {
        end
        for subject, type_, object_, _, confidence in gathered.relationships
        if confidence >= CLEAR and type_ != "RELATED_TO"
        for end in (subject, object_)
    }


def _score(groups: dict[str, Group], linked: set[str], title: str, chunks: Sequence[Chunk]) -> None:
    """Set the score of each group, 0 to 1.

    The weights add up to 1 and were chosen by hand on documents with known titles.
    """
    places = max(len(chunks), 1)
    beyond_one = 1 - 1 / places  # the relevance within a single Source is relevance to what its title says
    titled = _words(title)
    headed = [_words(" ".join(chunk.section_path)) for chunk in chunks]
    for group in groups.values():
        by_place = group.relevance or {}
        relevance = sorted(by_place.values(), reverse=True)
        spread = math.log1p(len(relevance)) / math.log1p(places)
        words = _words(group.key)
        score = (
            0.22 * relevance[0]
            + 0.22 * _harmonic(relevance, places)
            + 0.18 * spread * math.sqrt(relevance[0])
            + 0.05 * (1 - min(by_place) / places)
            + 0.20 * beyond_one * _share(words, titled)
            + 0.03 * max(_share(words, headed[place]) for place in by_place)
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


def _found(group: Group, gathered: Gathered) -> FoundConcept:
    counts, kinds = group.forms, group.kinds or {}
    forms = sorted(counts, key=lambda form: (-counts[form], form))
    named = min(kinds, key=lambda kind: (-kinds[kind], kind), default="term")
    if kinds.get(named, 0) * 2 <= group.found:
        named = "term"
    best = sorted(gathered.quotes_of(group), key=lambda quote: (not quote.defines, -quote.score, quote.start))
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


def _relationships(
    gathered: Gathered, kept: dict[str, FoundConcept], forms: Collection[str] | None = None
) -> tuple[FoundRelationship, ...]:
    """Return the relationships between kept concepts, each statement once per quote, with its highest confidence.

    With ``forms``, normalised, RELATED_TO is returned only between concepts whose label is one of them.
    """
    ends = kept if forms is None else {key: found for key, found in kept.items() if found.norm in forms}
    found: dict[tuple[str, str, str, int, int], FoundRelationship] = {}
    last: tuple[int, Quote] | None = None
    for subject_key, type_, object_key, number, confidence in gathered.relationships:
        of = ends if type_ == "RELATED_TO" else kept
        subject, object_ = of.get(subject_key), of.get(object_key)
        if subject is None or object_ is None or subject is object_ or confidence < RELATIONSHIP_CONFIDENCE:
            continue
        quote = last[1] if last and last[0] == number else gathered.quotes[number]
        last = (number, quote)  # neighbours share the quote of their sentence
        place = (subject.norm, type_, object_.norm, quote.start, quote.end)
        known = found.get(place)
        if known is None or known.confidence < confidence:
            found[place] = FoundRelationship(subject.norm, type_, object_.norm, quote, confidence)
    return tuple(
        sorted(found.values(), key=lambda stated: (stated.quote.start, stated.subject, stated.type, stated.object))
    )
