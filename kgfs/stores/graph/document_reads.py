"""Read documents and their Sources, one indexed query each."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from kgfs.domain.mails import Mail
from kgfs.domain.sessions import Fold, SegmentRow, SessionRow
from kgfs.domain.word_forms import without_joiners
from kgfs.stores.database import Database
from kgfs.stores.graph.rows import (
    DOCUMENT,
    SHOWN,
    SOURCE,
    THOSE,
    listed,
    source_row,
)
from kgfs.stores.graph.vocabulary import (
    DocumentRow,
    EarlierText,
    SourceRow,
)

_DOCUMENT = f"SELECT {listed(DOCUMENT, 'document')} FROM document"
# CROSS JOIN fixes the order of the joins: first the rows asked for, then the state of their edition.
_SOURCE = f"""SELECT document.doc_id, {listed(SOURCE, "source")}
    FROM source CROSS JOIN document ON document.key = source.document AND document.state = {SHOWN}"""
_SOURCE_OF = f"""SELECT document.doc_id, {listed(SOURCE, "source")}
    FROM document CROSS JOIN source ON source.document = document.key
    WHERE document.doc_id = ? AND document.state = {SHOWN}"""


MANY = 1000
"""The Sources of which it is looked up what documents they are of."""


def _quoted(words: str) -> str:
    """Return words as one string of the full text's query language: they must stand in this order."""
    return '"' + without_joiners(words).replace('"', '""') + '"'


_MAIL = (
    "doc_id, email_subject, email_participants, coalesce(email_date_start, 0), coalesce(email_date_end, 0),"
    " email_message_count, coalesce(message_id, ''), coalesce(thread, '')"
)


def _segment(doc_id: str, first_entry: int, entry_sizes: str, conversation_size: int) -> SegmentRow:
    sizes = json.loads(entry_sizes)
    if isinstance(sizes, list):
        return SegmentRow(doc_id, first_entry, tuple(sizes), conversation_size, is_first_form=True)
    return SegmentRow(doc_id, first_entry, tuple(sizes["pages"]), conversation_size)


def _mail(row: tuple[Any, ...]) -> Mail:
    return Mail(row[0], row[1], tuple(json.loads(row[2])), *row[3:])


THREAD = 200
"""Mails of a conversation that one Message-ID finds at most."""


class DocumentReads:
    """The reads of documents, mails, sessions and Sources, and of the full text. See ``contract.Graph``."""

    _database: Database

    def document(self, doc_id: str) -> DocumentRow | None:
        """Return a visible document; None if there is none with this id."""
        found = self._database.row(f"{_DOCUMENT} WHERE doc_id = ? AND state = {SHOWN}", (doc_id,))
        return DocumentRow(*found) if found else None

    def documents_among(self, doc_ids: Sequence[str]) -> dict[str, DocumentRow]:
        """Return the visible ones of these documents, by doc_id."""
        sql = f"{_DOCUMENT} WHERE doc_id IN {THOSE} AND state = {SHOWN}"
        rows = (DocumentRow(*row) for row in self._database.rows(sql, (json.dumps(list(doc_ids)),)))
        return {row.doc_id: row for row in rows}

    def text_sizes(self, doc_ids: Sequence[str]) -> dict[str, int]:
        """Return the bytes of the Text as UTF-8 of the visible ones of these documents, by doc_id."""
        sql = (
            "SELECT doc_id, CASE WHEN text_sha256 = content_hash THEN size_bytes ELSE coalesce("
            " (SELECT byte_end FROM source WHERE document = document.key ORDER BY chunk_index DESC LIMIT 1), 0) END"
            f" FROM document WHERE doc_id IN {THOSE} AND state = {SHOWN}"
        )
        return dict(self._database.rows(sql, (json.dumps(list(doc_ids)),)))

    def earlier_text(self, doc_id: str) -> EarlierText | None:
        """Return the Text that the graph showed of a document before it last left; None if it never left, or left a graph
        of a version of kgfs that did not note it."""
        found = self._database.row("SELECT reading, bytes, is_original FROM earlier_text WHERE doc_id = ?", (doc_id,))
        return EarlierText(found[0], found[1], bool(found[2])) if found else None

    def mail(self, doc_id: str) -> Mail | None:
        """Return what a visible mail says of its conversation; None for any other document."""
        found = self._database.row(
            f"SELECT {_MAIL} FROM document WHERE doc_id = ? AND state = {SHOWN} AND email_message_count IS NOT NULL",
            (doc_id,),
        )
        return _mail(found) if found else None

    def own_dates(self, doc_ids: Collection[str]) -> dict[str, int]:
        """Return the dates that visible documents give themselves, in nanoseconds: of a mail that of its newest message, of a
        text the date of its front matter (``domain.dates``). Documents without one are left out."""
        sql = f"SELECT doc_id, dated FROM document WHERE doc_id IN {THOSE} AND state = {SHOWN} AND dated IS NOT NULL"
        return dict(self._database.rows(sql, (json.dumps([*doc_ids]),)))

    def thread(self, ontology: str, message_ids: Sequence[str]) -> list[Mail]:
        """Return the visible mails of an ontology that have one of these Message-IDs, or whose conversation began with
        one of them, at most THREAD each, by date."""
        found: dict[str, Mail] = {}
        for message_id in message_ids:
            for column in ("message_id", "thread"):
                sql = f"SELECT {_MAIL} FROM document WHERE ontology = ? AND {column} = ? AND state = {SHOWN} LIMIT {THREAD}"
                found |= {row[0]: _mail(row) for row in self._database.rows(sql, (ontology, message_id))}
        return sorted(found.values(), key=lambda mail: (mail.date_start, mail.doc_id))

    def sessions(self, ontology: str) -> list[SessionRow]:
        """Return the visible transcripts of an ontology, by session_id and order of deposit."""
        sql = (
            "SELECT doc_id, session_id, interface, entry_count, coalesce(first_at, ''), coalesce(last_at, ''),"
            " coalesce(json_extract(entry_sizes, '$.first_uuid'), ''), coalesce(json_extract(entry_sizes, '$.folds'), '[]')"
            f" FROM document WHERE ontology = ? AND state = {SHOWN} AND session_id IS NOT NULL"
            " ORDER BY session_id, deposit, doc_id"
        )
        rows = self._database.rows(sql, (ontology,))
        return [
            replace(SessionRow(*row[:-1]), folds=tuple(Fold(*each) for each in json.loads(row[-1]))) for row in rows
        ]

    def folds(self, doc_id: str) -> list[Fold]:
        """Return what is folded of a visible transcript; nothing for any other document."""
        sql = f"SELECT json_extract(entry_sizes, '$.folds') FROM document WHERE doc_id = ? AND state = {SHOWN}"
        found = self._database.row(sql, (doc_id,))
        return [Fold(*each) for each in json.loads(found[0] or "[]")] if found else []

    def segment_ids(self, doc_ids: Collection[str]) -> frozenset[str]:
        """Return those of these visible documents that are segments of transcripts."""
        any_session = (
            "SELECT 1 FROM document INDEXED BY document_session"  # the planner takes one of all documents
            f" WHERE state = {SHOWN} AND session_id IS NOT NULL LIMIT 1"
        )
        if self._database.row(any_session) is None:  # a home without transcripts looks no further
            return frozenset()
        sql = (
            f"SELECT doc_id FROM document WHERE doc_id IN {THOSE} AND state = {SHOWN}"
            " AND interface IS NOT NULL AND session_id IS NULL"
        )
        return frozenset(doc_id for (doc_id,) in self._database.rows(sql, (json.dumps([*doc_ids]),)))

    def segments(self, doc_ids: Sequence[str]) -> dict[str, SegmentRow]:
        """Return the visible ones of these segments, by doc_id."""
        sql = (
            "SELECT doc_id, first_entry, entry_sizes, conversation_size FROM document"
            f" WHERE doc_id IN {THOSE} AND state = {SHOWN} AND conversation_size IS NOT NULL"
        )
        rows = self._database.rows(sql, (json.dumps(list(doc_ids)),))
        return {row[0]: _segment(*row) for row in rows}

    def documents(self, ontology: str, after: str = "", limit: int = 1000) -> list[DocumentRow]:
        """Return the documents of an ontology, ordered by doc_id."""
        where = f"WHERE ontology = ? AND doc_id > ? AND state = {SHOWN} ORDER BY doc_id LIMIT ?"
        return [DocumentRow(*row) for row in self._database.rows(f"{_DOCUMENT} {where}", (ontology, after, limit))]

    def document_types(self, ontology: str) -> dict[str, str]:
        """Return the media type of each visible document of an ontology, by doc_id. A scan."""
        sql = f"SELECT doc_id, document_type FROM document WHERE ontology = ? AND state = {SHOWN}"
        return dict(self._database.rows(sql, (ontology,)))

    def source(self, doc_id: str, chunk_index: int) -> SourceRow | None:
        """Return the Source of a visible document with this chunk index; None if there is none."""
        found = self._database.row(f"{_SOURCE_OF} AND source.chunk_index = ?", (doc_id, chunk_index))
        return source_row(found) if found else None

    def sources(self, doc_id: str, after: int = -1, limit: int = 1000) -> list[SourceRow]:
        """Return the Sources of a visible document, ordered by chunk index; empty for an unknown document."""
        where = "AND source.chunk_index > ? ORDER BY source.chunk_index LIMIT ?"
        return [source_row(row) for row in self._database.rows(f"{_SOURCE_OF} {where}", (doc_id, after, limit))]

    def gated(self, ontology: str, limit: int = 1 << 62) -> list[tuple[str, int, int, str]]:
        """Return doc_id, first and last line and reason of each gated Source of an ontology's visible documents. Reads an
        index of them, and the rows of at most ``limit``."""
        return self._database.rows(
            "SELECT document.doc_id, source.line_start, source.line_end, source.gated FROM source INDEXED BY source_gated"
            f" CROSS JOIN document ON document.key = source.document AND document.state = {SHOWN}"
            " WHERE source.gated != '' AND document.ontology = ? ORDER BY source.document, source.key LIMIT ?",
            (ontology, limit),
        )

    def gated_of(self, doc_id: str) -> list[tuple[int, int, str]]:
        """Return first and last line and reason of each gated Source of a visible document, in order. Quick."""
        return self._database.rows(
            "SELECT source.line_start, source.line_end, source.gated FROM document"
            " CROSS JOIN source INDEXED BY source_gated ON source.document = document.key AND source.gated != ''"
            f" WHERE document.doc_id = ? AND document.state = {SHOWN} ORDER BY source.chunk_index",
            (doc_id,),
        )

    def gated_reasons(self, ontology: str) -> dict[str, int]:
        """Return how many Sources of an ontology's visible documents are gated for each reason. Reads an index of them."""
        return dict(
            self._database.rows(
                "SELECT source.gated, count(*) FROM source INDEXED BY source_gated"
                f" CROSS JOIN document ON document.key = source.document AND document.state = {SHOWN}"
                " WHERE source.gated != '' AND document.ontology = ? GROUP BY source.gated",
                (ontology,),
            )
        )

    def sources_at(self, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], SourceRow]:
        """Return the Sources of visible documents at these (doc_id, chunk index), in one read. Unknown ones are missing."""
        rows = self._database.rows(
            f"SELECT document.doc_id, {listed(SOURCE, 'source')} FROM json_each(?1) AS place"
            f" CROSS JOIN document ON document.doc_id = json_extract(place.value, '$[0]') AND document.state = {SHOWN}"
            " CROSS JOIN source ON source.document = document.key"
            " AND source.chunk_index = json_extract(place.value, '$[1]')",
            (json.dumps([*places]),),
        )
        return {(row.doc_id, row.chunk_index): row for row in map(source_row, rows)}

    def chunk_ids_held(self, chunk_ids: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Return (doc_id, chunk_index) of the Source that has each chunk id. Chunk ids that no Source has are
        missing in the result. If several Sources have one, the first by (doc_id, chunk_index) is returned."""
        rows = self._database.rows(
            "SELECT source.chunk_id, document.doc_id, source.chunk_index FROM source"
            f" CROSS JOIN document ON document.key = source.document AND document.state = {SHOWN}"
            f" WHERE source.chunk_id IN {THOSE} ORDER BY document.doc_id DESC, source.chunk_index DESC",
            (json.dumps(chunk_ids),),
        )
        return {chunk_id: (doc_id, index) for chunk_id, doc_id, index in rows}

    def find_text(
        self,
        words: str,
        ontology: str = "",
        limit: int = 10,
        *,
        phrases: Sequence[str] = (),
        doc_ids: Collection[str] | None = None,
    ) -> list[tuple[SourceRow, float]]:
        """Return the Sources that match the words best, by BM25, and their scores (higher is better).

        Each word is taken literally and one suffices, but each of ``phrases`` must stand in the Source, as its words
        in that order. ``doc_ids`` are the only documents to look in; None for all. Ties are in order of doc_id and chunk index.
        """
        # Each word is quoted, since some words are operators of the query language.
        wanted = " OR ".join(_quoted(word) for word in words.replace("\0", " ").split())
        if not wanted:
            return []
        wanted = " AND ".join([f"({wanted})", *(_quoted(phrase.replace("\0", " ")) for phrase in phrases)])
        within = " AND document.doc_id IN (SELECT value FROM json_each(?4))" if doc_ids is not None else ""
        rows = self._database.rows(
            f"SELECT document.doc_id, {listed(SOURCE, 'source')}, hit.score"
            " FROM (SELECT source_words.rowid AS key, -bm25(source_words) AS score, document.key AS edition"
            "   FROM source_words CROSS JOIN source AS held ON held.key = source_words.rowid"
            f"  CROSS JOIN document ON document.key = held.document AND document.state = {SHOWN} AND document.hidden_by = ''"
            f"   WHERE source_words MATCH ?1 AND (?2 = '' OR document.ontology = ?2){within}"
            "   ORDER BY score DESC, document.doc_id, held.chunk_index LIMIT ?3) AS hit"
            " CROSS JOIN source ON source.key = hit.key CROSS JOIN document ON document.key = hit.edition"
            " ORDER BY hit.score DESC, document.doc_id, source.chunk_index",
            (wanted, ontology, limit, *([json.dumps([*doc_ids])] if doc_ids is not None else [])),
        )
        return [(source_row(row[:-1]), row[-1]) for row in rows]

    def sources_with(self, forms: Collection[str], most: int = 20_000) -> dict[str, int]:
        """Return for each form of a word (:mod:`kgfs.domain.word_forms`) how many Sources of the graph have it; ``most``
        where there are so many or more. Staged Sources may count, too."""
        count = "SELECT count(*) FROM (SELECT 1 FROM source_words WHERE source_words MATCH ? LIMIT ?)"
        # The table has words as they stand there, which begin with their stem.
        return {form: self._database.rows(count, (f"{_quoted(form)} *", most))[0][0] for form in forms}

    def few_documents_with(self, words: Collection[str], most: int, ontology: str = "") -> frozenset[str]:
        """Return the doc_ids of the documents that have a Source with one of these words; no more than ``most`` and one. Where
        very many Sources have one, none are returned. Quick."""
        rows = self._database.rows(
            "SELECT DISTINCT document.doc_id, hit.number FROM (SELECT source_words.rowid AS key, count(*) OVER () AS number"
            "  FROM (SELECT rowid FROM source_words WHERE source_words MATCH ? LIMIT ?) AS source_words) AS hit"
            " CROSS JOIN source ON source.key = hit.key"
            f" CROSS JOIN document ON document.key = source.document AND document.state = {SHOWN}"
            " WHERE document.hidden_by = '' AND (? = '' OR document.ontology = ?) LIMIT ?",
            (" OR ".join(map(_quoted, sorted(words))), MANY, ontology, ontology, most + 1),
        )
        return frozenset(doc_id for doc_id, number in rows if number < MANY)

    def documents_with(self, phrase: str, ontology: str = "") -> set[str]:
        """Return the doc_ids of the documents that have a Source with these words in this order."""
        return {doc_id for doc_id, _ in self.sources_with_phrase(phrase, ontology)}

    def sources_with_phrase(self, phrase: str, ontology: str = "") -> set[tuple[str, int]]:
        """Return (doc_id, chunk index) of the Sources that have these words in this order."""
        rows = self._database.rows(
            "SELECT document.doc_id, source.chunk_index"
            " FROM source_words CROSS JOIN source ON source.key = source_words.rowid"
            f" CROSS JOIN document ON document.key = source.document AND document.state = {SHOWN}"
            " WHERE document.hidden_by = '' AND source_words MATCH ?1 AND (?2 = '' OR document.ontology = ?2)",
            (_quoted(phrase.replace("\0", " ")), ontology),
        )
        return {(doc_id, index) for doc_id, index in rows}
