"""Which concepts were joined, and the acronyms that living documents introduce, on which such joinings rest.

An introduction belongs to the edition of a document, as its mentions do. A joining is a row from the fact that made it
until the fact that parts it. It has no words, only hashes of them, so that nothing of a purged text stays in it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence

from kgfs.domain.forms import form_key
from kgfs.domain.identity import norm_hash
from kgfs.stores.database import Database
from kgfs.stores.graph.rows import SHOWN, is_hidden, words
from kgfs.stores.graph.vocabulary import EVERYTHING, DocumentRow, Introduced, Joining, Scope

_INTRODUCED = f"""
    SELECT introduced.short, introduced.long, document.doc_id
    FROM json_each(?1) CROSS JOIN introduced ON introduced.ontology = ?2 AND introduced.{{column}} = value
    CROSS JOIN document ON document.key = introduced.document
    WHERE document.state = {SHOWN} AND document.deposit >= ?3 AND document.doc_id != ?4"""
_SAYING = f"""
    SELECT mention.label, mention.forms FROM concept CROSS JOIN mention ON mention.concept = concept.key
    CROSS JOIN document ON document.key = mention.document
    WHERE concept.concept_id = ? AND document.state = {SHOWN} AND document.deposit >= ? AND document.doc_id != ?"""
_BY_KEY = "SELECT concept.concept_id FROM concept_form CROSS JOIN concept ON concept.key = concept_form.concept"
_JOINING = "SELECT younger, older, ontology, short, long, own FROM joined"


def introduce(
    connection: sqlite3.Connection, edition: int, document: DocumentRow | None, pairs: Sequence[tuple[str, str]]
) -> None:
    """Store the acronyms that an edition introduces: pairs of the keys of short and long form."""
    ontology = document.ontology if document else ""
    connection.executemany(
        "INSERT OR IGNORE INTO introduced (document, ontology, short, long) VALUES (?, ?, ?, ?)",
        [(edition, ontology, short, long) for short, long in pairs],
    )


def join(connection: sqlite3.Connection, joined: Sequence[Joining], parted: Sequence[str]) -> None:
    """Insert joinings, and delete those of the concepts ``parted``."""
    connection.executemany("DELETE FROM joined WHERE younger = ?", [(younger,) for younger in parted])
    connection.executemany(
        "INSERT OR REPLACE INTO joined (younger, older, ontology, short, long, own) VALUES (?, ?, ?, ?, ?, ?)",
        [(one.younger, one.older, one.ontology, one.short, one.long, one.own) for one in joined],
    )


class JoinedReads:
    """Reads of acronyms and joinings. Any thread may call at any time; each call sees the newest commit."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def introduced(self, ontology: str, keys: Collection[str], scope: Scope = EVERYTHING) -> list[Introduced]:
        """Return the acronyms in living documents of the scope of which one of these keys is the short or the long form,
        in order."""
        found: dict[tuple[str, str], set[str]] = {}
        with self._database.snapshot() as connection:
            for column in ("short", "long"):
                for short, long, doc_id in connection.execute(
                    _INTRODUCED.format(column=column), (json.dumps(sorted(keys)), ontology, scope.since, scope.but)
                ):
                    found.setdefault((short, long), set()).add(doc_id)
        return [Introduced(short, long, tuple(sorted(found[short, long]))) for short, long in sorted(found)]

    def all_introduced(self, ontology: str) -> list[str]:
        """Return the keys of all acronyms that living documents of an ontology introduce. A scan of these."""
        rows = self._database.rows(
            "SELECT DISTINCT introduced.short FROM introduced CROSS JOIN document ON document.key = introduced.document"
            f" WHERE introduced.ontology = ? AND document.state = {SHOWN} ORDER BY introduced.short",
            (ontology,),
        )
        return [short for (short,) in rows]

    def introduced_by(self, doc_id: str) -> list[tuple[str, str]]:
        """Return the pairs of keys that a living document introduces."""
        rows: list[tuple[str, str]] = self._database.rows(
            "SELECT introduced.short, introduced.long FROM document"
            " CROSS JOIN introduced ON introduced.document = document.key"
            f" WHERE document.doc_id = ? AND document.state = {SHOWN} ORDER BY introduced.short, introduced.long",
            (doc_id,),
        )
        return rows

    def with_keys(self, ontology: str, keys: Collection[str], scope: Scope = EVERYTHING) -> dict[str, list[str]]:
        """Return the ids of the living concepts that mentions in the scope name by a form with each key
        (:mod:`kgfs.domain.forms`), in the order of ``Graph.match``. Keys that no concept has are missing."""
        order = "ORDER BY concept_form.rank, concept.founded, concept.norm_hash, concept.concept_id"
        sql = f"{_BY_KEY} WHERE concept_form.ontology = ? AND concept_form.folded = ? {order}"
        kept: dict[str, list[str]] = {}
        with self._database.snapshot() as connection:
            for key in keys:
                ids = dict.fromkeys(concept_id for (concept_id,) in connection.execute(sql, (ontology, key)))
                if own := [one for one in ids if scope == EVERYTHING or _says(connection, scope, one, key)]:
                    kept[key] = own
        return kept

    def joinings(self, ontology: str = "", pair: tuple[str, str] = ("", "")) -> list[Joining]:
        """Return the joinings of concepts, of an ontology or of all; with ``pair`` those that rest on these two keys."""
        where, values = "WHERE (?1 = '' OR ontology = ?1)", [ontology]
        if pair[0]:
            where += " AND short = ?2 AND long = ?3"
            values += [norm_hash(pair[0]), norm_hash(pair[1])]
        rows = self._database.rows(f"{_JOINING} {where} ORDER BY ontology, younger", values)
        return [Joining(*row) for row in rows]

    def without_documents(self) -> list[Joining]:
        """Return the joinings whose documents have all left. A scan of all joinings."""
        rows = self._database.rows(
            f"{_JOINING} WHERE NOT EXISTS (SELECT 1 FROM introduced"
            " CROSS JOIN document ON document.key = introduced.document"
            f" WHERE introduced.ontology = joined.ontology AND document.state = {SHOWN}"
            " AND norm_hash(introduced.short) = joined.short AND norm_hash(introduced.long) = joined.long)"
            " ORDER BY ontology, younger"
        )
        return [Joining(*row) for row in rows]

    def leads_to(self, ontology: str, name: str) -> str:
        """Return the directory name of the living concept that the concept called ``name`` was joined to; '' if it
        was not."""
        with self._database.snapshot() as connection:
            found = connection.execute(
                "SELECT concept_id FROM concept WHERE ontology = ? AND name = ? AND live = 0", (ontology, name)
            ).fetchone()
            holder = _holder_of(connection, found[0]) if found else ""
            sql = "SELECT name FROM concept WHERE concept_id = ? AND live = 1"
            row = connection.execute(sql, (holder,)).fetchone()
        return str(row[0]) if row else ""

    def holder_of(self, concept_id: str) -> str:
        """Return the id of the concept that has the mentions of a joined one, through further joinings; '' if it was not
        joined."""
        with self._database.snapshot() as connection:
            return _holder_of(connection, concept_id)

    def name_of(self, concept_id: str) -> str:
        """Return the directory name that a concept has or had; '' where it had none or a purge hid it."""
        found = self._database.row("SELECT name FROM concept WHERE concept_id = ?", (concept_id,))
        return "" if found is None or is_hidden(found[0]) else str(found[0])


def _says(connection: sqlite3.Connection, scope: Scope, concept_id: str, key: str) -> bool:
    rows = connection.execute(_SAYING, (concept_id, scope.since, scope.but))
    return any(key in map(form_key, (label, *words(forms))) for label, forms in rows)


def _holder_of(connection: sqlite3.Connection, concept_id: str) -> str:
    seen: set[str] = set()
    at = concept_id
    while at not in seen:
        seen.add(at)
        found = connection.execute("SELECT older FROM joined WHERE younger = ?", (at,)).fetchone()
        if found is None:
            break
        at = found[0]
    return at if at != concept_id else ""
