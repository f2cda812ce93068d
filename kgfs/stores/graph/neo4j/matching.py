"""Asking for matching. Within a :class:`~kgfs.stores.graph.contract.Scope`: as if only some mentions were there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neo4j import ManagedTransaction

from kgfs.domain import normalise_label
from kgfs.stores.graph.contract import EVERYTHING, Concept, Mark, Scope
from kgfs.stores.graph.hiding import hidden_name, is_hidden
from kgfs.stores.graph.neo4j.reading import Neo4jReads
from kgfs.stores.graph.neo4j.rows import CONCEPT, concept_row, form_key
from kgfs.stores.graph.sampling import SKIP, draw

NORMS_AT_ONCE = 500

_MENTION = "(c)-[m:MENTIONED_IN]->(d:Document)"
_INSIDE = "m.deposit >= $since AND d.doc_id <> $but"
_IN_SCOPE = f"EXISTS {{ MATCH {_MENTION} WHERE {_INSIDE} }}"

_WEIGHED = """
MATCH (d:Document) WHERE d.space = space AND d.ontology = $ontology AND d.deposit >= $since AND d.doc_id <> $but
CALL (d) {
    MATCH (i:Instance {edition: d.key}) RETURN i.owner AS id, count(*) AS n
    UNION ALL
    MATCH (c:Concept)-[:MENTIONED_IN]->(d) RETURN DISTINCT c.id AS id, 0 AS n
}
WITH space, id, sum(n) AS n
MATCH (o:Owner {space: space, id: id})
CALL (o, n) {
    WITH o, n WHERE o:Concept RETURN o AS c, n AS weight
    UNION ALL
    MATCH (o)-[:SUBJECT]->(c:Concept) RETURN c, 1 AS weight
    UNION ALL
    MATCH (o)-[:OBJECT]->(c:Concept) RETURN c, 1 AS weight
}
WITH c, sum(weight) AS weight ORDER BY weight DESC, c.id LIMIT $limit"""

_MARK = """
OPTIONAL MATCH (o:Owner {space: space, id: m.concept_id})
WITH m, coalesce(o.name, '') AS name ORDER BY m.mark, m.concept_id
RETURN [m.mark, m.ontology, m.concept_id, m.joined, name]"""


class Neo4jMatching(Neo4jReads):
    def match(self, ontology: str, norms: Sequence[str], scope: Scope = EVERYTHING) -> dict[str, str]:
        found: dict[str, str] = {}
        for start in range(0, len(norms), NORMS_AT_ONCE):
            wanted = {form_key(norm): norm for norm in norms[start : start + NORMS_AT_ONCE]}
            for key, concepts in self._called(ontology, list(wanted), scope):
                for concept_id, said in concepts:
                    if scope == EVERYTHING or wanted[key] in map(normalise_label, said):
                        found[wanted[key]] = concept_id
                        break
        return found

    def _called(self, ontology: str, forms: Sequence[str], scope: Scope) -> list[Any]:
        """For each form the concepts called so, in order, with what is said of them in a narrow scope."""
        said, first = ("[]", " LIMIT 1") if scope == EVERYTHING else (
            f"reduce(all = [], some IN COLLECT {{ MATCH {_MENTION} WHERE {_INSIDE} RETURN [m.label] + m.forms }} | all + some)",
            "",
        )  # fmt: skip
        return self._ask(
            "UNWIND $forms AS form MATCH (f:Form {space: space, ontology: $ontology, form: form})"
            " RETURN [form, COLLECT { MATCH (c:Concept)-[called:CALLED]->(f)"
            f" WITH c, called ORDER BY called.rank, c.founded, c.id{first} RETURN [c.id, {said}] }}]",
            ontology=ontology,
            forms=forms,
            since=scope.since,
            but=scope.but,
        )

    def marked(self, marks: Sequence[str]) -> list[Mark]:
        question = (
            "UNWIND $marks AS mark MATCH (m:Mark) WHERE m.space = space AND m.mark = mark AND m.concept_id IS NOT NULL"
        )
        return [_mark(row) for row in self._ask(f"{question} {_MARK}", marks=sorted(set(marks)))]

    def marks_of(self, concept_id: str) -> list[Mark]:
        question = "MATCH (m:Mark {concept_id: $concept_id}) WHERE m.space = space"
        return [_mark(row) for row in self._ask(f"{question} {_MARK}", concept_id=concept_id)]

    def next_n(self, owner: str) -> int:
        found: int | None = self._one("MATCH (o:Owner {space: space, id: $owner}) RETURN o.last_n", owner=owner)
        return (found or 0) + 1

    def name_taken(self, ontology: str, name: str) -> str | None:
        found: str | None = self._one(
            "UNWIND $names AS name MATCH (o:Owner {space: space, ontology: $ontology, name: name}) RETURN o.id",
            ontology=ontology,
            names=[name, hidden_name(ontology, name)],
        )
        return found

    def popular(self, ontology: str, limit: int, scope: Scope = EVERYTHING) -> list[Concept]:
        where = "MATCH (c:Concept) WHERE c.space = space AND c.ontology = $ontology AND c.weight >= 0"
        order = "WITH c ORDER BY c.weight DESC, c.id LIMIT $limit"
        if scope == EVERYTHING:
            question = f"{where} {order}"
        elif scope.since:
            question = _WEIGHED
        else:
            question = f"{where} AND {_IN_SCOPE} {order}"
        rows = self._ask(
            f"{question} RETURN {CONCEPT}", ontology=ontology, limit=limit, since=scope.since, but=scope.but
        )
        return [concept_row(row) for row in rows]

    def sample(self, ontology: str, limit: int, seed: int, scope: Scope = EVERYTHING) -> list[Concept]:
        narrow = "" if scope == EVERYTHING else f"AND {_IN_SCOPE}"

        def work(tx: ManagedTransaction, space: str) -> list[Concept]:
            words: dict[str, Any] = {"space": space, "ontology": ontology, "since": scope.since, "but": scope.but}

            def following(at: str, count: int) -> list[str]:
                rows = tx.run(
                    "MATCH (c:Concept) WHERE c.space = $space AND c.ontology = $ontology AND c.id >= $at"
                    f" {narrow} RETURN c.id AS id ORDER BY c.id LIMIT $count",
                    at=at,
                    count=count,
                    **words,
                )
                return [row["id"] for row in rows]

            # More than this is never counted: whether all are looked at is decided by less.
            known = len(following("", max(2 * limit, SKIP) + 1))
            drawn = draw(f"{ontology}:{seed}", limit, known, following, lambda: following("", known))
            rows = tx.run(
                f"UNWIND $ids AS id MATCH (c:Concept {{space: $space, id: id}}) RETURN {CONCEPT} AS concept",
                space=space,
                ids=drawn,
            )
            found = {row["concept"]["concept_id"]: concept_row(row["concept"]) for row in rows}
            return [found[concept_id] for concept_id in drawn]

        return self._speaking.steadily(self._graph, work)


def _mark(found: Sequence[Any]) -> Mark:
    mark, ontology, concept_id, joined, name = found
    return Mark(mark, ontology, concept_id, joined, "" if is_hidden(name) else name)
