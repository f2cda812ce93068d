"""Read concepts, their evidence and their relationships, one indexed query each."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

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
    FIRST_LOOKED_BACK,
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
    words = (phrase.replace('"', " ") for phrase in phrases if any(map(str.isalnum, phrase)))
    return json.dumps([f'"{each}"' for each in words])


class ConceptReads:
    """The reads of concepts, evidence and relationships. See ``contract.Graph``."""

    _database: Database

    def concept(self, concept_id: str) -> Concept | None:
        return self._concept("concept_id = ? AND live = 1", (concept_id,))

    def concepts_by_id(self, concept_ids: Collection[str]) -> dict[str, Concept]:
        where = f"WHERE concept_id IN {THOSE} AND live = 1"
        found = self._concepts(f"{SELECT_CONCEPT} {where}", (json.dumps([*concept_ids]),))
        return {concept.concept_id: concept for concept in found}

    def concept_named(self, ontology: str, name: str) -> Concept | None:
        return self._concept("ontology = ? AND name = ? AND live = 1", (ontology, name))

    def _concept(self, where: str, values: Sequence[Any]) -> Concept | None:
        found = self._database.row(f"{SELECT_CONCEPT} WHERE {where}", values)
        return concept_row(found) if found else None

    def _concepts(self, query: str, values: Sequence[Any]) -> list[Concept]:
        return [concept_row(row) for row in self._database.rows(query, values)]

    def concepts(self, ontology: str, after: str = "", limit: int = 1000) -> list[Concept]:
        where = "WHERE ontology = ? AND name > ? AND live = 1 ORDER BY name LIMIT ?"
        return self._concepts(f"{SELECT_CONCEPT} {where}", (ontology, after, limit))

    def concept_names(self, ontology: str, after: str = "", limit: int = 1000) -> list[tuple[str, str, int]]:
        where = "WHERE ontology = ? AND concept_id > ? AND live = 1 ORDER BY concept_id LIMIT ?"
        return self._database.rows(f"SELECT name, concept_id, mtime FROM concept {where}", (ontology, after, limit))

    def concept_listed(self, ontology: str, name: str) -> tuple[str, int] | None:
        found: tuple[str, int] | None = self._database.row(_LISTED, (ontology, name))
        return found

    def concepts_of(self, doc_id: str) -> list[Concept]:
        query = f"""{SELECT_CONCEPT} WHERE key IN (SELECT mention.concept
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
            f" WHERE concept.concept_id IN {THOSE} AND (?2 = 0 OR {few}){which}"
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
        rows = self._database.rows(
            f"{_HIT} SELECT DISTINCT document.doc_id FROM hit CROSS JOIN source ON source.key = hit.key"
            " CROSS JOIN document ON document.key = source.document"
            f" WHERE document.ontology = ? AND document.state = {SHOWN}"
            f" AND document.status != '{TEXT_ONLY}' AND document.ingest_version >= {FIRST_LOOKED_BACK}"
            " AND document.doc_id > ? ORDER BY document.doc_id LIMIT ?",
            (_quoted(phrases), ontology, after, limit),
        )
        return [doc_id for (doc_id,) in rows]

    def sources_having(self, ontology: str, phrases: Collection[str], doc_ids: Collection[str]) -> dict[str, list[int]]:
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
        from kgfs.stores.graph.pages import concept_page  # a search shows no page

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
