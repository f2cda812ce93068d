"""Change rows beside publications: what visible documents say of concepts, as merging and splitting concepts require, and
the removal of rows of editions that left, of rows about purged documents, and of all.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import replace

from kgfs.domain.knowledge import RELATIONSHIP_TYPES, Mention
from kgfs.errors import BadInputError, StoreError
from kgfs.stores.graph.commit import Commit
from kgfs.stores.graph.concepts import count_in, count_out
from kgfs.stores.graph.editions import put_instances, remove_sources
from kgfs.stores.graph.kinds import KINDS, OF_DOCUMENTS
from kgfs.stores.graph.rows import INSTANCE, LEAVING, MENTION, SHOWN, instance_row, listed, mention_row
from kgfs.stores.graph.vocabulary import ConceptRow, DocumentContent, InstanceRow, Mark


class Reassignment(Commit):
    """One transaction that replaces what documents say. Call :meth:`say` for each document, then ``settle``."""

    def say(self, content: DocumentContent) -> None:
        """Replace the mentions and evidence of one document. A document that is not visible is skipped. Raises
        BadInputError as :func:`check` does, and StoreError for an evidence number that another document's living
        evidence has."""
        found = self._sql.execute(
            f"SELECT key, ontology FROM document WHERE doc_id = ? AND state = {SHOWN}", (content.doc_id,)
        ).fetchone()
        if found is None:
            return
        edition, ontology = found
        check(content)
        for concept in content.concepts:
            self._meet(concept)
        for relationship in content.relationships:
            self._relate(relationship)
        change = self._change_evidence(edition, ontology, content)
        changed = self._change_mentions(edition, content.concepts)
        for table, derived in self._derived.items():
            changed |= derived.replace(edition, content.rows.get(table, ()))
        if change is None and not changed:
            return
        self._sql.execute("UPDATE document SET instances = instances + ? WHERE key = ?", (change or 0, edition))
        self._count(ontology, instances=change or 0)
        self._replaced.add(content.doc_id)
        self._feed.tell("changed", "document", ontology, ontology, content.doc_id)

    def rename(self, became: Sequence[tuple[str, str]]) -> None:
        """Have documents that only name one concept name another one, by pairs of (former id, id)."""
        for former, concept_id in became:
            for derived in self._derived.values():
                derived.rename(former, concept_id)

    def part(self, younger: Sequence[str]) -> None:
        """Have documents that only name a concept that was joined name these again by their forms."""
        for concept_id in younger:
            for derived in self._derived.values():
                derived.part(concept_id)

    def look_further(self, concept_ids: Sequence[str], after: str) -> None:
        """Note up to which document places of these concepts were looked for; '' for all documents."""
        look_further(self._sql, concept_ids, after)

    def _change_evidence(self, edition: int, ontology: str, content: DocumentContent) -> int | None:
        """Replace the evidence of an edition. Return by how many pieces it grew; None if nothing changed."""
        rows = self._sql.execute(
            f"SELECT document.doc_id, {listed(INSTANCE, 'instance')} FROM instance"
            " CROSS JOIN document ON document.key = instance.document WHERE instance.document = ?",
            (edition,),
        )
        former = {(row.owner, row.n): row for row in map(instance_row, rows)}
        now = {(row.owner, row.n): row for row in content.instances}
        for owner, n in sorted(former.keys() - now.keys()):
            self._sql.execute("DELETE FROM instance WHERE owner = ? AND n = ? AND document = ?", (owner, n, edition))
            self._moves("removed", ontology, former[owner, n], -1)
        new = [row for key, row in sorted(now.items()) if key not in former]
        other = [row for key, row in sorted(now.items()) if key in former and not same(former[key], row)]
        for row in new:
            self._refuse_taken(row)
            self._moves("added", ontology, row, 1)
        for row in other:
            self._moves("changed", ontology, row, 0)
        put_instances(self._sql, edition, None, [*new, *other])
        self._use_numbers(new)
        left = former.keys() - now.keys()
        return len(now) - len(former) if new or other or left else None

    def _moves(self, what: str, ontology: str, row: InstanceRow, step: int) -> None:
        self._tell_one_evidence(what, ontology, row.owner, row.n)
        self._evidence[row.owner] = self._evidence.get(row.owner, 0) + step
        if row.owner_kind == "concept":
            self._concepts.add(row.owner)
            return
        self._relationships.add(row.owner)
        self._concepts.update(
            self._sql.execute(
                "SELECT subject, object FROM relationship WHERE relationship_id = ?", (row.owner,)
            ).fetchone()
        )

    def _refuse_taken(self, row: InstanceRow) -> None:
        taken = self._sql.execute(
            "SELECT 1 FROM instance CROSS JOIN document ON document.key = instance.document"
            f" WHERE instance.owner = ? AND instance.n = ? AND document.state = {SHOWN}",
            (row.owner, row.n),
        ).fetchone()
        if taken:
            raise StoreError(f"Evidence number {row.n} of {row.owner} belongs to another document's quote.")

    def _use_numbers(self, rows: Sequence[InstanceRow]) -> None:
        for row in rows:
            table, key = (
                ("concept", "concept_id") if row.owner_kind == "concept" else ("relationship", "relationship_id")
            )
            self._sql.execute(f"UPDATE {table} SET last_n = max(last_n, ?) WHERE {key} = ?", (row.n, row.owner))

    def _change_mentions(self, edition: int, concepts: Sequence[ConceptRow]) -> bool:
        former: dict[str, list[Mention]] = {}
        for concept_id, *row in self._sql.execute(
            f"SELECT concept.concept_id, document.doc_id, {listed(MENTION, 'mention')} FROM mention"
            " CROSS JOIN concept ON concept.key = mention.concept CROSS JOIN document ON document.key = mention.document"
            " WHERE mention.document = ? ORDER BY mention.ordinal",
            (edition,),
        ):
            former.setdefault(concept_id, []).append(mention_row(row))
        now: dict[str, list[Mention]] = {}
        for concept in concepts:
            now.setdefault(concept.concept_id, []).append(concept.mention)
        changed = {concept_id for concept_id in former | now if former.get(concept_id) != now.get(concept_id)}
        count_out(self._sql, edition, self._keys(changed))
        for concept_id in sorted(changed):
            step = (concept_id in now) - (concept_id in former)
            self._documents[concept_id] = self._documents.get(concept_id, 0) + step
            self._sql.execute(
                "DELETE FROM mention WHERE document = ? AND concept = (SELECT key FROM concept WHERE concept_id = ?)",
                (edition, concept_id),
            )
        self._mention(edition, [concept for concept in concepts if concept.concept_id in changed])
        count_in(self._sql, edition, self._keys(changed))
        self._concepts |= changed
        return bool(changed)

    def _keys(self, concept_ids: Collection[str]) -> list[int]:
        found = self._sql.execute(
            "SELECT concept.key FROM json_each(?) CROSS JOIN concept ON concept.concept_id = value",
            (json.dumps([*concept_ids]),),
        )
        return [key for (key,) in found]


def check(content: DocumentContent) -> None:
    """Raise BadInputError for evidence whose owner is not mentioned, for relationships between concepts that are
    not mentioned, and for unknown relationship types."""
    mentioned = {concept.concept_id for concept in content.concepts}
    owners = mentioned | {relationship.relationship_id for relationship in content.relationships}
    for row in content.instances:
        if row.owner not in owners:
            raise BadInputError(f"Evidence is given for {row.owner}, which is not mentioned.")
    for relationship in content.relationships:
        if not {relationship.subject, relationship.object} <= mentioned:
            raise BadInputError(f"Relationship {relationship.relationship_id} joins concepts not mentioned with it.")
        if relationship.type not in RELATIONSHIP_TYPES:
            raise BadInputError(f"'{relationship.type}' is no relationship type.")


def look_further(connection: sqlite3.Connection, concept_ids: Sequence[str], after: str) -> None:
    """Do what :meth:`Reassignment.look_further` does."""
    if after:
        connection.executemany("UPDATE risen SET after = ? WHERE concept_id = ?", [(after, one) for one in concept_ids])
    else:
        connection.executemany("DELETE FROM risen WHERE concept_id = ?", [(one,) for one in concept_ids])


def same(former: InstanceRow, row: InstanceRow) -> bool:
    """Return whether two pieces of evidence are equal apart from mtime. Evidence keeps its mtime while the rest is
    unchanged."""
    return former == replace(row, mtime=former.mtime)


def set_marks(connection: sqlite3.Connection, marks: Sequence[Mark], unmarked: Sequence[Mark]) -> None:
    """Insert ``marks`` and delete ``unmarked``."""
    connection.executemany(
        "DELETE FROM mark WHERE mark = ? AND concept = ?", [(mark.mark, mark.concept_id) for mark in unmarked]
    )
    connection.executemany(
        "INSERT OR REPLACE INTO mark (mark, concept, ontology, joined) VALUES (?, ?, ?, ?)",
        [(mark.mark, mark.concept_id, mark.ontology, mark.joined) for mark in marks],
    )


def remove_some(connection: sqlite3.Connection, limit: int) -> None:
    """Delete at most about ``limit`` rows of editions that left. The row of an edition itself is deleted last."""
    while limit > 0:
        found = connection.execute(f"SELECT key FROM document WHERE state = {LEAVING} LIMIT 1").fetchone()
        if found is None:
            return
        limit -= _remove_of(connection, found[0], limit)


def _remove_of(connection: sqlite3.Connection, edition: int, limit: int) -> int:
    """Delete rows of an edition and return their number. The number is below ``limit`` only if the edition itself
    was deleted."""
    keys = [key for (key,) in connection.execute("SELECT key FROM source WHERE document = ? LIMIT ?", (edition, limit))]
    remove_sources(connection, keys)
    removed = len(keys)
    for kind in KINDS.values():
        if removed < limit:
            removed += connection.execute(
                f"DELETE FROM {kind.table} WHERE ({kind.key}) IN"
                f" (SELECT {kind.key} FROM {kind.table} WHERE document = ? LIMIT ?)",
                (edition, limit - removed),
            ).rowcount
    if removed < limit:
        connection.execute("DELETE FROM document WHERE key = ?", (edition,))
        removed += 1
    return removed


def forget_earlier(connection: sqlite3.Connection, doc_ids: Sequence[str]) -> None:
    """Delete the rows that are kept about documents after these have left."""
    for table in OF_DOCUMENTS:
        connection.executemany(f"DELETE FROM {table} WHERE doc_id = ?", [(doc_id,) for doc_id in doc_ids])


def empty(connection: sqlite3.Connection) -> None:
    """Empty every table but the ingest versions, and set the epoch to 0."""
    connection.execute("INSERT INTO source_words (source_words) VALUES ('delete-all')")
    kept = ("meta", "ingest_version", "source_words")
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    for (table,) in tables.fetchall():
        if table not in kept and not table.startswith("source_words_"):
            connection.execute(f'DELETE FROM "{table}"')
    connection.execute("UPDATE meta SET value = 0 WHERE name IN ('epoch', 'changes_above', 'touched_above')")
    connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'clears'")
