"""Match: decide which concept of the graph each concept of a Reading is, or that it is new, and number its evidence.

A person's decision about a label (``kgfs concept``) comes first. Otherwise a new mention joins by normalised label,
then by alias, then by similarity of label embeddings (cosine of at least ``match_threshold``) among the concepts that
the strategy offers. Labels whose digits differ never join by similarity: to an embedding "Python 2" and "Python 3"
are nearly the same, to a reader they are not. The result is stored as Decisions. Candidates of the Reading that they
do not name are terms: they are no concepts, since they are too weak or too many documents have them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgfs.domain.forms import form_key
from kgfs.domain.identity import concept_id_of, normalise_label, relationship_id_of
from kgfs.domain.knowledge import RELATIONSHIP_TYPES, FoundConcept
from kgfs.domain.names import safe_stem
from kgfs.ingest.matching.candidates import NOTHING_KEPT, headings_of, offer, selected
from kgfs.ingest.matching.forms import Forms
from kgfs.ingest.reading.embeddings import Embeddings
from kgfs.ingest.reading.joining import is_code, variants
from kgfs.models.extractor.quotes import TELLING
from kgfs.settings import Pipeline
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.terms import HEADINGS
from kgfs.stores.graph.vocabulary import EVERYTHING, Concept, Mark, Scope
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
    leaving: Sequence[str] = (),
    kept: Mapping[str, bool] = NOTHING_KEPT,
) -> Decisions:
    """Return the Decisions about a Reading. Deterministic for a given graph.

    The caller makes sure that no other publication comes between this match and its own publication. Each store is
    queried for all concepts at once, so the number of queries does not grow with the number of concepts.

    Only mentions in ``scope`` make a concept known. A concept without such mentions is new to matching, even if the
    graph has it: then the id, the name and the numbering of evidence of the existing concept go on. With a
    ``source_id`` (``kin.first_source``), marks on this document's mentions alone count too. ``leaving`` and ``kept`` are as
    in :func:`~.selecting.selected`.
    """
    epoch = graph.epoch()
    whole, reading, embeddings = reading, *selected(graph, ontology, reading, embeddings, leaving, kept)
    norms = {norm for concept in reading.concepts for norm in _norms(concept)}
    direct = graph.match(ontology, sorted(norms), scope)
    likeness = _Likeness(graph, vectors, ontology, reading, embeddings, settings, scope)
    words = _Words(graph, ontology, source_id, reading)
    forms = Forms(graph, ontology, reading, scope)
    spoken_of = words.concepts()
    scopes = (ontology, source_id) if spoken_of else (ontology,)
    founded = {concept_id_of(scope_, found.norm) for found in reading.concepts for scope_ in scopes}
    living = graph.concepts_by_id({*direct.values(), *spoken_of, *founded, *forms.ids()})
    known = _Known(ontology, source_id, living, direct, words, likeness, forms)
    terms = known_terms(graph, ontology, whole, {one.norm for one in reading.concepts}, scope, source_id)
    decided = [known.decide(index, found) for index, found in enumerate(reading.concepts)]
    names = _names(graph, ontology, reading, decided)
    ids = {found.norm: one.concept_id for found, one in zip(reading.concepts, decided, strict=True)}
    joined = joined_of(reading, ids)
    owners = [*ids.values(), *(one.relationship_id for one in joined), *(concept.concept_id for _, concept in terms)]
    numbers = Numbers(graph, reading.doc_id, owners)
    matched = [
        MatchedConcept(
            norm=found.norm,
            concept_id=one.concept_id,
            founded_norm=one.norm,
            name=name,
            how=one.how,
            similarity=round(one.similarity, 4),
            numbers=tuple(numbers.give(one.concept_id, quote.start, quote.end) for quote in found.quotes),
        )
        for found, one, name in zip(reading.concepts, decided, names, strict=True)
    ]
    return Decisions(
        doc_id=reading.doc_id,
        reading=whole.id,
        concepts=(*matched, *(as_term(found, concept, numbers) for found, concept in terms)),
        relationships=numbered(reading, joined, numbers),
        epoch=epoch,
    )


@dataclass(frozen=True, slots=True)
class _Decided:
    concept_id: str
    norm: str
    name: str
    """The directory name; '' where the concept has none yet."""
    how: str
    similarity: float


@dataclass(frozen=True, slots=True)
class _Known:
    """Concepts of the graph that a Reading's concepts may be."""

    ontology: str
    source_id: str
    living: Mapping[str, Concept]
    direct: Mapping[str, str]
    """Normalised label or alias → concept id."""
    words: _Words
    likeness: _Likeness | None
    forms: Forms

    def decide(self, index: int, found: FoundConcept) -> _Decided:
        """Return the decision for one concept.

        A person's mark decides first, then the same words, then similarity; otherwise the concept is new.
        """
        word, apart = self.words.joined(found.norm), self.words.apart(found.norm)
        same = self.by_words(found) or (self.likeness.find(index, apart) if self.likeness and not word else None)
        if same is not None:
            concept, how, similarity = same
            return _Decided(concept.concept_id, concept.norm, concept.name, how, similarity)
        concept_id = word.concept_id if word else concept_id_of(self.ontology, found.norm)
        if word is None and concept_id in apart:
            concept_id = concept_id_of(self.source_id, found.norm)
        held = self.living.get(concept_id)
        former = held.name if held else word.name if word else ""
        return _Decided(concept_id, found.norm, former, "new", 0.0)

    def by_words(self, found: FoundConcept) -> tuple[Concept, str, float] | None:
        """Return the concept that a person's mark or the same words mean, how it was found, and 1; None if there is none."""
        word, apart = self.words.joined(found.norm), self.words.apart(found.norm)
        if word is None:
            return self._by_words(found, apart)
        known = self.living.get(word.concept_id)
        return (known, "decided", 1.0) if known else None

    def _by_words(self, found: FoundConcept, apart: frozenset[str]) -> tuple[Concept, str, float] | None:
        own = {found.norm, *map(normalise_label, found.forms)}
        for norm in _norms(found):
            concept_id = self.direct.get(norm, "")
            concept = self.living.get(concept_id) if concept_id not in apart else None
            if concept is not None and concept.norm == found.norm:
                return concept, "exact", 1.0
            if concept is None or (norm not in own and is_code(concept.label)):
                continue
            if not self.forms.rests_on_others(found, concept):
                return concept, "alias", 1.0
        for concept_id in self.forms.of(found):
            concept = self.living.get(concept_id) if concept_id not in apart else None
            if concept is not None and self.forms.same(found, concept):
                return concept, "alias", 1.0
        return None


def known_terms(
    graph: Graph,
    ontology: str,
    reading: Reading,
    decided: Collection[str],
    scope: Scope = EVERYTHING,
    source_id: str = "",
) -> list[tuple[FoundConcept, Concept]]:
    """Return the terms of a Reading that are living concepts by their words and of which a sentence says something.

    Headings that are structure are left out.

    ``decided`` are the normalised labels of the Reading's candidates that are concepts by themselves.
    """
    left = tuple(
        found for found in reading.concepts if found.norm not in decided and found.odds is not None and _says(found)
    )
    headed = {form_key(found.label) for found in left} & headings_of(reading)
    if headed:
        counted = graph.terms.counted(ontology, headed, [reading.doc_id])
        structure = {key for key, (_, headings) in counted.items() if headings + 1 >= HEADINGS}
        left = tuple(found for found in left if form_key(found.label) not in structure)
    if not left:
        return []
    reading = replace(reading, concepts=left)
    direct = graph.match(ontology, sorted({norm for found in left for norm in _norms(found)}), scope)
    words, forms = _Words(graph, ontology, source_id, reading), Forms(graph, ontology, reading, scope)
    living = graph.concepts_by_id({*direct.values(), *words.concepts(), *forms.ids()})
    known = _Known(ontology, source_id, living, direct, words, None, forms)
    same = ((found, known.by_words(found)) for found in left)
    return [(found, concept[0]) for found, concept in same if concept is not None]


def as_term(found: FoundConcept, concept: Concept, numbers: Numbers) -> MatchedConcept:
    """Return the decision that a term of a document is a concept of others, with the numbers of its evidence."""
    return MatchedConcept(
        norm=found.norm,
        concept_id=concept.concept_id,
        founded_norm=concept.norm,
        name=concept.name,
        how="term",
        similarity=1.0,
        numbers=tuple(numbers.give(concept.concept_id, quote.start, quote.end) for quote in found.quotes),
        term=True,
    )


def _says(found: FoundConcept) -> bool:
    return any(quote.defines or quote.score >= TELLING for quote in found.quotes)


def _names(graph: Graph, ontology: str, reading: Reading, decided: Sequence[_Decided]) -> list[str]:
    """Return the directory names of the decided concepts, in order. A concept without a name is given one."""
    nameless = [found.label for found, one in zip(reading.concepts, decided, strict=True) if not one.name]
    taken = graph.names_taken(ontology, {safe_stem(label) for label in nameless}) if nameless else {}
    given: dict[str, str] = {}
    names = []
    for found, one in zip(reading.concepts, decided, strict=True):
        name = one.name or given.get(one.concept_id) or _free_name(found.label, one.concept_id, taken, given)
        if one.how == "new":
            given[one.concept_id] = name
        names.append(name)
    return names


def _norms(found: FoundConcept) -> list[str]:
    """Return the normalised label, the normalised other forms, and variants of the label, each once."""
    forms = (normalise_label(form) for form in found.forms)
    other = () if is_code(found.label) else variants(found.norm)
    return list(dict.fromkeys([found.norm, *forms, *other]))


def name_for(graph: Graph, ontology: str, concept_id: str, found: FoundConcept, given: Mapping[str, str]) -> str:
    """Return a directory name that no other concept has or ever had. If the plain name is taken, it gets a suffix."""
    return _free_name(found.label, concept_id, graph.names_taken(ontology, [safe_stem(found.label)]), given)


def _free_name(label: str, concept_id: str, taken: Mapping[str, str], given: Mapping[str, str]) -> str:
    stem = safe_stem(label)
    if taken.get(stem, concept_id) == concept_id and stem not in given.values():
        return stem
    return f"{stem}~{concept_id[:8]}"


@dataclass(frozen=True, slots=True)
class Joined:
    """A relationship of a Reading, between the concepts that its ends were matched to."""

    index: int
    relationship_id: str
    subject: str
    object: str


def joined_of(reading: Reading, ids: Mapping[str, str]) -> list[Joined]:
    """Return the relationships of a Reading between different matched concepts.

    ``ids`` maps the normalised label of each remaining concept of the Reading to its concept id.
    """
    found: list[Joined] = []
    for index, relationship in enumerate(reading.relationships):
        subject, object_ = ids.get(relationship.subject), ids.get(relationship.object)
        if subject is None or object_ is None or subject == object_:
            continue  # an end is not mentioned any more, or two labels of this document turned out to be one concept
        if RELATIONSHIP_TYPES[relationship.type] == relationship.type and object_ < subject:
            subject, object_ = object_, subject  # the same statement from either end is one relationship
        found.append(Joined(index, relationship_id_of(subject, relationship.type, object_), subject, object_))
    return found


def numbered(reading: Reading, joined: Sequence[Joined], numbers: Numbers) -> tuple[MatchedRelationship, ...]:
    """Return the relationships with the numbers of their evidence."""
    quotes = [reading.relationships[one.index].quote for one in joined]
    return tuple(
        MatchedRelationship(
            one.index,
            one.relationship_id,
            one.subject,
            one.object,
            numbers.give(one.relationship_id, quote.start, quote.end),
        )
        for one, quote in zip(joined, quotes, strict=True)
    )


class Numbers:
    """Assign numbers to evidence folders.

    A span that is evidence already keeps its number, a new one gets an unused number. ``owners`` are all concepts and
    relationships that get numbers. ``following`` is shared by documents that are decided together. ``former`` has numbers
    that spans had before, and get again.
    """

    def __init__(
        self,
        graph: Graph,
        doc_id: str,
        owners: Iterable[str],
        following: dict[str, int] | None = None,
        former: Mapping[tuple[str, int, int], int] | None = None,
    ) -> None:
        self._next = {} if following is None else following
        if fresh := {*owners} - self._next.keys():
            self._next.update(graph.next_numbers(fresh))
        self._given = dict(former or {})
        self._given |= {(row.owner, row.char_start, row.char_end): row.n for row in graph.instances_of(doc_id)}

    def give(self, owner: str, start: int, end: int) -> int:
        """Return the number of the span as evidence for ``owner``."""
        key = (owner, start, end)
        if key not in self._given:
            self._given[key] = self._next[owner]
            self._next[owner] += 1
        return self._given[key]


class _Words:
    """Marks that persons have set on the labels of a Reading."""

    def __init__(self, graph: Graph, ontology: str, source_id: str, reading: Reading) -> None:
        self._ontology = ontology
        self._source_id = source_id
        norms = [found.norm for found in reading.concepts]
        marks = [concept_id_of(ontology, norm) for norm in norms]
        if source_id:
            marks += [concept_id_of(source_id, norm) for norm in ("", *norms)]
        self._marks: dict[str, list[Mark]] = {}
        for mark in graph.marked(marks):
            self._marks.setdefault(mark.mark, []).append(mark)

    def concepts(self) -> set[str]:
        """Return the ids of all concepts that any of these marks names."""
        return {mark.concept_id for marks in self._marks.values() for mark in marks}

    def joined(self, norm: str) -> Mark | None:
        """Return the mark that joins mentions under this label to a concept, or None.

        A mark on this document's mentions alone comes before one on the ontology.
        """
        here = self._under(self._source_id, norm)
        apart = {mark.concept_id for mark in (*here, *self._under(self._source_id, "")) if not mark.joined}
        for mark in (*here, *self._under(self._ontology, norm)):
            if mark.joined and (mark in here or mark.concept_id not in apart):
                return mark
        return None

    def apart(self, norm: str) -> frozenset[str]:
        """Return the ids of the concepts that mentions under this label must never join."""
        scopes = ((self._source_id, norm), (self._source_id, ""), (self._ontology, norm))
        return frozenset(m.concept_id for scope in scopes for m in self._under(*scope) if not m.joined)

    def _under(self, scope: str, norm: str) -> list[Mark]:
        return self._marks.get(concept_id_of(scope, norm), []) if scope else []


class _Likeness:
    """Cosine similarity between the labels of a Reading and the concepts that the strategy offers."""

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
        offered = offer(graph, ontology, reading.strategy, settings.known_concepts, reading.content_hash, scope)
        by_id = {concept.concept_id: concept for concept in offered}
        rows = vectors.fetch(Filter(kind="concept", ontology=ontology, items=frozenset(by_id))) if by_id else []
        if rows:
            places = {concept.concept_id: place for place, concept in enumerate(offered)}
            # of two equally similar concepts, the one that is offered first wins
            rows.sort(key=lambda row: places[row.item])
            self._offered = [by_id[row.item] for row in rows]
            self._cosines = embeddings.concepts @ np.stack([row.vector for row in rows]).T

    def find(self, index: int, apart: frozenset[str]) -> tuple[Concept, str, float] | None:
        """Return the most similar offered concept, how it was found and its cosine; None if none is similar enough.

        Concepts in ``apart``, and labels with other digits, are left out.
        """
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
