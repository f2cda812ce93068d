"""Rows of a server's graph, put into the tables of the embedded one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kgfs.stores.graph.editions import remove_edition
from kgfs.stores.graph.rows import (
    COUNTED,
    DOCUMENT,
    INSTANCE,
    LEAVING,
    MENTION,
    SHOWN,
    SOURCE,
    inverse,
    packed,
    slots,
)

Row = Sequence[Any]

_CONCEPT = """
INSERT INTO concept (concept_id, ontology, name, live, norm, label, aliases, description, kind, founded, evidence,
                     related, size, mtime, page_hash, last_n)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (concept_id) DO UPDATE SET
    name = excluded.name, live = excluded.live, norm = excluded.norm, label = excluded.label,
    aliases = excluded.aliases, description = excluded.description, kind = excluded.kind, founded = excluded.founded,
    evidence = excluded.evidence, related = excluded.related, size = excluded.size, mtime = excluded.mtime,
    page_hash = excluded.page_hash, last_n = excluded.last_n
RETURNING key"""

_RELATIONSHIP = """
INSERT INTO relationship (relationship_id, ontology, subject, type, object, evidence, confidence, mtime, last_n)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (relationship_id) DO UPDATE SET evidence = excluded.evidence, confidence = excluded.confidence,
    mtime = excluded.mtime, last_n = excluded.last_n"""

_NEIGHBOUR = """
INSERT OR IGNORE INTO neighbour (concept, type, name, relationship_id, other, incoming)
SELECT ?, ?, name, ?, concept_id, ? FROM concept WHERE concept_id = ?"""


class Copy:
    """Into one file, in a transaction of the caller."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    # ------------------------------------------------------------------------ concepts, relationships

    def owners(self, rows: Iterable[Row]) -> tuple[int, str, list[tuple[str, str, str, str, bool]]]:
        """How many came, the last id, and the relationships among them as (id, subject, type, object, whether it lives),
        to be joined once their ends are there."""
        count, last, joined = 0, "", []
        for row in rows:
            count, last = count + 1, row[0]
            if row[18] is not None:
                joined.append(self._relationship(row))
            elif row[2] is not None:
                self._concept(row)
        return count, last, joined

    def _concept(self, row: Row) -> None:
        (id_, ontology, name, live, norm, label, aliases, description, kind, founded, evidence, related, size, mtime,
         page_hash, last_n, forms, *_) = row  # fmt: skip
        if live:
            said: tuple[Any, ...] = (norm, label, packed(aliases), description, kind, founded, evidence, related, size)
        else:
            said, mtime, page_hash, forms = ("", "", "[]", "", "", 0, 0, 0, 0), 0, "", ()
        values = (id_, ontology, name, live, *said, mtime, bytes.fromhex(page_hash), last_n)
        key = self._sql.execute(_CONCEPT, values).fetchone()[0]
        self._sql.execute("DELETE FROM concept_form WHERE concept = ?", (key,))
        self._sql.executemany(
            "INSERT INTO concept_form (concept, form, rank, ontology) VALUES (?, ?, ?, ?)",
            [(key, form, rank, ontology) for form, rank in forms],
        )

    def _relationship(self, row: Row) -> tuple[str, str, str, str, bool]:
        id_, ontology, evidence, mtime, last_n = row[0], row[1], row[10], row[13], row[15]
        subject, type_, object_, confidence = row[17:21]
        self._sql.execute(_RELATIONSHIP, (id_, ontology, subject, type_, object_, evidence, confidence, mtime, last_n))
        return id_, subject, type_, object_, evidence > 0

    def join(self, relationships: Iterable[tuple[str, str, str, str, bool]]) -> None:
        for id_, subject, type_, object_, lives in relationships:
            for concept, seen_as, other, incoming in (
                (subject, type_, object_, 0),
                (object_, inverse(type_), subject, 1),
            ):
                if lives:
                    self._sql.execute(_NEIGHBOUR, (concept, seen_as, id_, incoming, other))
                else:
                    self._sql.execute(
                        "DELETE FROM neighbour WHERE concept = ? AND type = ? AND relationship_id = ? AND incoming = ?",
                        (concept, seen_as, id_, incoming),
                    )

    # ------------------------------------------------------------------------------------- documents

    def mentioned(self, doc_ids: Iterable[str]) -> set[str]:
        """Ids of the concepts that these documents mention so far."""
        found: set[str] = set()
        for doc_id in doc_ids:
            rows = self._sql.execute(
                "SELECT DISTINCT concept.concept_id FROM document CROSS JOIN mention ON mention.document = document.key"
                f" CROSS JOIN concept ON concept.key = mention.concept WHERE doc_id = ? AND document.state = {SHOWN}",
                (doc_id,),
            )
            found.update(id_ for (id_,) in rows)
        return found

    def leave(self, doc_id: str) -> None:
        """The document is not shown any more. Harmless if it never was."""
        row = self._sql.execute(
            f"UPDATE document SET state = {LEAVING}, commit_id = commit_id || ' ' || key"
            f" WHERE doc_id = ? AND state = {SHOWN} RETURNING key",
            (doc_id,),
        ).fetchone()
        if row:
            remove_edition(self._sql, row[0])

    def open_edition(self, row: Row) -> tuple[int, bool]:
        """Key of the shown edition, with the row's columns, empty of evidence and mentions; whether its Sources, which
        never change, are there already."""
        edition, sources, instances, *columns = row
        doc_id = columns[DOCUMENT.index("doc_id")]
        known = self._sql.execute(
            f"SELECT key FROM document WHERE doc_id = ? AND commit_id = ? AND state = {SHOWN}", (doc_id, edition)
        ).fetchone()
        if known:
            assigned = ", ".join(f"{name} = ?" for name in DOCUMENT)
            self._sql.execute(
                f"UPDATE document SET sources = ?, instances = ?, {assigned} WHERE key = ?",
                (sources, instances, *columns, known[0]),
            )
            for table in ("instance", "mention"):
                self._sql.execute(f"DELETE FROM {table} WHERE document = ?", known)
            return int(known[0]), True
        self.leave(doc_id)
        cursor = self._sql.execute(
            f"INSERT INTO document (state, commit_id, sources, instances, {', '.join(DOCUMENT)})"
            f" VALUES ({SHOWN}, ?, ?, ?, {slots(len(DOCUMENT))})",
            (edition, sources, instances, *columns),
        )
        return int(cursor.lastrowid or 0), False

    def sources(self, keys: Mapping[str, int], rows: Iterable[Row]) -> None:
        """Those of some editions, in any order; ``keys`` are what :meth:`open_edition` gave for each."""
        self._sql.executemany(
            f"INSERT INTO source (document, {', '.join(SOURCE)}) VALUES (?, {slots(len(SOURCE))})",
            _with_list(rows, keys, 1 + SOURCE.index("section_path")),
        )
        words = "SELECT key, full_text FROM source WHERE document = ? AND gated = ''"
        # As values: an INSERT … SELECT begins a savepoint, at which FTS5 writes a segment of its own for each document.
        self._sql.executemany(
            "INSERT INTO source_words (rowid, full_text) VALUES (?, ?)",
            (row for key in keys.values() for row in self._sql.execute(words, (key,))),
        )

    def instances(self, keys: Mapping[str, int], rows: Iterable[Row]) -> None:
        self._sql.executemany(
            f"INSERT INTO instance (document, {', '.join(INSTANCE)}) VALUES (?, {slots(len(INSTANCE))})",
            _with_list(rows, keys, 1 + INSTANCE.index("section_path")),
        )

    def mentions(self, keys: Mapping[str, int], rows: Iterable[Row]) -> None:
        """Those of concepts that are not there are left out."""
        self._sql.executemany(
            f"INSERT INTO mention (document, concept, ordinal, {', '.join(MENTION)})"
            f" SELECT ?1, key, {', '.join(f'?{n + 3}' for n in range(len(MENTION) + 1))}"
            " FROM concept WHERE concept_id = ?2",
            _with_list(rows, keys, 3 + MENTION.index("forms")),
        )

    # ------------------------------------------------------------------------------------------ the rest

    def counts(self, rows: Iterable[Row]) -> None:
        self._sql.execute("DELETE FROM counter")
        columns = ("ontology", *COUNTED, "changed_at")
        self._sql.executemany(f"INSERT INTO counter ({', '.join(columns)}) VALUES ({slots(len(columns))})", rows)

    def marks(self, rows: Iterable[Row]) -> None:
        self._sql.execute("DELETE FROM mark")
        self._sql.executemany("INSERT INTO mark (mark, concept, ontology, joined) VALUES (?, ?, ?, ?)", rows)

    def changes(self, rows: Iterable[Row]) -> None:
        self._sql.executemany(
            "INSERT INTO change (epoch, what, kind, ontology, owner, name) VALUES (?, ?, ?, ?, ?, ?)", rows
        )

    def follow_up_to(self, epoch: int, changes_above: int | None = None) -> None:
        """The epoch that readers see; ``changes_above`` where the feed does not reach back as it did."""
        self._sql.execute("UPDATE meta SET value = ? WHERE name = 'epoch'", (epoch,))
        if changes_above is not None:
            self._sql.execute("DELETE FROM change WHERE epoch <= ?", (changes_above,))
            self._sql.execute("UPDATE meta SET value = ? WHERE name = 'changes_above'", (changes_above,))


def _with_list(rows: Iterable[Row], keys: Mapping[str, int], at: int) -> Iterator[tuple[Any, ...]]:
    """Rows with the edition's key of this file, and the list at ``at`` as it stands in a column."""
    for row in rows:
        yield keys[row[0]], *row[1:at], packed(row[at]), *row[at + 1 :]
