"""What could be looked up: the candidates of each document, summed up by ontology, and which of them are terms.

A candidate is a term while no living concept has it as a form and it is the heading of fewer than HEADINGS documents.
Rows of candidates belong to editions; those of terms are sums over the visible editions, kept by each commit.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence

from kgfs.render.tsv import ShownTerm, term_line
from kgfs.stores.database import Database
from kgfs.stores.graph.rows import SHOWN, Derived, Settled
from kgfs.stores.graph.vocabulary import CandidateRow, DocumentRow

HEADINGS = 4
"""A heading that stands in so many documents of an ontology is structure, and no term."""

FREQUENT = 1000

_SHOWN = f"""
    SELECT candidate.label, term.count, document.doc_id, candidate.line, candidate.char_start, candidate.char_end
    FROM term CROSS JOIN document ON document.key = term.document
    CROSS JOIN candidate ON candidate.document = term.document AND candidate.folded = term.folded
    WHERE document.state = {SHOWN}"""

_FIRST = f"""
    SELECT candidate.document FROM candidate CROSS JOIN document ON document.key = candidate.document
    WHERE candidate.ontology = ? AND candidate.folded = ? AND document.state = {SHOWN}
    ORDER BY document.ingested_at, document.doc_id LIMIT 1"""


def put_candidates(
    connection: sqlite3.Connection, edition: int, document: DocumentRow | None, rows: Sequence[CandidateRow]
) -> None:
    """Insert candidates of an edition; a row with the same key is replaced."""
    ontology = document.ontology if document else ""
    connection.executemany(
        "INSERT OR REPLACE INTO candidate (document, folded, ontology, label, heading, count, line, char_start, char_end)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ((edition, r.key, ontology, r.label, r.heading, r.count, r.line_start, r.char_start, r.char_end) for r in rows),
    )


class Terms(Derived):
    """The terms of one commit, inside its transaction."""

    def __init__(self, connection: sqlite3.Connection, at: int) -> None:
        super().__init__(connection, at)
        self._steps: dict[tuple[str, str], list[int]] = {}
        """Change of the numbers of documents, headings and places, by ontology and key."""
        self._left: set[int] = set()
        self._entered: set[int] = set()

    def touch(self, edition: int, step: int) -> None:
        (self._entered if step > 0 else self._left).add(edition)
        for ontology, key, heading, count in self._sql.execute(
            "SELECT ontology, folded, heading, count FROM candidate WHERE document = ?", (edition,)
        ):
            steps = self._steps.setdefault((ontology, key), [0, 0, 0])
            for place, value in enumerate((1, heading, count)):
                steps[place] += step * value

    def strike(self, key: int, concept_id: str) -> None:
        """Remove the candidates that are a form of the concept from all visible documents."""
        rows = self._sql.execute(
            "SELECT candidate.document, candidate.folded, candidate.ontology, candidate.heading, candidate.count"
            " FROM concept_form CROSS JOIN candidate"
            " ON candidate.ontology = concept_form.ontology AND candidate.folded = concept_form.folded"
            f" CROSS JOIN document ON document.key = candidate.document AND document.state = {SHOWN}"
            " WHERE concept_form.concept = ? GROUP BY candidate.document, candidate.folded",
            (key,),
        ).fetchall()
        for edition, form, ontology, heading, count in rows:
            self._sql.execute("DELETE FROM candidate WHERE document = ? AND folded = ?", (edition, form))
            steps = self._steps.setdefault((ontology, form), [0, 0, 0])
            for place, value in enumerate((1, heading, count)):
                steps[place] -= value
            self._left.add(edition)

    def settle(self, settled: Settled) -> Iterable[tuple[str, str]]:
        """Update the terms of this commit and the size of ``terms.tsv``."""
        sums: dict[str, list[int]] = {}
        for ontology, key in sorted({*self._steps, *settled.forms_moved}):
            before, now = self._settle(ontology, key)
            total = sums.setdefault(ontology, [0, 0])
            total[0] += (now > 0) - (before > 0)
            total[1] += now - before
        self._sql.executemany(
            "INSERT INTO term_file VALUES (?, ?, ?) ON CONFLICT (ontology) DO UPDATE SET"
            " terms = terms + excluded.terms, size = size + excluded.size",
            [(ontology, *total) for ontology, total in sums.items() if any(total)],
        )
        return ()

    def _settle(self, ontology: str, key: str) -> tuple[int, int]:
        """Update one term. Return the bytes of its line before and now."""
        row = self._sql.execute(
            "SELECT documents, headings, count, document, size FROM term WHERE ontology = ? AND folded = ?",
            (ontology, key),
        ).fetchone()
        documents, headings, count, first, before = row or (0, 0, 0, 0, 0)
        steps = self._steps.get((ontology, key), (0, 0, 0))
        documents, headings, count = documents + steps[0], headings + steps[1], count + steps[2]
        if documents <= 0:
            if row:
                self._sql.execute("DELETE FROM term WHERE ontology = ? AND folded = ?", (ontology, key))
                self._sql.execute("DELETE FROM term_word WHERE ontology = ? AND folded = ?", (ontology, key))
            return before, 0
        if (ontology, key) in self._steps and self._may_differ(row, first):
            first = self._sql.execute(_FIRST, (ontology, key)).fetchone()[0]
        self._sql.execute(
            "INSERT OR REPLACE INTO term (ontology, folded, documents, headings, count, document, size)"
            " VALUES (?, ?, ?, ?, ?, ?, 0)",
            (ontology, key, documents, headings, count, first),
        )
        if row is None:
            self._sql.executemany(
                "INSERT OR IGNORE INTO term_word VALUES (?, ?, ?)", [(ontology, word, key) for word in key.split(" ")]
            )
        now = 0
        if headings < HEADINGS and not self._is_form(ontology, key):
            shown = self._sql.execute(f"{_SHOWN} AND term.ontology = ? AND term.folded = ?", (ontology, key)).fetchone()
            now = len(term_line(ShownTerm(*shown)))
            self._sql.execute("UPDATE term SET size = ? WHERE ontology = ? AND folded = ?", (now, ontology, key))
        return before, now

    def _may_differ(self, row: object, first: int) -> bool:
        """Return whether another document may be the first now: it left, or one entered with an earlier time."""
        if row is None or first in self._left:
            return True
        times = "SELECT ingested_at, doc_id FROM document WHERE key = ?"
        held = self._sql.execute(times, (first,)).fetchone()
        return any(self._sql.execute(times, (edition,)).fetchone() < held for edition in self._entered)

    def _is_form(self, ontology: str, key: str) -> bool:
        found = self._sql.execute(
            "SELECT 1 FROM concept_form WHERE ontology = ? AND folded = ? LIMIT 1", (ontology, key)
        )
        return found.fetchone() is not None


class TermReads:
    """Reads of candidates and terms. Any thread may call at any time; each call sees the newest commit."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def counted(self, ontology: str, keys: Collection[str], but: Collection[str]) -> Mapping[str, tuple[int, int]]:
        """Return, for those of these keys that visible documents have as a candidate, the number of such documents, and of
        those that have it as a whole heading. Documents in ``but`` (their ids) do not count."""
        with self._database.snapshot() as connection:
            found = {
                key: (documents, headings)
                for key, documents, headings in connection.execute(
                    "SELECT folded, documents, headings FROM json_each(?1)"
                    " CROSS JOIN term ON folded = value AND ontology = ?2",
                    (json.dumps([*keys]), ontology),
                )
            }
            for key, heading in connection.execute(
                "SELECT candidate.folded, candidate.heading FROM document"
                " CROSS JOIN candidate ON candidate.document = document.key"
                f" WHERE document.state = {SHOWN} AND document.ontology = ?2"
                " AND document.doc_id IN (SELECT value FROM json_each(?1))",
                (json.dumps([*but]), ontology),
            ):
                if key in found:
                    found[key] = found[key][0] - 1, found[key][1] - heading
            return found

    def size(self, ontology: str) -> int:
        """Return the bytes of the lines of an ontology's ``terms.tsv``, without the header. Not a scan."""
        found = self._database.row("SELECT size FROM term_file WHERE ontology = ?", (ontology,))
        return int(found[0]) if found else 0

    def parts(self, ontology: str, size: int) -> list[tuple[tuple[str, str], int]]:
        """Return (first key, last key) and bytes of each part of ``terms.tsv``; each has ``size`` bytes or a little more,
        the last one fewer. Scans the terms."""
        found: list[tuple[tuple[str, str], int]] = []
        first, last, total = "", "", 0
        for key, bytes_ in self._database.rows(
            "SELECT folded, size FROM term WHERE ontology = ? AND size > 0 ORDER BY folded", (ontology,)
        ):
            if not total:
                first = key
            last, total = key, total + bytes_
            if total >= size:
                found.append(((first, last), total))
                total = 0
        return [*found, ((first, last), total)] if total else found

    def lines(self, ontology: str, first: str, last: str) -> bytes:
        """Return the lines of ``terms.tsv`` between these keys."""
        rows = self._database.rows(
            f"{_SHOWN} AND term.ontology = ? AND term.size > 0 AND term.folded BETWEEN ? AND ? ORDER BY term.folded",
            (ontology, first, last),
        )
        return b"".join(term_line(ShownTerm(*row)) for row in rows)

    def of_document(self, doc_id: str) -> tuple[int, int]:
        """Return how many candidates a visible document has, and the most places that one of them has in it."""
        found = self._database.row(
            "SELECT count(*), coalesce(max(candidate.count), 0) FROM document"
            " CROSS JOIN candidate ON candidate.document = document.key"
            f" WHERE document.doc_id = ? AND document.state = {SHOWN}",
            (doc_id,),
        )
        return found[0], found[1]

    def heaviest(self, ontology: str, limit: int) -> list[ShownTerm]:
        """Return the terms of an ontology with the most places, the heaviest first, ties by key."""
        rows = self._database.rows(
            f"{_SHOWN} AND term.ontology = ? AND term.size > 0 ORDER BY term.count DESC, term.folded LIMIT ?",
            (ontology, limit),
        )
        return [ShownTerm(*row) for row in rows]

    def find(self, ontology: str, keys: Sequence[str], words: Sequence[str], limit: int) -> list[ShownTerm]:
        """Return the terms with these keys, the longest first, then those that have all the ``words`` in their key, those
        with the most places first. ``ontology`` is '' for all."""
        with self._database.snapshot() as connection:
            return _found(connection, ontology, keys, _rarest_first(connection, words), limit)


def _rarest_first(connection: sqlite3.Connection, words: Sequence[str]) -> list[str]:
    """Return the words, those that fewer terms have first: of these the terms are read. Terms above FREQUENT are not counted."""
    count = f"SELECT count(*) FROM (SELECT 1 FROM term_word WHERE word = ? LIMIT {FREQUENT})"
    return sorted(words, key=lambda word: connection.execute(count, (word,)).fetchone()[0])


def _found(
    connection: sqlite3.Connection, ontology: str, keys: Sequence[str], words: Sequence[str], limit: int
) -> list[ShownTerm]:
    within = "" if not ontology else " AND term.ontology = :ontology"
    having = " AND ".join(
        f"EXISTS (SELECT 1 FROM term_word WHERE ontology = term.ontology AND word = :word{place} AND folded = term.folded)"
        for place in range(1, len(words))
    )
    named = {f"word{place}": word for place, word in enumerate(words)}
    rows = connection.execute(
        f"SELECT * FROM ({_SHOWN} AND term.size > 0{within} AND term.folded IN (SELECT value FROM json_each(:keys))"
        " ORDER BY length(term.folded) DESC, term.folded LIMIT :limit)",
        {"ontology": ontology, "keys": json.dumps([*keys]), "limit": limit},
    ).fetchall()
    if len(rows) < limit and words:
        rows += connection.execute(
            "SELECT candidate.label, term.count, document.doc_id, candidate.line, candidate.char_start, candidate.char_end"
            " FROM term_word AS spoken CROSS JOIN term ON term.ontology = spoken.ontology AND term.folded = spoken.folded"
            f" CROSS JOIN document ON document.key = term.document AND document.state = {SHOWN}"
            " CROSS JOIN candidate ON candidate.document = term.document AND candidate.folded = term.folded"
            f" WHERE spoken.word = :word0 AND term.size > 0{within}{' AND ' + having if having else ''}"
            " AND term.folded NOT IN (SELECT value FROM json_each(:keys))"
            " ORDER BY term.count DESC, term.folded LIMIT :limit",
            {"ontology": ontology, "keys": json.dumps([*keys]), "limit": limit - len(rows), **named},
        ).fetchall()
    return [ShownTerm(*row) for row in rows]
