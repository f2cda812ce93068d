"""match_chunks: the Sources, or the claims, that are close in meaning to words or to a vector, exactly, under all filters
[CITE 7]."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from kgfs.compute.deadline import Deadline
from kgfs.compute.matching import MOST, matching
from kgfs.compute.nearest import ChunkRef
from kgfs.domain.places import Locator, in_words
from kgfs.errors import BadInputError, MissingError
from kgfs.knowledge.document_location import standing_of
from kgfs.knowledge.filters import allowed
from kgfs.knowledge.query import Query, parse
from kgfs.knowledge.wholes import Whole, whole_of
from kgfs.render.words import time_of
from kgfs.stores.graph.vocabulary import ClaimRow, DocumentRow, SourceRow
from kgfs.stores.resolve import ontology_called
from kgfs.stores.stores import Stores

THRESHOLD = 0.7
COUNT = 10
RAW, NORMALIZED = "raw", "normalized"
VARIANTS = (RAW, NORMALIZED)
"""Sources are raw; claims, which are normalised statements, are not."""


@dataclass(frozen=True, slots=True)
class MatchFilters:
    """Conditions on Sources, all of which must hold. '' and None for no condition."""

    ontology: str = ""
    """The ontology's name."""
    source_id: str = ""
    doc_id: str = ""
    type: str = ""
    """An extension, or a part of the media type."""
    role: str = ""
    domain: str = ""
    authority: str = ""
    source_variant: str = RAW
    ingest_version: int | None = None
    path: str = ""
    """The start of a path in documents/."""
    after: str = ""
    """The document's date is this or later: 2024, 2024-01 or 2024-01-31."""
    before: str = ""


@dataclass(frozen=True, slots=True)
class MatchedChunk:
    chunk_id: str
    doc_id: str
    source_id: str
    content: str
    similarity: float
    source_uri: str
    source_title: str
    section_path: tuple[str, ...]
    page_number: int | None
    line_from: int
    line_to: int
    document: str
    """The present path of the document, below the ontology's folder."""
    document_type: str
    ontology: str
    """The ontology's name."""
    chunk_index: int
    locator: Locator
    """Where in the original it begins: page, slide, sheet and row, message or cell; empty where it has none."""
    where: str
    """The same in words, to where it ends: "pages 2-3"."""
    claim_id: str = ""
    """Of a claim, whose words are the content, and whose first quote that was found is the place; else empty."""


def match_chunks(
    stores: Stores,
    run: Path,
    wanted: str | Sequence[float],
    threshold: float,
    count: int,
    filters: MatchFilters,
    patience: Deadline,
) -> list[MatchedChunk]:
    """Return at most ``count`` Sources whose best window has a cosine of at least ``threshold``, best first.

    With the source_variant ``normalized`` they are claims, each once, at the place of its closest evidence.
    Every vector that the filters allow is compared, whatever the home's size. Raises BadInputError for a bad filter or number,
    MissingError for an unknown ontology, NoWorkerError where no worker runs, and the errors of ``patience``.
    """
    if not 1 <= count <= MOST or not -1 <= threshold <= 1:
        raise BadInputError(f"A match has a count of 1 to {MOST:,}, and a threshold of -1 to 1.")
    if filters.source_variant not in VARIANTS:
        raise BadInputError(f"source_variant is {' or '.join(VARIANTS)}, not '{filters.source_variant}'.")
    ontology = ontology_called(stores, filters.ontology).id if filters.ontology else ""
    doc_ids = _documents(stores, filters, ontology)
    patience.check()
    if doc_ids is not None and not doc_ids:
        return []
    names = ("role", "domain", "authority", "source_variant")
    equal = {name: value for name in names if (value := getattr(filters, name))}
    asked = count
    while True:
        hits = matching(run, wanted, ontology, doc_ids, equal, asked, threshold, patience)
        shown = (_shown if filters.source_variant == RAW else _claims)(stores, hits, count)
        if len(shown) == count or len(hits) < asked or asked == MOST:
            return shown
        asked = min(
            2 * asked, MOST
        )  # some of them left the graph, or were kept back by the gate, since they were indexed


def _documents(stores: Stores, filters: MatchFilters, ontology: str) -> frozenset[str] | None:
    """Return the documents that the filters allow; None where they allow all."""
    dates = parse(" ".join(f"{key}:{value}" for key in ("after", "before") if (value := getattr(filters, key))))
    query: Query = replace(
        dates,
        paths=(filters.path.removeprefix("documents/"),) if filters.path else (),
        types=(filters.type.casefold().removeprefix("."),) if filters.type else (),
    )
    exactly = {name: value for name in ("source_id", "doc_id", "ingest_version") if (value := getattr(filters, name))}
    if not query.filtered and not exactly:
        return None
    alone = bool(filters.doc_id) and not query.filtered
    found = frozenset((filters.doc_id,)) if alone else allowed(stores, query, ontology)
    if not exactly:
        return found
    return frozenset(
        row.doc_id
        for row in stores.graph.documents_among([*found]).values()
        if all(getattr(row, name) == value for name, value in exactly.items())
        and (not ontology or row.ontology == ontology)
    )


def _shown(stores: Stores, hits: Sequence[tuple[ChunkRef, float]], count: int) -> list[MatchedChunk]:
    rows = stores.graph.sources_at([place for place, _ in hits])
    documents: dict[str, DocumentRow | None] = {}
    found: list[MatchedChunk] = []
    for place, cosine in hits:
        doc_id = place[0]
        if doc_id not in documents:
            documents[doc_id] = stores.graph.document(doc_id)
        source, document = rows.get(place), documents[doc_id]
        if source is not None and document is not None and not source.gated and len(found) < count:
            found.append(_chunk(stores, source, document, cosine))
    return found


def _claims(stores: Stores, hits: Sequence[tuple[ChunkRef, float]], count: int) -> list[MatchedChunk]:
    """Return the claims at these (doc_id, ordinal), each once."""
    rows = stores.graph.claims.at([place for place, _ in hits])
    closest: dict[str, tuple[ClaimRow, float]] = {}
    for place, cosine in hits:
        if place in rows:
            closest.setdefault(rows[place].claim_id, (rows[place], cosine))
    sources = stores.graph.sources_at([(row.doc_id, row.chunk_index) for row, _ in closest.values()])
    found: list[MatchedChunk] = []
    for row, cosine in islice(closest.values(), count):
        source, document = sources.get((row.doc_id, row.chunk_index)), stores.graph.document(row.doc_id)
        if source is None or document is None:
            continue
        locator = json.loads(row.locator) if row.locator else {}
        found.append(
            replace(
                _chunk(stores, source, document, cosine),
                content=row.claim,
                section_path=row.section_path,
                page_number=row.page,
                line_from=row.line_start,
                line_to=row.line_end,
                locator=locator,
                where=in_words(locator) if locator else "",
                claim_id=row.claim_id,
            )
        )
    return found


def _chunk(stores: Stores, source: SourceRow, document: DocumentRow, cosine: float) -> MatchedChunk:
    ontology = stores.catalog.names.ontology(document.ontology)
    first = source.locator(source.char_start)
    return MatchedChunk(
        chunk_id=source.chunk_id,
        doc_id=source.doc_id,
        source_id=document.source_id,
        content=source.full_text,
        similarity=cosine,
        source_uri=document.source_uri,
        source_title=document.source_title,
        section_path=source.section_path,
        page_number=source.page_number,
        line_from=source.line_start,
        line_to=source.line_end,
        document=standing_of(stores.catalog.names, source.doc_id).origin.path,
        document_type=document.document_type,
        ontology=ontology.name if ontology else "",
        chunk_index=source.chunk_index,
        locator=first,
        where=in_words(first, source.locator(source.char_end - 1)),
    )


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """A document with all of its content [FULL 2.2]."""

    id: str
    content: str | None
    """Its whole Text; None where it was not asked for."""
    content_available: bool
    content_location: str
    """Where the Text is below the mount."""
    metadata: dict[str, object]


def whole_document(stores: Stores, doc_id: str, *, content: bool = True) -> WholeDocument:
    """Return a document that the graph shows, its Sources joined: nothing is left out. A transcript has the Texts of its
    segments, with a line end between them. Raise MissingError for any other."""
    whole = whole_of(stores, doc_id)
    if whole is None:
        raise MissingError(f"The graph shows no document {doc_id}. Look for it with kgfs status {doc_id}")
    row = whole.document
    ontology = stores.catalog.names.ontology(row.ontology)
    name = ontology.name if ontology else ""
    date = stores.graph.own_dates([doc_id]).get(doc_id)
    return WholeDocument(
        id=doc_id,
        content=_joined(stores, whole) if content else None,
        content_available=True,
        content_location=f"{name}/archive/{doc_id}/text.txt",
        metadata={
            "content_length": whole.content_length,
            "document_type": row.document_type,
            "source_id": row.source_id,
            "source_uri": row.source_uri,
            "title": row.source_title,
            "ontology": name,
            "document": standing_of(stores.catalog.names, doc_id).origin.path,
            "created_at": time_of(row.ingested_at),
            "content_hash": row.content_hash,
            "text_sha256": row.text_sha256,
            "content_version": row.content_version,
            "ingest_version": row.ingest_version,
            "chunk_count": whole.count,
            "date": time_of(date) if date is not None else None,
        },
    )


def _joined(stores: Stores, whole: Whole) -> str:
    texts: list[str] = []
    for member in whole.members:
        pieces: list[str] = []
        after = -1
        while page := stores.graph.sources(member.doc_id, after):
            pieces += (row.full_text for row in page)
            after = page[-1].chunk_index
        texts.append("".join(pieces))
    return "\n".join(texts)
