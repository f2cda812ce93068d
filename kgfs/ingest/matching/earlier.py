"""Look for concepts that later documents founded in the documents that were published before.

A publication knows the concepts of its moment only. Those that it founds stand in ``Graph.risen`` until the earlier
documents that name them were looked through, in bounded batches: each place is noted, and a term that is such a concept
gives it its forms and its telling sentences as evidence. A batch that changes anything is one fact with the new
Decisions of its documents (``places.added``), so that rebuilds and other homes repeat it; one that changes nothing is
noted in this home's graph alone, and another home looks for itself. What is stored of the new Decisions is what differs
from the former ones, so that a batch costs what it adds.

The caller holds the worker lock.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from kgfs.domain.forms import Span, form_key, known_among, places_of, plurals
from kgfs.domain.identity import normalise_label
from kgfs.errors import BusyError, CorruptError, MissingError
from kgfs.failpoints import border
from kgfs.ingest.matching.concept_plans import Speaker, commit_id_of, speaker_of
from kgfs.ingest.matching.concepts import Plan, decide
from kgfs.ingest.matching.match import Numbers, as_term, known_terms
from kgfs.ingest.matching.naming import passed_spans
from kgfs.stores.catalog.facts import PlacesAdded
from kgfs.stores.changed_decisions import as_changes
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.vocabulary import Risen
from kgfs.stores.readings import Decisions, MatchedConcept, NamedConcept, text_of
from kgfs.stores.stores import Stores

CONCEPTS = 256
"""Concepts that are looked for together: for each such group the documents that name any of them are read once."""
DOCUMENTS = 24
"""Documents of a batch."""
CHARACTERS = 2_000_000
"""Characters of the texts of a batch from which on no further document is looked through."""

_LOG = logging.getLogger(__name__)


def look_back(stores: Stores) -> bool:
    """Look through one batch of earlier documents, and return whether there was one.

    Its outcome is durable when this returns. A kill in between leaves it to the next call.
    """
    graph = stores.graph
    risen = graph.risen(CONCEPTS)
    if risen is None:
        return False
    names = _names(graph, risen)
    phrases = [phrase for key in names for phrase in plurals(key)]
    found = graph.documents_having(risen.ontology, phrases, risen.after, DOCUMENTS)
    following: dict[str, int] = {}
    changed: list[Decisions] = []
    read, upto = 0, ""
    for doc_id in found:
        if read >= CHARACTERS:
            break
        upto = doc_id
        with suppress(BusyError):  # it is published after this, with the concepts of then
            try:
                speaker = speaker_of(stores, doc_id)
                text = text_of(stores.garage.objects, speaker.document, speaker.reading)
            except (MissingError, CorruptError) as error:
                _LOG.info("%s is not looked through: %s", doc_id, error)
                continue
            read += len(text)
            decisions = _looked_through(stores, risen.ontology, speaker, text, names, following)
            if decisions is not None:
                changed.append(as_changes(stores.garage.objects, speaker.document.decisions, decisions))
    after = "" if len(found) < DOCUMENTS and (not found or upto == found[-1]) else upto
    border("looked-back")
    if not changed:
        graph.look_further(risen.concept_ids, after)
        return True
    keys = tuple(one.key for one in changed)
    word = PlacesAdded(
        ontology=risen.ontology,
        concepts=risen.concept_ids,
        after=after,
        decisions=keys,
        commit_id=commit_id_of(risen.ontology, after, *risen.concept_ids, *keys),
        at=time.time_ns(),
    )
    decide(stores, Plan(word, tuple(changed), "", (), len(changed), 0))
    return True


def _names(graph: Graph, risen: Risen) -> dict[str, str]:
    """Return the concept that each key of a form means, of the concepts that are looked for."""
    forms = graph.folded_forms(risen.concept_ids)
    keys = {key for some in forms.values() for key in some if key}
    meant, _ = graph.named.forms_known(risen.ontology, keys)
    return {key: concept_id for key, concept_id in sorted(meant.items()) if concept_id in forms}


def _looked_through(
    stores: Stores, ontology: str, speaker: Speaker, text: str, names: Mapping[str, str], following: dict[str, int]
) -> Decisions | None:
    """Return the new Decisions of a document; None if nothing changes."""
    decisions, doc_id = speaker.decisions, speaker.document.doc_id
    barred = stores.catalog.names.suppressed(sorted({*names.values()}), doc_id)
    wanted = {key: concept_id for key, concept_id in names.items() if concept_id not in barred}
    ids = {*wanted.values()}
    decided = {matched.norm for matched in decisions.concepts}
    terms = [
        (found, concept)
        for found, concept in known_terms(stores.graph, ontology, speaker.reading, decided, source_id=speaker.source)
        if concept.concept_id in ids
    ]
    numbers = Numbers(stores.graph, doc_id, [concept.concept_id for _, concept in terms], following)
    concepts = [*decisions.concepts, *(as_term(found, concept, numbers) for found, concept in terms)]
    own = _own_forms(speaker, concepts)
    added = {matched.norm for matched in concepts[len(decisions.concepts) :]}
    looked = {*wanted, *(key for key, norm in own.items() if norm in added)}
    places = places_of(text, passed_spans(speaker.reading), known_among({key: key for key in looked}))
    first_of: dict[str, str] = {}
    for matched in concepts:
        first_of.setdefault(matched.concept_id, matched.norm)
    named = {one.concept_id: one.spans for one in decisions.named}
    matched_at: dict[str, set[Span]] = {}
    for concept_id in ids & first_of.keys() & named.keys():
        matched_at[first_of[concept_id]] = {*_spans(named.pop(concept_id))}
    named_at: dict[str, set[Span]] = {}
    for key, spans in places.items():
        norm = own.get(key) or first_of.get(wanted.get(key, ""), "")
        if norm:
            matched_at.setdefault(norm, set()).update(spans)
        else:
            named_at.setdefault(wanted[key], set()).update(spans)
    named |= {concept_id: _flat(spans) for concept_id, spans in named_at.items()}
    now = tuple(_with_spans(matched, matched_at.get(matched.norm, ())) for matched in concepts)
    others = tuple(NamedConcept(concept_id, spans) for concept_id, spans in sorted(named.items()))
    if now == decisions.concepts and others == decisions.named:
        return None
    return replace(decisions, concepts=now, named=others, epoch=stores.graph.epoch(), supersedes=(), carried_out_as="")


def _own_forms(speaker: Speaker, concepts: Sequence[MatchedConcept]) -> dict[str, str]:
    """Return the label that each form of the document's own concepts belongs to, by key."""
    own: dict[str, str] = {}
    for matched in concepts:
        found = speaker.found[matched.norm]
        for form in (found.label, *found.forms):
            if normalise_label(form):
                own.setdefault(form_key(form), matched.norm)
    return own


def _with_spans(matched: MatchedConcept, spans: Collection[Span]) -> MatchedConcept:
    return replace(matched, spans=_flat({*_spans(matched.spans), *spans})) if spans else matched


def _spans(flat: Sequence[int]) -> list[Span]:
    return list(zip(flat[::2], flat[1::2], strict=True))


def _flat(spans: Collection[Span]) -> tuple[int, ...]:
    return tuple(position for span in sorted(spans) for position in span)
