"""Look for concepts that later documents founded in the documents that were published before.

A publication knows the concepts of its moment only. Those that it founds stand in ``Graph.risen`` until the earlier
documents that name them were looked through, in bounded batches: each place is noted, and a term that is such a concept
gives it its forms and its telling sentences as evidence. A batch that changes anything is one fact with the new
Decisions of its documents (``places.added``), so that a rebuild repeats it; one that changes nothing is
noted in the graph alone. What is stored of the new Decisions is what differs
from the former ones, so that a batch costs what it adds.

The caller holds the worker lock.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

from kgfs.domain.forms import Known, Span, either, form_key, goes_on, known_among, places_of, plurals, whole_words
from kgfs.domain.identity import normalise_label
from kgfs.domain.text import LONGEST_PROSE, Chunk, Verdict
from kgfs.errors import BusyError, CorruptError, MissingError
from kgfs.failpoints import border
from kgfs.ingest.matching.concept_plans import Speaker, commit_id_of, speaker_of
from kgfs.ingest.matching.concepts import Loaded, Plan, decide
from kgfs.ingest.matching.match import Numbers, as_term, known_terms
from kgfs.ingest.matching.naming import passed_spans
from kgfs.stores.catalog.facts import PlacesAdded
from kgfs.stores.changed_decisions import as_changes
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import Risen
from kgfs.stores.readings import Decisions, MatchedConcept, NamedConcept, text_of
from kgfs.stores.stores import Stores

CONCEPTS = 16_384
"""Concepts that are looked for together: for each such group the documents that name any of them are read once."""
DOCUMENTS = 128
"""Documents of a batch."""
CHARACTERS = 500_000
"""Characters of the texts of a batch from which on no further document is looked through."""
HELD = 4_000_000
"""Characters of the texts of those that change from which on no further document is looked through: all that is said of them
is in memory until their batch is carried out."""
FEW = 64
"""Phrases up to which only the Sources in which they stand are looked through, not whole documents."""
JOINT = 120
"""Characters on either side of the border of two Sources that a form may go across."""
PAGE = 20_000
"""Documents that the graph is asked for at once: its search over all phrases costs more than a batch."""

_LOG = logging.getLogger(__name__)


class EarlierDocuments:
    """The documents in which the phrases of the last batch may stand, for the batches that follow. One thread.

    A document that is published meanwhile knows the concepts that are looked for by itself.
    """

    def __init__(self) -> None:
        self._asked: tuple[str, frozenset[str]] = ("", frozenset())
        self._begin = ""
        self._found: list[str] = []
        self._whole = False
        """Whether there is none behind the last of them."""

    def following(self, graph: Graph, ontology: str, phrases: Collection[str], after: str) -> list[str]:
        """Return the first DOCUMENTS behind ``after``, in order of their doc_id; fewer only at the end."""
        asked = (ontology, frozenset(phrases))
        at = bisect_right(self._found, after)
        is_known = asked == self._asked and after >= self._begin
        if not is_known or (len(self._found) - at < DOCUMENTS and not self._whole):
            self._asked, self._begin, at = asked, after, 0
            self._found = graph.documents_having(ontology, phrases, after, PAGE)
            self._whole = len(self._found) < PAGE
        return self._found[at : at + DOCUMENTS]


def look_back(stores: Stores, documents: EarlierDocuments) -> bool:
    """Look through one batch of earlier documents, and return whether there was one.

    ``documents`` is the same for each call. The outcome is durable when this returns. A kill in between leaves it to the
    next call.
    """
    graph = stores.graph
    risen = graph.risen(CONCEPTS)
    if risen is None:
        return False
    names = _names(graph, risen)
    phrases = [phrase for key in names for phrase in plurals(key)]
    found = documents.following(graph, risen.ontology, phrases, risen.after)
    known = known_among({key: key for key in names})
    hits = graph.sources_having(risen.ontology, phrases, found) if len(phrases) <= FEW else None
    following: dict[str, int] = {}
    changed: list[Decisions] = []
    loaded: dict[str, Loaded] = {}
    read, held, upto = 0, 0, ""
    for doc_id in found:
        if read >= CHARACTERS or held >= HELD:
            break
        upto = doc_id
        with suppress(BusyError):  # it is published after this, with the concepts of then
            try:
                speaker = speaker_of(stores, doc_id)
                if speaker.reading.text_length > LONGEST_PROSE:
                    continue
                text = text_of(stores.garage.objects, speaker.document, speaker.reading)
            except (MissingError, CorruptError) as error:
                _LOG.info("%s is not looked through: %s", doc_id, error)
                continue
            within = passed_spans(speaker.reading)
            if hits is not None:
                within = near(text, speaker.reading.chunks, speaker.reading.verdicts, hits.get(doc_id, ()))
            read += sum(end - start for start, end in within)
            decisions = _looked_through(stores, risen.ontology, speaker, text, within, names, known, following)
            if decisions is not None:
                stored = as_changes(stores.garage.objects, speaker.document.decisions, decisions)
                changed.append(stored)
                held += speaker.reading.text_length
                loaded[stored.key] = Loaded(speaker.reading, decisions, text)
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
    decide(stores, Plan(word, tuple(changed), "", (), len(changed), 0), loaded)
    return True


def near(text: str, chunks: Sequence[Chunk], verdicts: Sequence[Verdict], hits: Collection[int]) -> list[Span]:
    """Return the spans of these Sources, and what lies around the borders that a form may go across between Sources that
    passed the gate. No span begins or ends within a word."""
    hit = {*hits}
    spans = [(one.start, one.end) for one in chunks if one.index in hit]
    for one, other in pairwise(chunks):
        passed = verdicts[one.index].passed and verdicts[other.index].passed
        if passed and goes_on(text, other.start):
            spans.append((max(one.start, other.start - JOINT), min(other.end, other.start + JOINT)))
    joined: list[Span] = []
    for start, end in sorted(whole_words(text, *span) for span in spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _names(graph: Graph, risen: Risen) -> dict[str, str]:
    """Return the concept that each key of a form means, of the concepts that are looked for."""
    forms = graph.folded_forms(risen.concept_ids)
    keys = {key for some in forms.values() for key in some if key}
    meant, _ = graph.named.forms_known(risen.ontology, keys)
    return {key: concept_id for key, concept_id in sorted(meant.items()) if concept_id in forms}


def _looked_through(
    stores: Stores,
    ontology: str,
    speaker: Speaker,
    text: str,
    within: Sequence[Span],
    names: Mapping[str, str],
    known: Known,
    following: dict[str, int],
) -> Decisions | None:
    """Return the new Decisions of a document; None if nothing changes.

    ``within`` are the spans in which the forms stand, ``names`` has the concept that each key means, and ``known`` gives each of them as its own name.
    """
    decisions, doc_id = speaker.decisions, speaker.document.doc_id
    ids = {*names.values()}
    decided = {matched.norm for matched in decisions.concepts}
    terms = [
        (found, concept)
        for found, concept in known_terms(stores.graph, ontology, speaker.reading, decided, source_id=speaker.source)
        if concept.concept_id in ids
    ]
    barred = _suppressed(stores, doc_id, {concept.concept_id for _, concept in terms})
    terms = [(found, concept) for found, concept in terms if concept.concept_id not in barred]
    numbers = Numbers(stores.graph, doc_id, [concept.concept_id for _, concept in terms], following)
    concepts = [*decisions.concepts, *(as_term(found, concept, numbers) for found, concept in terms)]
    own = _own_forms(speaker, concepts)
    added = {matched.norm for matched in concepts[len(decisions.concepts) :]}
    further = known_among({key: key for key, norm in own.items() if norm in added})
    # The further forms of a term may stand anywhere.
    places = places_of(text, passed_spans(speaker.reading) if added else within, either(known, further))
    first_of: dict[str, str] = {}
    for matched in concepts:
        first_of.setdefault(matched.concept_id, matched.norm)
    named = {one.concept_id: one.spans for one in decisions.named}
    both = ids & first_of.keys() & named.keys()
    barred = _suppressed(stores, doc_id, both | {names[key] for key in places if key in names})
    matched_at: dict[str, set[Span]] = {}
    for concept_id in both - barred:
        matched_at[first_of[concept_id]] = {*_spans(named.pop(concept_id))}
    named_at: dict[str, set[Span]] = {}
    for key, spans in places.items():
        meant = names.get(key, "")
        if meant in barred and own.get(key) not in added:
            continue
        norm = own.get(key) or first_of.get(meant, "")
        if norm:
            matched_at.setdefault(norm, set()).update(spans)
        else:
            named_at.setdefault(meant, set()).update(spans)
    named |= {concept_id: _flat(spans) for concept_id, spans in named_at.items()}
    now = tuple(_with_spans(matched, matched_at.get(matched.norm, ())) for matched in concepts)
    others = tuple(NamedConcept(concept_id, spans) for concept_id, spans in sorted(named.items()))
    if now == decisions.concepts and others == decisions.named:
        return None
    return replace(decisions, concepts=now, named=others, epoch=stores.graph.epoch(), supersedes=(), carried_out_as="")


def _suppressed(stores: Stores, doc_id: str, concept_ids: Collection[str]) -> frozenset[str]:
    return stores.catalog.names.suppressed(sorted(concept_ids), doc_id) if concept_ids else frozenset()


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
