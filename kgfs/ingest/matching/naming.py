"""Find every place of a document that names a concept, and note it in the document's Decisions.

A concept is named by the forms that the document itself has for it, and by all forms of concepts that the ontology
knows already. The places of the document's terms are noted too, for the concepts that they may become. Decisions hold positions, no words. Only Sources that passed the gate are looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from kgfs.domain.forms import Span, Spans, form_key, known_among, places_of, singular
from kgfs.domain.identity import concept_id_of, normalise_label
from kgfs.ingest.matching.candidates import Suppressed, forms_of, placed
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.readings import Decisions, NamedConcept, Reading


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
