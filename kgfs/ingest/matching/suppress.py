"""Keep concepts that were forgotten with cascade ``all`` from coming back with documents that were deposited before."""

from __future__ import annotations

from dataclasses import replace

from kgfs.domain.documents import Document
from kgfs.domain.identity import concept_id_of, normalise_label
from kgfs.domain.knowledge import FoundConcept
from kgfs.stores.catalog.names import Names
from kgfs.stores.readings import Decisions, Reading


def without_suppressed(names: Names, document: Document, reading: Reading, decisions: Decisions) -> Decisions:
    """Return the decisions without concepts that are suppressed for this document, and without their relationships.

    A concept is suppressed under its id and under every form it was known by. A mention that founds a concept is
    dropped if any of its forms is suppressed; a mention that joins a living concept is dropped only if that concept
    is.
    """
    found = {concept.norm: concept for concept in reading.concepts}
    ids = {
        matched.norm: {
            matched.concept_id,
            *(_ids(document.ontology, found[matched.norm]) if matched.how == "new" else ()),
        }
        for matched in decisions.concepts
    }
    asked = sorted(set().union(*ids.values()))
    suppressed = names.suppressed(asked, document.doc_id) if asked else frozenset[str]()
    if not suppressed:
        return decisions
    kept = tuple(matched for matched in decisions.concepts if not ids[matched.norm] & suppressed)
    living = {matched.concept_id for matched in kept}
    relationships = tuple(r for r in decisions.relationships if {r.subject, r.object} <= living)
    return replace(decisions, concepts=kept, relationships=relationships)


def _ids(ontology: str, found: FoundConcept) -> set[str]:
    return {concept_id_of(ontology, normalise_label(form)) for form in (found.norm, *found.forms)}
