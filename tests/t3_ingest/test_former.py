"""What was embedded once is not embedded again: unchanged Sources of an edited or moved document, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kgfs.domain.documents import Document
from kgfs.ingest.pipeline import Reader
from kgfs.ingest.reading import embeddings
from kgfs.ingest.reading.clock import StageClock
from kgfs.settings import Pipeline
from kgfs.stores.readings import Reading
from tests.fakes.garage import MemoryObjects
from tests.support.readings import document_of
from tests.support.working import Embedding

PARAGRAPHS = [
    f"The lantern number {n} is a lamp that burns the oil of its keeper. Keeper {n} uses lantern {n} in the evening, and "
    f"nobody else in the long valley has seen the oil of lantern {n} before the morning.\n\n"
    for n in range(40)
]
TEXT = "".join(PARAGRAPHS)
EDITED = TEXT.replace(PARAGRAPHS[20], "A ferry is a boat that crosses the river in the evening.\n\n")
SETTINGS = Pipeline(chunk_tokens=100, overlap_tokens=10)


def kept(objects: MemoryObjects, text: str) -> Document:
    document = document_of(text)
    objects.put(document.key, text.encode())
    return document


def read(objects: MemoryObjects, document: Document, earlier: Sequence[Document] = ()) -> tuple[Reading, list[str]]:
    """Its Reading, and what was embedded for it."""
    compute = Embedding()
    reading = Reader(objects, compute, SETTINGS, StageClock()).read(
        document, "a.txt", earlier, lambda stage, share: None
    )
    return reading, compute.embedded


def shown(document: Document, reading: Reading) -> Document:
    return replace(document, reading=reading.id)


def same_vectors(objects: MemoryObjects, one: Reading, other: Reading) -> bool:
    ours, theirs = embeddings.load(objects, one), embeddings.load(objects, other)
    assert ours is not None
    assert theirs is not None
    pairs = (
        (ours.windows, theirs.windows),
        (ours.window_chunks, theirs.window_chunks),
        (ours.window_numbers, theirs.window_numbers),
        (ours.concepts, theirs.concepts),
    )
    return all(np.array_equal(a, b) for a, b in pairs)


def test_an_edit_embeds_the_sources_it_touches_and_gives_the_same_vectors() -> None:
    objects = MemoryObjects()
    first = kept(objects, TEXT)
    before, embedded = read(objects, first)
    assert len(before.chunks) > 10
    assert len([words for words in embedded if len(words) > 100]) == len(before.chunks)
    second = kept(objects, EDITED)
    after, embedded = read(objects, second, [shown(first, before)])
    old = {TEXT[chunk.start : chunk.end] for chunk in before.chunks}
    new = {EDITED[chunk.start : chunk.end] for chunk in after.chunks} - old
    labels = {concept.label for concept in after.concepts} - {concept.label for concept in before.concepts}
    assert sorted(embedded) == sorted(new | labels)
    assert 0 < len(new) <= 3
    elsewhere = MemoryObjects()
    alone, _ = read(elsewhere, kept(elsewhere, EDITED))
    objects.put("alone", elsewhere.get(alone.vectors_key))
    assert same_vectors(objects, after, replace(alone, vectors_key="alone"))


def test_the_same_bytes_elsewhere_embed_nothing() -> None:
    objects = MemoryObjects()
    first = kept(objects, TEXT)
    before, _ = read(objects, first)
    moved = replace(first, doc_id="f" * 16, ontology="abcdefabcdef", reading="")
    after, embedded = read(objects, moved, [shown(first, before)])
    assert embedded == []
    assert same_vectors(objects, before, after)


def test_what_is_lost_or_by_another_model_is_embedded_again() -> None:
    objects = MemoryObjects()
    first, second = kept(objects, TEXT), kept(objects, EDITED)
    before, _ = read(objects, first)
    other = replace(before, embedding_model="other/1")
    objects.put(other.key, other.encode())
    after, embedded = read(objects, second, [shown(first, other)])
    assert len([words for words in embedded if len(words) > 100]) >= len(after.chunks)
    objects.delete(after.key)
    objects.delete(before.vectors_key)
    _, again = read(objects, second, [shown(first, before), replace(first, reading="0" * 16)])
    assert again == embedded
