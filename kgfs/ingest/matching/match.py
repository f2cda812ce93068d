"""Match: which concept of the graph each concept of a Reading is, or that it is new; and the numbers of its evidence.

Where a person has said what a label is (``kgfs concept``) that holds. Else a new mention joins by normalised label, then by alias, then by likeness of label embeddings (cosine at least
``match_threshold``) among what the strategy offers. Labels whose digits differ never join by likeness: to an embedding
"Python 2" and "Python 3" are nearly the same, to a reader they are not. What is decided is written down as Decisions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from kgfs.config import Pipeline
from kgfs.domain import RELATIONSHIP_TYPES, FoundConcept, concept_id_of, normalise_label, relationship_id_of, safe_stem
from kgfs.ingest.matching.strategy import offer
from kgfs.ingest.reading.embeddings import Embeddings
from kgfs.stores.graph.contract import EVERYTHING, Concept, Graph, Mark, Scope
from kgfs.stores.readings import Decisions, MatchedConcept, MatchedRelationship, Reading
from kgfs.stores.vectors.contract import Filter, Vectors


def match(
    graph: Graph,
    vectors: Vectors | None,
    ontology: str,
    reading: Reading,
    embeddings: Embeddings | None,
    settings: Pipeline,
    scope: Scope = EVERYTHING,
    source_id: str = "",
) -> Decisions:
    """Deterministic for a given graph. The caller sees to it that no other publication comes between this and its own.

    Only mentions in ``scope`` make a concept known; one that they do not is new as far as matching goes, though the
    graph may have it: then it is that one, under its name, and its evidence is numbered on. With its ``source_id``
    (``kin.first_source``) also what was said of this document's mentions alone is known.
    """
    graph.refresh()
    epoch = graph.epoch()
    norms = {norm for concept in reading.concepts for norm in _norms(concept)}
    direct = graph.match(ontology, sorted(norms), scope)
    likeness = _Likeness(graph, vectors, ontology, reading, embeddings, settings, scope)
    numbers = Numbers(graph, reading.doc_id)
    words = _Words(graph, ontology, source_id, reading)
    names_given: dict[str, str] = {}
    matched: list[MatchedConcept] = []
    for index, found in enumerate(reading.concepts):
        word, apart = words.joined(found.norm), words.apart(found.norm)
        said = graph.concept(word.concept_id) if word else None
        if word is not None:
            concept, how, similarity = said, "decided" if said else "new", 1.0 if said else 0.0
        else:
            concept, how, similarity = (
                _known(graph, direct, found, apart) or likeness.find(index, apart) or (None, "new", 0.0)
            )
        if concept is not None:
            concept_id, norm, name = concept.concept_id, concept.norm, concept.name
        else:
            concept_id, norm = word.concept_id if word else concept_id_of(ontology, found.norm), found.norm
            if word is None and concept_id in apart:
                concept_id = concept_id_of(source_id, found.norm)
            held = graph.concept(concept_id)
            former = held.name if held else word.name if word else ""
            name = former or names_given.get(concept_id) or name_for(graph, ontology, concept_id, found, names_given)
            names_given[concept_id] = name
        matched.append(
            MatchedConcept(
                norm=found.norm,
                concept_id=concept_id,
                founded_norm=norm,
                name=name,
                how=how,
                similarity=round(similarity, 4),
                numbers=tuple(numbers.give(concept_id, quote.start, quote.end) for quote in found.quotes),
            )
        )
    return Decisions(
        doc_id=reading.doc_id,
        reading=reading.id,
        concepts=tuple(matched),
        relationships=relationships_of(reading, matched, numbers),
        epoch=epoch,
    )


def _norms(found: FoundConcept) -> list[str]:
    """Its label first, then its other forms."""
    return list(dict.fromkeys([found.norm, *(normalise_label(form) for form in found.forms)]))


def _known(
    graph: Graph, direct: dict[str, str], found: FoundConcept, apart: frozenset[str]
) -> tuple[Concept, str, float] | None:
    for norm in _norms(found):
        concept = graph.concept(direct[norm]) if norm in direct and direct[norm] not in apart else None
        if concept is not None:
            return concept, "exact" if concept.norm == found.norm else "alias", 1.0
    return None


def name_for(graph: Graph, ontology: str, concept_id: str, found: FoundConcept, given: Mapping[str, str]) -> str:
    """A directory name nobody else has or ever had; the later of two that want one gets a suffix."""
    stem = safe_stem(found.label)
    if graph.name_taken(ontology, stem) in (None, concept_id) and stem not in given.values():
        return stem
    return f"{stem}~{concept_id[:8]}"


def relationships_of(
    reading: Reading, matched: Sequence[MatchedConcept], numbers: Numbers
) -> tuple[MatchedRelationship, ...]:
    """Those of a Reading between the concepts that its own were matched to."""
    ids = {concept.norm: concept.concept_id for concept in matched}
    found: list[MatchedRelationship] = []
    for index, relationship in enumerate(reading.relationships):
        subject, object_ = ids.get(relationship.subject), ids.get(relationship.object)
        if subject is None or object_ is None or subject == object_:
            continue  # one is not said any more, or two labels of this document turned out to be one concept
        if RELATIONSHIP_TYPES[relationship.type] == relationship.type and object_ < subject:
            subject, object_ = object_, subject  # the same said from either end is one relationship
        relationship_id = relationship_id_of(subject, relationship.type, object_)
        number = numbers.give(relationship_id, relationship.quote.start, relationship.quote.end)
        found.append(MatchedRelationship(index, relationship_id, subject, object_, number))
    return tuple(found)


class Numbers:
    """Numbers of evidence folders: a span that is evidence already keeps its number, a new one gets one never used.
    ``following`` is shared by documents that are decided about together."""

    def __init__(self, graph: Graph, doc_id: str, following: dict[str, int] | None = None) -> None:
        self._graph = graph
        self._next = {} if following is None else following
        self._given = {(row.owner, row.char_start, row.char_end): row.n for row in graph.instances_of(doc_id)}

    def give(self, owner: str, start: int, end: int) -> int:
        key = (owner, start, end)
        if key not in self._given:
            number = self._next.get(owner) or self._graph.next_n(owner)
            self._next[owner] = number + 1
            self._given[key] = number
        return self._given[key]


class _Words:
    """What persons said of the labels of a Reading."""

    def __init__(self, graph: Graph, ontology: str, source_id: str, reading: Reading) -> None:
        self._ontology = ontology
        self._source_id = source_id
        norms = [found.norm for found in reading.concepts]
        marks = [concept_id_of(ontology, norm) for norm in norms]
        if source_id:
            marks += [concept_id_of(source_id, norm) for norm in ("", *norms)]
        self._said: dict[str, list[Mark]] = {}
        for mark in graph.marked(marks):
            self._said.setdefault(mark.mark, []).append(mark)

    def joined(self, norm: str) -> Mark | None:
        """The concept that mentions under this label are: what was said of this document's alone comes first."""
        here = self._under(self._source_id, norm)
        apart = {mark.concept_id for mark in (*here, *self._under(self._source_id, "")) if not mark.joined}
        for mark in (*here, *self._under(self._ontology, norm)):
            if mark.joined and (mark in here or mark.concept_id not in apart):
                return mark
        return None

    def apart(self, norm: str) -> frozenset[str]:
        """The concepts that they never are."""
        scopes = ((self._source_id, norm), (self._source_id, ""), (self._ontology, norm))
        return frozenset(m.concept_id for scope in scopes for m in self._under(*scope) if not m.joined)

    def _under(self, scope: str, norm: str) -> list[Mark]:
        return self._said.get(concept_id_of(scope, norm), []) if scope else []


class _Likeness:
    """Cosine between the labels of a Reading and the concepts that the strategy offers."""

    def __init__(
        self,
        graph: Graph,
        vectors: Vectors | None,
        ontology: str,
        reading: Reading,
        embeddings: Embeddings | None,
        settings: Pipeline,
        scope: Scope,
    ) -> None:
        self._reading = reading
        self._threshold = settings.match_threshold
        self._offered: list[Concept] = []
        if vectors is None or embeddings is None or not reading.concepts:
            return
        offered = offer(graph, ontology, reading.strategy, settings.known_concepts, reading.doc_id, scope)
        by_id = {concept.concept_id: concept for concept in offered}
        rows = vectors.fetch(Filter(kind="concept", ontology=ontology, items=frozenset(by_id))) if by_id else []
        if rows:
            self._offered = [by_id[row.item] for row in rows]
            self._cosines = embeddings.concepts @ np.stack([row.vector for row in rows]).T

    def find(self, index: int, apart: frozenset[str]) -> tuple[Concept, str, float] | None:
        if not self._offered:
            return None
        label = self._reading.concepts[index].label
        for at in np.argsort(-self._cosines[index], kind="stable"):
            similarity = float(self._cosines[index, at])
            if similarity < self._threshold:
                return None
            if self._offered[at].concept_id not in apart and _digits(self._offered[at].norm) == _digits(label):
                return self._offered[at], "embedding", similarity
        return None


def _digits(label: str) -> list[str]:
    return re.findall(r"\d+", label)
