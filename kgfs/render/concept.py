"""``concept.md``: a concept with its description, evidence and relationships."""

from __future__ import annotations

from dataclasses import dataclass

SHOWN_EVIDENCE = 50
SHOWN_RELATED = 100
"""How many entries a page lists before it points at the folders that hold the rest."""


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    n: int
    quote: str
    title: str
    """Of the document."""
    line_start: int
    line_end: int


@dataclass(frozen=True, slots=True)
class RelatedLine:
    type: str
    name: str
    label: str
    confidence: float


@dataclass(frozen=True, slots=True)
class ConceptPage:
    concept_id: str
    ontology: str
    """The ontology's id; its name may change without touching pages."""
    label: str
    aliases: tuple[str, ...]
    kind: str
    description: str
    documents: int
    evidence_count: int
    related_count: int
    evidence: tuple[EvidenceLine, ...]
    """The first SHOWN_EVIDENCE by number."""
    related: tuple[RelatedLine, ...]
    """The first SHOWN_RELATED by (type, name)."""
