"""Gather what may answer a question: the sentences of the documents that a search found first, with what surrounds them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kgfs.domain.text import FURNITURE
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
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import DocumentRow, SourceRow
from kgfs.stores.readings import load_reading
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

    ``also`` are Sources whose documents are looked into besides. Sources that the gate rejected are left out. A document that left the graph meanwhile is skipped.
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
        sources = _sources(graph, document, [index for held, index in (*scores, *also) if held == doc_id])
        try:
            sections = load_reading(stores.garage.objects, doc_id, document.reading).sections
        except MissingError as error:
            if graph.document(doc_id) is None:
                continue
            raise StoreError(f"The garage has lost what document {doc_id} was read from: {error}") from error
        _add(gathered, document, sources, sections, {index: scores.get((doc_id, index), least) for index in sources})
    return gathered


def _sources(graph: Graph, document: DocumentRow, found: Sequence[int]) -> dict[int, SourceRow]:
    if document.chunk_count <= WHOLE:
        rows = graph.sources(document.doc_id, limit=WHOLE)
    else:
        near = {at for index in found for at in range(index - BESIDE, index + BESIDE + 1) if at >= 0}
        rows = list(graph.sources_at([(document.doc_id, at) for at in near]).values())
    return {row.chunk_index: row for row in sorted(rows, key=lambda row: row.chunk_index)}


def _add(
    gathered: Gathered,
    document: DocumentRow,
    sources: dict[int, SourceRow],
    sections: Sections,
    found: dict[int, float],
) -> None:
    number = len(gathered.documents)
    head, words = document.source_title, [document.source_title]
    for run in _runs([row for row in sources.values() if row.gated != FURNITURE]):
        text, origin = "".join(row.full_text for row in run), run[0].char_start
        words.append(text)
        for start, end, path in _sectioned(origin, origin + len(text), sections, run):
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
