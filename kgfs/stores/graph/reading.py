"""The reading half of the SQLite graph: the read methods of the contract, one indexed query each."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from kgfs.domain.mails import Mail
from kgfs.domain.sessions import SegmentRow, SessionRow
from kgfs.render.concept import ConceptPage
from kgfs.stores.database import Database
from kgfs.stores.graph import scoped
from kgfs.stores.graph.contract import THREAD
from kgfs.stores.graph.faults import faults
from kgfs.stores.graph.feed import changes
from kgfs.stores.graph.hiding import known_as
from kgfs.stores.graph.joined import JoinedReads
from kgfs.stores.graph.kind_rows import rows_of
from kgfs.stores.graph.merging import MARKS, mark_row
from kgfs.stores.graph.named import NamedReads
from kgfs.stores.graph.pages import concept_page
from kgfs.stores.graph.rows import (
    CONCEPT,
    COUNTED,
    DOCUMENT,
    INSTANCE,
    SHOWN,
    SOURCE,
    STAGED,
    concept_row,
    instance_row,
    listed,
    source_row,
)
from kgfs.stores.graph.sampling import draw, stepwise
from kgfs.stores.graph.terms import TermReads
from kgfs.stores.graph.vocabulary import (
    EVERYTHING,
    FIRST_LOOKED_BACK,
    TEXT_ONLY,
    Change,
    Concept,
    DocumentRow,
    EarlierText,
    Fault,
    InstanceRow,
    Mark,
    Related,
    Risen,
    Scope,
    SourceRow,
)

_CONCEPT = f"SELECT {listed(CONCEPT, 'concept')} FROM concept"
# INDEXED BY the covering index: with the other index on names, SQLite would read a row of the table.
_LISTED = "SELECT concept_id, mtime FROM concept INDEXED BY concept_listed WHERE ontology = ? AND name = ? AND live = 1"
_DOCUMENT = f"SELECT {listed(DOCUMENT, 'document')} FROM document"
# CROSS JOIN fixes the order of the joins: first the rows asked for, then the state of their edition.
_SOURCE = f"""SELECT document.doc_id, {listed(SOURCE, "source")}
    FROM source CROSS JOIN document ON document.key = source.document AND document.state = {SHOWN}"""
_THOSE = "(SELECT value FROM json_each(?1))"
_SOURCE_OF = f"""SELECT document.doc_id, {listed(SOURCE, "source")}
    FROM document CROSS JOIN source ON source.document = document.key
    WHERE document.doc_id = ? AND document.state = {SHOWN}"""
_INSTANCE = f"""SELECT document.doc_id, {listed(INSTANCE, "instance")}
    FROM instance CROSS JOIN document ON document.key = instance.document AND document.state = {SHOWN}"""


def _quoted(words: str) -> str:
    """Return words as one string of the full text's query language: they must stand in this order."""
    return '"' + words.replace('"', '""') + '"'


_MAIL = (
    "doc_id, email_subject, email_participants, coalesce(email_date_start, 0), coalesce(email_date_end, 0),"
    " email_message_count, coalesce(message_id, ''), coalesce(thread, '')"
)


def _mail(row: tuple[Any, ...]) -> Mail:
    return Mail(row[0], row[1], tuple(json.loads(row[2])), *row[3:])


class GraphReads:
    """The read methods of the graph. Any thread may call them at any time; each call sees the newest commit."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.terms = TermReads(database)
        self.named = NamedReads(database)
        self.joined = JoinedReads(database)

    def faults(self) -> list[Fault]:
        with self._database.snapshot() as connection:
            return faults(connection)

    def epoch(self) -> int:
        found: int = self._database.row("SELECT value FROM meta WHERE name = 'epoch'")[0]
        return found

    def clears(self) -> int:
        found: int = self._database.row("SELECT value FROM meta WHERE name = 'clears'")[0]
        return found

    def published(self, commit_id: str) -> int | None:
        found = self._database.row('SELECT epoch FROM "commit" WHERE commit_id = ?', (commit_id,))
        return found[0] if found else None

    def staged(self) -> list[str]:
        rows = self._database.rows(f"SELECT DISTINCT commit_id FROM document WHERE state = {STAGED} ORDER BY commit_id")
        return [commit_id for (commit_id,) in rows]

    def changes(self, after: int, limit: int = 10000) -> list[Change] | None:
        with self._database.snapshot() as connection:
            return changes(connection, after, limit)

    def counts(self, ontology: str = "") -> Mapping[str, int]:
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in COUNTED)
        where, values = ("WHERE ontology = ?", (ontology,)) if ontology else ("", ())
        return dict(zip(COUNTED, self._database.row(f"SELECT {sums} FROM counter {where}", values), strict=True))

    def texts(self, ontology: str) -> int:
        sql = f"SELECT count(*) FROM document WHERE ontology = ? AND state = {SHOWN} AND status = '{TEXT_ONLY}'"
        found: int = self._database.row(sql, (ontology,))[0]
        return found

    def read_before(self, version: int) -> int:
        sql = f"SELECT count(*) FROM document WHERE ingest_version < ? AND state = {SHOWN}"
        found: int = self._database.row(sql, (version,))[0]
        return found

    def extent(self, doc_ids: Collection[str]) -> tuple[int, int]:
        sums = "coalesce(sum(content_length), 0), coalesce(sum(instances), 0)"
        found = self._database.row(
            f"SELECT {sums} FROM document WHERE doc_id IN {_THOSE} AND state = {SHOWN}", (json.dumps([*doc_ids]),)
        )
        return int(found[0]), int(found[1])

    def hidden(self, doc_ids: Collection[str]) -> frozenset[str]:
        rows = self._database.rows(
            f"SELECT doc_id FROM document WHERE doc_id IN {_THOSE} AND state = {SHOWN} AND hidden_by != ''",
            (json.dumps([*doc_ids]),),
        )
        return frozenset(doc_id for (doc_id,) in rows)

    def hidden_by(self, doc_id: str) -> tuple[str, ...]:
        sql = f"SELECT doc_id FROM document WHERE hidden_by = ? AND hidden_by != '' AND state = {SHOWN} ORDER BY doc_id"
        return tuple(hidden for (hidden,) in self._database.rows(sql, (doc_id,)))

    def changed_at(self, ontology: str) -> int:
        found = self._database.row("SELECT changed_at FROM counter WHERE ontology = ?", (ontology,))
        return found[0] if found else 0

    # ----------------------------------------------------------------------------- documents, sources

    def rows(self, table: str, ontology: str) -> Iterator[tuple[Any, ...]]:
        with self._database.snapshot() as connection:
            yield from rows_of(connection, table, ontology)

    def document(self, doc_id: str) -> DocumentRow | None:
        found = self._database.row(f"{_DOCUMENT} WHERE doc_id = ? AND state = {SHOWN}", (doc_id,))
        return DocumentRow(*found) if found else None

    def documents_among(self, doc_ids: Sequence[str]) -> dict[str, DocumentRow]:
        sql = f"{_DOCUMENT} WHERE doc_id IN {_THOSE} AND state = {SHOWN}"
        rows = (DocumentRow(*row) for row in self._database.rows(sql, (json.dumps(list(doc_ids)),)))
        return {row.doc_id: row for row in rows}

    def text_sizes(self, doc_ids: Sequence[str]) -> dict[str, int]:
        sql = (
            "SELECT doc_id, CASE WHEN text_sha256 = content_hash THEN size_bytes ELSE coalesce("
            " (SELECT byte_end FROM source WHERE document = document.key ORDER BY chunk_index DESC LIMIT 1), 0) END"
            f" FROM document WHERE doc_id IN {_THOSE} AND state = {SHOWN}"
        )
        return dict(self._database.rows(sql, (json.dumps(list(doc_ids)),)))

    def earlier_text(self, doc_id: str) -> EarlierText | None:
        found = self._database.row("SELECT reading, bytes, is_original FROM earlier_text WHERE doc_id = ?", (doc_id,))
        return EarlierText(found[0], found[1], bool(found[2])) if found else None

    def mail(self, doc_id: str) -> Mail | None:
        found = self._database.row(
            f"SELECT {_MAIL} FROM document WHERE doc_id = ? AND state = {SHOWN} AND email_message_count IS NOT NULL",
            (doc_id,),
        )
        return _mail(found) if found else None

    def own_dates(self, doc_ids: Collection[str]) -> dict[str, int]:
        sql = f"SELECT doc_id, dated FROM document WHERE doc_id IN {_THOSE} AND state = {SHOWN} AND dated IS NOT NULL"
        return dict(self._database.rows(sql, (json.dumps([*doc_ids]),)))

    def thread(self, ontology: str, message_ids: Sequence[str]) -> list[Mail]:
        found: dict[str, Mail] = {}
        for message_id in message_ids:
            for column in ("message_id", "thread"):
                sql = f"SELECT {_MAIL} FROM document WHERE ontology = ? AND {column} = ? AND state = {SHOWN} LIMIT {THREAD}"
                found |= {row[0]: _mail(row) for row in self._database.rows(sql, (ontology, message_id))}
        return sorted(found.values(), key=lambda mail: (mail.date_start, mail.doc_id))

    def sessions(self, ontology: str) -> list[SessionRow]:
        sql = (
            "SELECT doc_id, session_id, interface, entry_count, coalesce(first_at, ''), coalesce(last_at, '') FROM document"
            f" WHERE ontology = ? AND state = {SHOWN} AND session_id IS NOT NULL ORDER BY session_id, deposit, doc_id"
        )
        return [SessionRow(*row) for row in self._database.rows(sql, (ontology,))]

    def segment_ids(self, doc_ids: Collection[str]) -> frozenset[str]:
        any_session = f"SELECT 1 FROM document WHERE state = {SHOWN} AND session_id IS NOT NULL LIMIT 1"
        if self._database.row(any_session) is None:  # a home without transcripts looks no further
            return frozenset()
        sql = (
            f"SELECT doc_id FROM document WHERE doc_id IN {_THOSE} AND state = {SHOWN}"
            " AND interface IS NOT NULL AND session_id IS NULL"
        )
        return frozenset(doc_id for (doc_id,) in self._database.rows(sql, (json.dumps([*doc_ids]),)))

    def segments(self, doc_ids: Sequence[str]) -> dict[str, SegmentRow]:
        sql = (
            "SELECT doc_id, first_entry, entry_sizes, conversation_size FROM document"
            f" WHERE doc_id IN {_THOSE} AND state = {SHOWN} AND entry_sizes IS NOT NULL"
        )
        rows = self._database.rows(sql, (json.dumps(list(doc_ids)),))
        return {row[0]: SegmentRow(row[0], row[1], tuple(json.loads(row[2])), row[3]) for row in rows}

    def documents(self, ontology: str, after: str = "", limit: int = 1000) -> list[DocumentRow]:
        where = f"WHERE ontology = ? AND doc_id > ? AND state = {SHOWN} ORDER BY doc_id LIMIT ?"
        return [DocumentRow(*row) for row in self._database.rows(f"{_DOCUMENT} {where}", (ontology, after, limit))]

    def document_types(self, ontology: str) -> dict[str, str]:
        sql = f"SELECT doc_id, document_type FROM document WHERE ontology = ? AND state = {SHOWN}"
        return dict(self._database.rows(sql, (ontology,)))

    def source(self, doc_id: str, chunk_index: int) -> SourceRow | None:
        found = self._database.row(f"{_SOURCE_OF} AND source.chunk_index = ?", (doc_id, chunk_index))
        return source_row(found) if found else None

    def sources(self, doc_id: str, after: int = -1, limit: int = 1000) -> list[SourceRow]:
        where = "AND source.chunk_index > ? ORDER BY source.chunk_index LIMIT ?"
        return [source_row(row) for row in self._database.rows(f"{_SOURCE_OF} {where}", (doc_id, after, limit))]

    def sources_at(self, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], SourceRow]:
        rows = self._database.rows(
            f"SELECT document.doc_id, {listed(SOURCE, 'source')} FROM json_each(?1) AS place"
            f" CROSS JOIN document ON document.doc_id = json_extract(place.value, '$[0]') AND document.state = {SHOWN}"
            " CROSS JOIN source ON source.document = document.key"
            " AND source.chunk_index = json_extract(place.value, '$[1]')",
            (json.dumps([*places]),),
        )
        return {(row.doc_id, row.chunk_index): row for row in map(source_row, rows)}

    def chunk_ids_held(self, chunk_ids: Sequence[str]) -> dict[str, tuple[str, int]]:
        rows = self._database.rows(
            "SELECT source.chunk_id, document.doc_id, source.chunk_index FROM source"
            f" CROSS JOIN document ON document.key = source.document AND document.state = {SHOWN}"
            f" WHERE source.chunk_id IN {_THOSE} ORDER BY document.doc_id DESC, source.chunk_index DESC",
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
        count = "SELECT count(*) FROM (SELECT 1 FROM source_words WHERE source_words MATCH ? LIMIT ?)"
        # The table has words as they stand there, which begin with their stem.
        return {form: self._database.rows(count, (f"{_quoted(form)} *", most))[0][0] for form in forms}

    def documents_with(self, phrase: str, ontology: str = "") -> set[str]:
        return {doc_id for doc_id, _ in self.sources_with_phrase(phrase, ontology)}

    def sources_with_phrase(self, phrase: str, ontology: str = "") -> set[tuple[str, int]]:
        rows = self._database.rows(
            "SELECT document.doc_id, source.chunk_index"
            " FROM source_words CROSS JOIN source ON source.key = source_words.rowid"
            f" CROSS JOIN document ON document.key = source.document AND document.state = {SHOWN}"
            " WHERE document.hidden_by = '' AND source_words MATCH ?1 AND (?2 = '' OR document.ontology = ?2)",
            (_quoted(phrase.replace("\0", " ")), ontology),
        )
        return {(doc_id, index) for doc_id, index in rows}

    # ------------------------------------------------------------------------------------- concepts

    def concept(self, concept_id: str) -> Concept | None:
        return self._concept("concept_id = ? AND live = 1", (concept_id,))

    def concepts_by_id(self, concept_ids: Collection[str]) -> dict[str, Concept]:
        where = f"WHERE concept_id IN {_THOSE} AND live = 1"
        found = self._concepts(f"{_CONCEPT} {where}", (json.dumps([*concept_ids]),))
        return {concept.concept_id: concept for concept in found}

    def concept_named(self, ontology: str, name: str) -> Concept | None:
        return self._concept("ontology = ? AND name = ? AND live = 1", (ontology, name))

    def _concept(self, where: str, values: Sequence[Any]) -> Concept | None:
        found = self._database.row(f"{_CONCEPT} WHERE {where}", values)
        return concept_row(found) if found else None

    def _concepts(self, query: str, values: Sequence[Any]) -> list[Concept]:
        return [concept_row(row) for row in self._database.rows(query, values)]

    def concepts(self, ontology: str, after: str = "", limit: int = 1000) -> list[Concept]:
        where = "WHERE ontology = ? AND name > ? AND live = 1 ORDER BY name LIMIT ?"
        return self._concepts(f"{_CONCEPT} {where}", (ontology, after, limit))

    def concept_names(self, ontology: str, after: str = "", limit: int = 1000) -> list[tuple[str, str, int]]:
        where = "WHERE ontology = ? AND concept_id > ? AND live = 1 ORDER BY concept_id LIMIT ?"
        return self._database.rows(f"SELECT name, concept_id, mtime FROM concept {where}", (ontology, after, limit))

    def concept_listed(self, ontology: str, name: str) -> tuple[str, int] | None:
        found: tuple[str, int] | None = self._database.row(_LISTED, (ontology, name))
        return found

    def concepts_of(self, doc_id: str) -> list[Concept]:
        query = f"""{_CONCEPT} WHERE key IN (SELECT mention.concept
            FROM document CROSS JOIN mention ON mention.document = document.key
            WHERE document.doc_id = ? AND document.state = {SHOWN}) ORDER BY name"""
        return self._concepts(query, (doc_id,))

    def names_like(self, ontology: str, beginning: str, least: int, most: int, limit: int) -> list[str]:
        rows = self._database.rows(
            "SELECT DISTINCT form FROM concept_form WHERE ontology = ?1 AND form >= ?2 AND form < ?3"
            " AND length(form) BETWEEN ?4 AND ?5 ORDER BY form LIMIT ?6",
            (ontology, beginning, f"{beginning}\U0010ffff", least, most, limit),
        )
        return [form for (form,) in rows]

    def concepts_at(self, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], list[Concept]]:
        rows = self._database.rows(
            "SELECT document.doc_id, instance.chunk_index, instance.owner FROM json_each(?1) AS place"
            f" CROSS JOIN document ON document.doc_id = json_extract(place.value, '$[0]') AND document.state = {SHOWN}"
            " CROSS JOIN instance ON instance.document = document.key"
            " AND instance.chunk_index = json_extract(place.value, '$[1]') AND instance.owner_kind = 'concept'"
            " ORDER BY instance.char_start, instance.char_end, instance.owner",
            (json.dumps([*places]),),
        )
        found: dict[tuple[str, int], dict[str, None]] = {}
        for doc_id, chunk, owner in rows:
            found.setdefault((doc_id, chunk), {})[owner] = None
        known = self.concepts_by_id({owner for owners in found.values() for owner in owners})
        return {place: [known[owner] for owner in owners if owner in known] for place, owners in found.items()}

    def documents_of(self, concept_ids: Collection[str], most: int = 0) -> dict[str, list[str]]:
        return self._mentioning(concept_ids, most)

    def _mentioning(self, concept_ids: Collection[str], most: int = 0, which: str = "") -> dict[str, list[str]]:
        few = "(SELECT count(*) FROM (SELECT 1 FROM mention WHERE mention.concept = concept.key LIMIT ?2 + 1)) <= ?2"
        rows = self._database.rows(
            "SELECT DISTINCT concept.concept_id, document.deposit, document.doc_id"
            " FROM concept CROSS JOIN mention ON mention.concept = concept.key"
            f" CROSS JOIN document ON document.key = mention.document AND document.state = {SHOWN}"
            f" WHERE concept.concept_id IN {_THOSE} AND (?2 = 0 OR {few}){which}"
            " ORDER BY document.deposit, document.doc_id",
            (json.dumps([*concept_ids]), most),
        )
        found: dict[str, list[str]] = {concept_id: [] for concept_id in concept_ids}
        for concept_id, _, doc_id in rows:
            found[concept_id].append(doc_id)
        return found

    def documents_counted(self, concept_ids: Collection[str], but: Collection[str]) -> dict[str, int]:
        with self._database.snapshot() as connection:
            those = json.dumps([*concept_ids])
            found = dict(
                connection.execute(
                    "SELECT concept.concept_id, concept.documents FROM json_each(?) CROSS JOIN concept ON concept.concept_id = value"
                    " WHERE concept.live = 1",
                    (those,),
                ).fetchall()
            )
            for (concept_id,) in connection.execute(
                "SELECT concept.concept_id FROM json_each(?1)"
                f" CROSS JOIN document ON document.doc_id = value AND document.state = {SHOWN}"
                " CROSS JOIN mention ON mention.document = document.key CROSS JOIN concept ON concept.key = mention.concept"
                " WHERE concept.concept_id IN (SELECT value FROM json_each(?2)) GROUP BY document.key, concept.key",
                (json.dumps([*but]), those),
            ):
                found[concept_id] -= 1
        return found

    def resting_on(self, concept_ids: Collection[str]) -> dict[str, list[str]]:
        return self._mentioning(concept_ids, which=" AND mention.passed")

    def risen(self, limit: int) -> Risen | None:
        with self._database.snapshot() as connection:
            # Two reads by the index: in one, SQLite would sort all concepts that wait.
            first = connection.execute(
                "SELECT ontology, after FROM risen ORDER BY ontology, after DESC LIMIT 1"
            ).fetchone()
            if first is None:
                return None
            rows = connection.execute(
                "SELECT concept_id FROM risen WHERE ontology = ? AND after = ? ORDER BY concept_id LIMIT ?",
                (*first, limit),
            ).fetchall()
        return Risen(first[0], tuple(concept_id for (concept_id,) in rows), first[1])

    def folded_forms(self, concept_ids: Collection[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for concept_id, key in self._database.rows(
            "SELECT DISTINCT concept.concept_id, concept_form.folded FROM json_each(?)"
            " CROSS JOIN concept ON concept.concept_id = value"
            " CROSS JOIN concept_form ON concept_form.concept = concept.key"
            " ORDER BY concept.concept_id, concept_form.folded",
            (json.dumps([*concept_ids]),),
        ):
            found.setdefault(concept_id, []).append(key)
        return found

    def documents_having(self, ontology: str, phrases: Collection[str], after: str, limit: int) -> list[str]:
        quoted = " OR ".join(
            '"{}"'.format(phrase.replace('"', " ")) for phrase in phrases if any(map(str.isalnum, phrase))
        )
        if not quoted:
            return []
        rows = self._database.rows(
            "SELECT DISTINCT document.doc_id FROM source_words CROSS JOIN source ON source.key = source_words.rowid"
            " CROSS JOIN document ON document.key = source.document"
            f" WHERE source_words MATCH ? AND document.ontology = ? AND document.state = {SHOWN}"
            f" AND document.status != '{TEXT_ONLY}' AND document.ingest_version >= {FIRST_LOOKED_BACK}"
            " AND document.doc_id > ? ORDER BY document.doc_id LIMIT ?",
            (quoted, ontology, after, limit),
        )
        return [doc_id for (doc_id,) in rows]

    def page(self, concept_id: str) -> ConceptPage | None:
        with self._database.snapshot() as connection:
            return concept_page(connection, concept_id)

    # ------------------------------------------------------------------------ evidence, relationships

    def instance(self, owner: str, n: int) -> InstanceRow | None:
        found = self._database.row(f"{_INSTANCE} WHERE instance.owner = ? AND instance.n = ?", (owner, n))
        return instance_row(found) if found else None

    def instances(self, owner: str, after: int = 0, limit: int = 1000) -> list[InstanceRow]:
        where = "WHERE instance.owner = ? AND instance.n > ? ORDER BY instance.n LIMIT ?"
        return [instance_row(row) for row in self._database.rows(f"{_INSTANCE} {where}", (owner, after, limit))]

    def strongest(self, owner: str) -> InstanceRow | None:
        where = "WHERE instance.owner = ? ORDER BY instance.defines DESC, instance.confidence DESC, instance.n LIMIT 1"
        found = self._database.row(f"{_INSTANCE} {where}", (owner,))
        return instance_row(found) if found else None

    def instances_of(self, doc_id: str) -> list[InstanceRow]:
        rows = self._database.rows(
            f"SELECT document.doc_id, {listed(INSTANCE, 'instance')}"
            " FROM document CROSS JOIN instance ON instance.document = document.key"
            f" WHERE document.doc_id = ? AND document.state = {SHOWN}"
            " ORDER BY instance.char_start, instance.char_end, instance.owner, instance.n",
            (doc_id,),
        )
        return [instance_row(row) for row in rows]

    def related_types(self, concept_id: str) -> list[str]:
        rows = self._database.rows("SELECT DISTINCT type FROM neighbour WHERE concept = ? ORDER BY type", (concept_id,))
        return [type_ for (type_,) in rows]

    def related(self, concept_id: str, type_: str = "", after: str = "", limit: int = 1000) -> list[Related]:
        after_type, _, after_name = (type_, "", after) if type_ else after.partition("/")
        where = (
            "neighbour.type = ?2 AND neighbour.name > ?3" if type_ else "(neighbour.type, neighbour.name) > (?2, ?3)"
        )
        rows = self._database.rows(
            "SELECT neighbour.relationship_id, neighbour.type, neighbour.name, neighbour.other, concept.label,"
            " neighbour.incoming, relationship.confidence, relationship.mtime, relationship.evidence = 0"
            " FROM neighbour CROSS JOIN relationship ON relationship.relationship_id = neighbour.relationship_id"
            " CROSS JOIN concept ON concept.concept_id = neighbour.other"
            f" WHERE neighbour.concept = ?1 AND {where}"
            " ORDER BY neighbour.type, neighbour.name, neighbour.relationship_id, neighbour.incoming LIMIT ?4",
            (concept_id, after_type, after_name, limit + 1),
        )
        if len(rows) > limit and (limit < 1 or rows[limit][1:3] != rows[limit - 1][1:3]):
            rows.pop()
        return [
            Related(row[0], row[1], row[2], row[3], row[4], bool(row[5]), row[6], row[7], bool(row[8])) for row in rows
        ]

    # ----------------------------------------------------------------------------------- for matching

    def match(self, ontology: str, norms: Sequence[str], scope: Scope = EVERYTHING) -> dict[str, str]:
        found: dict[str, str] = {}
        limit = 1 if scope == EVERYTHING else -1
        with self._database.snapshot():
            for norm in norms:
                rows = self._database.rows(
                    "SELECT concept.concept_id, concept.key"
                    # Else the index by folded forms may be taken, of which only the ontology would narrow the search.
                    " FROM concept_form INDEXED BY concept_form_match"
                    " CROSS JOIN concept ON concept.key = concept_form.concept"
                    " WHERE concept_form.ontology = ? AND concept_form.form = ?"
                    " ORDER BY concept_form.rank, concept.founded, concept.norm_hash, concept.concept_id LIMIT ?",
                    (ontology, norm, limit),
                )
                for concept_id, key in rows:
                    if limit == 1 or scoped.says(self._database, scope, key, norm):
                        found[norm] = concept_id
                        break
        return found

    def marked(self, marks: Sequence[str]) -> list[Mark]:
        found = (
            self._database.rows(f"{MARKS} WHERE mark.mark = ? ORDER BY mark.concept", (m,)) for m in sorted(set(marks))
        )
        return [mark_row(row) for rows in found for row in rows]

    def marks_of(self, concept_id: str) -> list[Mark]:
        rows = self._database.rows(f"{MARKS} WHERE mark.concept = ? ORDER BY mark.mark", (concept_id,))
        return [mark_row(row) for row in rows]

    def next_numbers(self, owners: Collection[str]) -> dict[str, int]:
        rows = self._database.rows(
            f"SELECT concept_id, last_n FROM concept WHERE concept_id IN {_THOSE}"
            f" UNION ALL SELECT relationship_id, last_n FROM relationship WHERE relationship_id IN {_THOSE}",
            (json.dumps([*owners]),),
        )
        return dict.fromkeys(owners, 1) | {owner: last + 1 for owner, last in rows}

    def names_taken(self, ontology: str, names: Collection[str]) -> dict[str, str]:
        shown = known_as(ontology, names)
        rows = self._database.rows(
            f"SELECT name, concept_id FROM concept WHERE name IN {_THOSE} AND ontology = ?2",
            (json.dumps([*shown]), ontology),
        )
        return {shown[name]: concept_id for name, concept_id in rows}

    def popular(self, ontology: str, limit: int, scope: Scope = EVERYTHING) -> list[Concept]:
        if scope != EVERYTHING:
            with self._database.snapshot():
                return self._living(scoped.popular(self._database, ontology, limit, scope))
        where = "WHERE ontology = ? AND live = 1 ORDER BY related + evidence DESC, norm_hash, concept_id LIMIT ?"
        return self._concepts(f"{_CONCEPT} {where}", (ontology, limit))

    def sample(self, ontology: str, limit: int, seed: int, scope: Scope = EVERYTHING) -> list[Concept]:
        with self._database.snapshot():
            if scope != EVERYTHING:
                return self._living(scoped.sample(self._database, ontology, limit, seed, scope))
            drawn = draw(
                seed,
                limit,
                self.counts(ontology)["concepts"],
                stepwise(lambda at, count: self._ids(ontology, at, count)),
                lambda: self._ids(ontology, "", -1),
            )
            return self._living(drawn)

    def _living(self, concept_ids: Sequence[str]) -> list[Concept]:
        found = self.concepts_by_id(concept_ids)
        return [found[concept_id] for concept_id in concept_ids if concept_id in found]

    def _ids(self, ontology: str, at: str, count: int) -> list[str]:
        where = "WHERE ontology = ? AND norm_hash >= ? AND live = 1 ORDER BY norm_hash, concept_id LIMIT ?"
        rows = self._database.rows(f"SELECT concept_id FROM concept {where}", (ontology, at, count))
        return [concept_id for (concept_id,) in rows]
