"""The comparison of each document's newest Reading with the Reading that was published before it.

It says which concepts, relationships and evidence were gained, lost and renamed. Both sides are read from the garage:
the Reading and the match decisions of its publication. Concepts are compared by id, relationships by their ends and
type, evidence by its owner and span.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from kgfs.domain.documents import Document, Ontology
from kgfs.errors import MissingError
from kgfs.stores.readings import Decisions, Reading, load_decisions, load_reading
from kgfs.stores.stores import Stores

PAGE = 1000


@dataclass(frozen=True, slots=True)
class Named:
    """A concept as one document names it."""

    concept_id: str
    name: str
    """The name of its directory."""
    label: str


@dataclass(frozen=True, slots=True)
class Rejoined:
    """A label of the document that belongs to another concept now."""

    label: str
    before: str
    """The directory name of the concept before, and below that of the concept now."""
    now: str
    how: str
    """``joined`` where the label joined a concept with another label (by alias, similarity or a person's decision),
    ``split`` where it left one."""


@dataclass(slots=True)
class Difference:
    """The difference of one document, or of all documents of an ontology together."""

    gained: list[Named] = field(default_factory=list)
    lost: list[Named] = field(default_factory=list)
    renamed: list[tuple[Named, Named]] = field(default_factory=list)
    """The same concept as (former label, present label)."""
    rejoined: list[Rejoined] = field(default_factory=list)
    concepts: tuple[int, int] = (0, 0)
    """The number of concepts (before, now)."""
    relationships: tuple[int, int] = (0, 0)
    relationships_gained: int = 0
    relationships_lost: int = 0
    evidence: tuple[int, int] = (0, 0)
    evidence_gained: int = 0
    evidence_lost: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    ontology: str
    compared: int
    """Documents that were read more than once."""
    uncompared: int
    before: list[str]
    """What made the former Readings: extractor and strategy, each combination once."""
    now: list[str]
    whole: Difference
    documents: dict[str, Difference]
    """By path at first deposit; only documents with a difference."""

    def plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class _Side:
    """What one or several publications contain."""

    concepts: dict[str, Named] = field(default_factory=dict)
    by_norm: dict[str, tuple[Named, str]] = field(default_factory=dict)
    """Of one document: normalised label → (its concept, how it was matched)."""
    relationships: set[str] = field(default_factory=set)
    evidence: set[tuple[str, str, int, int]] = field(default_factory=set)

    def add(self, other: _Side) -> None:
        self.concepts = {**other.concepts, **self.concepts}
        self.relationships |= other.relationships
        self.evidence |= other.evidence


def compare(stores: Stores, ontology: Ontology) -> Comparison:
    """Compare the Readings of all documents of an ontology. Reads two Readings a document from the garage.

    Documents that were read once, or whose former Reading is no longer kept, are counted and left out.
    """
    whole = (_Side(), _Side())
    documents: dict[str, Difference] = {}
    rejoined: dict[tuple[str, str, str], Rejoined] = {}
    makers: tuple[dict[str, None], dict[str, None]] = ({}, {})
    compared = uncompared = 0
    for document in _documents(stores, ontology):
        sides = _two(stores, document, makers)
        if sides is None:
            uncompared += 1
            continue
        compared += 1
        found = _difference(*sides)
        found.rejoined = list(_rejoined(*sides))
        if found != Difference(concepts=found.concepts, relationships=found.relationships, evidence=found.evidence):
            documents[document.source_id.partition("/")[2]] = found
        rejoined |= {(one.label, one.before, one.now): one for one in found.rejoined}
        for all_of, one_side in zip(whole, sides, strict=True):
            all_of.add(one_side)
    difference = _difference(*whole)
    difference.rejoined = sorted(rejoined.values(), key=lambda one: (one.how, one.label))
    return Comparison(ontology.name, compared, uncompared, sorted(makers[0]), sorted(makers[1]), difference, documents)


def _documents(stores: Stores, ontology: Ontology) -> Iterator[Document]:
    """Yield the documents that the graph shows."""
    after = ""
    while page := stores.catalog.names.documents(ontology.id, after, PAGE):
        yield from (document for document in page if document.commit_id)
        after = page[-1].doc_id


def _two(
    stores: Stores, document: Document, makers: tuple[dict[str, None], dict[str, None]]
) -> tuple[_Side, _Side] | None:
    if not document.former_decisions:
        return None
    objects = stores.garage.objects
    try:
        found = [
            (load_reading(objects, document.doc_id, reading), load_decisions(objects, key))
            for reading, key in (
                (document.former_reading, document.former_decisions),
                (document.reading, document.decisions),
            )
        ]
    except MissingError:
        return None
    for seen, (reading, _) in zip(makers, found, strict=True):
        seen[f"{reading.extractor}, {reading.strategy}"] = None
    before, now = (_side(*pair) for pair in found)
    return before, now


def _side(reading: Reading, decisions: Decisions) -> _Side:
    side = _Side()
    found = {concept.norm: concept for concept in reading.concepts}
    for matched in decisions.concepts:
        concept = found[matched.norm]
        named = Named(matched.concept_id, matched.name, concept.label)
        side.concepts.setdefault(matched.concept_id, named)
        side.by_norm[matched.norm] = (named, matched.how)
        side.evidence |= {(matched.concept_id, reading.doc_id, quote.start, quote.end) for quote in concept.quotes}
    for relationship in decisions.relationships:
        quote = reading.relationships[relationship.index].quote
        side.relationships.add(relationship.relationship_id)
        side.evidence.add((relationship.relationship_id, reading.doc_id, quote.start, quote.end))
    return side


def _difference(before: _Side, now: _Side) -> Difference:
    def by_name(named: Named) -> str:
        return named.name

    return Difference(
        gained=sorted((now.concepts[i] for i in now.concepts.keys() - before.concepts.keys()), key=by_name),
        lost=sorted((before.concepts[i] for i in before.concepts.keys() - now.concepts.keys()), key=by_name),
        renamed=[
            (before.concepts[i], now.concepts[i])
            for i in sorted(before.concepts.keys() & now.concepts.keys())
            if before.concepts[i].label != now.concepts[i].label
        ],
        concepts=(len(before.concepts), len(now.concepts)),
        relationships=(len(before.relationships), len(now.relationships)),
        relationships_gained=len(now.relationships - before.relationships),
        relationships_lost=len(before.relationships - now.relationships),
        evidence=(len(before.evidence), len(now.evidence)),
        evidence_gained=len(now.evidence - before.evidence),
        evidence_lost=len(before.evidence - now.evidence),
    )


def _rejoined(before: _Side, now: _Side) -> Iterator[Rejoined]:
    for norm in sorted(before.by_norm.keys() & now.by_norm.keys()):
        (was, _), (became, how) = before.by_norm[norm], now.by_norm[norm]
        if was.concept_id != became.concept_id:
            joined = "split" if how in ("new", "exact") else "joined"
            yield Rejoined(became.label, was.name, became.name, joined)
