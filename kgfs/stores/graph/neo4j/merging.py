"""Commits in which documents stay and say something else: concepts that are struck, merged or split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from neo4j import ManagedTransaction

from kgfs.domain.knowledge import Mention
from kgfs.stores.graph import merging
from kgfs.stores.graph.neo4j.commit import Commit, taken_number
from kgfs.stores.graph.neo4j.editions import drop_instances, put_instances
from kgfs.stores.graph.neo4j.purging import count_up
from kgfs.stores.graph.neo4j.rows import INSTANCE, MENTION, instance_row, mention_row, shown
from kgfs.stores.graph.neo4j.settling import AT_ONCE
from kgfs.stores.graph.vocabulary import ConceptRow, InstanceRow, Mark, Said
from kgfs.stores.portions import portions


class Cascade(Commit):
    """A forgetting: :meth:`leave`, :meth:`strike`, then ``settle``."""

    def strike(self, concept_ids: Sequence[str]) -> None:
        """These concepts leave with all their evidence and their relationships, whichever document it stands in; those
        documents stay. Concepts that do not live are passed over."""
        lost: Counter[str] = Counter()
        documents: dict[str, tuple[str, str]] = {}
        for some in portions(sorted(set(concept_ids)), AT_ONCE):
            self._strike_some(some, lost, documents)
        for key, (doc_id, ontology) in sorted(documents.items()):
            self._grow(key, ontology, -lost[key])
            self._tell("changed", "document", ontology, ontology, doc_id)

    def _strike_some(
        self, concept_ids: Sequence[str], lost: Counter[str], documents: dict[str, tuple[str, str]]
    ) -> None:
        """``lost`` and ``documents``: how many pieces of evidence, and which documents, by edition."""
        rows = self._rows(
            "UNWIND $ids AS id MATCH (c:Concept {space: $space, id: id})"
            " RETURN c.id AS id,"
            " COLLECT { MATCH (c)-[x:RELATES_TO]-(o:Concept) RETURN [x.relationship_id, o.id] } AS joined",
            ids=concept_ids,
        )
        struck = [row["id"] for row in rows]
        relationships = {id_ for row in rows for id_, _ in row["joined"]}
        self._concepts.update(struck, (other for row in rows for _, other in row["joined"]))
        self._relationships |= relationships
        for owners in portions([*struck, *sorted(relationships)], AT_ONCE):
            for row in self._evidence_of(owners):
                documents[row["key"]] = (row["doc_id"], row["ontology"])
                for owner, n in row["pairs"]:
                    self._tell_one_evidence("removed", row["ontology"], owner, n)
                    self._evidence[owner] = self._evidence.get(owner, 0) - 1
                lost[row["key"]] += len(row["pairs"])
                drop_instances(self._tx, row["key"], row["pairs"])
        for row in self._unmention(struck):
            documents[row["key"]] = (row["doc_id"], row["ontology"])

    def _evidence_of(self, owners: Sequence[str]) -> list[Any]:
        return self._rows(
            "UNWIND $owners AS owner MATCH (i:Instance {owner: owner})"
            f" {shown('i')}"
            " RETURN d.key AS key, d.doc_id AS doc_id, d.ontology AS ontology, collect([i.owner, i.n]) AS pairs",
            owners=owners,
        )

    def _unmention(self, concepts: Sequence[str]) -> list[Any]:
        return self._rows(
            "UNWIND $ids AS id MATCH (:Owner {space: $space, id: id})-[m:MENTIONED_IN]->(d:Document)"
            " DELETE m RETURN DISTINCT d.key AS key, d.doc_id AS doc_id, d.ontology AS ontology",
            ids=concepts,
        )

    def _grow(self, edition: str, ontology: str, step: int) -> None:
        self._do("MATCH (d:Edition {key: $edition}) SET d.instances = d.instances + $step", edition=edition, step=step)
        self._count(ontology, instances=step)


class Reassignment(Cascade):
    """One change of what documents say. :meth:`say` for each, then ``settle``."""

    def say(self, said: Said) -> None:
        found = self._rows(
            "MATCH (d:Document {space: $space, doc_id: $doc_id}) RETURN d.key AS key, d.ontology AS ontology",
            doc_id=said.doc_id,
        )
        if not found:
            return
        edition, ontology = found[0]["key"], found[0]["ontology"]
        merging.check(said)
        self._meet(said.concepts)
        self._relate(said.relationships)
        change = self._change_evidence(edition, ontology, said)
        changed = self._change_mentions(edition, said.concepts)
        if change is None and not changed:
            return
        self._grow(edition, ontology, change or 0)
        self._tell("changed", "document", ontology, ontology, said.doc_id)

    def _change_evidence(self, edition: str, ontology: str, said: Said) -> int | None:
        """By how many pieces it grew; None if all stays as it was."""
        rows = self._rows(f"MATCH (i:Instance {{edition: $edition}}) RETURN {INSTANCE} AS row", edition=edition)
        former = {(row.owner, row.n): row for row in (instance_row(found["row"]) for found in rows)}
        now = {(row.owner, row.n): row for row in said.instances}
        gone = sorted(former.keys() - now.keys())
        new = [row for key, row in sorted(now.items()) if key not in former]
        other = [row for key, row in sorted(now.items()) if key in former and not merging.same(former[key], row)]
        self._refuse_taken_by_others(new)
        drop_instances(self._tx, edition, gone)
        for key in gone:
            self._moves("removed", ontology, former[key], -1)
        for row in new:
            self._moves("added", ontology, row, 1)
        for row in other:
            self._moves("changed", ontology, row, 0)
        put_instances(self._tx, self._space, edition, [*new, *other])
        self._touch_ends()
        self._do(
            "UNWIND $rows AS row MATCH (o:Owner {space: $space, id: row[0]}) WHERE o.last_n < row[1] SET o.last_n = row[1]",
            rows=[[row.owner, row.n] for row in new],
        )
        return len(now) - len(former) if new or other or gone else None

    def _moves(self, what: str, ontology: str, row: InstanceRow, step: int) -> None:
        self._tell_one_evidence(what, ontology, row.owner, row.n)
        self._evidence[row.owner] = self._evidence.get(row.owner, 0) + step
        (self._concepts if row.owner_kind == "concept" else self._relationships).add(row.owner)

    def _touch_ends(self) -> None:
        rows = self._rows(
            "UNWIND $ids AS id MATCH (r:Owner {space: $space, id: id}) RETURN r.subject AS subject, r.object AS object",
            ids=sorted(self._relationships),
        )
        self._concepts.update(end for row in rows for end in (row["subject"], row["object"]))

    def _refuse_taken_by_others(self, rows: Sequence[InstanceRow]) -> None:
        """Those of this document that go are still there, and refused too: numbers are never used again."""
        clash = self._rows(
            "UNWIND $rows AS row MATCH (i:Instance {owner: row[0], n: row[1]})"
            f" {shown('i')}"
            " RETURN i.owner AS owner, i.n AS n LIMIT 1",
            rows=[[row.owner, row.n] for row in rows],
        )
        if clash:
            raise taken_number(clash[0]["owner"], clash[0]["n"])

    def _change_mentions(self, edition: str, concepts: Sequence[ConceptRow]) -> bool:
        former: dict[str, list[Mention]] = {}
        for found in self._rows(
            "MATCH (o:Owner)-[m:MENTIONED_IN]->(d:Edition {key: $edition})"
            f" RETURN o.id AS id, {MENTION} AS mention ORDER BY m.ordinal",
            edition=edition,
        ):
            former.setdefault(found["id"], []).append(mention_row(found["mention"]))
        now: dict[str, list[Mention]] = {}
        for concept in concepts:
            now.setdefault(concept.concept_id, []).append(concept.mention)
        changed = {concept_id for concept_id in former | now if former.get(concept_id) != now.get(concept_id)}
        self._do(
            "UNWIND $ids AS id MATCH (:Owner {space: $space, id: id})-[m:MENTIONED_IN]->(:Edition {key: $edition}) DELETE m",
            ids=sorted(changed),
            edition=edition,
        )
        self._mention(edition, [concept for concept in concepts if concept.concept_id in changed])
        self._concepts |= changed
        return bool(changed)


def set_marks(tx: ManagedTransaction, space: str, marks: Sequence[Mark], unmarked: Sequence[Mark]) -> None:
    tx.run(
        "UNWIND $rows AS row MATCH (m:Mark {space: $space, mark: row[0], concept_id: row[1]}) DELETE m",
        space=space,
        rows=[[mark.mark, mark.concept_id] for mark in unmarked],
    ).consume()
    tx.run(
        "UNWIND $rows AS row MERGE (m:Mark {space: $space, mark: row[0], concept_id: row[1]})"
        " SET m.ontology = row[2], m.joined = row[3]",
        space=space,
        rows=[[mark.mark, mark.concept_id, mark.ontology, mark.joined] for mark in marks],
    ).consume()
    if marks or unmarked:
        count_up(tx, space, "marked")
