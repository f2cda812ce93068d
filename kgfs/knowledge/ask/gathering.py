"""Gather what may answer a question: the sentences of the documents that a search found first, with what surrounds them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kgfs.domain.text import FURNITURE
from kgfs.domain.transcripts import MEDIA_TYPES
from kgfs.domain.word_forms import forms_in
from kgfs.errors import MissingError, StoreError
from kgfs.knowledge.ask.scoring import Bag, Candidate, Surroundings
from kgfs.knowledge.ask.sentences import (
    Block,
    Sentence,
    blocks_of,
    end_of_introduced,
    points_back,
    says_nothing,
    sentences_of,
)
from kgfs.knowledge.ranking import ChunkRef
from kgfs.knowledge.search import Found
from kgfs.knowledge.sessions import untold
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import DocumentRow, SourceRow
from kgfs.stores.readings import Reading, load_reading
from kgfs.stores.stores import Stores

DOCUMENTS = 12
"""The number of documents that are looked into."""
SOURCES = 60
"""The number of Sources, best first, that decide which documents these are."""
WHOLE = 150
"""A document with more Sources is read around those that were found alone."""
BESIDE = 2
"""The number of Sources before and after a found one that are read of such a document."""

APART = frozenset(
    (
        "references",
        "bibliography",
        "further reading",
        "see also",
        "external links",
        "footnotes",
        "copyright",
        "acknowledgements",
        "acknowledgments",
    )
)
"""Names of sections whose sentences answer as little as front matter does."""

Sections = Sequence[tuple[int, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a candidate stands, and how it reads with its neighbours."""

    document: DocumentRow
    source: SourceRow
    """The Source that it begins in."""
    start: int
    end: int
    """The span in the Text."""
    section_path: tuple[str, ...]
    near: str
    """The sentence with both neighbours, on one line."""
    in_place: str
    """The same after title and section path."""
    found: float
    """The score of its Source in the search; that of the last one where the search did not find it."""
    before: int | None = None
    """Where the sentence before it begins, if that is in the same block."""
    introduced: int = 0
    """The end of what it introduces by a colon; its own end where it introduces nothing."""


@dataclass(slots=True)
class Gathered:
    candidates: list[Candidate] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    sections: list[Bag] = field(default_factory=list)
    documents: list[Bag] = field(default_factory=list)
    heads: list[frozenset[str]] = field(default_factory=list)

    @property
    def around(self) -> Surroundings:
        return Surroundings(self.sections, self.documents, self.heads)


def gather(stores: Stores, found: Found, also: Sequence[ChunkRef] = ()) -> Gathered:
    """Return the sentences of the documents whose Sources the search ranks first. Blocks, because it reads Readings.

    ``also`` are Sources whose documents are looked into besides. Furniture is left out, and so are the entries of a transcript
    that are no part of its conversation. A document that left the graph meanwhile is skipped.
    """
    graph = stores.graph
    gathered = Gathered()
    least = min((score for _, score in found.order[:SOURCES]), default=0.0)
    scores = dict(found.order[:SOURCES])
    first = list(dict.fromkeys(doc_id for doc_id, _ in scores))[:DOCUMENTS]
    for doc_id in dict.fromkeys((*first, *(doc_id for doc_id, _ in also))):
        document = graph.document(doc_id)
        if document is None:
            continue
        try:
            reading = load_reading(stores.garage.objects, doc_id, document.reading)
        except MissingError as error:
            if graph.document(doc_id) is None:
                continue
            raise StoreError(f"The garage has lost what document {doc_id} was read from: {error}") from error
        sources = _sources(graph, document, reading, [index for held, index in (*scores, *also) if held == doc_id])
        is_transcript = document.document_type in MEDIA_TYPES.values()
        silent = untold(stores, document, reading, sources.values()) if is_transcript else []
        told = [row for row in sources.values() if is_transcript or row.gated != FURNITURE]
        found_by = {index: scores.get((doc_id, index), least) for index in sources}
        _add(gathered, document, told, silent, reading.sections, found_by)
    return gathered


def _sources(graph: Graph, document: DocumentRow, reading: Reading, found: Sequence[int]) -> dict[int, SourceRow]:
    if document.chunk_count <= WHOLE:
        rows = graph.sources(document.doc_id, limit=WHOLE)
    else:
        near = {at for index in found for at in range(index - BESIDE, index + BESIDE + 1) if at >= 0}
        if document.document_type in MEDIA_TYPES.values():
            # The beginning of an entry tells its kind, and whether it is fenced.
            near |= {at for index in near for at in range(_entry_begins(reading, index), index)}
        rows = list(graph.sources_at([(document.doc_id, at) for at in near]).values())
    return {row.chunk_index: row for row in sorted(rows, key=lambda row: row.chunk_index)}


def _entry_begins(reading: Reading, index: int) -> int:
    """Return the index of the Source in which the entry begins that goes on at the start of a Source."""
    if index >= len(reading.chunks):
        return index
    behind = bisect_right(reading.places, reading.chunks[index].start, key=lambda place: place[0])
    start = reading.places[behind - 1][0] if behind else 0
    return bisect_right(reading.chunks, start, key=lambda chunk: chunk.start) - 1


def _add(
    gathered: Gathered,
    document: DocumentRow,
    sources: Sequence[SourceRow],
    silent: Sequence[tuple[int, int]],
    sections: Sections,
    found: dict[int, float],
) -> None:
    """Add the sentences of these Sources but for the ``silent`` spans of the Text."""
    number = len(gathered.documents)
    head, words = document.source_title, [document.source_title]
    for run in _runs(sources):
        text, origin = "".join(row.full_text for row in run), run[0].char_start
        for first, last in _without(origin, origin + len(text), silent):
            words.append(text[first - origin : last - origin])
            for start, end, path in _sectioned(first, last, sections, run):
                piece = text[start - origin : end - origin]
                blocks = blocks_of(piece, begins=start == 0)
                paragraphs = [piece[one.start : one.end] for one in blocks if one.kind == "paragraph"]
                if head == document.source_title:
                    head = " ".join((head, *paragraphs[:1]))
                _add_section(gathered, document, piece, start, path, blocks, run, found, number)
    named = _forms_of_name(document.original_filename)
    gathered.documents.append(Bag.of([*forms_in(" ".join(words)), *named]))
    gathered.heads.append(named.union(forms_in(head)))


def _runs(rows: Sequence[SourceRow]) -> Iterator[list[SourceRow]]:
    """Yield Sources that stand side by side, together."""
    run: list[SourceRow] = []
    for row in rows:
        if run and row.char_start != run[-1].char_end:
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _without(start: int, end: int, silent: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield what is left of a span without ``silent`` ones, which are in order."""
    for first, last in silent:
        if start < min(first, end):
            yield start, min(first, end)
        start = max(start, last)
    if start < end:
        yield start, end


def _sectioned(
    start: int, end: int, sections: Sections, run: Sequence[SourceRow]
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield the spans of the sections between two positions. Before the first heading the path is that of the Source."""
    path: tuple[str, ...] = () if sections and start < sections[0][0] else run[0].section_path
    at = start
    for begins, following in sections:
        if begins >= end:
            break
        if begins > at:
            yield at, begins, path
        at, path = max(at, begins), following
    yield at, end, path


def _add_section(
    gathered: Gathered,
    document: DocumentRow,
    text: str,
    origin: int,
    path: tuple[str, ...],
    blocks: list[Block],
    run: Sequence[SourceRow],
    found: dict[int, float],
    number: int,
) -> None:
    section = len(gathered.sections)
    where = " > ".join((document.source_title, *path))
    place = frozenset(forms_in(where)) | _forms_of_name(document.original_filename)
    gathered.sections.append(Bag.of(forms_in(f"{where} {text}")))
    in_block = [frozenset(forms_in(text[block.start : block.end])) for block in blocks]
    sentences = sentences_of(text, blocks)
    at = 0
    for index, sentence in enumerate(sentences):
        start, end = origin + sentence.start, origin + sentence.end
        while run[at].char_end <= start:
            at += 1
        lead = in_block[sentence.block - 1] if sentence.block else frozenset()
        near = _line(text, sentences[max(0, index - 1) : index + 2])
        quoted = text[sentence.start : sentence.end]
        if says_nothing(quoted):
            continue
        before = sentences[index - 1] if index and sentences[index - 1].block == sentence.block else None
        pointed_at = text[before.start : before.end] if before and points_back(quoted) else ""
        forms = frozenset(forms_in(quoted))
        gathered.candidates.append(
            Candidate(
                document=number,
                section=section,
                kind="meta" if _is_apart(path) else blocks[sentence.block].kind,
                text=quoted,
                forms=forms,
                quoted=forms.union(forms_in(pointed_at)),
                block=in_block[sentence.block] | lead | place,
            )
        )
        gathered.positions.append(
            Position(
                document=document,
                source=run[at],
                start=start,
                end=end,
                section_path=path,
                near=near,
                in_place=f"{where}: {near}",
                found=found[run[at].chunk_index],
                before=origin + before.start if before else None,
                introduced=origin + end_of_introduced(text, blocks, sentence),
            )
        )


def _is_apart(path: Sequence[str]) -> bool:
    """Return whether a section only tells where else to look, or whose the text is."""
    return bool(path) and path[-1].strip(" .:").casefold() in APART


def _forms_of_name(name: str) -> frozenset[str]:
    """Return the forms of a file's name; numbers also without leading zeros, as people say them."""
    stem = name.rpartition(".")[0] or name
    return frozenset(form for one in (stem, re.sub(r"\b0+(?=\d)", "", stem)) for form in forms_in(one))


def _line(text: str, sentences: Sequence[Sentence]) -> str:
    return " ".join(word for one in sentences for word in text[one.start : one.end].split())
