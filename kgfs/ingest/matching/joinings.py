"""Join the concepts of an acronym and of its long form across documents, and part them when nobody introduces it any more.

A joining rests on the documents that introduce the acronym ("Long Form (LF)"). Of the two concepts the older keeps its
directory's name and numbers; the evidence of the younger gets new numbers after them. When the last of these documents
is to leave, the concepts part before: the younger gets its name and its former numbers back, and evidence that came
meanwhile goes to the concept whose form it was found by, under the next free number. Both are facts with the new
Decisions of all documents concerned, as a person's merges and splits are (``concept_plans``), so that rebuilds and other
homes repeat them. What a person decided about either concept comes first: such concepts are neither joined nor parted.

The caller holds the worker lock.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from kgfs.domain.forms import form_key
from kgfs.domain.identity import concept_id_of, norm_hash
from kgfs.errors import BusyError, CorruptError, MissingError
from kgfs.ingest.matching.concept_plans import Goal, Rewriting, Speaker, commit_id_of, speakers_of
from kgfs.ingest.matching.concepts import Plan, decide
from kgfs.ingest.matching.match import name_for
from kgfs.stores.catalog.facts import ConceptsMerged, ConceptSplit
from kgfs.stores.graph.vocabulary import EVERYTHING, Concept, Introduced, Joining, Scope
from kgfs.stores.readings import MatchedConcept, Reading, decode_decisions, load_reading
from kgfs.stores.stores import Stores

_LOG = logging.getLogger(__name__)

Numbers = dict[tuple[str, int, int], int]
"""Evidence numbers by owner and span."""


def join_new(stores: Stores, ontology: str, doc_id: str, reading: Reading, scope: Scope = EVERYTHING) -> int:
    """Join what a document that was just published allows to join, and return the number of joinings.

    These are concepts of acronyms that it introduces, and its own concepts under forms that living documents introduce.
    Only documents and mentions in ``scope`` count.
    """
    keys = {
        form_key(form) for concept in stores.graph.concepts_of(doc_id) for form in (concept.label, *concept.aliases)
    }
    keys |= {form_key(found.label) for found in reading.concepts}
    keys |= {key for pair in reading.acronyms for key in pair}
    return _join_all(stores, ontology, stores.graph.joined.introduced(ontology, keys, scope), scope) if keys else 0


def catch_up(stores: Stores) -> None:
    """Make the joinings, and undo those, that a killed process did not come to."""
    for ontology in stores.catalog.names.ontologies():
        shorts = stores.graph.joined.all_introduced(ontology.id)
        if shorts:
            scope = scope_left(stores, ontology.id)
            _join_all(stores, ontology.id, stores.graph.joined.introduced(ontology.id, shorts, scope), scope)
    for joining in stores.graph.joined.without_documents():
        _part(stores, joining, frozenset())


def scope_left(stores: Stores, ontology: str) -> Scope:
    """Return what is matched with each other while documents of an ontology wait to be read anew: what was read since."""
    found = 0
    for job in stores.catalog.jobs.all():
        document = stores.catalog.names.document(job.doc_id) if job.run and job.since > found else None
        if document is not None and document.ontology == ontology:
            found = job.since
    return Scope(found)


def part_before(stores: Stores, leaving: Collection[str], kept: Iterable[tuple[str, str]] = ()) -> int:
    """Part the concepts whose joining rests on documents that are about to leave alone, and return how many.

    ``kept`` are pairs that the document published in place of them introduces again.
    """
    gone, stay, parted = frozenset(leaving), set(kept), 0
    pairs = {pair for doc_id in gone for pair in stores.graph.joined.introduced_by(doc_id)} - stay
    for pair in sorted(pairs):
        for joining in stores.graph.joined.joinings("", pair):
            others = [
                one
                for one in stores.graph.joined.introduced(joining.ontology, [pair[0]])
                if (one.short, one.long) == pair
            ]
            if not any(set(one.documents) - gone for one in others):
                parted += _part(stores, joining, gone)
    return parted


# ---------------------------------------------------------------------------------------------- joining


def _join_all(stores: Stores, ontology: str, introductions: Sequence[Introduced], scope: Scope) -> int:
    return sum(_join(stores, ontology, one, scope) for one in introductions)


def _join(stores: Stores, ontology: str, introduced: Introduced, scope: Scope) -> bool:
    graph = stores.graph
    same = {
        one.long
        for one in graph.joined.introduced(ontology, [introduced.short], scope)
        if one.short == introduced.short
    }
    if len(same) > 1:
        return False  # the acronym of two things
    found = graph.joined.with_keys(ontology, [introduced.short, introduced.long], scope)
    ids = [found[key][0] for key in (introduced.short, introduced.long) if key in found]
    if len(set(ids)) < 2 or any(_decided_by_person(stores, ontology, concept_id) for concept_id in ids):
        return False
    concepts = graph.concepts_by_id(ids)
    short = ids[0]
    older, younger = sorted((concepts[concept_id] for concept_id in ids), key=lambda one: _age(stores, one, short))
    own = introduced.short if younger.concept_id == ids[0] else introduced.long
    try:
        speakers = speakers_of(stores, {younger.concept_id})
        goal = Goal(older.concept_id, older.norm, older.name)
        former = {one.document.doc_id: _former(stores, one, older.concept_id).numbers for one in speakers}
        rewriting = Rewriting(
            graph, goal, lambda _, matched: matched.concept_id == younger.concept_id, how="acronym", former=former
        )
        decisions = tuple(rewriting.rewrite(speaker) for speaker in speakers)
    except (BusyError, MissingError, CorruptError) as error:
        _LOG.info("%s and %s are joined later: %s", older.concept_id, younger.concept_id, error)
        return False
    word = ConceptsMerged(
        ontology=ontology,
        into=older.concept_id,
        others=(younger.concept_id,),
        decisions=tuple(one.key for one in decisions),
        marks=(),
        unmarked=(),
        commit_id=commit_id_of(ontology, older.concept_id, younger.concept_id, *(one.key for one in decisions)),
        at=time.time_ns(),
        documents=introduced.documents,
        joining=" ".join(norm_hash(key) for key in (introduced.short, introduced.long, own)),
    )
    decide(stores, rewriting.plan(word, decisions))
    return True


def _age(stores: Stores, concept: Concept, short: str) -> tuple[int, bool]:
    """Return a key by which the older of two concepts comes first; of two of one document that of the long form."""
    doc_ids = stores.graph.resting_on([concept.concept_id])[concept.concept_id]
    row = stores.graph.document(doc_ids[0]) if doc_ids else None
    return row.deposit if row else 0, concept.concept_id == short


def _decided_by_person(stores: Stores, ontology: str, concept_id: str) -> bool:
    graph = stores.graph
    concept = graph.concept(concept_id)
    marks = [concept_id_of(ontology, concept.norm)] if concept else []
    return bool(graph.marks_of(concept_id) or graph.marked(marks))


# ---------------------------------------------------------------------------------------------- parting


@dataclass(frozen=True, slots=True)
class _Former:
    """What the earlier Decisions about one document said of a concept."""

    norms: frozenset[str]
    """The labels of its present Reading whose mentions were that concept's."""
    numbers: Numbers


def _part(stores: Stores, joining: Joining, leaving: frozenset[str]) -> bool:
    graph = stores.graph
    holder_id = graph.joined.holder_of(joining.younger)
    holder = graph.concept(holder_id) if holder_id else None
    if holder is None:
        return False
    try:
        speakers = [one for one in speakers_of(stores, {holder_id}) if one.document.doc_id not in leaving]
        former = {speaker.document.doc_id: _former(stores, speaker, joining.younger) for speaker in speakers}
        plan = _parting(stores, joining, holder, speakers, former)
    except (BusyError, MissingError, CorruptError) as error:
        _LOG.info("%s is parted from %s later: %s", joining.younger, holder_id, error)
        return False
    decide(stores, plan)
    return True


def _parting(
    stores: Stores, joining: Joining, holder: Concept, speakers: Sequence[Speaker], former: dict[str, _Former]
) -> Plan:
    graph, younger = stores.graph, joining.younger
    kept_apart = {mark.mark for mark in graph.marks_of(holder.concept_id) if mark.joined}

    def leaves(speaker: Speaker, matched: MatchedConcept) -> bool:
        if matched.concept_id != holder.concept_id or concept_id_of(joining.ontology, matched.norm) in kept_apart:
            return False
        own = norm_hash(form_key(speaker.found[matched.norm].label)) == joining.own
        return own or matched.norm in former[speaker.document.doc_id].norms

    leaving = [
        (speaker, matched) for speaker in speakers for matched in speaker.decisions.concepts if leaves(speaker, matched)
    ]
    if leaving:
        norms = [matched.norm for _, matched in leaving]
        norm = next((norm for norm in norms if concept_id_of(joining.ontology, norm) == younger), norms[0])
        founder = next(speaker.found[norm] for speaker, matched in leaving if matched.norm == norm)
        name = graph.joined.name_of(younger) or name_for(graph, joining.ontology, younger, founder, {})
        goal = Goal(younger, norm, name)
    else:
        goal = Goal(younger, "", "")
    numbers = {doc_id: one.numbers for doc_id, one in former.items()}
    founds = graph.concept(younger) is None
    rewriting = Rewriting(graph, goal, leaves, founds=founds, how="parted", former=numbers)
    concerned = {speaker.document.doc_id: speaker for speaker, _ in leaving}
    decisions = tuple(rewriting.rewrite(speaker) for speaker in concerned.values())
    word = ConceptSplit(
        ontology=joining.ontology,
        concept=holder.concept_id,
        target=younger,
        decisions=tuple(one.key for one in decisions),
        marks=(),
        unmarked=(),
        commit_id=commit_id_of(
            joining.ontology, holder.concept_id, younger, str(graph.epoch()), *(one.key for one in decisions)
        ),
        at=time.time_ns(),
        joining=f"{joining.short} {joining.long} {joining.own}",
    )
    return rewriting.plan(word, decisions)


def _former(stores: Stores, speaker: Speaker, concept_id: str) -> _Former:
    """Return what all earlier Decisions about a document said of a concept and of its relationships.

    Numbers that are other evidence's now, and Readings that are lost, are left out.
    """
    objects, doc_id = stores.garage.objects, speaker.document.doc_id
    norms: set[str] = set()
    numbers: Numbers = {}
    readings: dict[str, Reading] = {speaker.reading.id: speaker.reading}
    for key, _ in objects.keys(f"decisions/{doc_id}/"):
        with suppress(MissingError, CorruptError):
            decisions = decode_decisions(objects.get(key), key)
            if decisions.reading not in readings:
                readings[decisions.reading] = load_reading(objects, doc_id, decisions.reading)
            reading = readings[decisions.reading]
            found = {one.norm: one for one in reading.concepts}
            for matched in decisions.concepts:
                if matched.concept_id == concept_id:
                    if reading is speaker.reading:
                        norms.add(matched.norm)
                    for quote, number in zip(found[matched.norm].quotes, matched.numbers, strict=True):
                        numbers[concept_id, quote.start, quote.end] = number
            for relationship in decisions.relationships:
                if concept_id in (relationship.subject, relationship.object):
                    quote = reading.relationships[relationship.index].quote
                    numbers[relationship.relationship_id, quote.start, quote.end] = relationship.number
    free = {key: number for key, number in numbers.items() if stores.graph.instance(key[0], number) is None}
    return _Former(frozenset(norms), free)
