"""Note what follows from the names of concepts around a publication: every place of a document that names one, concepts
that were forgotten, and the vectors of what was published.

A concept is named by the forms that the document itself has for it, and by all forms of concepts that the ontology
knows already. The places of the document's terms are noted too, for the concepts that they may become. Decisions hold
positions, no words. Only Sources that passed the gate are looked at.

Concepts that were forgotten with cascade ``all`` do not come back with documents that were deposited before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from kgfs.domain.documents import Document
from kgfs.domain.forms import Span, Spans, form_key, known_among, places_of, singular
from kgfs.domain.identity import concept_id_of, normalise_label
from kgfs.domain.knowledge import FoundConcept
from kgfs.ingest.matching.candidates import Suppressed, forms_of, placed
from kgfs.ingest.reading import embeddings
from kgfs.stores.catalog.names import Names
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.readings import Decisions, NamedConcept, Reading
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import unindex, unindex_dead


def with_places(
    graph: Graph,
    ontology: str,
    reading: Reading,
    decisions: Decisions,
    text: str,
    suppressed: Suppressed = lambda _: (),
) -> Decisions:
    """Return the Decisions with all places of the Text that name a concept of the document or of the ontology, and with
    the document's candidates.

    A form that the document has for a concept comes before the same form of another concept of the ontology. The cost
    grows with the Text, not with the ontology: a few queries for each number of words in a form. ``suppressed`` tells
    which concepts a person has forgotten for good: they are no candidates.
    """
    found = {concept.norm: concept for concept in reading.concepts}
    own: dict[str, str] = {}
    first_of: dict[str, str] = {}
    for matched in decisions.concepts:
        first_of.setdefault(matched.concept_id, matched.norm)
        concept = found[matched.norm]
        for form in (concept.label, *concept.forms):
            if normalise_label(form):
                own.setdefault(form_key(form), matched.norm)
    forms = forms_of(ontology, reading, suppressed)
    here = known_among({key: key for key in (*own, *(key for forms_here in forms.values() for key in forms_here.keys))})
    elsewhere: dict[str, str] = {}

    def known(keys: Collection[str]) -> tuple[Mapping[str, str], Collection[str]]:
        concepts, begun = graph.named.forms_known(ontology, keys)
        own_names, own_begun = here(keys)
        elsewhere.update(concepts)
        return {**{key: key for key in concepts}, **own_names}, {*begun, *own_begun}

    places = places_of(text, passed_spans(reading), known)
    matched_at: dict[str, list[Spans]] = {}
    named_at: dict[str, list[Spans]] = {}
    for key, spans in places.items():
        concept_id = elsewhere.get(key, "")
        norm = own.get(key) or first_of.get(concept_id, "")
        if norm:
            matched_at.setdefault(norm, []).append(spans)
        elif concept_id:
            named_at.setdefault(concept_id, []).append(spans)
    for forms_here in forms.values():
        if not any(key in own or key in elsewhere for key in forms_here.keys):
            # a term: should a later document make it a concept, it is named here already
            some = [places[key] for key in forms_here.keys if key in places]
            for norm in {forms_here.norm, singular(forms_here.norm)} if some else ():
                named_at.setdefault(concept_id_of(ontology, norm), []).extend(some)
    return replace(
        decisions,
        concepts=tuple(replace(one, spans=_flat(matched_at.get(one.norm, ()))) for one in decisions.concepts),
        named=tuple(NamedConcept(concept_id, _flat(spans)) for concept_id, spans in sorted(named_at.items())),
        candidates=placed(forms, places),
    )


def passed_spans(reading: Reading) -> list[Span]:
    """Return the parts of the Text that passed the gate, adjacent ones as one."""
    spans: list[Span] = []
    for chunk, verdict in zip(reading.chunks, reading.verdicts, strict=True):
        if not verdict.passed:
            continue
        if spans and spans[-1][1] == chunk.start:
            spans[-1] = (spans[-1][0], chunk.end)
        else:
            spans.append((chunk.start, chunk.end))
    return spans


def _flat(several: Sequence[Spans]) -> tuple[int, ...]:
    return tuple(position for span in sorted(span for spans in several for span in spans) for position in span)


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


class Vectors(Protocol):
    """Loads the vectors of a Reading, or a part of them: those of a long document are large."""

    def __call__(self, *, labels: bool = True, windows: bool = True) -> embeddings.Embeddings | None:
        """Return them; None where there are none."""
        ...


def index(
    stores: Stores,
    document: Document,
    reading: Reading,
    decisions: Decisions,
    load: Vectors,
    superseded: Sequence[str],
    touched: Collection[str],
) -> None:
    """Put the vectors of Sources, claims and founded concepts in place of those of ``superseded`` documents.

    ``touched`` are concepts that may have left the graph; their vectors are removed if they have. The graph must show
    the document already. Idempotent. The commit to the graph writes the full-text index itself.
    """
    unindex(stores, (*superseded, document.doc_id), touched)
    if stores.vectors is None or (labels := load(windows=False)) is None:
        return
    founded = embeddings.concept_rows(document.ontology, reading, decisions, labels)
    del labels
    found = load(labels=False)
    assert found is not None, "it was loaded just now"
    payloads = embeddings.payloads(stores.graph, stores.vectors, document.doc_id)
    rows = embeddings.source_rows(found, document.ontology, document.doc_id, payloads)
    rows += embeddings.claim_rows(document.ontology, reading, found)
    # In a repeated run, a founded concept may have been merged into another one since.
    living = stores.graph.concepts_by_id([row.item for row in founded])
    rows += [row for row in founded if row.item in living]
    stores.vectors.upsert(rows)
    unindex_dead(stores, [document.doc_id], living.keys())
