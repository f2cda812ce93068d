"""Where documents name concepts: rows of editions, the sums that concepts keep of them, and the lines of
``mentions.tsv``.

A row also stands for a concept that does not live (any more, or yet), so that its places are there when it lives again.
Positions only: no row has a word of a text.
"""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence

from kgfs.domain.forms import form_key
from kgfs.domain.identity import norm_hash
from kgfs.render.tsv import NamedPlace, mention_lines
from kgfs.stores.database import Database
from kgfs.stores.graph.rows import SHOWN, Derived, Settled
from kgfs.stores.graph.vocabulary import DocumentRow, NamedFile, NamedRow

_PLACE = struct.Struct("<IIII")
"""Line, first character, number of characters, chunk index."""

_DOCUMENTS = f"""
    SELECT document.doc_id, sum(named.size) FROM named CROSS JOIN document ON document.key = named.document
    WHERE named.owner = ? AND document.state = {SHOWN}
    GROUP BY document.key ORDER BY document.ingested_at, document.doc_id"""

_SUM = f"""
    SELECT coalesce(sum(named.count), 0), coalesce(sum(named.size), 0)
    FROM named CROSS JOIN document ON document.key = named.document
    WHERE named.owner = ? AND document.state = {SHOWN}"""

_FORMS = """
    SELECT value, (
        SELECT concept.concept_id FROM concept_form CROSS JOIN concept ON concept.key = concept_form.concept
        WHERE concept_form.ontology = ?2 AND concept_form.folded = value
        ORDER BY concept_form.rank, concept.founded, concept.norm_hash, concept.concept_id LIMIT 1
    ), EXISTS (
        SELECT 1 FROM concept_form WHERE ontology = ?2 AND folded > value || ' ' AND folded < value || '!'
    ) FROM json_each(?1)"""


def put_named(
    connection: sqlite3.Connection, edition: int, document: DocumentRow | None, rows: Sequence[NamedRow]
) -> None:
    """Insert rows of an edition whose Sources are there; a row of the same concept is replaced."""
    doc_id = connection.execute("SELECT doc_id FROM document WHERE key = ?", (edition,)).fetchone()[0]
    chunk_ids = _chunk_ids(connection, edition)
    connection.executemany(
        "INSERT OR REPLACE INTO named (owner, document, matched, count, size, places) VALUES (?, ?, ?, ?, ?, ?)",
        (
            (row.owner, edition, row.matched, len(row.places), _size(doc_id, chunk_ids, row), _packed(row))
            for row in rows
        ),
    )


class NamedReads:
    """Reads of where concepts are named. Any thread may call at any time; each call sees the newest commit."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def forms_known(self, ontology: str, keys: Collection[str]) -> tuple[dict[str, str], set[str]]:
        """Return the concept id of each of these keys (``domain.forms.form_key``) that is a form of a living concept,
        and those of the keys with which a longer form begins. Among several concepts the order of ``Graph.match``
        decides."""
        names: dict[str, str] = {}
        begun: set[str] = set()
        for key, concept_id, longer in self._database.rows(_FORMS, (json.dumps([*keys]), ontology)):
            if concept_id is not None:
                names[key] = concept_id
            if longer:
                begun.add(key)
        return names, begun

    def file(self, concept_id: str) -> NamedFile | None:
        """Return what is stored of the places that name a living concept; None if it is not living."""
        found = self._database.row(
            "SELECT named, named_size, CASE WHEN named_at > 0 THEN named_at ELSE mtime END"
            " FROM concept WHERE concept_id = ? AND live = 1",
            (concept_id,),
        )
        return NamedFile(*found) if found else None

    def documents(self, concept_id: str) -> list[tuple[str, int]]:
        """Return (doc_id, bytes of its lines) of the visible documents that name a concept, in order of publication."""
        rows: list[tuple[str, int]] = self._database.rows(_DOCUMENTS, (concept_id,))
        return rows

    def only_named(self, doc_id: str) -> set[str]:
        """Return the ids of the concepts that a visible document names and does not have."""
        rows = self._database.rows(
            "SELECT named.owner FROM document CROSS JOIN named ON named.document = document.key"
            f" WHERE document.doc_id = ? AND document.state = {SHOWN} AND named.matched = 0",
            (doc_id,),
        )
        return {owner for (owner,) in rows}

    def lines(self, concept_id: str, doc_id: str) -> bytes:
        """Return the lines of one visible document in a concept's ``mentions.tsv``; empty if it has none."""
        with self._database.snapshot() as connection:
            found = connection.execute(
                "SELECT document.key, named.places FROM document CROSS JOIN named ON named.document = document.key"
                f" WHERE document.doc_id = ? AND document.state = {SHOWN} AND named.owner = ?",
                (doc_id, concept_id),
            ).fetchall()
            if not found:
                return b""
            chunk_ids = _chunk_ids(connection, found[0][0])
        places = sorted(
            (start, end, line, chunk) for _, packed in found for line, start, end, chunk in _unpacked(packed)
        )
        return mention_lines(
            doc_id, (NamedPlace(line, start, end, chunk_ids[chunk]) for start, end, line, chunk in places)
        )


class Named(Derived):
    """The places of one commit, inside its transaction."""

    def __init__(self, connection: sqlite3.Connection, at: int) -> None:
        super().__init__(connection, at)
        self._steps: dict[str, tuple[int, int]] = {}
        """Change of the number of places and of bytes, by concept id."""

    def touch(self, edition: int, step: int) -> None:
        for owner, count, size in self._sql.execute(
            "SELECT owner, count, size FROM named WHERE document = ?", (edition,)
        ):
            self._step(owner, step * count, step * size)

    def replace(self, edition: int, rows: Sequence[NamedRow]) -> bool:
        only_named = {row.owner for row in rows if not row.matched}
        former = self._held(edition, only_named)
        self._sql.executemany(
            "DELETE FROM named WHERE owner = ? AND document = ? AND matched = ?",
            [(owner, edition, matched) for owner, matched in former],
        )
        put_named(self._sql, edition, None, [row for row in rows if row.places])
        now = self._held(edition, only_named)
        for key in sorted(former.keys() | now.keys()):
            if former.get(key) != now.get(key):
                count, size, _ = former.get(key, (0, 0, b""))
                now_count, now_size, _ = now.get(key, (0, 0, b""))
                self._step(key[0], now_count - count, now_size - size)
        return former != now

    def rename(self, former: str, concept_id: str) -> None:
        for edition, matched, count, size, places in self._rows(former):
            self._sql.execute(
                "DELETE FROM named WHERE owner = ? AND document = ? AND matched = ?", (former, edition, matched)
            )
            self._step(former, -count, -size)
            other = self._sql.execute(
                "SELECT count, size, places FROM named WHERE owner = ? AND document = ? AND matched = 0",
                (concept_id, edition),
            ).fetchone() or (0, 0, b"")
            both = sorted({*_unpacked(places), *_unpacked(other[2])}, key=lambda place: place[1:])
            put_named(self._sql, edition, None, [NamedRow(concept_id, False, tuple(both))])
            now = self._sums(concept_id, edition)
            self._step(concept_id, now[0] - other[0], now[1] - other[1])

    def part(self, younger: str) -> None:
        """Have visible documents name a concept that is about to be parted from the one it was joined to.

        They do so where their words have the form by which it was found.
        """
        found = self._sql.execute("SELECT older, own FROM joined WHERE younger = ?", (younger,)).fetchone()
        for edition, matched, count, size, packed in self._rows(found[0]) if found else ():
            if matched:
                continue  # its document says so itself
            here = list(_unpacked(packed))
            own = [place for place in here if norm_hash(form_key(self._words(edition, *place))) == found[1]]
            if not own:
                continue
            self._sql.execute("DELETE FROM named WHERE owner = ? AND document = ? AND matched = 0", (found[0], edition))
            self._step(found[0], -count, -size)
            for owner, places in ((found[0], [place for place in here if place not in own]), (younger, own)):
                if places:
                    put_named(self._sql, edition, None, [NamedRow(owner, False, tuple(places))])
                    self._step(owner, *self._sums(owner, edition))

    def _sums(self, owner: str, edition: int) -> tuple[int, int]:
        count, size = self._sql.execute(
            "SELECT count, size FROM named WHERE owner = ? AND document = ? AND matched = 0", (owner, edition)
        ).fetchone()
        return count, size

    def _words(self, edition: int, line: int, start: int, end: int, chunk: int) -> str:
        pieces = self._sql.execute(
            "SELECT char_start, full_text FROM source WHERE document = ? AND chunk_index >= ? AND char_start < ?"
            " ORDER BY chunk_index",
            (edition, chunk, end),
        ).fetchall()
        return "".join(text for _, text in pieces)[start - pieces[0][0] : end - pieces[0][0]]

    def strike(self, key: int, concept_id: str) -> None:
        for edition, matched, count, size, _ in self._rows(concept_id):
            self._sql.execute(
                "DELETE FROM named WHERE owner = ? AND document = ? AND matched = ?", (concept_id, edition, matched)
            )
            self._step(concept_id, -count, -size)

    def settle(self, settled: Settled) -> Iterator[tuple[str, str]]:
        """Update the sums of living concepts, and yield (ontology, id) of those whose places changed.

        Of concepts that have just risen they are made anew; these have no file yet that could have changed.
        """
        risen = settled.risen
        for concept_id in sorted({*self._steps, *risen}):
            if concept_id in risen:
                count, size = self._sql.execute(_SUM, (concept_id,)).fetchone()
                sums = "named = ?1, named_size = ?2, named_at = CASE WHEN ?1 > 0 THEN ?3 ELSE 0 END"
            else:
                count, size = self._steps[concept_id]
                sums = "named = named + ?1, named_size = named_size + ?2, named_at = ?3"
            found = self._sql.execute(
                f"UPDATE concept SET {sums} WHERE concept_id = ?4 AND live = 1 RETURNING ontology",
                (count, size, self._at, concept_id),
            ).fetchone()
            if found is not None and concept_id not in risen:
                yield found[0], concept_id

    def _step(self, owner: str, count: int, size: int) -> None:
        former = self._steps.get(owner, (0, 0))
        self._steps[owner] = former[0] + count, former[1] + size

    def _held(self, edition: int, only_named: Collection[str]) -> dict[tuple[str, int], tuple[int, int, bytes]]:
        """Return the places of concepts that an edition has, and of those that it only names among these."""
        rows = self._sql.execute(
            "SELECT owner, matched, count, size, places FROM named WHERE document = ?", (edition,)
        ).fetchall()
        return {
            (owner, matched): (count, size, places)
            for owner, matched, count, size, places in rows
            if matched or owner in only_named
        }

    def _rows(self, owner: str) -> list[tuple[int, int, int, int, bytes]]:
        return self._sql.execute(
            "SELECT named.document, named.matched, named.count, named.size, named.places"
            " FROM named CROSS JOIN document ON document.key = named.document"
            f" WHERE named.owner = ? AND document.state = {SHOWN}",
            (owner,),
        ).fetchall()


def _chunk_ids(connection: sqlite3.Connection, edition: int) -> dict[int, str]:
    return dict(
        connection.execute("SELECT chunk_index, chunk_id FROM source WHERE document = ?", (edition,)).fetchall()
    )


def _size(doc_id: str, chunk_ids: dict[int, str], row: NamedRow) -> int:
    places = (NamedPlace(line, start, end, chunk_ids[chunk]) for line, start, end, chunk in row.places)
    return len(mention_lines(doc_id, places))


def _packed(row: NamedRow) -> bytes:
    return b"".join(_PLACE.pack(line, start, end - start, chunk) for line, start, end, chunk in row.places)


def _unpacked(packed: bytes) -> Iterable[tuple[int, int, int, int]]:
    for line, start, length, chunk in _PLACE.iter_unpack(packed):
        yield line, start, start + length, chunk
