"""Validate an extractor's output for one Source: keep only items whose quotes stand in the Text exactly.

Kept items are true of the Text whatever the extractor claimed. Refused items are counted by reason in ``dropped``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan

from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import RELATIONSHIP_TYPES, Quote
from kgfs.domain.text import Chunk
from kgfs.ingest.reading.anchor import Source, words_of
from kgfs.models.contract import Extraction, RawConcept, RawQuote, RawRelationship, Signs


@dataclass(frozen=True, slots=True)
class ValidConcept:
    """A concept of one Source whose quotes stand in the Text."""

    label: str
    kind: str
    relevance: float
    """How much the Source is about it, 0 to 1."""
    frequency: int
    quotes: tuple[Quote, ...]
    """In order of the Text, no span twice; at least one."""
    definition: str
    """The definition from its best defining quote; empty if none defines it."""
    signs: Signs | None = None
    aliases: tuple[str, ...] = ()
    """Other names that a language model gave, of which the Text has each word."""


@dataclass(frozen=True, slots=True)
class ValidRelationship:
    """A relationship of one Source whose quote stands in the Text."""

    subject: str
    """``normalise_label`` of the label of a concept of the same extraction."""
    type: str
    """One of RELATIONSHIP_TYPES."""
    object: str
    quote: Quote
    confidence: float


@dataclass(frozen=True, slots=True)
class ValidExtraction:
    """What is valid of an extraction of one Source."""

    concepts: tuple[ValidConcept, ...]
    relationships: tuple[ValidRelationship, ...]
    dropped: Mapping[str, int]
    """Number of refused items, by reason."""
    leads: tuple[str, ...] = ()


EMPTY_LABEL = "concept: no letter or digit in its label"
NO_QUOTE = "concept: no quote stands in the text"
NOT_FOUND = "quote: the text does not say it"
SAME_QUOTE = "quote: the same span again"
STRANGE_DEFINITION = "definition: words that its quote does not have"
UNKNOWN_TYPE = "relationship: unknown type"
UNKNOWN_END = "relationship: an end is no concept"
SAME_ENDS = "relationship: both ends are the same concept"
UNPROVED = "relationship: its quote does not stand in the text"


def validate(extraction: Extraction, text: str, chunk: Chunk) -> ValidExtraction:
    """Return what of an extraction of ``chunk`` is true of ``text``.

    Every Quote that is kept is ``text[start:end]`` within the chunk, without outer white space and not empty. A
    concept needs a label and a quote; a relationship needs a known type, two different concepts of this extraction
    and a quote. Relevance and confidence are clamped to 0 … 1. Time is bounded by the size of the chunk and of the
    extraction.
    """
    dropped: Counter[str] = Counter()
    source = Source(text, chunk.start, chunk.end)
    concepts = [_concept(raw, text, chunk.index, source, dropped) for raw in extraction.concepts]
    kept = tuple(concept for concept in concepts if concept)
    norms = {normalise_label(concept.label) for concept in kept}
    relationships = [_relationship(raw, norms, chunk.index, source, dropped) for raw in extraction.relationships]
    proved = tuple(relationship for relationship in relationships if relationship)
    return ValidExtraction(kept, proved, dict(sorted(dropped.items())), extraction.leads)


def _concept(raw: RawConcept, text: str, chunk: int, source: Source, dropped: Counter[str]) -> ValidConcept | None:
    label = " ".join(raw.label.split())
    if not normalise_label(label) or not any(char.isalnum() for char in label):
        dropped[EMPTY_LABEL] += 1
        return None
    found: dict[tuple[int, int], Quote] = {}
    definitions: list[tuple[float, int, str]] = []
    for quote in raw.quotes:
        located = _quote(quote, chunk, source)
        if located is None:
            dropped[NOT_FOUND] += 1
            continue
        span = (located.start, located.end)
        if quote.defines and (words := quote.definition.strip()):
            if _says(text[located.start : located.end], words):
                definitions.append((-located.score, located.start, words))
            else:
                dropped[STRANGE_DEFINITION] += 1
        if span in found:
            dropped[SAME_QUOTE] += 1
            located = _both(found[span], located)
        found[span] = located
    if not found:
        dropped[NO_QUOTE] += 1
        return None
    quotes = tuple(found[span] for span in sorted(found))
    definition = min(definitions)[2] if definitions else ""
    return ValidConcept(
        label, raw.kind or "term", share(raw.relevance), max(1, raw.frequency), quotes, definition, raw.signs
    )


def _relationship(
    raw: RawRelationship, norms: set[str], chunk: int, source: Source, dropped: Counter[str]
) -> ValidRelationship | None:
    subject, object_ = normalise_label(raw.subject), normalise_label(raw.object)
    if raw.type not in RELATIONSHIP_TYPES:
        dropped[UNKNOWN_TYPE] += 1
    elif not {subject, object_} <= norms:
        dropped[UNKNOWN_END] += 1
    elif subject == object_:
        dropped[SAME_ENDS] += 1
    elif (quote := _quote(raw.quote, chunk, source)) is None:
        dropped[UNPROVED] += 1
    else:
        return ValidRelationship(subject, raw.type, object_, quote, share(raw.confidence))
    return None


def _quote(raw: RawQuote, chunk: int, source: Source) -> Quote | None:
    span = source.find(raw)
    return Quote(*span, chunk, raw.defines, raw.score) if span else None


def _both(one: Quote, other: Quote) -> Quote:
    """Merge two quotes of one span into one."""
    return Quote(one.start, one.end, one.chunk, one.defines or other.defines, max(one.score, other.score))


def _says(quote: str, definition: str) -> bool:
    """Return whether the quote has every word of the definition."""
    return set(words_of(definition)) <= set(words_of(quote))


def share(value: float) -> float:
    """Clamp a value to 0 … 1. A model may write anything, also NaN, which becomes 0."""
    return 0.0 if isnan(value) else min(1.0, max(0.0, value))
