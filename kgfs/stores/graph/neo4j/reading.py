"""The reading half of the graph in Neo4j: what the contract's readers promise, one question each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kgfs.render.concept import ConceptPage
from kgfs.stores.graph.neo4j import feed
from kgfs.stores.graph.neo4j.commit import COUNTED
from kgfs.stores.graph.neo4j.pages import NEIGHBOURS, PAGE, concept_page
from kgfs.stores.graph.neo4j.requests import planned_once
from kgfs.stores.graph.neo4j.rows import (
    CONCEPT,
    DOCUMENT,
    INSTANCE,
    SOURCE,
    concept_row,
    document_row,
    instance_row,
    shown,
    sought,
    source_row,
)
from kgfs.stores.graph.neo4j.schema import WORDS
from kgfs.stores.graph.neo4j.speaking import Speaking
from kgfs.stores.graph.vocabulary import Change, Concept, DocumentRow, InstanceRow, Lag, Related, SourceRow
from kgfs.stores.portions import portions

AT_ONCE = 500
"""Ids or words of one question."""

_DOCUMENT = "MATCH (d:Document {space: space, doc_id: $doc_id})"
_SHOWN = shown("i", "space")
_CONCEPT = "MATCH (c:Concept {space: space, id: $concept_id})"


class Neo4jReads:
    """Any thread, any time; each call sees the newest commit."""

    def __init__(self, speaking: Speaking, graph: str) -> None:
        self._speaking = speaking
        self._graph = graph

    def _ask(self, question: str, **words: Any) -> list[Any]:
        statement, given = planned_once(question, {"graph": self._graph, **words})
        return self._speaking.ask(self._graph, statement, **given)

    def _one(self, question: str, **words: Any) -> Any:
        found = self._ask(question, **words)
        return found[0] if found else None

    def _ask_of(self, all_: Collection[str], question: str, **words: Any) -> list[Any]:
        """The rows of a question that is asked of each ``one`` of them, of many in one request."""
        asked = f"UNWIND $all AS one {question}"
        return [row for some in portions(all_, AT_ONCE) for row in self._ask(asked, all=some, **words)]

    def refresh(self) -> None:
        """Reads see the newest commit anyway."""

    def lag(self) -> Lag | None:
        return None

    def epoch(self) -> int:
        found: int = self._one("MATCH (g:Graph {name: $graph}) RETURN g.epoch")
        return found

    def clears(self) -> int:
        found: int = self._one("MATCH (g:Graph {name: $graph}) RETURN g.clears")
        return found

    def published(self, commit_id: str) -> int | None:
        found: int | None = self._one(
            "MATCH (c:Commit {space: space, commit_id: $commit_id}) RETURN c.epoch", commit_id=commit_id
        )
        return found

    def staged(self) -> list[str]:
        return self._ask("MATCH (e:Staged) WHERE e.space = space WITH DISTINCT e.commit_id AS id ORDER BY id RETURN id")

    def changes(self, after: int, limit: int = 10000) -> list[Change] | None:
        return self._speaking.steadily(
            self._graph,
            lambda tx, _: feed.changes(tx, self._speaking.root(tx, self._graph), after, limit),
        )

    def counts(self, ontology: str = "") -> Mapping[str, int]:
        sums = ", ".join(f"coalesce(sum(o.{name}), 0)" for name in COUNTED)
        found = self._one(
            f"MATCH (o:Ontology) WHERE o.space = space AND o.ontology >= $least AND o.ontology <= $most RETURN [{sums}]",
            least=ontology,
            most=ontology or "\U0010ffff",
        )
        return dict(zip(COUNTED, found, strict=True))

    def changed_at(self, ontology: str) -> int:
        found: int | None = self._one(
            "MATCH (o:Ontology {space: space, ontology: $ontology}) RETURN o.changed_at", ontology=ontology
        )
        return found or 0

    # ----------------------------------------------------------------------------- documents, sources

    def document(self, doc_id: str) -> DocumentRow | None:
        found = self._one(f"{_DOCUMENT} RETURN {DOCUMENT}", doc_id=doc_id)
        return document_row(found) if found else None

    def documents(self, ontology: str, after: str = "", limit: int = 1000) -> list[DocumentRow]:
        rows = self._ask(
            "MATCH (d:Document) WHERE d.space = space AND d.ontology = $ontology AND d.doc_id > $after"
            f" WITH d ORDER BY d.doc_id LIMIT $limit RETURN {DOCUMENT}",
            ontology=ontology,
            after=after,
            limit=limit,
        )
        return [document_row(row) for row in rows]

    def source(self, doc_id: str, chunk_index: int) -> SourceRow | None:
        found = self._one(
            f"{_DOCUMENT} MATCH (s:Source {{edition: d.key, chunk_index: $chunk_index}}) RETURN {SOURCE}",
            doc_id=doc_id,
            chunk_index=chunk_index,
        )
        return source_row(found) if found else None

    def sources(self, doc_id: str, after: int = -1, limit: int = 1000) -> list[SourceRow]:
        rows = self._ask(
            f"{_DOCUMENT} MATCH (s:Source) WHERE s.edition = d.key AND s.chunk_index > $after"
            f" WITH s ORDER BY s.chunk_index LIMIT $limit RETURN {SOURCE}",
            doc_id=doc_id,
            after=after,
            limit=limit,
        )
        return [source_row(row) for row in rows]

    def chunk_ids_held(self, chunk_ids: Sequence[str]) -> dict[str, tuple[str, int]]:
        rows = self._ask_of(
            chunk_ids,
            f"MATCH (s:Source {{chunk_id: one}}) {shown('s', 'space')} RETURN [one, d.doc_id, s.chunk_index]",
        )
        return {chunk_id: (doc_id, index) for chunk_id, doc_id, index in sorted(rows, reverse=True)}

    def find_text(self, words: str, ontology: str = "", limit: int = 10) -> list[tuple[SourceRow, float]]:
        wanted = sought(words)
        if not wanted or limit < 1:
            return []
        # The index knows no spaces: more is asked for until enough of the hits are of this graph and shown.
        looked_at = max(100, 4 * limit)
        while True:
            rows = self._ask(
                f"CALL db.index.fulltext.queryNodes('{WORDS}', $wanted, {{limit: $looked_at}}) YIELD node AS s, score"
                f" OPTIONAL {shown('s', 'space')} AND $ontology IN ['', d.ontology]"
                " WITH s, score, d, d IS NOT NULL AS shown ORDER BY score DESC, d.doc_id, s.chunk_index"
                f" WITH count(*) AS hits, collect(CASE WHEN shown THEN [{SOURCE}, score] END)[..$limit] AS found"
                " RETURN [hits, found]",
                wanted=wanted,
                ontology=ontology,
                looked_at=looked_at,
                limit=limit,
            )
            hits, found = rows[0] if rows else (0, [])
            if len(found) == limit or hits < looked_at:
                return [(source_row(row), score) for row, score in found]
            looked_at *= 10

    # ------------------------------------------------------------------------------------- concepts

    def concept(self, concept_id: str) -> Concept | None:
        found = self._one(f"{_CONCEPT} RETURN {CONCEPT}", concept_id=concept_id)
        return concept_row(found) if found else None

    def concepts_by_id(self, concept_ids: Collection[str]) -> dict[str, Concept]:
        found = self._ask_of(concept_ids, f"MATCH (c:Concept {{space: space, id: one}}) RETURN {CONCEPT}")
        return {row["concept_id"]: concept_row(row) for row in found}

    def concept_named(self, ontology: str, name: str) -> Concept | None:
        found = self._one(
            f"MATCH (c:Concept {{space: space, ontology: $ontology, name: $name}}) RETURN {CONCEPT}",
            ontology=ontology,
            name=name,
        )
        return concept_row(found) if found else None

    def concepts(self, ontology: str, after: str = "", limit: int = 1000) -> list[Concept]:
        return [concept_row(row) for row in self._listed(ontology, after, limit, CONCEPT)]

    def concept_names(self, ontology: str, after: str = "", limit: int = 1000) -> list[tuple[str, str, int]]:
        rows = self._listed(ontology, after, limit, "[c.name, c.id, c.mtime]", by="id")
        return [(name, concept_id, mtime) for name, concept_id, mtime in rows]

    def concept_listed(self, ontology: str, name: str) -> tuple[str, int] | None:
        found = self.concept_named(ontology, name)
        return (found.concept_id, found.mtime) if found else None

    def _listed(self, ontology: str, after: str, limit: int, columns: str, by: str = "name") -> list[Any]:
        return self._ask(
            f"MATCH (c:Concept) WHERE c.space = space AND c.ontology = $ontology AND c.{by} > $after"
            f" WITH c ORDER BY c.{by} LIMIT $limit RETURN {columns}",
            ontology=ontology,
            after=after,
            limit=limit,
        )

    def concepts_of(self, doc_id: str) -> list[Concept]:
        question = (
            f"{_DOCUMENT} MATCH (c:Concept)-[:MENTIONED_IN]->(d) WITH DISTINCT c ORDER BY c.name RETURN {CONCEPT}"
        )
        return [concept_row(row) for row in self._ask(question, doc_id=doc_id)]

    def documents_of(self, concept_ids: Collection[str]) -> dict[str, list[str]]:
        rows = self._ask_of(
            concept_ids,
            "MATCH (:Concept {space: space, id: one})-[:MENTIONED_IN]->(d:Document)"
            " WITH DISTINCT one, d.deposit AS deposit, d.doc_id AS doc_id ORDER BY deposit, doc_id RETURN [one, doc_id]",
        )
        found: dict[str, list[str]] = {concept_id: [] for concept_id in concept_ids}
        for concept_id, doc_id in rows:
            found[concept_id].append(doc_id)
        return found

    def page(self, concept_id: str) -> ConceptPage | None:
        found = self._one(f"{_CONCEPT} RETURN {PAGE}", concept_id=concept_id)
        return concept_page(found) if found else None

    # ------------------------------------------------------------------------ evidence, relationships

    def instance(self, owner: str, n: int) -> InstanceRow | None:
        found = self._one(f"MATCH (i:Instance {{owner: $owner, n: $n}}) {_SHOWN} RETURN {INSTANCE}", owner=owner, n=n)
        return instance_row(found) if found else None

    def instances(self, owner: str, after: int = 0, limit: int = 1000) -> list[InstanceRow]:
        rows = self._ask(
            f"MATCH (i:Instance) WHERE i.owner = $owner AND i.n > $after {_SHOWN}"
            f" WITH i ORDER BY i.n LIMIT $limit RETURN {INSTANCE}",
            owner=owner,
            after=after,
            limit=limit,
        )
        return [instance_row(row) for row in rows]

    def instances_of(self, doc_id: str) -> list[InstanceRow]:
        rows = self._ask(
            f"{_DOCUMENT} MATCH (i:Instance {{edition: d.key}})"
            f" WITH i ORDER BY i.char_start, i.char_end, i.owner, i.n RETURN {INSTANCE}",
            doc_id=doc_id,
        )
        return [instance_row(row) for row in rows]

    def related_types(self, concept_id: str) -> list[str]:
        question = f"{_CONCEPT} {NEIGHBOURS} WITH DISTINCT type ORDER BY type RETURN type"
        return self._ask(question, concept_id=concept_id)

    def related(self, concept_id: str, type_: str = "", after: str = "", limit: int = 1000) -> list[Related]:
        after_type, _, after_name = (type_, "", after) if type_ else after.partition("/")
        later = (
            "o.name > $after_name" if type_ else "(type > $after_type OR type = $after_type AND o.name > $after_name)"
        )
        rows = self._ask(
            f"{_CONCEPT} {NEIGHBOURS} WITH x, o, type, incoming WHERE ($type = '' OR type = $type) AND {later}"
            " WITH x, o, type, incoming ORDER BY type, o.name, x.relationship_id, incoming LIMIT $limit"
            " RETURN [x.relationship_id, type, o.name, o.id, o.label, incoming, x.confidence, x.mtime]",
            concept_id=concept_id,
            type=type_,
            after_type=after_type,
            after_name=after_name,
            limit=limit + 1,
        )
        if len(rows) > limit and (limit < 1 or rows[limit][1:3] != rows[limit - 1][1:3]):
            rows.pop()
        return [Related(*row) for row in rows]
