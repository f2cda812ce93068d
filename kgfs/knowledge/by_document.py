"""Group what a search found by document: its best Sources, their neighbours, and one page of all documents [CHUNKS 2]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from kgfs.errors import BadInputError
from kgfs.knowledge.document_location import Folders, path_of, standing_of
from kgfs.knowledge.named_concepts import meant, named
from kgfs.knowledge.ranking import ChunkRef
from kgfs.knowledge.search import CANDIDATES, CONCEPTS, Found, Scope, best_by_words, file_name, scope_of
from kgfs.knowledge.terms import found_terms
from kgfs.render.merged import Piece
from kgfs.render.results import Also, DocumentResult, Pagination, ResultChunk, Results
from kgfs.stores.batched import batched
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.vocabulary import Concept, DocumentRow, SourceRow
from kgfs.stores.stores import Stores

LIMIT = 10
"""The number of documents on a page."""
MOST = 1000
"""The most documents on a page."""
CHUNKS_PER_DOCUMENT = 3
"""The number of matched Sources that are shown of a document; their neighbours come with them."""
DOCUMENTS_BATCH = 50
"""The most documents whose Sources are read together; a page reads its own only."""
ALSO = 3
"""The number of other documents that are named for one."""
COMMON = 100
"""A concept that more documents mention relates none of them."""


@dataclass(frozen=True, slots=True)
class _Group:
    document: DocumentRow
    best: tuple[tuple[SourceRow, float], ...]
    """The best Sources, best first."""


def documents(stores: Stores, found: Found, page: int = 1, limit: int = LIMIT) -> tuple[Results, int]:
    """Return a page of the documents found, and the time when it last changed (nanoseconds).

    Documents come in the order of their best Sources. Those that the search's candidates hold come first; then, where
    there are more with one of the words, those in order of BM25, so that a page changes no other page. Paths are the
    present ones. Raises BadInputError for a page or limit that is out of range.
    """
    if page < 1 or not 1 <= limit <= MOST:
        raise BadInputError(f"Pages count from 1, and have 1 to {MOST:,} documents.")
    graph = stores.graph
    net = _grouped(found.order)
    end = page * limit
    groups = list(islice(_groups(graph, net, found, end + 1), (page - 1) * limit, end + 1))
    more, groups = len(groups) > limit, groups[:limit]
    neighbours = graph.sources_at([place for group in groups for place in _neighbours(group)])
    evidence = graph.concepts_at([place for group in groups for place in _matched(group)])
    scope = scope_of(stores, found)
    changed = scope.changed
    results = []
    evident_of = {group.document.doc_id: _concepts(evidence, group) for group in groups}
    folders_known: Folders = {}
    also = _also(stores, evident_of, scope, folders_known)
    for rank, group in enumerate(groups, (page - 1) * limit + 1):
        document = group.document
        standing = standing_of(stores.catalog.names, document.doc_id, folders_known)
        changed = max(changed, standing.changed_at)
        around = [neighbours[place] for place in _neighbours(group) if place in neighbours]
        chunks = [
            *(_chunk(source, score, True) for source, score in group.best),
            *(_chunk(source, 0.0, False) for source in around if not source.gated),
        ]
        results.append(
            DocumentResult(
                rank=rank,
                file=file_name(rank, standing.origin.path, ".md"),
                doc_id=document.doc_id,
                title=document.source_title,
                type=document.document_type,
                ontology=scope.names.get(document.ontology, ""),
                folder=scope.folder(document.ontology),
                path=standing.origin.path,
                note=standing.origin.note,
                content_hash=document.content_hash,
                content_length=document.content_length,
                ingested_at=document.ingested_at,
                count=document.chunk_count,
                chunks=tuple(sorted(chunks, key=lambda chunk: chunk.piece.index)),
                concepts=tuple(concept.name for concept in evident_of[document.doc_id]),
                also=also[document.doc_id],
            )
        )
    pagination = Pagination(page, limit, len(net), found.all_words, more)
    folders = [(each, scope.folder(each)) for each in scope.names]
    page_of = Results(
        words=found.words,
        within=found.outer,
        ontology=scope.only,
        documents=tuple(results),
        pagination=pagination,
        only_text=found.only_text,
        wanted=found.query.words,
        by_table=found.by_table,
        named=named(graph, folders, found.query.words),
        meant=meant(graph, folders, found.query.words),
        terms=tuple(found_terms(stores.graph, found.query.words, found.ontology)),
    )
    return page_of, changed


def _grouped(order: Iterable[tuple[ChunkRef, float]]) -> list[tuple[str, list[tuple[int, float]]]]:
    """Return (doc_id, its Sources with their scores), best first."""
    found: dict[str, list[tuple[int, float]]] = {}
    for (doc_id, index), score in order:
        found.setdefault(doc_id, []).append((index, score))
    return list(found.items())


def _groups(
    graph: Graph, net: Sequence[tuple[str, list[tuple[int, float]]]], found: Found, wanted: int
) -> Iterator[_Group]:
    """Yield documents that can be shown: first those of the net, then those with one of the words."""
    for some in batched(net, min(wanted, DOCUMENTS_BATCH)):
        places = [(doc_id, index) for doc_id, chunks in some for index, _ in chunks[: 2 * CHUNKS_PER_DOCUMENT]]
        rows = graph.sources_at(places)
        for doc_id, chunks in some:
            best = [(rows[doc_id, index], score) for index, score in chunks if (doc_id, index) in rows]
            if group := _group(graph, doc_id, best):
                yield group
    if found.all_words:
        return
    known = {doc_id for doc_id, _ in net}
    count = 2 * max(CANDIDATES, wanted)
    while True:
        texts = best_by_words(graph, found, count)
        rows = graph.sources_at([place for place in texts if place[0] not in known])
        beyond: dict[str, list[tuple[SourceRow, float]]] = {}
        for place in texts:
            if place in rows:
                beyond.setdefault(place[0], []).append((rows[place], 0.0))
        for doc_id, best in beyond.items():
            # The last document of a part may have more Sources in the next one; the order of documents stays.
            known.add(doc_id)
            if group := _group(graph, doc_id, best):
                yield group
        if len(texts) < count:
            return
        count *= 2


def _group(graph: Graph, doc_id: str, best: Sequence[tuple[SourceRow, float]]) -> _Group | None:
    """Return the document with those of its Sources that the gate let pass; None if nothing of it can be shown."""
    document = graph.document(doc_id)
    kept = tuple((row, score) for row, score in best if not row.gated)[:CHUNKS_PER_DOCUMENT]
    return _Group(document, kept) if document is not None and kept else None


def _matched(group: _Group) -> list[ChunkRef]:
    return [(group.document.doc_id, source.chunk_index) for source, _ in group.best]


def _neighbours(group: _Group) -> list[ChunkRef]:
    """Return the places next to the matched Sources, each once, without these."""
    matched = {source.chunk_index for source, _ in group.best}
    beside = {at for index in matched for at in (index - 1, index + 1)} - matched
    return [(group.document.doc_id, at) for at in sorted(beside) if at >= 0]


def _chunk(row: SourceRow, score: float, matched: bool) -> ResultChunk:
    return ResultChunk(
        piece=Piece(row.chunk_index, row.full_text, score, matched),
        chunk_id=row.chunk_id,
        char_start=row.char_start,
        char_end=row.char_end,
        line_start=row.line_start,
        line_end=row.line_end,
        page=row.page_number,
        section_path=row.section_path,
    )


def _concepts(evidence: Mapping[ChunkRef, Sequence[Concept]], group: _Group) -> list[Concept]:
    """Return concepts that the matched Sources are evidence for, those of the best one first."""
    found = {one.concept_id: one for place in _matched(group) for one in evidence.get(place, ())}
    return list(found.values())[:CONCEPTS]


def _also(
    stores: Stores, of: Mapping[str, Sequence[Concept]], scope: Scope, folders: Folders
) -> dict[str, tuple[Also, ...]]:
    """Return for each document of a page, with its concepts, other documents that mention the most of these."""
    every = {concept.concept_id for concepts in of.values() for concept in concepts}
    mentioned = stores.graph.documents_of(every, COMMON) if every else {}
    chosen: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for doc_id, concepts in of.items():
        labels: dict[str, list[str]] = {}
        for concept in concepts:
            for other in mentioned[concept.concept_id]:
                if other not in of:
                    labels.setdefault(other, []).append(concept.label)
        most = sorted(labels, key=lambda other: (-len(labels[other]), other))[:ALSO]
        chosen[doc_id] = [(other, tuple(labels[other])) for other in most]
    rows = stores.graph.documents_among([*{other for some in chosen.values() for other, _ in some}])
    paths = {other: path_of(stores.catalog.names, other, folders) for other in rows}
    return {
        doc_id: tuple(
            Also(other, rows[other].source_title, scope.folder(rows[other].ontology), paths[other], shared)
            for other, shared in some
            if other in rows
        )
        for doc_id, some in chosen.items()
    }
