"""Group what a search found by document: its best Sources, their neighbours, and one page of all documents [CHUNKS 2]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kgfs.domain.places import page_in
from kgfs.errors import BadInputError
from kgfs.knowledge.claims import path_in_claims
from kgfs.knowledge.claims_found import ScoredClaim
from kgfs.knowledge.document_location import Folders, path_of, standing_of
from kgfs.knowledge.entries import Entries
from kgfs.knowledge.files_named import files_named
from kgfs.knowledge.named_concepts import meant, named
from kgfs.knowledge.ranking import ChunkRef
from kgfs.knowledge.search import CANDIDATES, CONCEPTS, Found, Scope, best_by_words, file_name, scope_of
from kgfs.knowledge.terms import found_terms
from kgfs.knowledge.wholes import Whole, whole_of, wholes_of
from kgfs.render.merged import Piece
from kgfs.render.results import Also, DocumentResult, Pagination, ResultChunk, Results
from kgfs.render.search import densest, near_from, words_of
from kgfs.stores.batched import batched
from kgfs.stores.graph.vocabulary import Concept, SourceRow
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

Scored = tuple[ChunkRef, float]


@dataclass(frozen=True, slots=True)
class Shape:
    """How much is shown of each document."""

    chunks: int = CHUNKS_PER_DOCUMENT
    """The most matched Sources."""
    adjacent: bool = True
    """Whether their neighbours are shown, too."""


@dataclass(frozen=True, slots=True)
class _Group:
    whole: Whole
    best: tuple[tuple[SourceRow, float], ...]
    """The best Sources, best first."""


def documents(
    stores: Stores, found: Found, page: int = 1, limit: int = LIMIT, shape: Shape = Shape()
) -> tuple[Results, int]:
    """Return a page of the documents found, and the time when it last changed (nanoseconds).

    Documents come in the order of their best Sources. Those that the search's candidates hold come first; then, where
    there are more with one of the words, those in order of BM25, so that a page changes no other page. Paths are the
    present ones. The segments of a transcript are one document. Raises BadInputError for a page, a limit or a shape that is
    out of range.
    """
    if page < 1 or not 1 <= limit <= MOST or not 1 <= shape.chunks <= MOST:
        raise BadInputError(f"Pages count from 1, and have 1 to {MOST:,} documents, with 1 to {MOST:,} chunks each.")
    graph = stores.graph
    net = _grouped(stores, found.order)
    whole = wholes_of(stores, found.having)
    having = {whole.get(doc_id, doc_id) for doc_id in found.having}
    end = page * limit
    groups = list(islice(_groups(stores, net, found, end + 1, shape), (page - 1) * limit, end + 1))
    more, groups = len(groups) > limit, groups[:limit]
    beside = [_neighbours(group) if shape.adjacent else [] for group in groups]
    neighbours = graph.sources_at([place for places in beside for place in places])
    dates = graph.own_dates([group.whole.document.doc_id for group in groups])
    evidence = graph.concepts_at([place for group in groups for place in _matched(group)])
    scope = scope_of(stores, found)
    changed = scope.changed
    results = []
    evident_of = {group.whole.document.doc_id: _concepts(evidence, group) for group in groups}
    on_page = {one.doc_id for group in groups for one in group.whole.members}
    folders_known: Folders = {}
    also = _also(stores, evident_of, on_page, scope, folders_known)
    entries = Entries(graph, found.query.words)
    asked = words_of(found.query.words)
    for rank, (group, places) in enumerate(zip(groups, beside, strict=True), (page - 1) * limit + 1):
        document = group.whole.document
        standing = standing_of(stores.catalog.names, document.doc_id, folders_known)
        changed = max(changed, standing.changed_at)
        around = [neighbours[place] for place in places if place in neighbours]
        chunks = [
            *(_chunk(group.whole, source, score, True, entries, asked) for source, score in group.best),
            *(_chunk(group.whole, source, 0.0, False, entries, asked) for source in around if not source.gated),
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
                content_length=group.whole.content_length,
                ingested_at=document.ingested_at,
                date=dates.get(document.doc_id),
                count=group.whole.count,
                chunks=tuple(sorted(chunks, key=lambda chunk: chunk.piece.index)),
                concepts=tuple(concept.name for concept in evident_of[document.doc_id]),
                also=also[document.doc_id],
                has_rare=document.doc_id in having,
            )
        )
    in_net = [doc_id in having for doc_id, _ in net]
    is_known = found.all_words or sum(in_net) == len(having)
    near = near_from(found.rare, in_net, (page - 1) * limit, len(groups)) if is_known else None
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
        meant=meant(graph, folders, found.query.words, found.strange),
        near=near,
        files=files_named(stores.catalog.names, folders, found.query.words),
        terms=tuple(found_terms(stores.graph, found.query.words, found.ontology)),
        intent=found.intent.as_data() if found.intent else None,
        claims=tuple(_claim(stores, one) for one in found.claims),
    )
    return page_of, changed


def _claim(stores: Stores, found: ScoredClaim) -> dict[str, Any]:
    """Return a claim as results.json has it: with the parts of its score, and the place of its strongest evidence."""
    names, row, evidence = stores.catalog.names, found.claim.shown, found.evidence
    document = names.document(row.doc_id)
    ontology = names.ontology(document.ontology) if document else None
    return {
        "claim_id": row.claim_id,
        "claim": row.claim,
        "score": found.score,
        "parts": dict(found.parts),
        **{name: getattr(row, name) for name in ("role", "domain", "actor", "timeframe", "authority")},
        "ontology": ontology.name if ontology else "",
        "file": f"claims/{path_in_claims(row)}",
        "evidence": found.claim.evidence,
        "document": standing_of(names, evidence.doc_id).origin.path,
        "doc_id": evidence.doc_id,
        "chunk_id": evidence.chunk_id,
        "quote": evidence.quote,
        "line_start": evidence.line_start,
        "line_end": evidence.line_end,
    }


def _grouped(stores: Stores, order: Sequence[Scored]) -> list[tuple[str, list[Scored]]]:
    """Return (doc_id, its Sources with their scores), best first; those of segments by the doc_id of their transcript."""
    whole = wholes_of(stores, {place[0] for place, _ in order})
    found: dict[str, list[Scored]] = {}
    for place, score in order:
        found.setdefault(whole.get(place[0], place[0]), []).append((place, score))
    return list(found.items())


def _groups(
    stores: Stores, net: Sequence[tuple[str, list[Scored]]], found: Found, wanted: int, shape: Shape
) -> Iterator[_Group]:
    """Yield documents that can be shown: first those of the net, then those with one of the words."""
    graph = stores.graph
    for some in batched(net, min(wanted, DOCUMENTS_BATCH)):
        rows = graph.sources_at([place for _, chunks in some for place, _ in chunks[: 2 * shape.chunks]])
        for doc_id, chunks in some:
            best = [(rows[place], score) for place, score in chunks if place in rows]
            if group := _group(stores, doc_id, best, shape):
                yield group
    if found.all_words:
        return
    known = {doc_id for doc_id, _ in net}
    count = 2 * max(CANDIDATES, wanted)
    while True:
        texts = best_by_words(graph, found, count)
        fresh = [one for one in _grouped(stores, [(place, 0.0) for place in texts]) if one[0] not in known]
        rows = graph.sources_at([place for _, chunks in fresh for place, _ in chunks])
        for doc_id, chunks in fresh:
            # The last document of a part may have more Sources in the next one; the order of documents stays.
            known.add(doc_id)
            if group := _group(stores, doc_id, [(rows[place], 0.0) for place, _ in chunks if place in rows], shape):
                yield group
        if len(texts) < count:
            return
        count *= 2


def _group(stores: Stores, doc_id: str, best: Sequence[tuple[SourceRow, float]], shape: Shape) -> _Group | None:
    """Return the document with its best Sources; None if nothing of it can be shown."""
    whole = whole_of(stores, doc_id)
    members = {one.doc_id for one in whole.members} if whole else set()
    kept = tuple((row, score) for row, score in best if row.doc_id in members)[: shape.chunks]
    return _Group(whole, kept) if whole is not None and kept else None


def _matched(group: _Group) -> list[ChunkRef]:
    return [(source.doc_id, source.chunk_index) for source, _ in group.best]


def _neighbours(group: _Group) -> list[ChunkRef]:
    """Return the places next to the matched Sources, each once, without these."""
    matched = {group.whole.number(place) for place in _matched(group)}
    beside = {at for number in matched for at in (number - 1, number + 1)} - matched
    places = (group.whole.place(at) for at in sorted(beside) if at >= 0)
    return [place for place in places if place is not None]


def _chunk(
    whole: Whole, row: SourceRow, score: float, matched: bool, entries: Entries, asked: frozenset[str]
) -> ResultChunk:
    number = whole.number((row.doc_id, row.chunk_index))
    place = row.locator(row.char_start + (densest(row.full_text, asked) if matched else 0))
    return ResultChunk(
        piece=Piece(number, row.full_text, score, matched, begins=row.chunk_index == 0 < number),
        chunk_id=row.chunk_id,
        char_start=row.char_start,
        char_end=row.char_end,
        line_start=row.line_start,
        line_end=row.line_end,
        page=page_in(place),
        section_path=row.section_path,
        doc_id=row.doc_id,
        entry=entries.of(whole.document.document_type, row) if matched else None,
        locator=place,
    )


def _concepts(evidence: Mapping[ChunkRef, Sequence[Concept]], group: _Group) -> list[Concept]:
    """Return concepts that the matched Sources are evidence for, those of the best one first."""
    found = {one.concept_id: one for place in _matched(group) for one in evidence.get(place, ())}
    return list(found.values())[:CONCEPTS]


def _also(
    stores: Stores, of: Mapping[str, Sequence[Concept]], without: set[str], scope: Scope, folders: Folders
) -> dict[str, tuple[Also, ...]]:
    """Return for each document of a page, with its concepts, other documents that mention the most of these."""
    every = {concept.concept_id for concepts in of.values() for concept in concepts}
    mentioned = stores.graph.documents_of(every, COMMON) if every else {}
    chosen: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for doc_id, concepts in of.items():
        labels: dict[str, list[str]] = {}
        for concept in concepts:
            for other in mentioned[concept.concept_id]:
                if other not in of and other not in without:
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
