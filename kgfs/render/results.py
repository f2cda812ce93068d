"""The files of ``search/<words>/`` by document: ``results.md``, ``results.json``, and ``NN~<name>.md`` for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from kgfs.domain.places import Locator, in_words
from kgfs.render.merged import SHOWN, Part, Piece, coverage, full_content, omitted, weighted
from kgfs.render.search import (
    NOTHING,
    NamedConcept,
    NamedFile,
    Near,
    concepts_line,
    excerpt,
    link,
    marked,
    opening,
    question_data,
    words_of,
)
from kgfs.render.source import Marks
from kgfs.render.tsv import ShownTerm
from kgfs.render.words import counted, fold, json_page, lines_of, rendered, time_of


@dataclass(frozen=True, slots=True)
class ResultChunk:
    """A Source of a result; its text, index and score are in ``piece``."""

    piece: Piece
    chunk_id: str
    char_start: int
    char_end: int
    line_start: int
    line_end: int
    page: int | None
    section_path: tuple[str, ...]
    doc_id: str
    """The document that its positions count in: the segment of a transcript, else that of the result."""
    entry: int | None = None
    """The entry of a transcript in which the words of the question stand, else that in which the Source begins."""
    locator: Locator = field(default_factory=dict)
    """Where in the original the piece with most of the words stands: page, slide, sheet and row, message or cell."""


@dataclass(frozen=True, slots=True)
class Also:
    """Another document that shares concepts with a result."""

    doc_id: str
    title: str
    folder: str
    path: str
    concepts: tuple[str, ...]
    """Labels of the shared concepts."""


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """A document that was found. Paths are encoded as names are."""

    rank: int
    file: str
    """The name of its file in ``search/<words>/``."""
    doc_id: str
    title: str
    type: str
    ontology: str
    folder: str
    """The path from the searched folder to the ontology's: '', or ``<Ontology>/``."""
    path: str
    note: str
    content_hash: str
    content_length: int
    ingested_at: int
    date: int | None
    """The date that the document gives itself."""
    count: int
    """The number of Sources of the document."""
    chunks: tuple[ResultChunk, ...]
    """The matched Sources and their neighbours, in order of the Text."""
    concepts: tuple[str, ...]
    """Directory names without ``.concept``."""
    also: tuple[Also, ...]
    has_rare: bool = False
    """Whether it has the word of the question that few documents have."""

    @property
    def pieces(self) -> list[Piece]:
        return [chunk.piece for chunk in self.chunks]

    @property
    def matched(self) -> list[ResultChunk]:
        """Return the matched Sources, best first."""
        found = [chunk for chunk in self.chunks if chunk.piece.matched]
        return sorted(found, key=lambda chunk: (-chunk.piece.score, chunk.piece.index))

    @property
    def max_score(self) -> float:
        return max(chunk.piece.score for chunk in self.matched)

    @property
    def avg_score(self) -> float:
        """Return the mean over the matched Sources alone."""
        scores = [chunk.piece.score for chunk in self.matched]
        return round(sum(scores) / len(scores), 6)

    @property
    def coverage(self) -> str:
        return coverage([piece.index for piece in self.pieces], self.count)


@dataclass(frozen=True, slots=True)
class Pagination:
    """The pagination object of FULL 6. ``total_results`` counts the documents among the search's candidates."""

    page: int
    page_size: int
    total_results: int
    total_is_exact: bool
    """Whether there are no documents but those counted."""
    has_next: bool

    def as_data(self) -> dict[str, Any]:
        return {
            "page": self.page,
            "page_size": self.page_size,
            "total_results": self.total_results,
            "total_is_exact": self.total_is_exact,
            "total_pages": -(-self.total_results // self.page_size),
            "has_next": self.has_next,
            "has_prev": self.page > 1,
        }


@dataclass(frozen=True, slots=True)
class Results:
    """A page of the documents that a search found."""

    words: str
    ontology: str
    """The name of the searched ontology; '' for all."""
    documents: tuple[DocumentResult, ...]
    pagination: Pagination
    only_text: str
    """Why meaning was not used; '' where it was."""
    wanted: str = ""
    """The words of the question without its filters: these are marked."""
    by_table: bool = False
    """Whether the index of words was not made yet."""
    terms: tuple[ShownTerm, ...] = ()
    """Terms that the words have, one that is all of them first."""
    named: tuple[NamedConcept, ...] = ()
    """Concepts that the question names."""
    meant: tuple[NamedConcept, ...] = ()
    """Concepts that the question may mean: a word of it is spelled in no known way."""
    files: tuple[NamedFile, ...] = ()
    """Files that are called as the question."""
    within: tuple[str, ...] = ()
    """The searches in whose folders this one is."""
    near: Near | None = None
    intent: Mapping[str, Any] | None = None
    """What the question is after."""
    claims: tuple[Mapping[str, Any], ...] = ()
    """The claims that answer it, best first, with the parts of their scores."""
    ranked_by: str = ""
    """The model that ranked the documents again; '' where none did."""

    @property
    def up(self) -> str:
        """Return the path from the folder of the page to that of a search that is not nested, first page."""
        return "../" * (len(self.within) + (self.pagination.page > 1))


def texts_shown(results: Results, marks: Marks) -> tuple[str, ...]:
    """Return what a person reads of each document (:func:`shown`), for the files of a page, which share it."""
    return tuple(shown(one, results.wanted, marks) for one in results.documents)


def as_data(results: Results, texts: Sequence[str]) -> dict[str, Any]:
    return question_data(results) | {
        "files": [_fields(file) for file in results.files],
        "concepts": [_concept(one) for one in results.named],
        "did_you_mean": [_concept(one) for one in results.meant],
        "results": [_document(one, text) for one, text in zip(results.documents, texts, strict=True)],
        "pagination": results.pagination.as_data(),
        "near": results.near.as_data() if results.near else None,
        "ranked_by": results.ranked_by or None,
        "intent": dict(results.intent) if results.intent else None,
        "claims": [dict(claim) for claim in results.claims],
        "content_included": True,
        "terms": [_fields(term) for term in results.terms],
    }


def _concept(one: NamedConcept) -> dict[str, str]:
    return {"name": one.name, "label": one.label, "path": one.path}


def _fields(row: Also | ShownTerm | NamedFile) -> dict[str, Any]:
    """Return the fields, as ``asdict`` does, without copies of what they hold."""
    return {field.name: getattr(row, field.name) for field in fields(row)}


def results_json(results: Results, texts: Sequence[str]) -> bytes:
    return json_page(as_data(results, texts))


def _document(one: DocumentResult, text: str) -> dict[str, Any]:
    location = f"{one.ontology}/archive/{one.doc_id}/text.txt"
    return {
        "id": one.doc_id,
        "doc_id": one.doc_id,
        "rank": one.rank,
        "file": one.file,
        "title": one.title,
        "type": one.type,
        "ontology": one.ontology,
        "document": one.path,
        "note": one.note or None,
        "max_score": one.max_score,
        "avg_score": one.avg_score,
        "chunk_coverage": one.coverage,
        "chunks": [
            {
                "index": chunk.piece.index,
                "score": chunk.piece.score,
                "matched": chunk.piece.matched,
                "chunk_id": chunk.chunk_id,
                "char_start": chunk.char_start,
                "char_end": chunk.char_end,
                "line_start": chunk.line_start,
                "line_end": chunk.line_end,
                "page": chunk.page,
                "entry": chunk.entry,
                "locator": chunk.locator or None,
                "doc_id": chunk.doc_id,
                "section_path": list(chunk.section_path),
                "content": chunk.piece.text,
            }
            for chunk in one.chunks
        ],
        "full_content": full_content(one.pieces),
        "content_available": True,
        "content_length": one.content_length,
        "content_location": location,
        "content_endpoint": location,
        "source_url": f"{one.ontology}/{one.path}",
        "is_truncated": len(one.pieces) < one.count,
        "full_content_available": True,
        "shown": text,
        "concepts": list(one.concepts),
        "also_see": [_fields(also) for also in one.also],
        "metadata": {
            "content_hash": one.content_hash,
            "content_length": one.content_length,
            "chunk_count": one.count,
            "ingested_at": time_of(one.ingested_at),
            "date": time_of(one.date) if one.date is not None else None,
        },
    }


def results_md(results: Results, texts: Sequence[str], marks: Marks) -> bytes:
    """Return the page for people: a list of the documents, each with its best passage, then each as its own file shows it."""
    pages = results.pagination
    out = [f"{opening(results, _how_many(results))}.\n"]
    up = results.up
    if results.files:
        links = ", ".join(f"[{file.path}]({link(f'../../{up}{file.path}')})" for file in results.files)
        out.append(f"\nFiles: {links}\n")
    for words, concepts in (("Concepts", results.named), ("Did you mean", results.meant)):
        if concepts:
            links = ", ".join(f"[{fold(each.label)}]({link(f'../../{up}{each.path}')})" for each in concepts)
            out.append(f"\n{words}: {links}{'?' * (words != 'Concepts')}\n")
    if len(results.documents) > 1:
        wanted = words_of(results.wanted)
        out += ["\n", *(f"{_line(results, one)}{_in_short(one, wanted, marks)}" for one in results.documents)]
    if results.claims and pages.page == 1:
        out += ["\n## Claims\n\n", *(_claim(results, claim, up) for claim in results.claims)]
    for one, text in zip(results.documents, texts, strict=True):
        out.append(f"\n{line}" if (line := _line(results, one)) else "")
        out.append(f"\n## {one.rank}. {fold(one.title) or one.path}\n\n{_about(one, up)}\n")
        out.append(f"{_quoted(text)}\n\n{_links(one, up)}")
    if pages.has_next:
        out.append(f"\nNext page: {'../' * (pages.page > 1)}page-{pages.page + 1}/results.md\n")
    return rendered("".join(out))


def _claim(results: Results, claim: Mapping[str, Any], up: str) -> str:
    """Return the line of a claim: its link, its role, and the place of its strongest quote."""
    folder = "" if results.ontology else f"{claim['ontology']}/"
    goal = link(f"../../{up}{folder}{claim['file']}")
    place = f"{folder}{claim['document']}:{claim['line_start']}-{claim['line_end']}"
    return f"- [{fold(claim['claim'])}]({goal}), {claim['role'].replace('_', ' ')}, {place}\n"


def _how_many(results: Results) -> str:
    """Return how many documents there are, and which of them the page has."""
    pages, ranks = results.pagination, [one.rank for one in results.documents]
    if pages.page == 1 and not pages.has_next:
        return counted(len(ranks), "document") if ranks else NOTHING
    total = f"{pages.total_results:,}{'' if pages.total_is_exact else ' or more'}"
    return f"Documents {ranks[0]}-{ranks[-1]} of {total}" if ranks else f"No page {pages.page} of {total} documents"


def _line(results: Results, one: DocumentResult) -> str:
    """Return the line before a document from which on documents are only near."""
    return results.near.at(one.rank) if results.near else ""


def _in_short(one: DocumentResult, wanted: frozenset[str], marks: Marks) -> str:
    """Return a document's line of the list: what it is called, and its best passage."""
    best = excerpt(one.matched[0].piece.text, wanted)
    name = f"[{fold(one.title) or one.path}]({link(one.file)})"
    return f"{one.rank}. {name}, {one.folder}{one.path}, {_place(one.matched[0])}\n   {marked(best, wanted, marks)}\n"


def document_md(results: Results, one: DocumentResult, text: str) -> bytes:
    """Return ``NN~<name>.md``: what was found in one document."""
    up = results.up
    return rendered(f"# {fold(one.title) or one.path}\n\n{_about(one, up)}\n{text}\n\n{_links(one, up)}")


def shown(one: DocumentResult, words: str, marks: Marks) -> str:
    """Return what a person reads of a document: the matched Sources, the best first served, with their context.

    Words of the question stand between marks. A part that is not whole ends in ``[…]``.
    """
    wanted, room = words_of(words), SHOWN
    mark = lru_cache(None)(lambda text: marked(text, wanted, marks))
    text = _joined(weighted(one.pieces, room), mark)
    while len(text) > SHOWN and room > 0:  # marks take room, too
        room -= len(text) - SHOWN
        text = _joined(weighted(one.pieces, room), mark)
    return text


def _joined(parts: Sequence[Part], mark: Callable[[str], str]) -> str:
    out: list[str] = []
    last = -1
    for part in parts:
        if not part.text:
            continue
        index = part.piece.index
        if last >= 0 and index > last + 1:
            out.append(f"\n{omitted(last + 1, index - 1)}\n")
        elif part.piece.begins:
            out.append("\n")
        out.append(_text(part, mark))
        last = index
    return "".join(out).strip("\n")


def _text(part: Part, mark: Callable[[str], str]) -> str:
    text = mark(part.text) if part.piece.matched else part.text
    return text if part.whole else f"{text.rstrip()} […]\n"


def _about(one: DocumentResult, up: str) -> str:
    matched = one.matched
    section = f", {fold(' > '.join(matched[0].section_path))}" if matched[0].section_path else ""
    scores = ", ".join(f"#{chunk.piece.index + 1}({relevance(chunk.piece.score):.2f})" for chunk in matched)
    return (
        f"[{one.folder}{one.path}]({link(f'../../{up}{one.folder}{one.path}')}), {_place(matched[0])}{section}\n"
        f"{f'({one.note}){chr(10)}' if one.note else ''}"
        f"Relevance: {relevance(one.max_score):.2f} (avg: {relevance(one.avg_score):.2f})\n"
        f"Coverage: {one.coverage}\n"
        f"Matched chunks: {scores}\n"
    )


def relevance(score: float) -> float:
    """Return a score between 0 and 1 for people; the greater score stays the greater one. JSON has the raw score."""
    return 1 / (1 + math.exp(-score))


def _place(best: ResultChunk) -> str:
    """Return where the best passage of a document stands in it."""
    if best.entry is not None:
        return f"entry {best.entry}"
    return in_words(best.locator) or lines_of(best.line_start, best.line_end)


def _links(one: DocumentResult, up: str) -> str:
    """Return the lines with links to concepts and to other documents; '' for none."""
    out = [concepts_line(one.concepts, f"../../{up}{one.folder}")] if one.concepts else []
    if one.also:
        out.append("Also see: " + ", ".join(_other(also, up) for also in one.also) + "\n")
    return "".join(out)


def _other(also: Also, up: str) -> str:
    goal = link(f"../../{up}{also.folder}{also.path}")
    return f"[{fold(also.title) or also.path}]({goal}) ({', '.join(fold(label) for label in also.concepts)})"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
