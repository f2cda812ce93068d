"""Relationships by name: what a concept is a kind of, because its name says so.

The mentions of a concept name its kinds, by keys of forms (:mod:`kgfs.domain.forms`), the longest first. The first that
a living concept of the ontology has is related by IS_A; a name in code like ``__file__`` is no kind. So these relationships are a pure function of the living
mentions: they have no evidence, and go with either end.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from kgfs.domain.identity import relationship_id_of
from kgfs.domain.knowledge import strength
from kgfs.stores.graph.feed import Feed
from kgfs.stores.graph.rows import inverse, slots

_NAMED = """
    SELECT concept.concept_id FROM concept_form CROSS JOIN concept ON concept.key = concept_form.concept
    WHERE concept_form.ontology = ?1 AND concept_form.folded = ?2 AND concept.concept_id != ?3
    ORDER BY concept_form.rank, concept.founded, concept.norm_hash, concept.concept_id LIMIT 1"""


class ByName:
    """The relationships by name that one commit adds and removes, inside its transaction."""

    def __init__(self, connection: sqlite3.Connection, at: int, feed: Feed) -> None:
        self._sql = connection
        self._at = at
        self._feed = feed
        self._subjects: set[str] = set()
        self._renamed: dict[str, set[str]] = {}
        """Keys of forms whose concept may differ from before, by ontology."""
        self.related: dict[str, int] = {}
        """Change of the number of relationships, by concept id."""
        self.steps: dict[str, int] = {}
        """Change of the number of relationships, by ontology."""

    def set_kinds(self, key: int, concept_id: str, ontology: str, kinds: Iterable[str]) -> None:
        """Store the keys of the kinds that a concept's mentions name; none for one that has died."""
        known = {kind for (kind,) in self._sql.execute("SELECT kind FROM concept_kind WHERE concept = ?", (key,))}
        wanted = set(kinds)
        if known == wanted:
            return
        self._subjects.add(concept_id)
        for kind in sorted(known - wanted):
            self._sql.execute("DELETE FROM concept_kind WHERE concept = ? AND kind = ?", (key, kind))
        for kind in sorted(wanted - known):
            self._sql.execute("INSERT INTO concept_kind VALUES (?, ?, ?)", (key, kind, ontology))

    def renamed(self, ontology: str, keys: Iterable[str]) -> None:
        """Note that another concept may have a form with one of these keys now."""
        self._renamed.setdefault(ontology, set()).update(keys)

    def settle(self) -> None:
        """Add and remove relationships. Call it once, when the forms of all concepts of the commit are final."""
        for ontology, keys in self._renamed.items():
            self._subjects.update(
                concept_id
                for (concept_id,) in self._sql.execute(
                    "SELECT concept.concept_id FROM json_each(?1) CROSS JOIN concept_kind"
                    " ON concept_kind.ontology = ?2 AND concept_kind.kind = value"
                    " CROSS JOIN concept ON concept.key = concept_kind.concept",
                    (json.dumps(sorted(keys)), ontology),
                )
            )
        wanted = {concept_id: self._kind_of(concept_id) for concept_id in sorted(self._subjects)}
        for concept_id, (_, kind) in wanted.items():
            for relationship_id, object_ in self._sql.execute(
                "SELECT relationship_id, object FROM relationship WHERE subject = ? AND by_name = 1", (concept_id,)
            ).fetchall():
                if object_ != kind:
                    self._leave(relationship_id)
        for concept_id, (ontology, kind) in wanted.items():
            if kind:
                self._enter(relationship_id_of(concept_id, "IS_A", kind), ontology, concept_id, kind)

    def _kind_of(self, concept_id: str) -> tuple[str, str]:
        """Return ontology and id of the concept that this one is a kind of by its name; '' if there is none."""
        key, ontology = self._sql.execute(
            "SELECT key, ontology FROM concept WHERE concept_id = ?", (concept_id,)
        ).fetchone()
        found = self._sql.execute("SELECT kind FROM concept_kind WHERE concept = ?", (key,))
        for kind in sorted((kind for (kind,) in found), key=lambda kind: (-kind.count(" "), kind)):
            named = self._sql.execute(_NAMED, (ontology, kind, concept_id)).fetchone()
            if named is not None:
                return ontology, named[0]
        return ontology, ""

    def _enter(self, relationship_id: str, ontology: str, subject: str, object_: str) -> None:
        self._sql.execute(
            "INSERT OR IGNORE INTO relationship (relationship_id, ontology, subject, type, object, evidence, confidence,"
            " mtime, last_n) VALUES (?, ?, ?, 'IS_A', ?, 0, 0, 0, 0)",
            (relationship_id, ontology, subject, object_),
        )
        evidence, known = self._sql.execute(
            "SELECT evidence, by_name FROM relationship WHERE relationship_id = ?", (relationship_id,)
        ).fetchone()
        if known:
            return
        self._sql.execute(
            "UPDATE relationship SET by_name = 1, mtime = iif(evidence, mtime, ?) WHERE relationship_id = ?",
            (self._at, relationship_id),
        )
        if not evidence:
            self._join(relationship_id, ontology, subject, object_, 1)

    def _leave(self, relationship_id: str) -> None:
        ontology, subject, object_, evidence, last_n = self._sql.execute(
            "SELECT ontology, subject, object, evidence, last_n FROM relationship WHERE relationship_id = ?",
            (relationship_id,),
        ).fetchone()
        if last_n:
            self._sql.execute("UPDATE relationship SET by_name = 0 WHERE relationship_id = ?", (relationship_id,))
        else:
            self._sql.execute("DELETE FROM relationship WHERE relationship_id = ?", (relationship_id,))
        if not evidence:
            self._join(relationship_id, ontology, subject, object_, -1)

    def _join(self, relationship_id: str, ontology: str, subject: str, object_: str, step: int) -> None:
        """Add or remove both ends of a relationship, and report them in the feed."""
        for concept, type_, other, incoming in ((subject, "IS_A", object_, 0), (object_, inverse("IS_A"), subject, 1)):
            (name,) = self._sql.execute("SELECT name FROM concept WHERE concept_id = ?", (other,)).fetchone()
            if step > 0:
                row = (concept, type_, name, relationship_id, other, incoming, strength("IS_A", 0, 0))
                self._sql.execute(f"INSERT INTO neighbour VALUES ({slots(7)})", row)
            else:
                self._sql.execute(
                    "DELETE FROM neighbour WHERE concept = ? AND type = ? AND name = ? AND relationship_id = ?"
                    " AND incoming = ?",
                    (concept, type_, name, relationship_id, incoming),
                )
            self.related[concept] = self.related.get(concept, 0) + step
            self._feed.tell("added" if step > 0 else "removed", "related", ontology, concept, f"{type_}/{name}")
        self._feed.tell("added" if step > 0 else "removed", "relationship", ontology, relationship_id, "")
        self.steps[ontology] = self.steps.get(ontology, 0) + step
