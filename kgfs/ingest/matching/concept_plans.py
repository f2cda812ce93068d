"""Plan merges and splits of concepts on the graph as it stands. Changes nothing.

Marks tell later matching what a person decided about concepts; see ``stores.graph.vocabulary.Mark``. A mark is joined
to at most one concept. Where a mark is kept apart from a concept, it is joined to another one.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgfs.domain.documents import Document, Ontology
from kgfs.domain.identity import concept_id_of, normalise_label
from kgfs.domain.knowledge import FoundConcept
from kgfs.domain.names import safe_stem
from kgfs.errors import BadInputError, BusyError, ExistsError, MissingError
from kgfs.ingest.matching.concepts import Plan, Word
from kgfs.ingest.matching.match import Numbers, joined_of, name_for, numbered
from kgfs.ingest.reading.related_documents import first_source
from kgfs.stores.catalog.facts import ConceptsMerged, ConceptSplit
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import Concept
from kgfs.stores.readings import Decisions, MatchedConcept, Reading, load_decisions, load_reading
from kgfs.stores.stores import Stores

Moved = Sequence[tuple[str, str]]
"""(``source_id`` of the document, normalised label) of each mention that moves to another concept."""

Written = tuple[tuple[str, ...], tuple[str, ...]]
"""The marks to set and the marks to remove, encoded as in facts."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """A document that the graph shows, and its mentions of concepts that the graph shows."""

    document: Document
    reading: Reading
    decisions: Decisions
    found: Mapping[str, FoundConcept]
    source: str
    """The ``source_id`` under which marks on this document's mentions alone are stored."""

    def labels_of(self, concept_id: str) -> list[FoundConcept]:
        """Return the document's concepts that are mentions of the concept with this id."""
        return [self.found[matched.norm] for matched in self.decisions.concepts if matched.concept_id == concept_id]


@dataclass(frozen=True, slots=True)
class Goal:
    """The concept that mentions move to."""

    concept_id: str
    norm: str
    name: str


def plan_merge(stores: Stores, ontology: Ontology, into: str, others: Sequence[str]) -> Plan:
    """Plan that all mentions of ``others`` become mentions of ``into``.

    Names are those of directories, with or without ``.concept``. Raise MissingError for a name that no concept has,
    and BadInputError where a concept would be merged into itself. Raise BusyError where a document concerned is being
    published.
    """
    kept = _named(stores.graph, ontology, into)
    gone = [_named(stores.graph, ontology, name) for name in dict.fromkeys(others)]
    if kept in gone:
        raise BadInputError(f"'{into}' cannot be merged into itself.")
    ids = {concept.concept_id for concept in gone}
    goal = Goal(kept.concept_id, kept.norm, kept.name)
    speakers = speakers_of(stores, ids)
    rewriting = Rewriting(stores.graph, goal, lambda speaker, matched: matched.concept_id in ids)
    decisions = tuple(rewriting.rewrite(speaker) for speaker in speakers)
    moved = [(s.source, m.norm) for s in speakers for m in s.decisions.concepts if m.concept_id in ids]
    marks, unmarked = marks_of_merge(stores.graph, ontology.id, kept, gone, moved)
    word = ConceptsMerged(
        ontology=ontology.id,
        into=kept.concept_id,
        others=tuple(concept.concept_id for concept in gone),
        decisions=tuple(one.key for one in decisions),
        marks=marks,
        unmarked=unmarked,
        commit_id=commit_id_of(ontology.id, kept.concept_id, *ids, *(one.key for one in decisions)),
        at=time.time_ns(),
    )
    return rewriting.plan(word, decisions)


def plan_split(
    stores: Stores,
    ontology: Ontology,
    concept: str,
    labels: Sequence[str] = (),
    doc_ids: Sequence[str] = (),
    name: str = "",
) -> Plan:
    """Plan that mentions of ``concept`` under one of these labels, in these documents, become another concept.

    Without ``doc_ids`` the mentions of all documents are meant, without ``labels`` those under all labels. The other
    concept is the one that the moved label founds by itself, under its former directory name if it had one, or a new
    one called ``name``.

    Raise MissingError where there is no such concept, label or mention, BadInputError where nothing would stay, where
    neither labels nor documents are given or ``name`` cannot be a directory name, and ExistsError where another
    concept has or had ``name``. Raise BusyError where a document concerned is being published.
    """
    graph = stores.graph
    split = _named(graph, ontology, concept)
    norms = {normalise_label(label) for label in labels}
    speakers = speakers_of(stores, {split.concept_id})
    heard = {found.norm: found.label for speaker in speakers for found in speaker.labels_of(split.concept_id)}
    known = ", ".join(f"'{label}'" for label in sorted(heard.values()))
    if unknown := [label for label in labels if normalise_label(label) not in heard]:
        raise MissingError(f"No document calls '{concept}' '{unknown[0]}'. Its labels are {known}.")
    if not norms and not doc_ids:
        raise BadInputError(f"Say which mentions leave '{concept}', by --label or --document. Its labels are {known}.")

    def leaves(speaker: Speaker, matched: MatchedConcept) -> bool:
        chosen = not norms or matched.norm in norms
        return matched.concept_id == split.concept_id and chosen and (not doc_ids or speaker.document.doc_id in doc_ids)

    all_of_it = [(speaker, m) for speaker in speakers for m in speaker.decisions.concepts]
    leaving = [(speaker, matched) for speaker, matched in all_of_it if leaves(speaker, matched)]
    if not leaving:
        raise MissingError(f"None of these documents mentions '{concept}' so.")
    if len(leaving) == sum(matched.concept_id == split.concept_id for _, matched in all_of_it):
        raise BadInputError(f"These are all mentions of '{concept}': nothing would stay. Its labels are {known}.")
    first = max(leaving, key=lambda one: (one[0].found[one[1].norm].score, -one[0].document.deposit))
    goal = _goal(graph, ontology, split, first[0].found[first[1].norm], name)
    rewriting = Rewriting(graph, goal, leaves, founds=graph.concept(goal.concept_id) is None, passed=True)
    concerned = [speaker for speaker in speakers if any(speaker is one for one, _ in leaving)]
    decisions = tuple(rewriting.rewrite(speaker) for speaker in concerned)
    moved = [(speaker.source, matched.norm) for speaker, matched in leaving]
    marks, unmarked = marks_of_split(
        graph, ontology.id, split.concept_id, goal.concept_id, moved, by_label=bool(norms), by_document=bool(doc_ids)
    )
    word = ConceptSplit(
        ontology=ontology.id,
        concept=split.concept_id,
        target=goal.concept_id,
        decisions=tuple(one.key for one in decisions),
        marks=marks,
        unmarked=unmarked,
        commit_id=commit_id_of(ontology.id, split.concept_id, goal.concept_id, *(one.key for one in decisions)),
        at=time.time_ns(),
    )
    return rewriting.plan(word, decisions)


def speaking_of(stores: Stores, ontology: Ontology, name: str) -> list[tuple[str, str, int]]:
    """Return (``doc_id``, label, number of quotes) of each mention of a concept, in order of deposit."""
    concept = _named(stores.graph, ontology, name)
    speakers = speakers_of(stores, {concept.concept_id})
    return [
        (speaker.document.doc_id, found.label, len(found.quotes))
        for speaker in speakers
        for found in speaker.labels_of(concept.concept_id)
    ]


class Rewriting:
    """Make new Decisions of documents, in which the chosen mentions belong to the goal."""

    def __init__(
        self,
        graph: Graph,
        goal: Goal,
        chosen: Callable[[Speaker, MatchedConcept], bool],
        *,
        founds: bool = False,
        how: str = "decided",
        former: Mapping[str, Mapping[tuple[str, int, int], int]] | None = None,
        passed: bool = False,
    ) -> None:
        """``how`` is noted with each moved mention. With ``passed`` the goal rests on each of them. ``former`` has numbers of evidence that are free to be given
        again, by document, owner and span."""
        self._graph = graph
        self._goal = goal
        self._chosen = chosen
        self._founds = founds
        self._how = how
        self._passed = passed
        self._former = former or {}
        self._following: dict[str, int] = {}
        self._labels: dict[str, None] = {}
        self._evidence = 0

    def rewrite(self, speaker: Speaker) -> Decisions:
        """Return the new Decisions of one document."""
        goal, matches = self._goal.concept_id, speaker.decisions.concepts
        chosen = {matched.norm for matched in matches if self._chosen(speaker, matched)}
        ids = {matched.norm: goal if matched.norm in chosen else matched.concept_id for matched in matches}
        joined = joined_of(speaker.reading, {matched.norm: ids[matched.norm] for matched in matches if matched.passed})
        owners = [goal, *(one.relationship_id for one in joined)]
        doc_id = speaker.document.doc_id
        numbers = Numbers(self._graph, doc_id, owners, self._following, self._former.get(doc_id, {}))
        return replace(
            speaker.decisions,
            concepts=tuple(self._moved(speaker, one, numbers) if one.norm in chosen else one for one in matches),
            relationships=numbered(speaker.reading, joined, numbers),
            epoch=self._graph.epoch(),
            supersedes=(),
            carried_out_as="",
        )

    def _moved(self, speaker: Speaker, matched: MatchedConcept, numbers: Numbers) -> MatchedConcept:
        found, goal = speaker.found[matched.norm], self._goal
        self._labels[found.label] = None
        self._evidence += len(found.quotes)
        how, self._founds = ("new", False) if self._founds else (self._how, False)
        given = tuple(numbers.give(goal.concept_id, quote.start, quote.end) for quote in found.quotes)
        term = matched.term and not self._passed
        return MatchedConcept(matched.norm, goal.concept_id, goal.norm, goal.name, how, 1.0, given, matched.spans, term)

    def plan(self, word: Word, decisions: tuple[Decisions, ...]) -> Plan:
        """Return the plan of what was rewritten so far."""
        return Plan(word, decisions, self._goal.name, tuple(self._labels), len(decisions), self._evidence)


def _named(graph: Graph, ontology: Ontology, name: str) -> Concept:
    found = graph.concept_named(ontology.id, name.removesuffix("/").removesuffix(".concept"))
    if found is None:
        raise MissingError(f"There is no concept '{name}' in {ontology.name}. Its concepts are listed by: ls concepts")
    return found


def speakers_of(stores: Stores, concept_ids: set[str]) -> list[Speaker]:
    """Return the shown documents that mention these concepts, in order of deposit.

    Raise BusyError where one of them is being published just now.
    """
    graph = stores.graph
    found = {doc_id for doc_ids in graph.documents_of(concept_ids).values() for doc_id in doc_ids}
    rows = (graph.document(doc_id) for doc_id in found)
    ordered = sorted((row for row in rows if row), key=lambda row: (row.deposit, row.doc_id))
    return [speaker_of(stores, row.doc_id) for row in ordered]


def speaker_of(stores: Stores, doc_id: str) -> Speaker:
    """Return a document that the graph shows, with its mentions. Raise BusyError where it is being published just now."""
    document, row = stores.catalog.names.document(doc_id), stores.graph.document(doc_id)
    if document is None or row is None or document.reading != row.reading or not document.commit_id:
        raise BusyError(f"Document {doc_id} is being published just now. Try again, with a worker alive (kgfs worker).")
    decisions = load_decisions(stores.garage.objects, document.decisions)
    reading = load_reading(stores.garage.objects, doc_id, row.reading)
    # Concepts may have left the graph alone (kgfs forget --cascade all): mentions of them must not come back.
    shown = {concept.concept_id for concept in stores.graph.concepts_of(doc_id)}
    still = tuple(matched for matched in decisions.concepts if matched.concept_id in shown)
    found = {concept.norm: concept for concept in reading.concepts}
    source = first_source(stores.catalog.names, document)
    return Speaker(document, reading, replace(decisions, concepts=still), found, source)


def _goal(graph: Graph, ontology: Ontology, split: Concept, found: FoundConcept, name: str) -> Goal:
    """Return the concept that the split-off mentions become.

    It is the concept that their label founds, or another one where the label founds the very concept that is split.
    """
    concept_id = concept_id_of(ontology.id, found.norm)
    if name and safe_stem(name) != name:
        raise BadInputError(f"'{name}' is no name for a concept's directory; '{safe_stem(name)}' would be one.")
    holder = graph.names_taken(ontology.id, [name]).get(name) if name else None
    if holder not in (None, concept_id):
        raise ExistsError(f"The name '{name}' is or was another concept's.")
    known = graph.concept(concept_id)
    if concept_id == split.concept_id or (
        name and holder is None and (known or graph.next_numbers([concept_id])[concept_id] > 1)
    ):
        concept_id = hashlib.sha256(f"{concept_id}:{split.concept_id}:{graph.epoch()}".encode()).hexdigest()[:16]
        known = None
    if known is not None:
        return Goal(concept_id, known.norm, known.name)
    return Goal(concept_id, found.norm, name or name_for(graph, ontology.id, concept_id, found, {}))


def commit_id_of(*parts: str) -> str:
    """Return the commit id of a merge or split, from all that it says."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def marks_of_merge(graph: Graph, ontology: str, kept: Concept, gone: Sequence[Concept], moved: Moved) -> Written:
    """Return the marks that a merge of the concepts ``gone`` into ``kept`` sets and removes.

    Marks of a concept that goes move to the one that stays. Every moved label is joined to the concept that stays,
    unless the label means another concept where no mark decides.
    """
    ids = {kept.concept_id, *(concept.concept_id for concept in gone)}
    set_, dropped = _Marks(), _Marks()
    former = [mark for concept in gone for mark in graph.marks_of(concept.concept_id)]
    for mark in former:
        dropped.add(mark.mark, mark.concept_id, joined=mark.joined)
        if mark.joined or not any(m.joined and m.concept_id in ids for m in graph.marked([mark.mark])):
            set_.add(mark.mark, kept.concept_id, joined=mark.joined)
    here = {mark.mark for mark in former if mark.joined}
    norms = {concept.norm for concept in gone}
    for source_id, norm in moved:
        dropped.add(concept_id_of(source_id, ""), kept.concept_id, joined=False)
        if concept_id_of(source_id, norm) not in here:
            norms.add(norm)
    means = graph.match(ontology, sorted(norms))
    for norm in norms:
        if means.get(norm, kept.concept_id) in ids:
            set_.add(concept_id_of(ontology, norm), kept.concept_id, joined=True)
    return set_.written(), dropped.written()


def marks_of_split(
    graph: Graph, ontology: str, concept_id: str, goal: str, moved: Moved, *, by_label: bool, by_document: bool
) -> Written:
    """Return the marks that a split of mentions from a concept sets and removes.

    The moved labels are joined to ``goal`` and kept apart from ``concept_id``: in the whole ontology or,
    ``by_document``, in the mentions of these documents only. Where documents but no labels were named, all labels
    that these documents will ever have are kept apart from ``concept_id``.
    """
    set_, dropped = _Marks(), _Marks()
    joined_here = {mark.mark for mark in graph.marks_of(concept_id) if mark.joined}
    chosen: set[str] = set()
    for source_id, norm in moved:
        own = concept_id_of(source_id, norm)
        chosen.add(own if by_document or own in joined_here else concept_id_of(ontology, norm))
        if by_document and not by_label:
            set_.add(concept_id_of(source_id, ""), concept_id, joined=False)
    for mark in chosen:
        for former in graph.marked([mark]):
            if former.joined and former.concept_id != goal:
                dropped.add(mark, former.concept_id, joined=True)
        set_.add(mark, goal, joined=True)
        set_.add(mark, concept_id, joined=False)
    return set_.written(), dropped.written()


class _Marks:
    """Marks as facts encode them. Of two entries for one mark and concept, a joined one wins."""

    def __init__(self) -> None:
        self._joined: dict[tuple[str, str], bool] = {}

    def add(self, mark: str, concept_id: str, *, joined: bool) -> None:
        self._joined[mark, concept_id] = joined or self._joined.get((mark, concept_id), False)

    def written(self) -> tuple[str, ...]:
        return tuple(f"{'+' if joined else '-'}{mark}={of}" for (mark, of), joined in sorted(self._joined.items()))
