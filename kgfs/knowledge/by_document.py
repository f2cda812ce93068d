"""Group what a search found by document: its best Sources, their neighbours, and one page of all documents [CHUNKS 2]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from kgfs.errors import BadInputError
from kgfs.knowledge.document_location import standing_of
from kgfs.knowledge.ranking import ChunkRef
from kgfs.knowledge.search import CANDIDATES, CONCEPTS, Found, evidence_in, file_name, searched
from kgfs.render.merged import Piece
from kgfs.render.results import Also, DocumentResult, Pagination, ResultChunk, Results
from kgfs.render.search import telling
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.vocabulary import Concept, DocumentRow, SourceRow
from kgfs.stores.stores import Stores

LIMIT = 10
"""The number of documents on a page."""
MOST = 1000
"""The most documents on a page."""
CHUNKS_PER_DOCUMENT = 3
"""The number of matched Sources that are shown of a document; their neighbours come with them."""
ALSO = 3
"""The number of other documents that are named for one."""


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
    neighbours = graph.sources_at(_neighbours(groups))
    called, where, changed = searched(stores, found)
    results = []
    on_page = {group.document.doc_id for group in groups}
    for rank, group in enumerate(groups, (page - 1) * limit + 1):
        standing = standing_of(stores.catalog.names, group.document.doc_id)
        changed = max(changed, standing.changed_at)
        named = _concepts(graph, group)
        ontology = called.get(group.document.ontology, "")
        matched = {source.chunk_index: (source, score) for source, score in group.best}
        around = {index: row for (doc_id, index), row in neighbours.items() if doc_id == group.document.doc_id}
        chunks = sorted({*matched, *(index for index, row in around.items() if not row.gated)})
        results.append(
            DocumentResult(
                rank=rank,
                file=file_name(rank, standing.origin.path, ".md"),
                doc_id=group.document.doc_id,
                title=group.document.source_title,
                type=group.document.document_type,
                ontology=ontology,
                folder="" if found.ontology else f"{ontology}/",
                path=standing.origin.path,
                note=standing.origin.note,
                content_hash=group.document.content_hash,
                content_length=group.document.content_length,
                ingested_at=group.document.ingested_at,
                count=group.document.chunk_count,
                chunks=tuple(
                    _chunk(*matched[index], True) if index in matched else _chunk(around[index], 0.0, False)
                    for index in chunks
                ),
                concepts=tuple(concept.name for concept in named),
                also=_also(stores, named, on_page, "" if found.ontology else called, found.ontology),
            )
        )
    pagination = Pagination(page, limit, len(net), found.all_words, more)
    return Results(found.words, where, tuple(results), pagination, found.only_text, found.query.words), changed


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
    for start in range(0, len(net), 50):
        some = net[start : start + 50]
        places = [(doc_id, index) for doc_id, chunks in some for index, _ in chunks[: 2 * CHUNKS_PER_DOCUMENT]]
        rows = graph.sources_at(places)
        for doc_id, chunks in some:
            best = [(rows[doc_id, index], score) for index, score in chunks if (doc_id, index) in rows]
            yield from _shown(graph, doc_id, best)
    if found.all_words:
        return
    known = {doc_id for doc_id, _ in net}
    count = 2 * max(CANDIDATES, wanted)
    while True:
        texts = graph.find_text(
            telling(found.query.words), found.ontology, count, phrases=found.query.phrases, doc_ids=found.doc_ids
        )
        beyond: dict[str, list[tuple[SourceRow, float]]] = {}
        for row, _ in texts:
            if row.doc_id not in known:
                beyond.setdefault(row.doc_id, []).append((row, 0.0))
        for doc_id, best in beyond.items():
            # The last document of a part may have more Sources in the next one; the order of documents stays.
            known.add(doc_id)
            yield from _shown(graph, doc_id, best)
        if len(texts) < count:
            return
        count *= 2


def _shown(graph: Graph, doc_id: str, best: Sequence[tuple[SourceRow, float]]) -> Iterator[_Group]:
    """Yield the document if it is still in the graph, with those of its Sources that the gate let pass."""
    document = graph.document(doc_id)
    kept = [(row, score) for row, score in best if not row.gated][:CHUNKS_PER_DOCUMENT]
    if document is not None and kept:
        yield _Group(document, tuple(kept))


def _neighbours(groups: Iterable[_Group]) -> list[ChunkRef]:
    """Return the places next to all matched Sources, without these."""
    found: dict[ChunkRef, None] = {}
    for group in groups:
        doc_id, matched = group.document.doc_id, {source.chunk_index for source, _ in group.best}
        for index in sorted(matched):
            found.update({(doc_id, at): None for at in (index - 1, index + 1) if at >= 0 and at not in matched})
    return list(found)


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


def _concepts(graph: Graph, group: _Group) -> list[Concept]:
    """Return concepts that the matched Sources are evidence for, those of the best one first."""
    evidence = evidence_in(graph, group.document.doc_id)
    found: dict[str, Concept] = {}
    for source, _ in group.best:
        found.update(
            {one.concept_id: one for one in evidence.get(source.chunk_index, ()) if one.concept_id not in found}
        )
    return list(found.values())[:CONCEPTS]


def _also(
    stores: Stores, concepts: Sequence[Concept], without: set[str], called: dict[str, str] | str, ontology: str
) -> tuple[Also, ...]:
    """Return other documents that mention the most of these concepts."""
    if not concepts:
        return ()
    shared: Counter[str] = Counter()
    named: dict[str, list[str]] = {}
    mentioned = stores.graph.documents_of([concept.concept_id for concept in concepts])
    for concept in concepts:
        for doc_id in mentioned.get(concept.concept_id, ()):
            if doc_id not in without:
                shared[doc_id] += 1
                named.setdefault(doc_id, []).append(concept.label)
    found = []
    for doc_id, _ in sorted(shared.items(), key=lambda item: (-item[1], item[0]))[:ALSO]:
        document = stores.graph.document(doc_id)
        if document is None:
            continue
        folder = f"{called.get(document.ontology, '')}/" if isinstance(called, dict) else ""
        origin = standing_of(stores.catalog.names, doc_id).origin
        found.append(Also(doc_id, document.source_title, folder, origin.path, tuple(named[doc_id])))
    return tuple(found)
