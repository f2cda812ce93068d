"""What follows from a commit for relationships, concepts and their pages: read for many at once, worked out, written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from neo4j import ManagedTransaction

from kgfs.domain.identity import normalise_label
from kgfs.render.concept import render
from kgfs.render.summary import summarise, surface_forms
from kgfs.stores.graph.neo4j.pages import PAGE, concept_page
from kgfs.stores.graph.neo4j.requests import Requests
from kgfs.stores.graph.neo4j.rows import MENTION, form_key, mention_row, shown
from kgfs.stores.portions import portions

AT_ONCE = 200
"""Concepts or relationships of one request."""
PAGES_AT_ONCE = 50


class Counting(Protocol):
    def __call__(self, ontology: str, **steps: int) -> None: ...


class Settling(Requests):
    """In this order: :meth:`relationships`, :meth:`concepts`, :meth:`pages`."""

    def __init__(
        self,
        tx: ManagedTransaction,
        space: str,
        at: int,
        tell: Callable[[str, str, str, str, str], None],
        count: Counting,
    ) -> None:
        super().__init__(tx, space)
        self._at = at
        self._tell = tell
        self._count = count
        self._related: dict[str, int] = {}
        """By how much the number of relationships moves, by concept."""
        self._touched: set[str] = set()
        self._relabelled: set[str] = set()
        self._founded: set[str] = set()

    # ---------------------------------------------------------------------------- relationships

    def relationships(self, ids: AbstractSet[str]) -> None:
        for some in portions(sorted(ids), AT_ONCE):
            self._some_relationships(some)

    def _some_relationships(self, ids: Sequence[str]) -> None:
        rows = self._rows(
            "UNWIND $ids AS id MATCH (r:Owner {space: $space, id: id})"
            " MATCH (r)-[:SUBJECT]->(s:Owner) MATCH (r)-[:OBJECT]->(o:Owner)"
            f" CALL (r) {{ MATCH (i:Instance {{owner: r.id}}) {shown('i')}"
            "  RETURN count(i) AS evidence, coalesce(max(i.confidence), 0.0) AS confidence }"
            " RETURN r.id AS id, r.ontology AS ontology, r.type AS type, r.inverse AS inverse, r.evidence AS before,"
            " s.id AS subject, s.name AS subject_name, o.id AS object, o.name AS object_name, evidence, confidence",
            ids=ids,
        )
        now = []
        for row in rows:
            evidence, before = row["evidence"], row["before"]
            what = "changed" if evidence and before else "added" if evidence else "removed"
            now.append({"id": row["id"], "evidence": evidence, "confidence": row["confidence"], "what": what})
            step = {"changed": 0, "added": 1, "removed": -1}[what]
            for concept, type_, other in (
                (row["subject"], row["type"], row["object_name"]),
                (row["object"], row["inverse"], row["subject_name"]),
            ):
                self._related[concept] = self._related.get(concept, 0) + step
                self._tell(what, "related", row["ontology"], concept, f"{type_}/{other}")
            if step:
                self._count(row["ontology"], relationships=step)
        self._do(
            "UNWIND $rows AS row MATCH (r:Owner {space: $space, id: row.id})"
            " SET r.evidence = row.evidence, r.confidence = row.confidence, r.mtime = $at",
            rows=now,
            at=self._at,
        )
        self._do(
            "UNWIND $ids AS id MATCH (r:Owner {space: $space, id: id}) SET r:Relationship"
            " WITH r MATCH (r)-[:SUBJECT]->(s:Owner) MATCH (r)-[:OBJECT]->(o:Owner)"
            " CREATE (s)-[:RELATES_TO {relationship_id: r.id, type: r.type, inverse: r.inverse,"
            " confidence: r.confidence, mtime: r.mtime}]->(o)",
            ids=_those(now, "added"),
        )
        # Of what lives in another space under the same id, nothing is meant.
        edge = "MATCH (s:Owner)-[x:RELATES_TO {relationship_id: id}]->(:Owner) WHERE s.space = $space"
        self._do(
            f"UNWIND $ids AS id MATCH (r:Owner {{space: $space, id: id}}) {edge}"
            " SET x.confidence = r.confidence, x.mtime = r.mtime",
            ids=_those(now, "changed"),
        )
        self._do(
            f"UNWIND $ids AS id MATCH (r:Owner {{space: $space, id: id}}) REMOVE r:Relationship WITH id {edge} DELETE x",
            ids=_those(now, "removed"),
        )

    # --------------------------------------------------------------------------------- concepts

    def concepts(self, ids: AbstractSet[str], evidence: Mapping[str, int]) -> None:
        """``evidence``: by how much the number of pieces of evidence moves, by owner."""
        self._touched |= ids
        for some in portions(sorted(ids), AT_ONCE):
            self._some_concepts(some, evidence)

    def _some_concepts(self, ids: Sequence[str], evidence: Mapping[str, int]) -> None:
        rows = self._rows(
            "UNWIND $ids AS id MATCH (o:Owner {space: $space, id: id})"
            " RETURN o.id AS id, o.ontology AS ontology, o.name AS name, o.norm AS norm, o.label AS label,"
            " o:Concept AS lives,"
            f" COLLECT {{ MATCH (o)-[m:MENTIONED_IN]->(d:Document) RETURN {MENTION} }} AS mentions,"
            " COLLECT { MATCH (o)-[c:CALLED]->(f:Form) RETURN [f.form, c.rank] } AS forms",
            ids=ids,
        )
        living, dead, called, not_called = [], [], [], []
        for row in rows:
            id_, ontology = row["id"], row["ontology"]
            mentions = [mention_row(found) for found in row["mentions"]]
            known = dict(row["forms"])
            forms: dict[str, int] = {}
            if mentions:
                summary = summarise(mentions)
                forms |= {normalise_label(form): 2 for form in surface_forms(mentions)}
                forms |= {normalise_label(summary.label): 1, row["norm"]: 0}
                living.append(
                    {
                        "id": id_,
                        "said": {
                            "label": summary.label,
                            "aliases": list(summary.aliases),
                            "description": summary.description,
                            "kind": summary.kind,
                            "founded": min(mention.deposit for mention in mentions),
                        },
                        "evidence": evidence.get(id_, 0),
                        "related": self._related.get(id_, 0),
                    }
                )
                if summary.label != row["label"]:
                    self._relabelled.add(id_)
            else:
                dead.append(id_)
            if bool(mentions) != row["lives"]:
                what, step = ("added", 1) if mentions else ("removed", -1)
                self._count(ontology, concepts=step)
                self._tell(what, "concept", ontology, ontology, row["name"])
                if mentions:
                    self._founded.add(id_)
            keyed = {form_key(form): (rank, form) for form, rank in forms.items()}
            called += [
                [id_, ontology, key, rank, None if form == key else form]
                for key, (rank, form) in keyed.items()
                if known.get(key) != rank
            ]
            not_called += [[id_, form] for form in known.keys() - keyed.keys()]
        self._write_concepts(living, dead)
        self._write_forms(called, not_called)

    def _write_concepts(self, living: Sequence[Mapping[str, Any]], dead: Sequence[str]) -> None:
        self._do(
            "UNWIND $rows AS row MATCH (o:Owner {space: $space, id: row.id}) SET o:Concept, o += row.said,"
            " o.evidence = coalesce(o.evidence, 0) + row.evidence, o.related = coalesce(o.related, 0) + row.related,"
            " o.size = coalesce(o.size, 0), o.mtime = coalesce(o.mtime, 0), o.page_hash = coalesce(o.page_hash, '')"
            " SET o.weight = o.evidence + o.related",
            rows=living,
        )
        gone = (
            "label", "aliases", "description", "kind", "founded", "evidence", "related", "weight", "size", "mtime",
            "page_hash", "norm",
        )  # fmt: skip
        self._do(
            "UNWIND $ids AS id MATCH (o:Owner {space: $space, id: id})"
            f" REMOVE o:Concept, {', '.join(f'o.{name}' for name in gone)}",
            ids=dead,
        )

    def _write_forms(self, called: Sequence[Sequence[Any]], not_called: Sequence[Sequence[Any]]) -> None:
        self._do(
            "UNWIND $rows AS row MATCH (o:Owner {space: $space, id: row[0]})"
            " MERGE (f:Form {space: $space, ontology: row[1], form: row[2]}) ON CREATE SET f.whole = row[4]"
            " MERGE (o)-[c:CALLED]->(f) SET c.rank = row[3]",
            rows=called,
        )
        self._do(
            "UNWIND $rows AS row MATCH (o:Owner {space: $space, id: row[0]})-[c:CALLED]->(f:Form {form: row[1]})"
            " DELETE c WITH DISTINCT f WHERE NOT EXISTS { (:Owner)-[:CALLED]->(f) } DELETE f",
            rows=not_called,
        )

    # ------------------------------------------------------------------------------------ pages

    def pages(self) -> None:
        """Size and time of each ``concept.md`` that may be another now: of concepts that were touched, the ends of a
        relationship that moved among them, and of those with a neighbour's new label in their page."""
        question = "UNWIND $ids AS id MATCH (:Owner {space: $space, id: id})-[:RELATES_TO]-(c:Concept) RETURN DISTINCT c.id AS id"
        relabelled = portions(sorted(self._relabelled), AT_ONCE)
        neighbours = {row["id"] for some in relabelled for row in self._rows(question, ids=some)}
        for some in portions(sorted(self._touched | neighbours), PAGES_AT_ONCE):
            self._some_pages(some)

    def _some_pages(self, ids: Sequence[str]) -> None:
        rows = self._rows(
            "UNWIND $ids AS id WITH id, $space AS space"
            f" MATCH (c:Concept {{space: space, id: id}}) RETURN {PAGE} AS page, c.name AS name, c.page_hash AS hash",
            ids=ids,
        )
        changed = []
        for row in rows:
            page = concept_page(row["page"])
            content = render(page)
            hash_ = hashlib.blake2b(content, digest_size=16).hexdigest()
            if hash_ == row["hash"]:
                continue
            changed.append({"id": page.concept_id, "size": len(content), "mtime": self._at, "page_hash": hash_})
            if page.concept_id not in self._founded:
                self._tell("changed", "concept", page.ontology, page.ontology, row["name"])
        self._do("UNWIND $rows AS row MATCH (o:Owner {space: $space, id: row.id}) SET o += row", rows=changed)


def _those(rows: Sequence[Mapping[str, Any]], what: str) -> list[str]:
    return [row["id"] for row in rows if row["what"] == what]
