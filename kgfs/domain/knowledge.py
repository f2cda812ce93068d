"""Concepts and relationships found in a Text, each with the quotes that are its evidence.

Offsets count characters of the Text (code points), from 0, end exclusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quote:
    """An exact span of the Text: ``text[start:end] == quote``, always."""

    start: int
    end: int
    chunk: int
    """Index of the Source that contains ``start``."""
    defines: bool = False
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class FoundConcept:
    """A concept as one document mentions it."""

    label: str
    """The best surface form."""
    norm: str
    """:func:`kgfs.domain.identity.normalise_label` of the label; unique within a document."""
    forms: tuple[str, ...]
    """All surface forms, the label included, most frequent first."""
    kind: str
    """``term`` or an entity type in lower case (person, org, product, …)."""
    score: float
    """Salience in this document, 0 to 1."""
    definition: str
    """The words of the best defining quote, without the words around them; empty if the text defines nothing."""
    quotes: tuple[Quote, ...]
    """The quotes in the order of the Text; at least one."""
    odds: float | None = None
    """The log odds that it is worth looking up, before it is known how many documents of the ontology have it. None
    where the extractor has chosen it."""
    kinds: tuple[str, ...] = ()
    """Keys of the names of which its own name makes it a kind, longest first."""


@dataclass(frozen=True, slots=True)
class FoundRelationship:
    """A relationship that an extractor found in one document."""

    subject: str
    """``norm`` of a FoundConcept of the same document."""
    type: str
    """One of RELATIONSHIP_TYPES."""
    object: str
    quote: Quote
    confidence: float


CLAIM_ROLES = ("definition", "strategic_claim", "heuristic", "causal_claim", "instruction", "metric")
"""The roles of claims, in the order in which search prefers them."""
AUTHORITIES = ("low", "medium", "high")
SCOPES = ("tactical", "strategic", "philosophical")
TIME_HORIZONS = ("past", "present", "future", "timeless")


@dataclass(frozen=True, slots=True)
class FoundClaim:
    """A normalised, self-contained statement that one document makes, as a language model put it.

    One that failed validation has its reason in ``rejected``; only people who ask for rejected claims see it.
    """

    claim: str
    """One sentence."""
    role: str
    """One of CLAIM_ROLES, unless it was rejected for that."""
    domain: str
    """Name of one of the ontology's domains; empty where none is set or none fits."""
    actor: str
    """What the claim is about, by name."""
    actor_class: str
    """``author``, ``company``, ``product``, ``platform``, ``person``, ``standard`` or ``other``."""
    timeframe: str
    """The literal text, ``inferred`` or ``unknown``."""
    timeframe_class: str
    """``explicit``, ``inferred`` or ``unknown``."""
    time_horizon: str
    """One of TIME_HORIZONS."""
    scope: str
    authority: str
    confidence: float
    quote: Quote | None
    """The span of the Text on which the claim rests; None in a rejected claim whose quote was not found."""
    added: tuple[str, ...] = ()
    """Numbers and names of the claim that stand in the document and not in the quote's Source."""
    rejected: str = ""
    """The reason why validation refused the claim; empty for a valid one."""


RELATIONSHIP_TYPES: Mapping[str, str] = {
    "IS_A": "HAS_KIND",
    "PART_OF": "HAS_PART",
    "USES": "USED_BY",
    "DEFINES": "DEFINED_BY",
    "CREATES": "CREATED_BY",
    "REPLACES": "REPLACED_BY",
    "EXTENDS": "EXTENDED_BY",
    "REQUIRES": "REQUIRED_BY",
    "SUPPORTS": "SUPPORTED_BY",
    "CAUSES": "CAUSED_BY",
    "PREVENTS": "PREVENTED_BY",
    "CONTRASTS_WITH": "CONTRASTS_WITH",
    "RELATED_TO": "RELATED_TO",
    "LINKS_TO": "LINKED_FROM",
    "BROADER": "NARROWER",
    "ENABLES": "ENABLED_BY",
    "CONTRADICTS": "CONTRADICTS",
    "EXAMPLE_OF": "HAS_EXAMPLE",
    "AUTHORED_BY": "AUTHOR_OF",
    "DEFINED_IN": "CONTAINS_DEFINITION_OF",
}
"""The relationship types, each with the name of its inverse (as the object's folder names it)."""

BOUND = 1.0
TOGETHER = 0.5
"""The confidence of a piece of evidence for RELATED_TO: the grammar of its sentence binds the two concepts, or the
sentence only names both. Any confidence above TOGETHER counts as bound."""


def holds(type_: str, different: int, strongest: float) -> bool:
    """Return whether a relationship holds by its living evidence.

    One needs any evidence. RELATED_TO needs a sentence whose grammar binds its ends, or two ``different`` quotes.
    ``strongest`` is the highest confidence of the evidence.
    """
    return different >= (2 if type_ == "RELATED_TO" and strongest <= TOGETHER else 1)


BY_NAME = "by its name"
"""What is shown in place of a confidence where a relationship follows from the name of its subject alone."""
BY_HEADINGS = "by its headings"
"""What is shown in place of the confidence of BROADER and NARROWER, which headings and lists state."""


def strength(type_: str, places: int, confidence: float) -> float:
    """Return the number by which a page orders relationships, the highest first.

    Typed ones come before RELATED_TO, of which the one with the most ``places`` is the strongest. Those by name, which
    have no places, come last.
    """
    if not places:
        return 0.0
    return places / (places + 1) if type_ == "RELATED_TO" else 1 + confidence


@dataclass(frozen=True, slots=True)
class Mention:
    """What one living document contributes to a concept: the input of label, aliases and description."""

    doc_id: str
    deposit: int
    label: str
    forms: tuple[str, ...]
    kind: str
    score: float
    definition: str
    kinds: tuple[str, ...] = ()
    """Keys of the names of which the concept's own name makes it a kind."""
    passed: bool = True
    """Whether it is a concept by this document, which it then rests on. Else the document only adds to a concept that
    others have: forms and evidence."""


def points(score: float) -> int:
    """Return a score in billionths, so that sums do not depend on the order of what is added."""
    return int(score * 1e9 + 0.5)


@dataclass(frozen=True, slots=True)
class Saying:
    """Equal mentions of a concept: how living documents name and define it."""

    label: str
    forms: tuple[str, ...]
    kind: str
    definition: str
    kinds: tuple[str, ...]
    passed: bool
    mentions: int
    """Their number."""
    points: int
    """The sum of their scores (:func:`points`)."""
    best: float
    """The highest score."""
    first: int
    """The earliest deposit."""
