"""Match: which concept of the graph each concept of a Reading is, or that it is new; and the numbers of its evidence.

A new mention joins by normalised label, then by alias, then by likeness of label embeddings (cosine at least
``match_threshold``) among what the strategy offers. Labels whose digits differ never join by likeness: to an embedding
"Python 2" and "Python 3" are nearly the same, to a reader they are not. What is decided is written down as Decisions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from kgfs.config import Pipeline
from kgfs.domain import RELATIONSHIP_TYPES, FoundConcept, concept_id_of, normalise_label, relationship_id_of, safe_stem
from kgfs.ingest.embeddings import Embeddings
from kgfs.ingest.reading import Decisions, MatchedConcept, MatchedRelationship, Reading
from kgfs.ingest.strategy import offer
from kgfs.stores.graph.contract import EVERYTHING, Concept, Graph, Scope
from kgfs.stores.vectors.contract import Filter, Vectors


def match(
    graph: Graph,
    vectors: Vectors | None,
    ontology: str,
    reading: Reading,
    embeddings: Embeddings | None,
    settings: Pipeline,
    scope: Scope = EVERYTHING,
) -> Decisions:
    """Deterministic for a given graph. The caller sees to it that no other publication comes between this and its own.

    Only mentions in ``scope`` make a concept known; one that they do not is new as far as matching goes, though the
    graph may have it: then it is that one, under its name, and its evidence is numbered on.
    """
    epoch = graph.epoch()
    norms = {norm for concept in reading.concepts for norm in _norms(concept)}
    direct = graph.match(ontology, sorted(norms), scope)
    likeness = _Likeness(graph, vectors, ontology, reading, embeddings, settings, scope)
    numbers = _Numbers(graph, reading.doc_id)
    names_given: dict[str, str] = {}
    matched: list[MatchedConcept] = []
    for index, found in enumerate(reading.concepts):
        concept, how, similarity = _known(graph, direct, found) or likeness.find(index) or (None, "new", 0.0)
        if concept is not None:
            concept_id, norm, name = concept.concept_id, concept.norm, concept.name
        else:
            concept_id, norm = concept_id_of(ontology, found.norm), found.norm
            held = graph.concept(concept_id)
            name = (
                held.name
                if held
                else names_given.get(concept_id) or _name(graph, ontology, concept_id, found, names_given)
            )
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
        relationships=_relationships(reading, matched, numbers),
        epoch=epoch,
    )


def _norms(found: FoundConcept) -> list[str]:
    """Its label first, then its other forms."""
    return list(dict.fromkeys([found.norm, *(normalise_label(form) for form in found.forms)]))


def _known(graph: Graph, direct: dict[str, str], found: FoundConcept) -> tuple[Concept, str, float] | None:
    for norm in _norms(found):
        concept = graph.concept(direct[norm]) if norm in direct else None
        if concept is not None:
            return concept, "exact" if concept.norm == found.norm else "alias", 1.0
    return None


def _name(graph: Graph, ontology: str, concept_id: str, found: FoundConcept, given: dict[str, str]) -> str:
    """A directory name nobody else has or ever had; the later of two that want one gets a suffix."""
    stem = safe_stem(found.label)
    if graph.name_taken(ontology, stem) in (None, concept_id) and stem not in given.values():
        return stem
    return f"{stem}~{concept_id[:8]}"


def _relationships(
    reading: Reading, matched: Sequence[MatchedConcept], numbers: _Numbers
) -> tuple[MatchedRelationship, ...]:
    ids = {concept.norm: concept.concept_id for concept in matched}
    found: list[MatchedRelationship] = []
    for index, relationship in enumerate(reading.relationships):
        subject, object_ = ids[relationship.subject], ids[relationship.object]
        if subject == object_:
            continue  # two labels of this document turned out to be one concept
        if RELATIONSHIP_TYPES[relationship.type] == relationship.type and object_ < subject:
            subject, object_ = object_, subject  # the same said from either end is one relationship
        relationship_id = relationship_id_of(subject, relationship.type, object_)
        number = numbers.give(relationship_id, relationship.quote.start, relationship.quote.end)
        found.append(MatchedRelationship(index, relationship_id, subject, object_, number))
    return tuple(found)


class _Numbers:
    """Numbers of evidence folders: a span that is evidence already keeps its number, a new one gets one never used."""

    def __init__(self, graph: Graph, doc_id: str) -> None:
        self._graph = graph
        self._next: dict[str, int] = {}
        self._given = {(row.owner, row.char_start, row.char_end): row.n for row in graph.instances_of(doc_id)}

    def give(self, owner: str, start: int, end: int) -> int:
        key = (owner, start, end)
        if key not in self._given:
            number = self._next.get(owner) or self._graph.next_n(owner)
            self._next[owner] = number + 1
            self._given[key] = number
        return self._given[key]


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

    def find(self, index: int) -> tuple[Concept, str, float] | None:
        if not self._offered:
            return None
        label = self._reading.concepts[index].label
        for at in np.argsort(-self._cosines[index], kind="stable"):
            similarity = float(self._cosines[index, at])
            if similarity < self._threshold:
                return None
            if _digits(self._offered[at].norm) == _digits(label):
                return self._offered[at], "embedding", similarity
        return None


def _digits(label: str) -> list[str]:
    return re.findall(r"\d+", label)
