"""Commit: turn match decisions about a Reading into rows of the graph.

The rows depend only on stored data (the original, the Reading, the Decisions, the numbers and times of the ledger),
so that ``rebuild`` makes the same graph as the one built step by step.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import Any

from kgfs.domain.dates import own_day
from kgfs.domain.documents import Document
from kgfs.domain.forms import form_key
from kgfs.domain.identity import CHUNK_ID_LENGTHS, chunk_id_of, claim_id_of, instance_id_of, normalise_label
from kgfs.domain.knowledge import FoundClaim, FoundConcept, Mention, Quote
from kgfs.domain.places import within
from kgfs.domain.text import Chunk, judged_blocks
from kgfs.failpoints import border
from kgfs.ingest.reading.embeddings import embedded_text
from kgfs.render import source as source_txt
from kgfs.render import text as text_md
from kgfs.render.metadata import source_uri
from kgfs.stores.batched import batched
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import (
    TEXT_ONLY,
    Batch,
    CandidateRow,
    ClaimRow,
    ConceptRow,
    DocumentContent,
    DocumentRow,
    InstanceRow,
    NamedRow,
    Publication,
    RelationshipRow,
    SourceRow,
)
from kgfs.stores.readings import Decisions, Reading

_PARAGRAPH = re.compile(r"(?:\A|\n[^\S\n]*\n)\s*(\S)")
"""The first character of a paragraph: blank lines part paragraphs."""
_WORDS = re.compile(r"\S")

ASKED_AT_ONCE = 4096
"""Chunk ids that the graph is asked about at once."""
_CLAIMED = tuple(item.name for item in fields(FoundClaim) if item.name != "quote")
"""What a row repeats of a claim."""

STAGED_BATCH = 200
"""Rows per batch; small enough that no other writer waits long."""


def carry_out(
    graph: Graph,
    document: Document,
    reading: Reading,
    decisions: Decisions,
    *,
    text: str,
    content_version: int,
    supersedes: Sequence[str],
    at: int,
    claim_vectors: Sequence[bytes] = (),
) -> int:
    """Stage all rows in batches, publish them in one small transaction, and return the epoch. Idempotent.

    ``claim_vectors`` are those of the Reading's valid claims (``embeddings.claim_vectors``); empty where it has none.
    """
    build = _Build(graph, document, reading, decisions, text, at)
    commit_id = decisions.commit_id  # computed once here, since it is a hash over all Decisions
    row = build.document_row(content_version)
    for batch in build.batches(row, introduced=reading.acronyms, claims=build.claims(claim_vectors)):
        graph.stage(commit_id, document.doc_id, batch)
    border("staged")
    return graph.publish(
        Publication(
            commit_id=commit_id,
            document=row,
            concepts=build.concepts(),
            relationships=build.relationships(),
            supersedes=supersedes,
            at=at,
            deposited_at=document.deposited_at,
            about=_about(document, reading),
        )
    )


def _about(document: Document, reading: Reading) -> dict[str, Any]:
    """Return the columns of the hierarchy, and of mails."""
    found: dict[str, Any] = {}
    if document.parent:
        names = document.source_id.partition("/")[2].split("/")
        found = {
            "parent_id": document.parent,
            "root_id": document.root,
            "depth": document.depth,
            "path": json.dumps(names[-1 - document.depth :], ensure_ascii=False),
            "attachment_content_type": reading.media_type,
            "attachment_size_bytes": document.size,
        }
    found |= _session(document, reading)
    mail = reading.about
    if "message_id" in mail:
        references = mail["references"]
        found |= {
            "email_subject": mail["subject"],
            "email_participants": json.dumps(mail["participants"], ensure_ascii=False),
            "email_initiator": mail["initiator"],
            "email_date_start": mail["date_start"] or None,
            "email_date_end": mail["date_end"] or None,
            "email_message_count": mail["messages"],
            "message_id": mail["message_id"] or None,
            "thread": (references[0] if references else mail["message_id"]) or None,
        }
    return found


def _session(document: Document, reading: Reading) -> dict[str, Any]:
    """Return the columns of a transcript or of a segment of one."""
    about = reading.about
    if "interface" not in about:
        return {}
    sizes = about.get("entry_sizes")
    return {
        "session_id": None if document.parent else about["session_id"],
        "interface": about["interface"],
        "entry_count": about["entries"],
        "first_entry": about.get("first_entry"),
        "first_at": about["first_at"],
        "last_at": about["last_at"],
        "entry_sizes": json.dumps(sizes, separators=(",", ":")) if sizes is not None else None,
        "conversation_size": about.get("conversation_size"),
    }


def show_text(
    graph: Graph,
    document: Document,
    reading: Reading,
    *,
    commit_id: str,
    text: str,
    content_version: int,
    hides: Sequence[str],
    at: int,
) -> int:
    """Publish the text of a document, whose concepts follow, and return the epoch. Idempotent.

    The texts of the documents ``hides`` are not found any more; their evidence stays.
    """
    build = _Build(graph, document, reading, Decisions(document.doc_id, reading.id, (), (), 0), text, at)
    row = replace(build.document_row(content_version), status=TEXT_ONLY)
    for batch in build.batches(row):
        graph.stage(commit_id, document.doc_id, batch)
    return graph.publish(
        Publication(
            commit_id=commit_id,
            document=row,
            concepts=(),
            relationships=(),
            supersedes=(),
            at=at,
            deposited_at=document.deposited_at,
            about=_about(document, reading),
            hides=hides,
        )
    )


def content_of(
    graph: Graph,
    document: Document,
    reading: Reading,
    decisions: Decisions,
    *,
    text: str,
    at: int,
    looked_for: frozenset[str] = frozenset(),
) -> DocumentContent:
    """Return what a document that the graph shows says by these decisions. ``at`` is the time of new evidence.

    Of the concepts that it only names, those of ``looked_for`` are in it: without places where it names them no more.
    """
    build = _Build(graph, document, reading, decisions, text, at)
    named = [*build.named()]
    rows = [row for row in named if row.matched]
    only = {row.owner: row for row in named if not row.matched}
    if looked_for:  # thousands, of which a document names few
        rows += [row for owner, row in only.items() if owner in looked_for]
        gone = (graph.named.only_named(document.doc_id) & looked_for) - only.keys()
        rows += [NamedRow(owner, False, ()) for owner in sorted(gone)]
    instances = list(build.instances())
    return DocumentContent(document.doc_id, build.concepts(), build.relationships(), instances, {"named": rows})


class _Build:
    def __init__(
        self, graph: Graph, document: Document, reading: Reading, decisions: Decisions, text: str, at: int
    ) -> None:
        self._graph = graph
        self._document = document
        self._reading = reading
        self._decisions = decisions
        self._text = text
        self._at = at
        self._chunk_ids = self._chosen_chunk_ids()
        self._paragraphs = array("Q", (found.start(1) for found in _PARAGRAPH.finditer(text)))
        self._day = own_day(text)
        self._found = {concept.norm: concept for concept in reading.concepts}

    def document_row(self, content_version: int) -> DocumentRow:
        """Return the row of the document."""
        document, reading = self._document, self._reading
        first_path = document.source_id.partition("/")[2]
        filename = first_path.rpartition("/")[2]
        row = DocumentRow(
            doc_id=document.doc_id,
            ontology=document.ontology,
            source_id=document.source_id,
            content_hash=document.sha256,
            garage_key=document.key,
            original_filename=filename,
            size_bytes=document.size,
            chunk_count=len(reading.chunks),
            ingested_at=self._at,
            deposit=document.deposit,
            source_title=reading.title or filename,
            source_uri=source_uri(document),
            document_type=reading.media_type,
            text_sha256=reading.text_sha256,
            content_length=reading.text_length,
            reading=reading.id,
            ingest_version=reading.ingest_version,
            content_version=content_version,
            pages=reading.pages,
            language=reading.language,
            dimensions=reading.about.get("dimensions", ""),
            guessed_encoding=reading.guessed_encoding,
            status="done" if reading.carries_knowledge else "gated",
        )
        about = row.source_title, row.document_type, row.size_bytes
        gated = [
            (chunk.line_start, chunk.line_end, verdict.reason)
            for chunk, verdict in zip(reading.chunks, reading.verdicts, strict=True)
            if not verdict.passed
        ]
        shown = self._text + text_md.gate_note(gated, reading.ingest_version)
        return replace(row, text_md_size=text_md.base_size(*about, shown, row.guessed_encoding))

    def batches(
        self, document: DocumentRow, introduced: Sequence[tuple[str, str]] = (), claims: Iterable[ClaimRow] = ()
    ) -> Iterator[Batch]:
        """Yield the rows of ``document`` in batches of STAGED_BATCH: Sources and evidence first."""
        rows = chain((self._source_row(chunk) for chunk in self._reading.chunks), self.instances())
        for some in batched(rows, STAGED_BATCH):
            sources = [row for row in some if isinstance(row, SourceRow)]
            yield Batch(sources, {"instance": [row for row in some if isinstance(row, InstanceRow)]}, document)
        kinds: tuple[tuple[str, Iterable[Any]], ...] = (
            ("introduced", introduced),
            ("candidate", self.candidates()),
            ("named", self.named()),
            ("claim", claims),
        )
        for table, kind in kinds:
            for part in batched(kind, STAGED_BATCH):
                yield Batch(rows={table: part}, document=document)

    def concepts(self) -> list[ConceptRow]:
        """Return one row per concept. Labels of this document that are the same concept are merged into one mention."""
        rows: dict[str, ConceptRow] = {}
        for matched in self._decisions.concepts:
            mention = replace(self._mention(self._found[matched.norm]), passed=matched.passed)
            known = rows.get(matched.concept_id)
            rows[matched.concept_id] = ConceptRow(
                concept_id=matched.concept_id,
                ontology=self._document.ontology,
                norm=matched.founded_norm,
                name=matched.name,
                mention=_joined(known.mention, mention) if known else mention,
            )
        return list(rows.values())

    def relationships(self) -> list[RelationshipRow]:
        """Return one row per relationship."""
        rows = {
            matched.relationship_id: RelationshipRow(
                matched.relationship_id,
                self._document.ontology,
                matched.subject,
                self._reading.relationships[matched.index].type,
                matched.object,
            )
            for matched in self._decisions.relationships
        }
        return list(rows.values())

    def _mention(self, found: FoundConcept) -> Mention:
        document = self._document
        return Mention(
            document.doc_id,
            document.deposit,
            found.label,
            found.forms,
            found.kind,
            found.score,
            found.definition,
            found.kinds,
        )

    def _chosen_chunk_ids(self) -> list[str]:
        """Return the chunk ids: twelve digits, or more where another Source has these twelve already."""
        doc_id = self._document.doc_id
        chosen: dict[int, str] = {}
        for length in CHUNK_ID_LENGTHS:
            left = [chunk for chunk in self._reading.chunks if chunk.index not in chosen]
            for some in batched(left, ASKED_AT_ONCE):
                wanted = {chunk.index: chunk_id_of(doc_id, chunk.start, chunk.end, length) for chunk in some}
                held = self._graph.chunk_ids_held([*wanted.values()])
                chosen |= {index: id_ for index, id_ in wanted.items() if held.get(id_) in (None, (doc_id, index))}
        if len(chosen) < len(self._reading.chunks):
            raise AssertionError("two Sources share a whole SHA-256")
        return [chosen[chunk.index] for chunk in self._reading.chunks]

    def _source_row(self, chunk: Chunk) -> SourceRow:
        content, verdict = self._text[chunk.start : chunk.end], self._reading.verdicts[chunk.index]
        return SourceRow(
            doc_id=self._document.doc_id,
            chunk_index=chunk.index,
            chunk_id=self._chunk_ids[chunk.index],
            full_text=content,
            char_start=chunk.start,
            char_end=chunk.end,
            line_start=chunk.line_start,
            line_end=chunk.line_end,
            byte_start=chunk.byte_start,
            byte_end=chunk.byte_end,
            section_path=chunk.section_path,
            chunk_method=self._reading.chunk_method,
            overlap_chars=chunk.start - chunk.context_start,
            tokens=chunk.tokens,
            gated=verdict.reason,
            page_number=chunk.page,
            paragraph=self._paragraph(chunk),
            context_summary=self._reading.context or self._summary(chunk),
            embedding_text=embedded_text(self._reading.context, content) if verdict.passed else "",
            metadata=self._metadata(chunk),
        )

    def _metadata(self, chunk: Chunk) -> str:
        places = within(self._text, self._reading.places, chunk.start, chunk.end)
        gate = judged_blocks(self._reading.verdicts) if chunk.index == 0 else []
        found = {name: value for name, value in (("places", places), ("gate", gate)) if value}
        return json.dumps(found, ensure_ascii=False)

    def _summary(self, chunk: Chunk) -> str:
        """Return what the Source's document is, by title, section, type and date [CITE 4]."""
        first_path = self._document.source_id.partition("/")[2]
        title = self._reading.title or first_path.rpartition("/")[2]
        section = f", section {' > '.join(chunk.section_path)}" if chunk.section_path else ""
        about = ", ".join(filter(None, (text_md.type_of(self._reading.media_type), self._day)))
        return f"{title}{section} ({about})" if about else f"{title}{section}"

    def _paragraph(self, chunk: Chunk) -> int:
        """Return the number of the paragraph, from 1, in which the first words of the Source stand."""
        words = _WORDS.search(self._text, chunk.start, chunk.end)
        return max(1, bisect_right(self._paragraphs, words.start() if words else chunk.start))

    def instances(self) -> Iterator[InstanceRow]:
        """Yield the rows of evidence, no span twice for one owner.

        Two labels of the document may be the same concept.
        """
        given: set[tuple[str, int]] = set()

        def fresh(owner: str, number: int) -> bool:
            new = (owner, number) not in given
            given.add((owner, number))
            return new

        for matched in self._decisions.concepts:
            quotes = zip(self._found[matched.norm].quotes, matched.numbers, strict=True)
            for quote, number in quotes:
                if fresh(matched.concept_id, number):
                    yield self._instance(matched.concept_id, "concept", number, quote, quote.score)
        for relationship in self._decisions.relationships:
            found = self._reading.relationships[relationship.index]
            if fresh(relationship.relationship_id, relationship.number):
                yield self._instance(
                    relationship.relationship_id, "relationship", relationship.number, found.quote, found.confidence
                )

    def named(self) -> Iterator[NamedRow]:
        """Yield where the document names concepts, one row per concept that it has or that it only names."""
        places: dict[tuple[str, bool], list[Sequence[int]]] = {}
        for matched in self._decisions.concepts:
            places.setdefault((matched.concept_id, True), []).append(matched.spans)
        for named in self._decisions.named:
            places.setdefault((named.concept_id, False), []).append(named.spans)
        for (concept_id, own), several in places.items():
            spans = {span for flat in several for span in _spans(flat)}
            if spans:
                yield NamedRow(concept_id, own, tuple(self._place(start, end) for start, end in sorted(spans)))

    def candidates(self) -> Iterator[CandidateRow]:
        """Yield what could be looked up in the document, no key twice."""
        given: set[str] = set()
        for one in self._decisions.candidates:
            words = self._text[one.start : one.end]
            key = form_key(words)
            if key and key not in given:
                given.add(key)
                line = self._place(one.start, one.end)[0]
                yield CandidateRow(key, words, one.heading, one.count, line, one.start, one.end)

    def claims(self, vectors: Sequence[bytes]) -> Iterator[ClaimRow]:
        """Yield the document's claims, rejected ones included, and none twice from one quote."""
        wordings: dict[str, list[str]] = {}
        given: set[tuple[str, int]] = set()
        waiting = iter(vectors)
        for ordinal, found in enumerate(self._reading.claims):
            vector = b"" if found.rejected else next(waiting, b"")
            row = ClaimRow(
                doc_id=self._document.doc_id,
                ordinal=ordinal,
                claim_id="",
                **{name: getattr(found, name) for name in _CLAIMED},
                vector=vector,
                vector_model=self._reading.embedding_model if vector else "",
            )
            if found.quote is not None:
                row = replace(row, **self._quoted(found.quote))
            if not found.rejected and found.quote is not None:
                row.claim_id = self._claim_id(found, row.quote, wordings)
                if (row.claim_id, row.char_start) in given:
                    continue
                given.add((row.claim_id, row.char_start))
            yield row

    def _claim_id(self, found: FoundClaim, quote: str, wordings: dict[str, list[str]]) -> str:
        """Return the id of a claim. ``wordings`` are those that the document has so far, by the first of their ids."""
        known = (self._document.ontology, quote, found.actor, found.role)
        said = wordings.setdefault(claim_id_of(*known), [])
        words = normalise_label(found.claim)
        if words not in said:
            said.append(words)
        return claim_id_of(*known, said.index(words))

    def _place(self, start: int, end: int) -> tuple[int, int, int, int]:
        chunk = self._reading.chunks[bisect_right(self._reading.chunks, start, key=lambda one: one.start) - 1]
        return chunk.line_start + self._text.count("\n", chunk.start, start), start, end, chunk.index

    def _instance(self, owner: str, kind: str, number: int, quote: Quote, confidence: float) -> InstanceRow:
        return InstanceRow(
            instance_id=instance_id_of(owner, self._document.doc_id, quote.start, quote.end),
            owner=owner,
            owner_kind=kind,
            n=number,
            doc_id=self._document.doc_id,
            defines=quote.defines,
            confidence=confidence,
            source_size=source_txt.base_size(self._excerpt(quote)),
            citation_size=0,
            mtime=self._at,
            **self._quoted(quote),
        )

    def _quoted(self, quote: Quote) -> dict[str, Any]:
        """Return the columns of a quote: its words and its place."""
        text, chunk = self._text, self._reading.chunks[quote.chunk]
        words = text[quote.start : quote.end]
        locator = self._reading.locator(text, quote.start)
        page = locator.get("page")
        byte_start = chunk.byte_start + len(_utf8(text[chunk.start : quote.start]))
        return {
            "chunk_index": chunk.index,
            "chunk_id": self._chunk_ids[chunk.index],
            "quote": words,
            "char_start": quote.start,
            "char_end": quote.end,
            "byte_start": byte_start,
            "byte_end": byte_start + len(_utf8(words)),
            "line_start": chunk.line_start + text.count("\n", chunk.start, quote.start),
            "line_end": chunk.line_start + text.count("\n", chunk.start, quote.end - 1),
            "section_path": self._reading.section_path(quote),
            "page": page if isinstance(page, int) else chunk.page,
            "locator": json.dumps(locator, ensure_ascii=False) if locator else "",
        }

    def _excerpt(self, quote: Quote) -> source_txt.Excerpt:
        """Return the Source that contains the quote's start, with the following Sources that the quote reaches into."""
        first = self._reading.chunks[quote.chunk]
        end = first.end
        for chunk in self._reading.chunks[quote.chunk + 1 :]:
            if end >= quote.end:
                break
            end = chunk.end
        return source_txt.Excerpt(
            text=self._text[first.start : end],
            start=first.start,
            line=first.line_start,
            quote_start=quote.start,
            quote_end=quote.end,
            section_path=self._reading.section_path(quote),
            page=first.page,
        )


def _joined(one: Mention, other: Mention) -> Mention:
    best = max(one, other, key=lambda mention: mention.score)
    forms = tuple(dict.fromkeys((*best.forms, *one.forms, *other.forms)))
    kinds = tuple(dict.fromkeys((*best.kinds, *one.kinds, *other.kinds)))
    definition = best.definition or one.definition or other.definition
    return replace(best, forms=forms, definition=definition, kinds=kinds, passed=one.passed or other.passed)


def _spans(flat: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
