"""How the in-memory graph strikes concepts and what it says of purged documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.fakes.graph.view import Edition, View


def without(view: View, editions: dict[str, Edition], concepts: Sequence[str]) -> dict[str, Edition]:
    """These editions, the concepts and all that speaks of them taken out; an edition that loses nothing is the same."""
    gone = {concept for concept in concepts if concept in view.concepts}
    gone_too = {
        relationship_id for relationship_id, (row, _) in view.relationships.items() if {row.subject, row.object} & gone
    }
    return {doc_id: _edited(edition, gone, gone_too) for doc_id, edition in editions.items()}


def _edited(edition: Edition, concepts: set[str], relationships: set[str]) -> Edition:
    told = edition.told
    kept = {key: row for key, row in edition.instances.items() if key[0] not in concepts | relationships}
    told_concepts = [row for row in told.concepts if row.concept_id not in concepts]
    if len(kept) == len(edition.instances) and len(told_concepts) == len(told.concepts):
        return edition
    told_relationships = [row for row in told.relationships if row.relationship_id not in relationships]
    publication = replace(told, concepts=told_concepts, relationships=told_relationships)
    return Edition(edition.sources, kept, publication)
