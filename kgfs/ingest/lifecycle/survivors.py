"""Rename concepts that survive a purge after only purged documents had given them their names.

The remaining mentions of such a concept move to another concept, whose id, founding label and directory come from the
label that is left. The numbers of the evidence stay. The other concept is founded by the mention with this label in
the document that was deposited first. A directory name that a person chose is kept as the stem of the new one. A
rebuild repeats all this from new Decisions of the shown documents and from the stored plan, both in the garage.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from kgfs.domain.identity import concept_id_of, normalise_label, relationship_id_of
from kgfs.domain.knowledge import RELATIONSHIP_TYPES, FoundConcept
from kgfs.domain.names import safe_stem
from kgfs.errors import CorruptError, MissingError, StoreError
from kgfs.failpoints import border
from kgfs.ingest.matching.concept_plans import Speaker, speakers_of
from kgfs.ingest.matching.concepts import spoken
from kgfs.ingest.matching.match import name_for
from kgfs.ingest.reading import embeddings
from kgfs.stores.catalog.rows import Forgetting
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import Concept, Mark, Redaction
from kgfs.stores.readings import (
    Decisions,
    MatchedConcept,
    MatchedRelationship,
    decode_decisions,
    decode_reading,
    load_decisions,
    load_reading,
    redact_decisions,
)
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter, Row

FORMAT = 1
_NO_DOCUMENT = "none"
"""A ``doc_id`` under which no document was deposited."""


@dataclass(frozen=True, slots=True)
class Renaming:
    """Plan of a renaming. It contains no text of any document."""

    concepts: tuple[tuple[str, str], ...] = ()
    """(former concept id, new concept id) per renamed concept."""
    decisions: tuple[str, ...] = ()
    """Garage keys of the new Decisions of each document concerned."""
    marks: tuple[tuple[str, str, str, bool], ...] = ()
    """What persons said of the former concepts, as fields of a ``Mark``, moved to the new concepts."""
    unmarked: tuple[tuple[str, str, str, bool], ...] = ()


NOTHING = Renaming()


def name_anew(stores: Stores, owed: Forgetting, concept_ids: Sequence[str]) -> Renaming:
    """Plan the renaming of those of these concepts that need one, store the plan and carry it out.

    Return the plan, or NOTHING where no concept needs a new name. The documents have left the graph before; their
    Readings are still stored. Idempotent.
    """
    objects = stores.garage.objects
    if not _is_begun(stores, owed.order):
        objects.delete(key_of(owed.order))
        planned, decisions = _planned(stores, owed, concept_ids)
        if planned == NOTHING:
            return NOTHING
        for one in decisions:
            objects.put(one.key, one.encode())
        objects.put(key_of(owed.order), _encode(planned))
    border("survivors-planned")
    renaming = load_renaming(stores, owed.order)
    say_in_graph(stores, commit_of(owed), renaming, owed.at)
    border("survivors-named")
    if stores.vectors is not None:
        former = frozenset(former for former, _ in renaming.concepts)
        stores.vectors.delete(Filter(kind="concept", items=former))
        stores.vectors.upsert(founded_rows(stores, renaming, stores.vectors.model))
    return renaming


def _is_begun(stores: Stores, order: str) -> bool:
    """Return whether the graph has already applied some of a stored plan.

    A plan that the graph has nothing of, for example since the graph was derived anew, is discarded and made again
    for the present state.
    """
    return any(stores.graph.concept(became) is not None for _, became in load_renaming(stores, order).concepts)


def say_in_graph(stores: Stores, commit_id: str, renaming: Renaming, at: int) -> None:
    """Apply the renaming to the graph. Idempotent.

    ``at`` is the time of the commit by which the documents left, just before.
    """
    if renaming == NOTHING:
        return
    marks, unmarked = ([Mark(*fields) for fields in some] for some in (renaming.marks, renaming.unmarked))
    contents = spoken(stores, renaming.decisions, at + 1)
    stores.graph.reassign(f"{commit_id}-named", contents, at + 1, marks, unmarked, became=renaming.concepts)


def founded_rows(stores: Stores, renaming: Renaming, model: str) -> list[Row]:
    """Return the vector rows of the renamed concepts."""
    objects, rows = stores.garage.objects, []
    new = {became for _, became in renaming.concepts}
    for key in renaming.decisions:
        document = stores.catalog.names.document(key.split("/")[1])
        if document is None:  # the document was purged since
            continue
        decisions = load_decisions(objects, key)
        founders = tuple(m for m in decisions.concepts if m.concept_id in new and m.how == "named")
        reading = load_reading(objects, document.doc_id, decisions.reading)
        found = embeddings.load(objects, reading, model) if founders else None
        if found is not None:
            founding = replace(decisions, concepts=founders)
            rows += embeddings.concept_rows(document.ontology, reading, founding, found)
    return rows


def hide_names(stores: Stores, redaction: Redaction, renaming: Renaming, but: Sequence[str]) -> None:
    """Replace founding names of dead concepts in the stored Decisions of documents other than ``but``.

    The dead concepts are those of ``redaction``. A rebuild shows such a concept until the purge, so its founding name
    is replaced by each remaining document's own words. Decisions that the graph shows now name living concepts only
    and are not read. They are read for documents of the ``renaming``, and for all documents where concepts left the
    graph alone (kgfs forget --cascade all); and for documents that added to a concept, which left with what it rested on. Idempotent.
    """
    objects = stores.garage.objects
    dead = {concept_id for concept_id, _, _ in redaction.names}
    if not dead:
        return
    struck = bool(stores.catalog.names.suppressed(sorted(dead), _NO_DOCUMENT))
    renamed = {key.split("/")[1] for key in renaming.decisions}
    renamed |= {doc_id for concept_id in dead for doc_id, _ in stores.graph.named.documents(concept_id)}
    for key, _ in list(objects.keys("decisions/")):
        doc_id = key.split("/")[1]
        if doc_id in but or (not struck and doc_id not in renamed and _says(stores, doc_id) == key):
            continue
        decisions = decode_decisions(objects.get(key), key)
        concepts = tuple(_own_words(m) if m.concept_id in dead else m for m in decisions.concepts)
        if concepts != decisions.concepts:
            redact_decisions(objects, key, replace(decisions, concepts=concepts, carried_out_as=decisions.commit_id))


def _says(stores: Stores, doc_id: str) -> str:
    """Return the garage key of the Decisions that the graph shows of a document.

    Return '' where the document is not shown, or not known to be.
    """
    document, shown = stores.catalog.names.document(doc_id), stores.graph.document(doc_id)
    if document is None or shown is None or not document.commit_id or document.reading != shown.reading:
        return ""
    return document.decisions


def commit_of(owed: Forgetting) -> str:
    """Return the commit id by which the documents of an order leave the graph.

    The id differs where some documents got a name again since the commit was made, so that no fact refers to the
    earlier commit.
    """
    return f"forgetting-{owed.order}-{hashlib.sha256(' '.join(owed.doc_ids).encode()).hexdigest()[:8]}"


def key_of(order: str) -> str:
    """Return the garage key of an order's renaming."""
    return f"redactions/{order}-names.json"


def load_renaming(stores: Stores, order: str) -> Renaming:
    """Return the stored renaming of a purge; NOTHING where it has none."""
    key = key_of(order)
    try:
        body = json.loads(stores.garage.objects.get(key))
        if body.pop("format") != FORMAT:
            raise StoreError(f"{key}: written by another version of kgfs.")
        return Renaming(
            concepts=tuple((former, became) for former, became in body["concepts"]),
            decisions=tuple(body["decisions"]),
            marks=tuple((mark, ontology, of, joined) for mark, ontology, of, joined in body["marks"]),
            unmarked=tuple((mark, ontology, of, joined) for mark, ontology, of, joined in body["unmarked"]),
        )
    except MissingError:
        return NOTHING
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{key}: no renaming ({error}).") from error


def _encode(renaming: Renaming) -> bytes:
    return json.dumps({"format": FORMAT, **asdict(renaming)}, sort_keys=True, separators=(",", ":")).encode()


def _own_words(matched: MatchedConcept) -> MatchedConcept:
    stem = safe_stem(matched.norm)
    if matched.founded_norm == matched.norm and _stem_of(matched.name) == stem:
        return matched
    return replace(matched, founded_norm=matched.norm, name=f"{stem}~{matched.concept_id[:8]}")


def _stem_of(name: str) -> str:
    """Return a concept's directory name without the suffix that the later of two equal names gets."""
    return name.partition("~")[0]


# ---------------------------------------------------------------------------------------------- making a plan


@dataclass(frozen=True, slots=True)
class _Goal:
    concept_id: str
    norm: str
    name: str
    founder: tuple[str, str]
    """(``doc_id``, normalised label) of the mention that founds the concept."""


def _planned(stores: Stores, owed: Forgetting, concept_ids: Sequence[str]) -> tuple[Renaming, list[Decisions]]:
    graph = stores.graph
    forms = set(_forms_of(stores, owed.doc_ids))
    norms, stems = {normalise_label(form) for form in forms}, {safe_stem(form) for form in forms}
    goals: dict[str, _Goal] = {}
    concerned: dict[str, Speaker] = {}
    for concept_id in sorted(concept_ids):
        concept = graph.concept(concept_id)
        if concept is None or not _lost(concept, norms, stems, (concept.label, *concept.aliases)):
            continue  # most concepts keep a label or an alias as their name
        speakers = speakers_of(stores, {concept_id})
        heard = [(speaker, found) for speaker in speakers for found in speaker.labels_of(concept_id)]
        if _lost(concept, norms, stems, [form for _, found in heard for form in (found.label, *found.forms)]):
            founder, label = next((one for one in heard if one[1].label == concept.label), heard[0])
            chosen = "" if _stem_of(concept.name) in stems else _stem_of(concept.name)
            goals[concept_id] = _goal(graph, owed.order, concept, founder, label, goals, chosen)
            concerned |= {speaker.document.doc_id: speaker for speaker in speakers}
    decisions = [_rewritten(graph, speaker, goals) for _, speaker in sorted(concerned.items())]
    marks = [(mark, goals[concept_id]) for concept_id in goals for mark in graph.marks_of(concept_id)]
    renaming = Renaming(
        concepts=tuple((concept_id, goal.concept_id) for concept_id, goal in goals.items()),
        decisions=tuple(one.key for one in decisions),
        marks=tuple((mark.mark, mark.ontology, goal.concept_id, mark.joined) for mark, goal in marks),
        unmarked=tuple((mark.mark, mark.ontology, mark.concept_id, mark.joined) for mark, _ in marks),
    )
    return renaming, decisions


def _forms_of(stores: Stores, doc_ids: Sequence[str]) -> Iterator[str]:
    """Yield labels and other forms of these documents' concepts.

    Of a Reading that is lost, yield only the normalised labels that its Decisions have.
    """
    objects = stores.garage.objects
    for doc_id in doc_ids:
        kept: set[str] = set()
        for key, _ in list(objects.keys(f"readings/{doc_id}/")):
            with suppress(MissingError, CorruptError):
                reading = decode_reading(objects.get(key), key)
                kept.add(reading.id)
                for found in reading.concepts:
                    yield from (found.label, *found.forms)
        for key, _ in list(objects.keys(f"decisions/{doc_id}/")):
            if key.rpartition("/")[2].partition("-")[0] not in kept:
                yield from (matched.norm for matched in decode_decisions(objects.get(key), key).concepts)


def _lost(concept: Concept, norms: set[str], stems: set[str], heard: Sequence[str]) -> bool:
    """Return whether the concept has a name that purged documents gave it and no other document uses.

    ``norms`` and ``stems`` are the normalised labels and directory names from the purged documents.
    """
    norm_lost = concept.norm in norms and concept.norm not in map(normalise_label, heard)
    stem = _stem_of(concept.name)
    return norm_lost or (stem in stems and stem not in map(safe_stem, heard))


def _goal(
    graph: Graph,
    order: str,
    concept: Concept,
    founder: Speaker,
    label: FoundConcept,
    others: Mapping[str, _Goal],
    chosen: str,
) -> _Goal:
    concept_id = concept_id_of(concept.ontology, label.norm)
    given = {goal.concept_id for goal in others.values()}
    known = graph.concept(concept_id) is not None or graph.next_numbers([concept_id])[concept_id] > 1
    if concept_id in given or known:
        concept_id = hashlib.sha256(f"{concept_id}:{concept.concept_id}:{order}".encode()).hexdigest()[:16]
    names = {goal.concept_id: goal.name for goal in others.values()}
    name = f"{chosen}~{concept_id[:8]}" if chosen else name_for(graph, concept.ontology, concept_id, label, names)
    return _Goal(concept_id, label.norm, name, (founder.document.doc_id, label.norm))


def _rewritten(graph: Graph, speaker: Speaker, goals: Mapping[str, _Goal]) -> Decisions:
    shown = {matched.concept_id for matched in speaker.decisions.concepts}
    living = [matched for matched in speaker.decisions.relationships if {matched.subject, matched.object} <= shown]
    return replace(
        speaker.decisions,
        concepts=tuple(_moved(speaker, matched, goals) for matched in speaker.decisions.concepts),
        relationships=tuple(_joined(speaker, matched, goals) for matched in living),
        epoch=graph.epoch(),
        supersedes=(),
        carried_out_as="",
    )


def _moved(speaker: Speaker, matched: MatchedConcept, goals: Mapping[str, _Goal]) -> MatchedConcept:
    goal = goals.get(matched.concept_id)
    if goal is None:
        return matched
    how = matched.how
    if (speaker.document.doc_id, matched.norm) == goal.founder:
        how = "named"
    elif how in ("new", "named"):
        how = "alias"
    return replace(matched, concept_id=goal.concept_id, founded_norm=goal.norm, name=goal.name, how=how)


def _joined(speaker: Speaker, matched: MatchedRelationship, goals: Mapping[str, _Goal]) -> MatchedRelationship:
    if not {matched.subject, matched.object} & goals.keys():
        return matched
    type_ = speaker.reading.relationships[matched.index].type
    subject, object_ = (goals[end].concept_id if end in goals else end for end in (matched.subject, matched.object))
    if RELATIONSHIP_TYPES[type_] == type_ and object_ < subject:
        subject, object_ = object_, subject
    return replace(
        matched, relationship_id=relationship_id_of(subject, type_, object_), subject=subject, object=object_
    )
