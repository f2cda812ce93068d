"""Make up texts, Readings and rows of the graph. Columns that no bench looks at have plain values."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

from kgfs.domain.documents import Document
from kgfs.domain.identity import chunk_id_of, instance_id_of, normalise_label
from kgfs.domain.knowledge import FoundConcept, FoundRelationship, Quote
from kgfs.domain.text import Chunk, Verdict
from kgfs.stores.graph.vocabulary import DocumentRow, InstanceRow, SourceRow
from kgfs.stores.readings import Reading


def composed(
    subjects: Sequence[Sequence[tuple[str, str]]], sentences: Sequence[str], section: str, heading: str = ""
) -> tuple[str, list[Chunk], list[tuple[str, list[Quote]]]]:
    """Write a text in ASCII with one Source, a line, for each list of labels.

    A label comes with another one, for ``{one}`` and ``{other}`` in the sentences. Return the text, its Sources, and each
    label with the quotes that speak of it.
    """
    text, chunks, found = heading, [], []
    for index, labels in enumerate(subjects):
        start = len(text) if index else 0
        for one, other in labels:
            quotes = []
            for sentence in sentences:
                written = sentence.format(one=one, other=other)
                quotes.append(Quote(len(text), len(text) + len(written), index, score=0.7))
                text += written + " "
            found.append((one, quotes))
        text = text[:-1] + "\n"
        last = index + 1 + heading.count("\n")
        chunks.append(chunk(index, start, len(text), last if index else 1, section, last))
    return text, chunks, found


def chunk(index: int, start: int, end: int, line: int, section: str, last: int = 0) -> Chunk:
    """Return the span of a Source in ASCII, from ``line`` to the line ``last`` (the same one where it is 0)."""
    return Chunk(index, start, end, line, last or line, start, end, (section,), (end - start) // 4, start)


def found_concept(label: str, forms: Sequence[str], quotes: Sequence[Quote], odds: float | None = None) -> FoundConcept:
    return FoundConcept(label, normalise_label(label), tuple(forms), "term", 0.5, "", tuple(quotes), odds=odds)


def reading(
    document: Document,
    text: str,
    chunks: Sequence[Chunk],
    concepts: Sequence[FoundConcept],
    relationships: Sequence[FoundRelationship] = (),
    **more: Any,
) -> Reading:
    """Return a Reading in which all chunks passed the gate; ``more`` are fields that differ from an embedder-less one of a plain text."""
    given: dict[str, Any] = {
        "doc_id": document.doc_id,
        "content_hash": document.sha256,
        "ingest_version": document.ingest_version,
        "parser": "plain/2",
        "media_type": "text/plain",
        "encoding": "utf-8",
        "text_key": "",
        "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "text_length": len(text),
        "title": "",
        "chunk_method": "bench/1",
        "chunks": tuple(chunks),
        "verdicts": (Verdict(passed=True),) * len(chunks),
        "extractor": "bench/1",
        "extractor_model": "",
        "strategy": "hybrid",
        "known": (),
        "records": (),
        "concepts": tuple(concepts),
        "relationships": tuple(relationships),
        "dropped": {},
        "embedding_model": "",
        "vectors_key": "",
    }
    return Reading(**given | more)


def source_row(doc_id: str, index: int, text: str, start: int, line: int, lines: int = 1) -> SourceRow:
    """Return the row of a Source in ASCII at ``start``, of so many ``lines`` from ``line`` on."""
    end = start + len(text)
    return SourceRow(
        doc_id=doc_id,
        chunk_index=index,
        chunk_id=chunk_id_of(doc_id, start, end),
        full_text=text,
        char_start=start,
        char_end=end,
        line_start=line,
        line_end=line + lines - 1,
        byte_start=start,
        byte_end=end,
        section_path=(),
        chunk_method="structure/1",
        overlap_chars=0,
        tokens=100,
    )


def instance_row(
    source: SourceRow, owner: str, kind: str, n: int, start: int, end: int, line: int, source_size: int = 900
) -> InstanceRow:
    """Return the row of a quote: the characters ``start`` to ``end`` of the document, in a line of a Source."""
    return InstanceRow(
        instance_id=instance_id_of(owner, source.doc_id, start, end),
        owner=owner,
        owner_kind=kind,
        n=n,
        doc_id=source.doc_id,
        chunk_index=source.chunk_index,
        chunk_id=source.chunk_id,
        quote=source.full_text[start - source.char_start : end - source.char_start],
        char_start=start,
        char_end=end,
        byte_start=start,
        byte_end=end,
        line_start=line,
        line_end=line,
        section_path=(),
        page=None,
        defines=False,
        confidence=0.5,
        source_size=source_size,
        citation_size=0,
        mtime=time.time_ns(),
    )


def document_row(
    doc_id: str, ontology: str, name: str, sources: Sequence[SourceRow], sha256: str, key: str, deposit: int = 1
) -> DocumentRow:
    """Return the row of a document in ASCII of which these are all Sources."""
    size = sum(len(source.full_text) for source in sources)
    return DocumentRow(
        doc_id=doc_id,
        ontology=ontology,
        source_id=f"{ontology}/{name}",
        content_hash=sha256,
        garage_key=key,
        original_filename=name,
        size_bytes=size,
        chunk_count=len(sources),
        ingested_at=time.time_ns(),
        deposit=deposit,
        source_title=name,
        source_uri=f"documents/{name}",
        document_type="text/plain",
        text_sha256=sha256,
        content_length=size,
        reading="",
        ingest_version=1,
    )
