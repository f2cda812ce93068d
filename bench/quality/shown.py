"""What a home shows of its documents: concepts with their first evidence, relationships with their sentences, terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgfs.domain.identity import normalise_label
from kgfs.ingest.reading.joining import folded
from kgfs.render.words import below
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import Concept, DocumentRow
from kgfs.stores.readings import load_reading, text_of
from kgfs.stores.stores import Stores

PAGE = 1000
PART = 1 << 20


@dataclass(frozen=True, slots=True)
class ShownDocument:
    doc_id: str
    file: str
    """The last part of its file's name."""
    title: str
    words: int
    headings: tuple[str, ...]
    candidates: frozenset[str]
    """The folded labels and forms of all that its Reading found, concepts and terms."""


@dataclass(frozen=True, slots=True)
class ShownConcept:
    concept: Concept
    first: str
    """The quote of the strongest piece of evidence, which its page lists first; '' if it has none."""
    title: str
    """The title of the document of that evidence, and the headings above it."""
    documents: tuple[str, ...]
    is_related: bool
    """Whether it has a relationship that is not by name alone."""


@dataclass(frozen=True, slots=True)
class ShownRelationship:
    subject: str
    type: str
    object: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    documents: tuple[ShownDocument, ...]
    concepts: tuple[ShownConcept, ...]
    relationships: tuple[ShownRelationship, ...]
    terms: tuple[tuple[str, str], ...] = ()
    """Label of each term, and the title of the document of its first place."""


def shown_by(stores: Stores) -> Shown:
    """Return all that a home shows, in an order that depends only on its contents."""
    graph = stores.graph
    rows = [row for ontology in stores.catalog.names.ontologies() for row in _documents(graph, ontology.id)]
    titles = {row.doc_id: row.source_title for row in rows}
    concepts = [one for ontology in stores.catalog.names.ontologies() for one in _concepts(graph, ontology.id)]
    holding = graph.documents_of([one.concept_id for one in concepts])
    return Shown(
        tuple(_document(stores, row) for row in sorted(rows, key=lambda row: (row.original_filename, row.doc_id))),
        tuple(_concept(graph, one, titles, holding) for one in concepts),
        tuple(reported for one in concepts for reported in _relationships(graph, one)),
        tuple(term for ontology in stores.catalog.names.ontologies() for term in _terms(graph, ontology.id, titles)),
    )


def _terms(graph: Graph, ontology: str, titles: dict[str, str]) -> Iterator[tuple[str, str]]:
    for (first, last), _ in graph.terms.parts(ontology, PART):
        for line in graph.terms.lines(ontology, first, last).decode().splitlines():
            label, _, doc_id, *_ = line.split("\t")
            yield label, titles.get(doc_id, "")


def _documents(graph: Graph, ontology: str) -> Iterator[DocumentRow]:
    page = graph.documents(ontology, limit=PAGE)
    while page:
        yield from page
        page = graph.documents(ontology, after=page[-1].doc_id, limit=PAGE)


def _concepts(graph: Graph, ontology: str) -> Iterator[Concept]:
    page = graph.concepts(ontology, limit=PAGE)
    while page:
        yield from page
        page = graph.concepts(ontology, after=page[-1].name, limit=PAGE)


def _document(stores: Stores, row: DocumentRow) -> ShownDocument:
    reading = load_reading(stores.garage.objects, row.doc_id, row.reading)
    document = stores.catalog.names.document(row.doc_id)
    text = text_of(stores.garage.objects, document, reading) if document is not None else ""
    forms = {form for found in reading.concepts for form in (found.label, *found.forms)}
    return ShownDocument(
        doc_id=row.doc_id,
        file=row.original_filename.rpartition("/")[2],
        title=row.source_title,
        words=len(text.split()),
        headings=tuple(path[-1] for _, path in reading.sections),
        candidates=frozenset(map(folded, forms)),
    )


def _concept(graph: Graph, one: Concept, titles: dict[str, str], holding: dict[str, list[str]]) -> ShownConcept:
    first = graph.strongest(one.concept_id)
    return ShownConcept(
        concept=one,
        first=first.quote if first else "",
        title=f"{titles.get(first.doc_id, '')}{below(titles.get(first.doc_id, ''), first.section_path)}"
        if first
        else "",
        documents=tuple(holding.get(one.concept_id, ())),
        is_related=any(graph.strongest(row.relationship_id) for row in graph.related(one.concept_id, limit=1000)),
    )


def _relationships(graph: Graph, one: Concept) -> Iterator[ShownRelationship]:
    """Yield the relationships of which a concept is the subject."""
    for related in graph.related(one.concept_id, limit=100_000):
        if not related.incoming:
            sentences = (row.quote for row in graph.instances(related.relationship_id, limit=3))
            yield ShownRelationship(one.label, related.type, related.label, tuple(sentences))


def forms_of(one: ShownConcept) -> set[str]:
    """Return the folded label and aliases of a concept."""
    return {folded(form) for form in (one.concept.label, *one.concept.aliases) if normalise_label(form)}
