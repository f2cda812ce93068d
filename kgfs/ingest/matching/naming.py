"""Find every place of a document that names a concept, and note it in the document's Decisions.

A concept is named by the forms that the document itself has for it, and by all forms of concepts that the ontology
knows already. Decisions hold positions, no words. Only Sources that passed the gate are looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from kgfs.domain.forms import Span, form_key, known_among, places_of
from kgfs.domain.identity import normalise_label
from kgfs.stores.graph.contract import Graph
from kgfs.stores.readings import Decisions, NamedConcept, Reading


def with_places(graph: Graph, ontology: str, reading: Reading, decisions: Decisions, text: str) -> Decisions:
    """Return the Decisions with all places of the Text that name a concept of the document or of the ontology.

    A form that the document has for a concept comes before the same form of another concept of the ontology. The cost
    grows with the Text, not with the ontology: a few queries for each number of words in a form.
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
    here = known_among(own)

    def known(keys: Collection[str]) -> tuple[Mapping[str, str], Collection[str]]:
        elsewhere, begun = graph.forms_known(ontology, keys)
        own_names, own_begun = here(keys)
        others = {key: first_of.get(concept_id, f"={concept_id}") for key, concept_id in elsewhere.items()}
        return {**others, **own_names}, {*begun, *own_begun}

    places = places_of(text, passed_spans(reading), known)
    return replace(
        decisions,
        concepts=tuple(replace(one, spans=_flat(places.get(one.norm, ()))) for one in decisions.concepts),
        named=tuple(
            NamedConcept(name[1:], _flat(spans)) for name, spans in sorted(places.items()) if name.startswith("=")
        ),
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


def _flat(spans: Sequence[Span]) -> tuple[int, ...]:
    return tuple(position for span in spans for position in span)
