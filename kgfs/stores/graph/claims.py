"""Claims: rows of editions, one for each piece of evidence, and what readers see of them.

A claim is all rows with its id in visible editions; it is shown as the document with the earliest deposit says it. Nothing is
summed up, so it does not matter in which order documents come and go. Rows that validation refused have no id. The id
follows from the words of the quote, and from what persons said of such ids: their marks hold no words.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any

from kgfs.domain.claims import actor_key, could_name, marked_as, measures_of, stems_of
from kgfs.domain.knowledge import CLAIM_ROLES
from kgfs.stores.database import Database
from kgfs.stores.graph.rows import SHOWN, Derived, Settled, listed, packed, slots, words
from kgfs.stores.graph.vocabulary import Claim, ClaimRow, DocumentRow

CLAIM = tuple(item.name for item in fields(ClaimRow) if item.name != "doc_id")
AROUND = 2
"""Sources after the one in which a quote begins that it may reach into."""
_LISTS = ("added", "section_path")
_LIST_PLACES = tuple(CLAIM.index(name) + 1 for name in _LISTS)

_SHOWN = f"claim CROSS JOIN document ON document.key = claim.document AND document.state = {SHOWN}"
"""The rows of visible documents."""
_COLUMNS = f"SELECT document.doc_id, {listed(CLAIM, 'claim')}"
_ORDER = "claim.claim_id, document.deposit, document.doc_id, claim.ordinal"
"""The first row of each claim is the one that is shown."""


def put_claims(
    connection: sqlite3.Connection, edition: int, document: DocumentRow | None, rows: Sequence[ClaimRow]
) -> None:
    """Insert claims of an edition under the ids by their words; a row with the same ordinal is replaced."""
    ontology = document.ontology if document else ""
    columns = ("document", *CLAIM, "ontology", "own_id", "stems", "actor_key", "measures")
    values: list[list[Any]] = []
    for row in rows:
        said = [packed(getattr(row, name)) if name in _LISTS else getattr(row, name) for name in CLAIM]
        compared_by = ["", "", ""]
        if row.claim_id:
            compared_by = [f" {' '.join(stems_of(row.claim))} ", actor_key(row.actor), measures_of(row.claim)]
        values.append([edition, *said, ontology, row.claim_id, *compared_by])
    sql = f"INSERT OR REPLACE INTO claim ({', '.join(columns)}) VALUES ({slots(len(columns))})"
    connection.executemany(sql, values)


def claim_row(found: Sequence[Any]) -> ClaimRow:
    """Return a ClaimRow from ``doc_id`` and the CLAIM columns."""
    values = list(found)
    for place in _LIST_PLACES:
        values[place] = words(values[place])
    return ClaimRow(*values)


class Claims(Derived):
    """The claims of one commit, inside its transaction: the feed names those that have other evidence than before."""

    def __init__(self, connection: sqlite3.Connection, at: int) -> None:
        super().__init__(connection, at)
        self._touched: set[tuple[str, str]] = set()

    def touch(self, edition: int, step: int) -> None:
        if step > 0:
            self._apply_marks("claim.document = ?", edition)
        self._touched.update(self._sql.execute("SELECT ontology, claim_id FROM claim WHERE document = ?", (edition,)))

    def mark(self, ontology: str, claim_id: str, into: str) -> list[str]:
        """Record that a claim is part of another one or, where ``into`` is '', that its evidence is split by document. Return the
        documents that had it."""
        self._sql.execute("INSERT OR REPLACE INTO claim_mark VALUES (?, ?, ?)", (claim_id, ontology, into))
        return self._apply_marks("claim.claim_id = ?", claim_id)

    def _apply_marks(self, where: str, value: int | str) -> list[str]:
        """Give rows the ids that they have after what persons said. Return the documents of those that had other ones."""
        marks = dict(self._sql.execute("SELECT claim_id, into_id FROM claim_mark"))
        if not marks:
            return []
        moved: set[str] = set()
        rows = self._sql.execute(
            "SELECT claim.document, claim.ordinal, claim.ontology, claim.own_id, claim.claim_id, document.doc_id FROM claim"
            f" CROSS JOIN document ON document.key = claim.document WHERE {where} AND claim.claim_id != ''",
            (value,),
        )
        for edition, ordinal, ontology, own_id, former, doc_id in rows.fetchall():
            claim_id = marked_as(marks, own_id, doc_id)
            if claim_id != former:
                self._sql.execute(
                    "UPDATE claim SET claim_id = ? WHERE document = ? AND ordinal = ?", (claim_id, edition, ordinal)
                )
                self._touched |= {(ontology, former), (ontology, claim_id)}
                moved.add(doc_id)
        return sorted(moved)

    def settle(self, settled: Settled) -> Iterable[tuple[str, str]]:
        """Return (ontology, id) of claims whose evidence changed, with the id '' for rejected ones."""
        return sorted(self._touched)


class ClaimReads:
    """Reads of claims. Any thread may call at any time; each call sees the newest commit. ``ontology`` is an id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def has_any(self, ontology: str) -> bool:
        """Return whether a visible document has a claim, or one that was rejected."""
        sql = f"SELECT 1 FROM {_SHOWN} WHERE claim.ontology = ? AND claim.claim_id"
        return any(self._database.row(f"{sql} {equals} '' LIMIT 1", (ontology,)) for equals in ("!=", "="))

    def counts(self, ontology: str) -> dict[str, int]:
        """Return the number of living claims of each role that has any, in the order of CLAIM_ROLES. Reads an index."""
        rows = self._database.rows(
            f"SELECT claim.role, count(DISTINCT claim.claim_id) FROM {_SHOWN}"
            " WHERE claim.ontology = ? AND claim.claim_id != '' GROUP BY claim.role",
            (ontology,),
        )
        found = dict(rows)
        return {role: found[role] for role in CLAIM_ROLES if role in found}

    def reasons(self, ontology: str) -> dict[str, int]:
        """Return how many claims were rejected for each reason. The cost grows with their number."""
        return dict(
            self._database.rows(
                f"SELECT claim.rejected, count(*) FROM {_SHOWN} WHERE claim.ontology = ? AND claim.claim_id = ''"
                " GROUP BY claim.rejected",
                (ontology,),
            )
        )

    def living(self, ontology: str, role: str) -> list[Claim]:
        """Return the living claims of a role, ordered by id. Reads all of them."""
        return self._claims("claim.ontology = ? AND claim.role = ? AND claim.claim_id != ''", (ontology, role))

    def beginning(self, ontology: str, digits: str) -> list[Claim]:
        """Return the living claims whose id begins with these hexadecimal digits."""
        # With a plus, lest an index by ontology be taken.
        where = "+claim.ontology = ? AND claim.claim_id >= ? AND claim.claim_id < ? || 'g'"
        return self._claims(f"{where} AND claim.claim_id != ''", (ontology, digits, digits))

    def marks(self, ontology: str) -> list[tuple[str, str]]:
        """Return what persons said: claims, and what each was merged into; '' where it was split."""
        sql = "SELECT claim_id, into_id FROM claim_mark WHERE ontology = ? ORDER BY claim_id"
        rows: list[tuple[str, str]] = self._database.rows(sql, (ontology,))
        return rows

    def find(self, claim_ids: Collection[str]) -> dict[str, Claim]:
        """Return those of these claims that live, by id."""
        where = "claim.claim_id IN (SELECT value FROM json_each(?)) AND claim.claim_id != ''"
        return {one.shown.claim_id: one for one in self._claims(where, (json.dumps([*claim_ids]),))}

    def evidence(self, claim_id: str) -> list[ClaimRow]:
        """Return all evidence of a claim, that with the earliest deposit first; it is what is shown of the claim."""
        return self._rows("claim.claim_id = ? AND claim.claim_id != ''", (claim_id,))

    def at(self, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], ClaimRow]:
        """Return the valid claims at these (doc_id, ordinal) of visible documents."""
        rows = self._database.rows(
            f"{_COLUMNS} FROM json_each(?)"
            f" CROSS JOIN document ON document.doc_id = json_extract(value, '$[0]') AND document.state = {SHOWN}"
            " CROSS JOIN claim ON claim.document = document.key AND claim.ordinal = json_extract(value, '$[1]')"
            " WHERE claim.claim_id != ''",
            (json.dumps([*places]),),
        )
        return {(row.doc_id, row.ordinal): row for row in map(claim_row, rows)}

    def of_document(self, doc_id: str) -> list[ClaimRow]:
        """Return all claims of a visible document, rejected ones included, in order of the Text."""
        rows = self._database.rows(
            f"{_COLUMNS} FROM document CROSS JOIN claim"
            f" ON claim.document = document.key WHERE document.doc_id = ? AND document.state = {SHOWN}"
            " ORDER BY claim.ordinal",
            (doc_id,),
        )
        return [claim_row(row) for row in rows]

    def rejected(self, ontology: str) -> list[ClaimRow]:
        """Return the claims of visible documents that validation refused, in order of deposit."""
        return self._rows("claim.ontology = ? AND claim.claim_id = ''", (ontology,))

    def naming(self, ontology: str, claim: str) -> list[Claim]:
        """Return the living claims whose actor this claim names, with equal numbers, negations and directions: those that may
        say the same."""
        where = (
            "claim.actor_key IN (SELECT value FROM json_each(?)) AND claim.ontology = ? AND claim.measures = ?"
            " AND claim.claim_id != ''"
        )
        rows = self._rows(where, (json.dumps(could_name(stems_of(claim))), ontology, measures_of(claim)))
        return [*self.find({row.claim_id for row in rows}).values()]

    def about(self, ontology: str, actor: str) -> list[Claim]:
        """Return the living claims about an actor."""
        where = "claim.ontology = ? AND claim.actor_key = ? AND claim.claim_id != ''"
        return self._claims(where, (ontology, actor_key(actor)))

    def search(self, words: str, ontology: str = "", limit: int = 100) -> list[Claim]:
        """Return living claims that have all these words, whatever their endings; those that most evidence says so first.

        Looks at every claim of the ontology, or of all where it is ''.
        """
        wanted = list(dict.fromkeys(stems_of(words)))
        if not wanted:
            return []
        having = " AND ".join("instr(claim.stems, ?) > 0" for _ in wanted)
        rows = self._database.rows(
            f"SELECT claim.claim_id FROM {_SHOWN}"
            f" WHERE claim.claim_id != '' {'AND claim.ontology = ?' if ontology else ''} AND {having}"
            " GROUP BY claim.claim_id ORDER BY count(*) DESC, claim.claim_id LIMIT ?",
            (*((ontology,) if ontology else ()), *(f" {one} " for one in wanted), limit),
        )
        found = self.find([claim_id for (claim_id,) in rows])
        return [found[claim_id] for (claim_id,) in rows if claim_id in found]

    def concepts_within(self, row: ClaimRow) -> frozenset[str]:
        """Return the ids of the concepts of which evidence overlaps a claim's quote. Reads the evidence around it."""
        rows = self._database.rows(
            "SELECT DISTINCT instance.owner FROM document CROSS JOIN instance ON instance.document = document.key"
            f" WHERE document.doc_id = ? AND document.state = {SHOWN} AND instance.chunk_index BETWEEN ? AND ?"
            " AND instance.owner_kind = 'concept' AND instance.char_start < ? AND instance.char_end > ?",
            (row.doc_id, row.chunk_index - 1, row.chunk_index + AROUND, row.char_end, row.char_start),
        )
        return frozenset(owner for (owner,) in rows)

    def _rows(self, where: str, values: Sequence[Any]) -> list[ClaimRow]:
        sql = f"{_COLUMNS} FROM {_SHOWN} WHERE {where} ORDER BY {_ORDER}"
        return [claim_row(row) for row in self._database.rows(sql, values)]

    def _claims(self, where: str, values: Sequence[Any]) -> list[Claim]:
        """Return the claims of which these conditions hold for all rows or none."""
        grouped = groupby(self._rows(where, values), key=lambda row: row.claim_id)
        return [Claim(next(rows), 1 + sum(1 for _ in rows)) for _, rows in grouped]
