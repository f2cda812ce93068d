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
from kgfs.stores.graph.hiding import is_hidden
from kgfs.stores.graph.rows import SHOWN, words
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


def introduced(
    connection: sqlite3.Connection, ontology: str, keys: Collection[str], scope: Scope = EVERYTHING
) -> list[Introduced]:
    """Return the introductions in living documents of the scope that have one of these keys as short or long form, in order."""
    found: dict[tuple[str, str], set[str]] = {}
    for column in ("short", "long"):
        for short, long, doc_id in connection.execute(
            _INTRODUCED.format(column=column), (json.dumps(sorted(keys)), ontology, scope.since, scope.but)
        ):
            found.setdefault((short, long), set()).add(doc_id)
    return [Introduced(short, long, tuple(sorted(found[short, long]))) for short, long in sorted(found)]


def all_introduced(connection: sqlite3.Connection, ontology: str) -> list[str]:
    """Return the short forms that living documents of an ontology introduce."""
    rows = connection.execute(
        f"SELECT DISTINCT introduced.short FROM introduced CROSS JOIN document ON document.key = introduced.document"
        f" WHERE introduced.ontology = ? AND document.state = {SHOWN} ORDER BY introduced.short",
        (ontology,),
    )
    return [short for (short,) in rows]


def introduced_by(connection: sqlite3.Connection, doc_id: str) -> list[tuple[str, str]]:
    """Return the pairs that a living document introduces."""
    return connection.execute(
        "SELECT introduced.short, introduced.long FROM document CROSS JOIN introduced ON introduced.document = document.key"
        f" WHERE document.doc_id = ? AND document.state = {SHOWN} ORDER BY introduced.short, introduced.long",
        (doc_id,),
    ).fetchall()


def with_keys(
    connection: sqlite3.Connection, ontology: str, keys: Collection[str], scope: Scope = EVERYTHING
) -> dict[str, list[str]]:
    """Return the ids of the living concepts that mentions in the scope name by a form with each key, in the order of
    ``Graph.match``."""
    order = "ORDER BY concept_form.rank, concept.founded, concept.norm_hash, concept.concept_id"
    found = {
        key: [
            concept_id
            for (concept_id,) in connection.execute(
                f"{_BY_KEY} WHERE concept_form.ontology = ? AND concept_form.folded = ? {order}", (ontology, key)
            )
        ]
        for key in keys
    }
    kept = {
        key: [one for one in dict.fromkeys(ids) if scope == EVERYTHING or _says(connection, scope, one, key)]
        for key, ids in found.items()
    }
    return {key: ids for key, ids in kept.items() if ids}


def _says(connection: sqlite3.Connection, scope: Scope, concept_id: str, key: str) -> bool:
    rows = connection.execute(_SAYING, (concept_id, scope.since, scope.but))
    return any(key in map(form_key, (label, *words(forms))) for label, forms in rows)


def joinings(connection: sqlite3.Connection, ontology: str = "", pair: tuple[str, str] = ("", "")) -> list[Joining]:
    """Return the joinings of an ontology or of all; with ``pair``, those by this short and long form alone."""
    where, values = "WHERE (?1 = '' OR ontology = ?1)", [ontology]
    if pair[0]:
        where += " AND short = ?2 AND long = ?3"
        values += [norm_hash(pair[0]), norm_hash(pair[1])]
    return [Joining(*row) for row in connection.execute(f"{_JOINING} {where} ORDER BY ontology, younger", values)]


def joinings_without_documents(connection: sqlite3.Connection) -> list[Joining]:
    """Return the joinings that no living document introduces any more."""
    rows = connection.execute(
        f"{_JOINING} WHERE NOT EXISTS (SELECT 1 FROM introduced CROSS JOIN document ON document.key = introduced.document"
        f" WHERE introduced.ontology = joined.ontology AND document.state = {SHOWN}"
        " AND norm_hash(introduced.short) = joined.short AND norm_hash(introduced.long) = joined.long)"
        " ORDER BY ontology, younger"
    )
    return [Joining(*row) for row in rows]


def join(connection: sqlite3.Connection, joined: Sequence[Joining], parted: Sequence[str]) -> None:
    """Insert joinings, and delete those of the concepts ``parted``."""
    connection.executemany("DELETE FROM joined WHERE younger = ?", [(younger,) for younger in parted])
    connection.executemany(
        "INSERT OR REPLACE INTO joined (younger, older, ontology, short, long, own) VALUES (?, ?, ?, ?, ?, ?)",
        [(one.younger, one.older, one.ontology, one.short, one.long, one.own) for one in joined],
    )


def leads_to(connection: sqlite3.Connection, ontology: str, name: str) -> str:
    """Return the directory name of the living concept that the concept once called ``name`` was joined to; '' if none."""
    found = connection.execute(
        "SELECT concept_id FROM concept WHERE ontology = ? AND name = ? AND live = 0", (ontology, name)
    ).fetchone()
    holder = holder_of(connection, found[0]) if found else ""
    row = connection.execute("SELECT name FROM concept WHERE concept_id = ? AND live = 1", (holder,)).fetchone()
    return str(row[0]) if row else ""


def holder_of(connection: sqlite3.Connection, concept_id: str) -> str:
    """Return the id of the concept that has the mentions of a joined one, through further joinings; '' if it was not joined."""
    seen: set[str] = set()
    at = concept_id
    while at not in seen:
        seen.add(at)
        found = connection.execute("SELECT older FROM joined WHERE younger = ?", (at,)).fetchone()
        if found is None:
            break
        at = found[0]
    return at if at != concept_id else ""


def name_of(connection: sqlite3.Connection, concept_id: str) -> str:
    """Return the directory name that a concept has or had; '' where it had none or a purge hid it."""
    found = connection.execute("SELECT name FROM concept WHERE concept_id = ?", (concept_id,)).fetchone()
    return "" if found is None or is_hidden(found[0]) else str(found[0])
