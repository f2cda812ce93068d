"""Asking for matching. Within a :class:`~kgfs.stores.graph.vocabulary.Scope`: as if only some mentions were there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from kgfs.domain.identity import normalise_label
from kgfs.stores.graph.hiding import is_hidden, known_as
from kgfs.stores.graph.neo4j.reading import Neo4jReads
from kgfs.stores.graph.neo4j.rows import CONCEPT, concept_row, form_key
from kgfs.stores.graph.sampling import SKIP, draw
from kgfs.stores.graph.vocabulary import EVERYTHING, Concept, Mark, Scope

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
        wanted = {form_key(norm): norm for norm in norms}
        for key, concepts in self._called(ontology, wanted, scope):
            for concept_id, said in concepts:
                if scope == EVERYTHING or wanted[key] in map(normalise_label, said):
                    found[wanted[key]] = concept_id
                    break
        return found

    def _called(self, ontology: str, forms: Collection[str], scope: Scope) -> list[Any]:
        """For each form the concepts called so, in order, with what is said of them in a narrow scope."""
        said, first = ("[]", " LIMIT 1") if scope == EVERYTHING else (
            f"reduce(all = [], some IN COLLECT {{ MATCH {_MENTION} WHERE {_INSIDE} RETURN [m.label] + m.forms }} | all + some)",
            "",
        )  # fmt: skip
        return self._ask_of(
            forms,
            "MATCH (f:Form {space: space, ontology: $ontology, form: one})"
            " RETURN [one, COLLECT { MATCH (c:Concept)-[called:CALLED]->(f)"
            f" WITH c, called ORDER BY called.rank, c.founded, c.id{first} RETURN [c.id, {said}] }}]",
            ontology=ontology,
            since=scope.since,
            but=scope.but,
        )

    def marked(self, marks: Sequence[str]) -> list[Mark]:
        question = "MATCH (m:Mark) WHERE m.space = space AND m.mark = one AND m.concept_id IS NOT NULL"
        return [_mark(row) for row in self._ask_of(sorted(set(marks)), f"{question} {_MARK}")]

    def marks_of(self, concept_id: str) -> list[Mark]:
        question = "MATCH (m:Mark {concept_id: $concept_id}) WHERE m.space = space"
        return [_mark(row) for row in self._ask(f"{question} {_MARK}", concept_id=concept_id)]

    def next_numbers(self, owners: Collection[str]) -> dict[str, int]:
        rows = self._ask_of(owners, "MATCH (o:Owner {space: space, id: one}) RETURN [one, coalesce(o.last_n, 0)]")
        return dict.fromkeys(owners, 1) | {owner: last + 1 for owner, last in rows}

    def names_taken(self, ontology: str, names: Collection[str]) -> dict[str, str]:
        shown = known_as(ontology, names)
        rows = self._ask_of(
            shown,
            "MATCH (o:Owner {space: space, ontology: $ontology, name: one}) RETURN [one, o.id]",
            ontology=ontology,
        )
        return {shown[name]: concept_id for name, concept_id in rows}

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
        """In three questions: where others commit in between, concepts that leave are not among the sample."""
        narrow = "" if scope == EVERYTHING else f"AND {_IN_SCOPE}"
        some = (
            f"MATCH (c:Concept) WHERE c.space = space AND c.ontology = $ontology AND c.id >= at {narrow}"
            " WITH c ORDER BY c.id LIMIT $most RETURN c.id"
        )
        words: dict[str, Any] = {"ontology": ontology, "since": scope.since, "but": scope.but}
        # More than this is never counted: whether all are looked at is decided by less.
        first = self._ask(f"WITH space, '' AS at {some}", most=max(2 * limit, SKIP) + 1, **words)

        def nth(starts: Sequence[tuple[str, int]]) -> list[str]:
            met = self._ask(
                "UNWIND range(0, size($starts) - 1) AS n WITH space, n, $starts[n][0] AS at, $starts[n][1] AS steps"
                f" WITH n, steps, COLLECT {{ {some} }} AS ids"
                " RETURN [n, CASE WHEN size(ids) < steps THEN size(ids) ELSE ids[steps - 1] END]",
                starts=[list(start) for start in starts],
                most=SKIP,
                **words,
            )
            return [one if isinstance(one, str) else first[starts[n][1] - one - 1] for n, one in sorted(met)]

        drawn = draw(f"{ontology}:{seed}", limit, len(first), nth, lambda: first)
        found = self.concepts_by_id(drawn)
        return [found[concept_id] for concept_id in drawn if concept_id in found]


def _mark(found: Sequence[Any]) -> Mark:
    mark, ontology, concept_id, joined, name = found
    return Mark(mark, ontology, concept_id, joined, "" if is_hidden(name) else name)
