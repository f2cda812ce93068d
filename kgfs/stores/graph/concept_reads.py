"""Read concepts, their evidence and their relationships, one indexed query each."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from kgfs.domain.word_forms import without_joiners
from kgfs.stores.database import Database
from kgfs.stores.graph.rows import (
    CONCEPT,
    INSTANCE,
    SHOWN,
    THOSE,
    concept_row,
    instance_row,
    listed,
)
from kgfs.stores.graph.vocabulary import (
    TEXT_ONLY,
    Concept,
    InstanceRow,
    Related,
    Risen,
)

if TYPE_CHECKING:
    from kgfs.render.concept import ConceptPage

SELECT_CONCEPT = f"SELECT {listed(CONCEPT, 'concept')} FROM concept"
# INDEXED BY the covering index: with the other index on names, SQLite would read a row of the table.
_LISTED = "SELECT concept_id, mtime FROM concept INDEXED BY concept_listed WHERE ontology = ? AND name = ? AND live = 1"
_INSTANCE = f"""SELECT document.doc_id, {listed(INSTANCE, "instance")}
    FROM instance CROSS JOIN document ON document.key = instance.document AND document.state = {SHOWN}"""

# One search a phrase: a search for any of thousands would ask all of them about each row.
_HIT = """WITH hit AS (SELECT DISTINCT source_words.rowid AS key
    FROM json_each(?) CROSS JOIN source_words WHERE source_words MATCH json_each.value)"""


def _quoted(phrases: Collection[str]) -> str:
    """Return the phrases as a JSON list, quoted for the full text; those without a word are left out."""
    words = (without_joiners(phrase).replace('"', " ") for phrase in phrases if any(map(str.isalnum, phrase)))
    return json.dumps([f'"{each}"' for each in words])


class ConceptReads:
    """The reads of concepts, evidence and relationships. See ``contract.Graph``."""

    _database: Database

    def concept(self, concept_id: str) -> Concept | None:
        """Return a living concept; None if there is none with this id."""
        return self._concept("concept_id = ? AND live = 1", (concept_id,))

    def concepts_by_id(self, concept_ids: Collection[str]) -> dict[str, Concept]:
        """Return those of these concepts that are living, by id."""
        where = f"WHERE concept_id IN {THOSE} AND live = 1"
        found = self._concepts(f"{SELECT_CONCEPT} {where}", (json.dumps([*concept_ids]),))
        return {concept.concept_id: concept for concept in found}

    def concept_named(self, ontology: str, name: str) -> Concept | None:
        """Return the living concept of an ontology whose directory name is ``name`` (without ``.concept``); None
        if there is none."""
        return self._concept("ontology = ? AND name = ? AND live = 1", (ontology, name))

    def _concept(self, where: str, values: Sequence[Any]) -> Concept | None:
        found = self._database.row(f"{SELECT_CONCEPT} WHERE {where}", values)
        return concept_row(found) if found else None

    def _concepts(self, query: str, values: Sequence[Any]) -> list[Concept]:
        return [concept_row(row) for row in self._database.rows(query, values)]

    def concepts(self, ontology: str, after: str = "", limit: int = 1000) -> list[Concept]:
        """Return the living concepts of an ontology, ordered by name."""
        where = "WHERE ontology = ? AND name > ? AND live = 1 ORDER BY name LIMIT ?"
        return self._concepts(f"{SELECT_CONCEPT} {where}", (ontology, after, limit))

    def concept_names(self, ontology: str, after: str = "", limit: int = 1000) -> list[tuple[str, str, int]]:
        """Return (name, id, mtime) of the living concepts of an ontology, ordered by id; ``after`` is an id. Costs
        a third of :meth:`concepts` and returns all that a directory of concepts shows."""
        where = "WHERE ontology = ? AND concept_id > ? AND live = 1 ORDER BY concept_id LIMIT ?"
        return self._database.rows(f"SELECT name, concept_id, mtime FROM concept {where}", (ontology, after, limit))

    def concept_listed(self, ontology: str, name: str) -> tuple[str, int] | None:
        """Return (id, mtime) of the concept called ``name``, at a fraction of the cost of ``concept_named``."""
        found: tuple[str, int] | None = self._database.row(_LISTED, (ontology, name))
        return found

    def concepts_of(self, doc_id: str) -> list[Concept]:
        """Return the concepts that a document mentions, ordered by name."""
        query = f"""{SELECT_CONCEPT} WHERE key IN (SELECT mention.concept
            FROM document CROSS JOIN mention ON mention.document = document.key
            WHERE document.doc_id = ? AND document.state = {SHOWN}) ORDER BY name"""
        return self._concepts(query, (doc_id,))

    def found_in(self, doc_id: str) -> tuple[int, int]:
        """Return the number of concepts that a visible document mentions, and of relationships that it is evidence for."""
        of = f"document.doc_id = ?1 AND document.state = {SHOWN}"
        found = self._database.row(
            "SELECT (SELECT count(DISTINCT mention.concept) FROM document"
            f" CROSS JOIN mention ON mention.document = document.key WHERE {of}),"
            " (SELECT count(DISTINCT instance.owner) FROM document CROSS JOIN instance ON instance.document = document.key"
            f" AND instance.owner_kind = 'relationship' WHERE {of})",
            (doc_id,),
        )
        return found[0], found[1]

    def names_like(self, ontology: str, beginning: str, least: int, most: int, limit: int) -> list[str]:
        """Return up to ``limit`` normalised forms of living concepts with this beginning and ``least`` to ``most``
        characters, in order."""
        rows = self._database.rows(
            "SELECT DISTINCT form FROM concept_form WHERE ontology = ?1 AND form >= ?2 AND form < ?3"
            " AND length(form) BETWEEN ?4 AND ?5 ORDER BY form LIMIT ?6",
            (ontology, beginning, f"{beginning}\U0010ffff", least, most, limit),
        )
        return [form for (form,) in rows]

    def concepts_at(self, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], list[Concept]]:
        """Return for each of these Sources, by (doc_id, chunk index), the living concepts that it is evidence for, in
        order of the text, in one read. Sources without any are missing."""
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
        """Return for each of these concepts the doc_ids of the documents that mention it, in order of deposit; with ``most``
        none for a concept that more documents mention."""
        return self._mentioning(concept_ids, most)

    def _mentioning(self, concept_ids: Collection[str], most: int = 0, which: str = "") -> dict[str, list[str]]:
        few = "(SELECT count(*) FROM (SELECT 1 FROM mention WHERE mention.concept = concept.key LIMIT ?2 + 1)) <= ?2"
        rows = self._database.rows(
            "SELECT DISTINCT concept.concept_id, document.deposit, document.doc_id"
            " FROM concept CROSS JOIN mention ON mention.concept = concept.key"
            f" CROSS JOIN document ON document.key = mention.document AND document.state = {SHOWN}"
            f" WHERE concept.concept_id IN {THOSE} AND (?2 = 0 OR {few}){which}"
            " ORDER BY document.deposit, document.doc_id",
            (json.dumps([*concept_ids]), most),
        )
        found: dict[str, list[str]] = {concept_id: [] for concept_id in concept_ids}
        for concept_id, _, doc_id in rows:
            found[concept_id].append(doc_id)
        return found

    def documents_counted(self, concept_ids: Collection[str], but: Collection[str]) -> dict[str, int]:
        """Return the number of documents that mention each of these concepts, other than those of ``but``."""
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
        """Return for each of these concepts the doc_ids of the documents that it rests on, in order of deposit: those in
        which it passed. It lives while any of them is visible."""
        return self._mentioning(concept_ids, which=" AND mention.passed")

    def risen(self, limit: int) -> Risen | None:
        """Return concepts whose places in earlier documents are still to be looked for, at most ``limit`` of one
        ontology that were looked for in the same documents so far; None if there are none."""
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
        """Return the keys of all forms of each of these concepts that lives."""
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
        """Return the doc_ids behind ``after`` of the documents in whose Sources that passed the gate any of these phrases
        may stand, in order, at most ``limit``. Only documents that the present rules read, and that show more than their
        text. Case, accents and signs between words make no difference."""
        rows = self._database.rows(
            f"{_HIT} SELECT DISTINCT document.doc_id FROM hit CROSS JOIN source ON source.key = hit.key"
            " CROSS JOIN document ON document.key = source.document"
            f" WHERE document.ontology = ? AND document.state = {SHOWN}"
            f" AND document.status != '{TEXT_ONLY}'"
            " AND document.doc_id > ? ORDER BY document.doc_id LIMIT ?",
            (_quoted(phrases), ontology, after, limit),
        )
        return [doc_id for (doc_id,) in rows]

    def sources_having(self, ontology: str, phrases: Collection[str], doc_ids: Collection[str]) -> dict[str, list[int]]:
        """Return the chunk indices, ascending, of the Sources of these documents in which any of these phrases stands whole,
        by document. Sources that did not pass the gate are not among them. Case, accents and signs between words make no
        difference. The cost grows with the places of the phrases in all documents."""
        found: dict[str, list[int]] = {}
        for doc_id, chunk_index in self._database.rows(
            f"{_HIT} SELECT document.doc_id, source.chunk_index FROM hit CROSS JOIN source ON source.key = hit.key"
            " CROSS JOIN document ON document.key = source.document"
            f" WHERE document.ontology = ? AND document.state = {SHOWN}"
            " AND document.doc_id IN (SELECT value FROM json_each(?)) ORDER BY document.doc_id, source.chunk_index",
            (_quoted(phrases), ontology, json.dumps([*doc_ids])),
        ):
            found.setdefault(doc_id, []).append(chunk_index)
        return found

    def page(self, concept_id: str) -> ConceptPage | None:
        """Return all that ``concept.md`` shows of a concept; None if the concept is not living."""
        from kgfs.stores.graph.pages import concept_page  # a search shows no page

        with self._database.snapshot() as connection:
            return concept_page(connection, concept_id)

    # ------------------------------------------------------------------------ evidence, relationships

    def instance(self, owner: str, n: int) -> InstanceRow | None:
        """Return the piece of evidence of a concept or relationship with number ``n``; None if there is none."""
        found = self._database.row(f"{_INSTANCE} WHERE instance.owner = ? AND instance.n = ?", (owner, n))
        return instance_row(found) if found else None

    def instances(self, owner: str, after: int = 0, limit: int = 1000) -> list[InstanceRow]:
        """Return the evidence of a concept or relationship, ordered by number."""
        where = "WHERE instance.owner = ? AND instance.n > ? ORDER BY instance.n LIMIT ?"
        return [instance_row(row) for row in self._database.rows(f"{_INSTANCE} {where}", (owner, after, limit))]

    def strongest(self, owner: str) -> InstanceRow | None:
        """Return the best piece of evidence of a concept or relationship: first one that defines the owner, then
        the one of the highest confidence, then the one of the lowest number. None if there is none."""
        where = "WHERE instance.owner = ? ORDER BY instance.defines DESC, instance.confidence DESC, instance.n LIMIT 1"
        found = self._database.row(f"{_INSTANCE} {where}", (owner,))
        return instance_row(found) if found else None

    def definitions(self, concept_id: str) -> list[InstanceRow]:
        """Return the best evidence of each thing that a concept's name is used for; of a name for one thing the strongest."""
        page = self.page(concept_id)
        rows = [self.instance(concept_id, line.n) for line in page.meanings] if page else []
        return [row for row in rows or [self.strongest(concept_id)] if row is not None]

    def instances_of(self, doc_id: str) -> list[InstanceRow]:
        """Return the evidence quoted from a document, ordered by its position in the Text, then by owner and
        number."""
        rows = self._database.rows(
            f"SELECT document.doc_id, {listed(INSTANCE, 'instance')}"
            " FROM document CROSS JOIN instance ON instance.document = document.key"
            f" WHERE document.doc_id = ? AND document.state = {SHOWN}"
            " ORDER BY instance.char_start, instance.char_end, instance.owner, instance.n",
            (doc_id,),
        )
        return [instance_row(row) for row in rows]

    def related_types(self, concept_id: str) -> list[str]:
        """Return, in order, the relationship types (inverse types for incoming ones) of which the concept has a
        living relationship."""
        rows = self._database.rows("SELECT DISTINCT type FROM neighbour WHERE concept = ? ORDER BY type", (concept_id,))
        return [type_ for (type_,) in rows]

    def related(self, concept_id: str, type_: str = "", after: str = "", limit: int = 1000) -> list[Related]:
        """Return the relationships of a concept, ordered by (type, name), then id; with ``type_`` only those of
        that type. ``after`` is a name if ``type_`` is given, else ``<type>/<name>``. A type that is its own
        inverse, stated in both directions, gives two rows with the same (type, name). Two such rows are never
        split between pages, so a page may have one row more than ``limit``."""
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
