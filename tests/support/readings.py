"""Readings made by hand, so that matching and committing are tested without models."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from kgfs.domain.documents import INGEST_VERSION, Document, State
from kgfs.domain.identity import doc_id_of, normalise_label
from kgfs.domain.knowledge import FoundConcept, FoundRelationship, Quote
from kgfs.domain.text import Chunk, Verdict
from kgfs.ingest.reading.embeddings import Embeddings
from kgfs.stores.readings import Reading

ONTOLOGY = "0123456789ab"


def document_of(text: str, path: str = "a.txt", deposit: int = 1) -> Document:
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    source_id = f"{ONTOLOGY}/{path}"
    return Document(
        doc_id=doc_id_of(source_id, sha256),
        ontology=ONTOLOGY,
        sha256=sha256,
        source_id=source_id,
        key=f"sources/Test/{sha256[:32]}.txt",
        size=len(text.encode()),
        state=State.QUEUED,
        deposit=deposit,
    )


def reading_of(
    document: Document,
    text: str,
    concepts: Mapping[str, Sequence[str]],
    relationships: Sequence[tuple[str, str, str, str]] = (),
    forms: Mapping[str, Sequence[str]] | None = None,
    strategy: str = "hybrid",
) -> Reading:
    """``concepts``: label → quotes that stand in the text; ``relationships``: (subject, type, object, quote)."""

    def quote(words: str) -> Quote:
        start = text.index(words)
        return Quote(start, start + len(words), 0, score=0.5)

    found = tuple(
        FoundConcept(
            label=label,
            norm=normalise_label(label),
            forms=(label, *(forms or {}).get(label, ())),
            kind="term",
            score=0.5,
            definition="",
            quotes=tuple(sorted((quote(words) for words in quotes), key=lambda q: q.start)),
        )
        for label, quotes in concepts.items()
    )
    return Reading(
        doc_id=document.doc_id,
        content_hash=document.sha256,
        ingest_version=INGEST_VERSION,
        parser="plain/2",
        media_type="text/plain",
        encoding="utf-8",
        text_key="",
        text_sha256=document.sha256,
        text_length=len(text),
        title="A title",
        chunk_method="structure/1",
        chunks=(Chunk(0, 0, len(text), 1, 1 + text.count("\n", 0, len(text) - 1), 0, len(text.encode()), (), 10, 0),),
        verdicts=(Verdict(True),),
        extractor="by-hand/1",
        extractor_model="none",
        strategy=strategy,
        known=(),
        records=(),
        concepts=found,
        relationships=tuple(
            FoundRelationship(normalise_label(s), kind, normalise_label(o), quote(words), 0.8)
            for s, kind, o, words in relationships
        ),
        dropped={},
        embedding_model="",
        vectors_key="",
    )


def embeddings_of(reading: Reading, directions: Mapping[str, Sequence[float]]) -> Embeddings:
    """Label → a direction in a space of three dimensions."""
    rows = np.array([directions[concept.label] for concept in reading.concepts], np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Embeddings(np.zeros((0, 3), np.float32), np.zeros(0, np.int32), np.zeros(0, np.int32), rows)
