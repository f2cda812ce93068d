"""Forgetting beyond the rows of a document: removal of concepts with all their evidence, and redaction after a
purge."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from kgfs.stores.graph.commit import Commit
from kgfs.stores.graph.concepts import count_out
from kgfs.stores.graph.feed import reduce_to_ids
from kgfs.stores.graph.rows import SHOWN, hidden_name, slots
from kgfs.stores.graph.vocabulary import Redaction, RelationshipRow


class Cascade(Commit):
    """One forgetting: call :meth:`leave`, :meth:`strike`, then ``settle``. Each concept and each relationship is
    updated once, however many documents leave together."""

    def strike(self, concept_ids: Sequence[str]) -> None:
        """Remove these concepts with their relationships and with all evidence of both, in whichever documents it
        is. Those documents stay visible. Concepts that are not living are skipped."""
        edited: dict[int, tuple[str, str, int]] = {}
        for concept_id in sorted(set(concept_ids)):
            found = self._sql.execute(
                "SELECT key FROM concept WHERE concept_id = ? AND live = 1", (concept_id,)
            ).fetchone()
            if found is None:
                continue
            self._concepts.add(concept_id)
            joined = self._sql.execute(
                "SELECT DISTINCT relationship_id, other FROM neighbour WHERE concept = ?", (concept_id,)
            ).fetchall()
            self._concepts.update(other for _, other in joined)
            self._relationships.update(relationship_id for relationship_id, _ in joined)
            for owner in (concept_id, *sorted({relationship_id for relationship_id, _ in joined})):
                self._strike_evidence(owner, edited)
            self._strike_mentions(concept_id, found[0], edited)
            for derived in self._derived.values():
                derived.strike(found[0], concept_id)
        for edition, (doc_id, ontology, lost) in sorted(edited.items()):
            self._sql.execute("UPDATE document SET instances = instances - ? WHERE key = ?", (lost, edition))
            self._count(ontology, instances=-lost)
            self._feed.tell("changed", "document", ontology, ontology, doc_id)

    def _strike_evidence(self, owner: str, edited: dict[int, tuple[str, str, int]]) -> None:
        rows = self._sql.execute(
            "SELECT instance.n, document.key, document.doc_id, document.ontology"
            f" FROM instance CROSS JOIN document ON document.key = instance.document AND document.state = {SHOWN}"
            " WHERE instance.owner = ?",
            (owner,),
        ).fetchall()
        for n, edition, doc_id, ontology in rows:
            self._sql.execute("DELETE FROM instance WHERE owner = ? AND n = ? AND document = ?", (owner, n, edition))
            self._tell_one_evidence("removed", ontology, owner, n)
            edited[edition] = (doc_id, ontology, edited.get(edition, ("", "", 0))[2] + 1)
        self._evidence[owner] = self._evidence.get(owner, 0) - len(rows)

    def _strike_mentions(self, concept_id: str, concept: int, edited: dict[int, tuple[str, str, int]]) -> None:
        rows = self._sql.execute(
            "SELECT DISTINCT document.key, document.doc_id, document.ontology"
            f" FROM mention CROSS JOIN document ON document.key = mention.document AND document.state = {SHOWN}"
            " WHERE mention.concept = ?",
            (concept,),
        ).fetchall()
        for edition, doc_id, ontology in rows:
            count_out(self._sql, edition, [concept])
            self._documents[concept_id] = self._documents.get(concept_id, 0) - 1
            self._sql.execute("DELETE FROM mention WHERE concept = ? AND document = ?", (concept, edition))
            edited.setdefault(edition, (doc_id, ontology, 0))


def redact(
    connection: sqlite3.Connection, concept_ids: Sequence[str], relationships: Sequence[RelationshipRow]
) -> Redaction:
    """Hide the directory names of the dead ones among these concepts and reduce the change feed to ids. Return the
    record that a rebuild, which does not know the purged documents, needs. Idempotent."""
    reduce_to_ids(connection)  # first, since the feed refers to concepts by the names that are hidden below
    names: list[tuple[str, str, str]] = []
    concept_times: dict[str, int] = {}
    named_times: dict[str, int] = {}
    numbers: dict[str, int] = {}
    ontologies: set[str] = set()
    relationship_ids = {relationship.relationship_id for relationship in relationships}
    for concept_id in sorted(set(concept_ids)):
        row = connection.execute(
            "SELECT ontology, name, live, last_n, named_at FROM concept WHERE concept_id = ?", (concept_id,)
        ).fetchone()
        if row is None:
            continue
        ontology, name, live, last_n, named_at = row
        ontologies.add(ontology)
        numbers[concept_id] = last_n
        if not live:
            hidden = hidden_name(ontology, name)
            connection.execute("UPDATE concept SET name = ? WHERE concept_id = ?", (hidden, concept_id))
            names.append((concept_id, ontology, hidden))
            continue
        if named_at:
            named_times[concept_id] = named_at
        concept_times |= connection.execute(
            "SELECT concept_id, mtime FROM concept WHERE live = 1 AND (concept_id = ?1"
            " OR concept_id IN (SELECT other FROM neighbour WHERE concept = ?1))",
            (concept_id,),
        ).fetchall()
        relationship_ids |= {
            relationship_id
            for (relationship_id,) in connection.execute(
                "SELECT relationship_id FROM relationship WHERE by_name = 1 AND ?1 IN (subject, object)"
                " AND relationship_id IN (SELECT relationship_id FROM neighbour WHERE concept = ?1)",
                (concept_id,),
            )
        }
    known: list[tuple[str, str, str, str, str, int, int]] = []
    for relationship_id in sorted(relationship_ids):
        row = connection.execute(
            "SELECT relationship_id, ontology, subject, type, object, last_n, mtime FROM relationship"
            " WHERE relationship_id = ?",
            (relationship_id,),
        ).fetchone()
        if row is not None:
            known.append(row)
    changed = [
        connection.execute("SELECT ontology, changed_at FROM counter WHERE ontology = ?", (ontology,)).fetchone()
        for ontology in sorted(ontologies)
    ]
    return Redaction(
        names=tuple(names),
        numbers=tuple(sorted(numbers.items())),
        relationships=tuple(known),
        concept_times=tuple(sorted(concept_times.items())),
        changed_at=tuple(row for row in changed if row is not None),
        named_times=tuple(sorted(named_times.items())),
    )


def impose(connection: sqlite3.Connection, redaction: Redaction) -> None:
    """Bring a graph that was built without the purged documents to the state that their purge left."""
    for concept_id, ontology, name in redaction.names:
        connection.execute(
            "INSERT INTO concept (concept_id, ontology, name, live, norm, label, aliases, description, kind, founded,"
            f" evidence, related, size, mtime, last_n) VALUES ({slots(3)}, 0, '', '', '[]', '', '', 0, 0, 0, 0,"
            " 0, 0) ON CONFLICT (concept_id) DO UPDATE SET name = excluded.name",
            (concept_id, ontology, name),
        )
    connection.executemany("UPDATE concept SET last_n = max(last_n, ?2) WHERE concept_id = ?1", redaction.numbers)
    connection.executemany(
        "INSERT INTO relationship (relationship_id, ontology, subject, type, object, evidence, confidence, mtime, last_n)"
        " VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, ?7, ?6)"
        " ON CONFLICT (relationship_id) DO UPDATE SET mtime = excluded.mtime, last_n = max(last_n, excluded.last_n)",
        redaction.relationships,
    )
    connection.executemany("UPDATE concept SET mtime = ?2 WHERE concept_id = ?1 AND live = 1", redaction.concept_times)
    connection.executemany("UPDATE concept SET named_at = ?2 WHERE concept_id = ?1 AND live = 1", redaction.named_times)
    for ontology, at in redaction.changed_at:
        connection.execute(
            "INSERT INTO counter (ontology, changed_at) VALUES (?1, ?2)"
            " ON CONFLICT (ontology) DO UPDATE SET changed_at = max(changed_at, ?2)",
            (ontology, at),
        )
