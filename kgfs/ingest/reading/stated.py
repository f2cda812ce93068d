"""Validate what a language model states of a document: concepts, relationships and claims, all Sources together.

A relationship may join concepts of different Sources, so concepts are anchored first. Quotes must be copied from their
Source; nothing is anchored by likeness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgfs.domain.dates import own_day
from kgfs.domain.identity import normalise_label
from kgfs.domain.invented import Grounds
from kgfs.domain.knowledge import RELATIONSHIP_TYPES, FoundClaim, Quote
from kgfs.domain.word_forms import stems_in
from kgfs.ingest.reading.anchor import Source
from kgfs.ingest.reading.claims import found_claim
from kgfs.ingest.reading.draft import Draft
from kgfs.ingest.reading.validate import (
    EMPTY_LABEL,
    NO_QUOTE,
    NOT_FOUND,
    SAME_ENDS,
    UNKNOWN_END,
    UNKNOWN_TYPE,
    UNPROVED,
    ValidConcept,
    ValidExtraction,
    ValidRelationship,
    share,
)
from kgfs.models.contract import Extraction, RawConcept, RawRelationship
from kgfs.models.extractor.background import is_written_small

INVENTED_LABEL = "concept: its name stands nowhere in the document"
INVENTED_ALIAS = "alias: it stands nowhere in the document"
INVENTED_DESCRIPTION = "description: it names what stands nowhere in the document"
SAME_STEM = "relationship: both ends have the same stem"
_TRIVIAL = ("IS_A", "RELATED_TO")
"""Types that say nothing between two forms of one word."""


@dataclass(slots=True)
class Stated:
    """What is valid of a document's answers."""

    extractions: list[ValidExtraction] = field(default_factory=list)
    """One for each Source that passed the gate, in order."""
    claims: list[FoundClaim] = field(default_factory=list)
    """In order of the Text, rejected ones included."""
    dropped: Counter[str] = field(default_factory=Counter)


def validate_stated(
    draft: Draft, words: str, stated: Mapping[int, Sequence[Extraction]], *, only_typed: bool
) -> Stated:
    """Return what of the answers, by chunk index, is true of the Text. With ``only_typed`` no concept is validated."""
    grounds = grounds_of(draft, words)
    out = Stated()
    concepts: dict[int, list[ValidConcept]] = {}
    sources = {chunk.index: Source(words, chunk.start, chunk.end) for chunk in draft.passed}
    for chunk in draft.passed:
        for extraction in stated.get(chunk.index, ()):
            for raw in extraction.concepts if not only_typed else ():
                found = _concept(raw, chunk.index, sources[chunk.index], grounds, out.dropped)
                if found is not None:
                    concepts.setdefault(chunk.index, []).append(found)
    ends = _Ends(draft, concepts, only_typed=only_typed)
    for chunk in draft.passed:
        relationships: list[ValidRelationship] = []
        for extraction in stated.get(chunk.index, ()):
            out.dropped.update(extraction.dropped)
            for row in extraction.relationships:
                one = _relationship(row, chunk.index, sources[chunk.index], ends, out.dropped)
                if one is not None:
                    relationships.append(one)
                    concepts.setdefault(chunk.index, []).extend(ends.taken(one))
            for claim in extraction.claims:
                span = sources[chunk.index].find_copied(claim.quote.text)
                quote = Quote(*span, chunk.index, False, 0.0) if span else None
                text = words[chunk.start : chunk.end]
                out.claims.append(found_claim(claim, quote, text, grounds, draft.domains, draft.min_tokens))
        out.extractions.append(ValidExtraction(tuple(concepts.get(chunk.index, ())), tuple(relationships), {}))
    out.dropped = +out.dropped
    out.claims.sort(key=lambda claim: (claim.quote.start if claim.quote else -1, claim.claim))
    return out


def grounds_of(draft: Draft, words: str) -> Grounds:
    """Return what a statement about the document may rest on: its words, title, path and metadata, and the known names."""
    about = [str(value) for value in draft.parsed.about.values() if isinstance(value, (str, int))]
    return Grounds(
        words,
        *(draft.parsed.title, draft.document.source_id.partition("/")[2], *about),
        labels=draft.known,
        domains=draft.domains,
        date=own_day(draft.parsed.text),
        common=is_written_small,
    )


def _concept(
    raw: RawConcept, chunk: int, source: Source, grounds: Grounds, dropped: Counter[str]
) -> ValidConcept | None:
    label = " ".join(raw.label.split())
    if not normalise_label(label) or not any(char.isalnum() for char in label):
        dropped[EMPTY_LABEL] += 1
        return None
    if grounds.invented(label):
        dropped[INVENTED_LABEL] += 1
        return None
    spans = {span for quote in raw.quotes if (span := source.find_copied(quote.text)) is not None}
    dropped[NOT_FOUND] += len(raw.quotes) - len(spans)
    if not spans:
        dropped[NO_QUOTE] += 1
        return None
    aliases = [" ".join(alias.split()) for alias in raw.aliases]
    true = [alias for alias in aliases if normalise_label(alias) and not grounds.invented(alias)]
    dropped[INVENTED_ALIAS] += len(aliases) - len(true)
    description = " ".join(raw.description.split())
    if description and grounds.invented(description):
        dropped[INVENTED_DESCRIPTION] += 1
        description = ""
    quotes = tuple(Quote(start, end, chunk, False, 0.0) for start, end in sorted(spans))
    return ValidConcept(
        label, raw.kind, share(raw.relevance), max(1, raw.frequency), quotes, description, None, tuple(true)
    )


class _Ends:
    """The concepts that relationships of a document may join, by normalised label and alias."""

    def __init__(self, draft: Draft, concepts: Mapping[int, Sequence[ValidConcept]], *, only_typed: bool) -> None:
        self._own: dict[str, str] = {}
        for concept in (one for found in concepts.values() for one in found):
            norm = normalise_label(concept.label)
            for name in (norm, *map(normalise_label, concept.aliases)):
                self._own.setdefault(name, norm)
        if only_typed:
            self._own = {group.key: group.key for group in draft.valid.groups.values()}
            for group in draft.valid.groups.values():
                for form in group.forms:
                    self._own.setdefault(normalise_label(form), normalise_label(group.label))
        self._known = {} if only_typed else {normalise_label(label): label for label in draft.known}

    def find(self, name: str) -> str | None:
        """Return the normalised label of the concept with this name; None if there is none."""
        norm = normalise_label(name)
        return self._own.get(norm) or (norm if norm in self._known else None)

    def taken(self, relationship: ValidRelationship) -> list[ValidConcept]:
        """Return the known concepts of the ontology that a relationship joins and the document did not name: its quote is
        their evidence."""
        found = []
        for norm in (relationship.subject, relationship.object):
            if norm not in self._own and norm in self._known:
                self._own[norm] = norm
                found.append(ValidConcept(self._known[norm], "term", 0.5, 1, (relationship.quote,), ""))
        return found


def _relationship(
    raw: RawRelationship, chunk: int, source: Source, ends: _Ends, dropped: Counter[str]
) -> ValidRelationship | None:
    subject, object_ = ends.find(raw.subject), ends.find(raw.object)
    if raw.type not in RELATIONSHIP_TYPES:
        dropped[UNKNOWN_TYPE] += 1
    elif subject is None or object_ is None:
        dropped[UNKNOWN_END] += 1
    elif subject == object_:
        dropped[SAME_ENDS] += 1
    elif raw.type in _TRIVIAL and stems_in(subject) == stems_in(object_):
        dropped[SAME_STEM] += 1
    elif (span := source.find_copied(raw.quote.text)) is None:
        dropped[UNPROVED] += 1
    else:
        return ValidRelationship(subject, raw.type, object_, Quote(*span, chunk, False, 0.0), share(raw.confidence))
    return None
