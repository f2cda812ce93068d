"""Validate an extractor's word on one Source: every quote is found in the Text exactly, or it goes.

What is kept is true of the Text whatever the extractor claimed; what is refused is counted by reason in ``dropped``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kgfs.domain import Quote


@dataclass(frozen=True, slots=True)
class ValidConcept:
    label: str
    kind: str
    relevance: float
    """How much the Source is about it, 0 to 1."""
    frequency: int
    quotes: tuple[Quote, ...]
    """In order of the Text, no span twice; at least one."""
    definition: str
    """The words of its best defining quote; empty if none defines it."""


@dataclass(frozen=True, slots=True)
class ValidRelationship:
    subject: str
    """``normalise_label`` of the label of a concept of the same extraction."""
    type: str
    """One of RELATIONSHIP_TYPES."""
    object: str
    quote: Quote
    confidence: float


@dataclass(frozen=True, slots=True)
class ValidExtraction:
    concepts: tuple[ValidConcept, ...]
    relationships: tuple[ValidRelationship, ...]
    dropped: Mapping[str, int]
    """How many items were refused, by reason."""
