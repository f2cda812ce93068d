"""Sending a graph that was built in a file to the server, as it stands in the end: into a space that nobody is shown yet.

Step by step the server would work out what thousands of commits lead to; so it is told the outcome, in portions. What is
written is what the commits would have written, property by property.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from neo4j import ManagedTransaction

from kgfs.failpoints import border
from kgfs.render.concept import render
from kgfs.stores.graph.neo4j.commit import COUNTED, relationship_properties
from kgfs.stores.graph.neo4j.editions import WEIGHT_AT_ONCE
from kgfs.stores.graph.neo4j.requests import run
from kgfs.stores.graph.neo4j.rows import document_properties, form_key, instance_properties, source_properties
from kgfs.stores.graph.neo4j.spaces import loaded
from kgfs.stores.graph.neo4j.speaking import Speaking
from kgfs.stores.graph.pages import concept_page
from kgfs.stores.graph.rows import DOCUMENT, SHOWN, listed, words
from kgfs.stores.graph.sqlite import SqliteGraph
from kgfs.stores.graph.vocabulary import DocumentRow, RelationshipRow
from kgfs.stores.portions import portions

Properties = dict[str, Any]

ROWS_AT_ONCE = 1000
"""Of a transaction: twice as many as where a version is prepared, for nothing is looked for before it is made. Its memory on the
server was 12 MiB with quotes of 400 characters."""

_LIVING_CONCEPTS = "UNWIND $rows AS row CREATE (o:Owner:Concept {space: $space}) SET o += row"
_DEAD_CONCEPTS = "UNWIND $rows AS row CREATE (o:Owner {space: $space}) SET o += row"
_LIVING_RELATIONSHIPS = """
UNWIND $rows AS row
MATCH (s:Owner {space: $space, id: row.subject}) MATCH (o:Owner {space: $space, id: row.object})
CREATE (r:Owner:Relationship {space: $space}) SET r += row
CREATE (r)-[:SUBJECT]->(s) CREATE (r)-[:OBJECT]->(o)
CREATE (s)-[:RELATES_TO {relationship_id: row.id, type: row.type, inverse: row.inverse,
                         confidence: row.confidence, mtime: row.mtime}]->(o)"""
_DEAD_RELATIONSHIPS = """
UNWIND $rows AS row
CREATE (r:Owner {space: $space}) SET r += row
MERGE (s:Owner {space: $space, id: row.subject}) MERGE (o:Owner {space: $space, id: row.object})
CREATE (r)-[:SUBJECT]->(s) CREATE (r)-[:OBJECT]->(o)"""
_FORMS = """
UNWIND $rows AS row
MATCH (o:Owner {space: $space, id: row.concept})
MERGE (f:Form {space: $space, ontology: row.ontology, form: row.key}) ON CREATE SET f.whole = row.whole
CREATE (o)-[:CALLED {rank: row.rank}]->(f)"""
_DOCUMENTS = "UNWIND $rows AS row CREATE (e:Edition:Document {space: $space}) SET e += row"
_SOURCES = """
UNWIND $rows AS row
MATCH (e:Edition {key: row.edition})
CREATE (s:Source) SET s = row
CREATE (e)-[:HAS_CHUNK {index: row.chunk_index}]->(s)"""
_INSTANCES = """
UNWIND $rows AS row
MATCH (o:Owner {space: $space, id: row.said.owner})
CREATE (i:Instance) SET i = row.said
CREATE (o)-[:EVIDENCED_BY]->(i)
WITH o, i, row
MATCH (s:Source {edition: row.said.edition, chunk_index: row.said.chunk_index})
CREATE (i)-[:DERIVED_FROM]->(s)
FOREACH (_ IN row.appears | CREATE (o)-[:APPEARS_IN]->(s))"""
_MENTIONS = """
UNWIND $rows AS row
MATCH (o:Owner {space: $space, id: row.concept}) MATCH (e:Edition {key: row.edition})
CREATE (o)-[m:MENTIONED_IN]->(e) SET m = row.said"""
_MARKS = "UNWIND $rows AS row CREATE (m:Mark {space: $space}) SET m += row"
_COMMITS = "UNWIND $rows AS row CREATE (c:Commit {space: $space}) SET c += row"
_COUNTS = "UNWIND $rows AS row CREATE (o:Ontology {space: $space}) SET o += row"


def load(speaking: Speaking, graph: str, space: str, built: SqliteGraph) -> None:
    """Everything that ``built`` shows, into the empty space of this graph, in transactions of bounded memory; ours is that of one.
    Nobody may write to either meanwhile."""
    with built.whole() as rows:
        _Loading(speaking, graph, space, built, rows).carry_out()


class _Loading:
    def __init__(
        self, speaking: Speaking, graph: str, space: str, built: SqliteGraph, rows: sqlite3.Connection
    ) -> None:
        self._speaking = speaking
        self._graph = graph
        self._space = space
        self._built = built
        self._sql = rows
        self._stem = secrets.token_hex(8)
        self._sent = 0

    def carry_out(self) -> None:
        self._send(_LIVING_CONCEPTS, self._living_concepts())
        self._send(_DEAD_CONCEPTS, self._asked("concept_id AS id, ontology, name, last_n FROM concept WHERE live = 0"))
        self._send(_LIVING_RELATIONSHIPS, self._relationships("> 0"))
        self._send(_DEAD_RELATIONSHIPS, self._relationships("= 0"))
        self._send(_FORMS, self._forms())
        self._send(_DOCUMENTS, (properties for _, properties in self._documents()))
        self._send(_SOURCES, self._sources(), lambda row: len(row["full_text"]))
        self._send(_INSTANCES, self._instances(), lambda row: len(row["said"]["quote"]))
        self._send(_MENTIONS, self._mentions())
        self._send(_MARKS, self._marks())
        self._send(_COMMITS, self._asked('commit_id, epoch, kind, at FROM "commit"'))
        self._send(_COUNTS, self._asked(f"ontology, {', '.join(COUNTED)}, changed_at FROM counter"))

    def _send(
        self, statement: str, rows: Iterator[Properties], weight: Callable[[Properties], int] = lambda row: 0
    ) -> None:
        for some in portions(rows, ROWS_AT_ONCE, weight, WEIGHT_AT_ONCE):
            self._sent += 1
            self._speaking.write(partial(self._put, statement=statement, rows=some, number=self._sent))
            border("graph-loading")

    def _put(self, tx: ManagedTransaction, statement: str, rows: Sequence[Properties], number: int) -> None:
        before = loaded(tx, self._graph, self._space, number)
        if before is None:
            raise self._speaking.gone(self._graph)
        if before < number:  # else it was done, and its acknowledgement lost
            run(tx, statement, space=self._space, rows=rows).consume()

    # ---------------------------------------------------------------------------------------- rows

    def _asked(self, columns_and_rest: str) -> Iterator[Properties]:
        cursor = self._sql.execute(f"SELECT {columns_and_rest}")
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))

    def _living_concepts(self) -> Iterator[Properties]:
        for row in self._asked(
            "concept_id AS id, ontology, name, norm, label, aliases, description, kind, founded, evidence, related,"
            " evidence + related AS weight, size, mtime, last_n FROM concept WHERE live = 1"
        ):
            page = concept_page(self._sql, row["id"])
            assert page is not None  # it lives
            hash_ = hashlib.blake2b(render(page), digest_size=16).hexdigest()
            yield {**row, "aliases": list(words(row["aliases"])), "page_hash": hash_}

    def _relationships(self, evidence: str) -> Iterator[Properties]:
        for row in self._asked(
            "relationship_id, ontology, subject, type, object, evidence, confidence, mtime, last_n"
            f" FROM relationship WHERE evidence {evidence}"
        ):
            said = {name: row.pop(name) for name in ("relationship_id", "ontology", "subject", "type", "object")}
            yield relationship_properties(RelationshipRow(**said)) | row

    def _forms(self) -> Iterator[Properties]:
        for row in self._asked(
            "concept.concept_id AS concept, concept_form.ontology, form, rank"
            " FROM concept CROSS JOIN concept_form ON concept_form.concept = concept.key WHERE concept.live = 1"
        ):
            form = row.pop("form")
            key = form_key(form)
            yield {**row, "key": key, "whole": None if key == form else form}

    def _documents(self) -> Iterator[tuple[str, Properties]]:
        """Each with its doc_id."""
        for key, commit_id, sources, instances, *columns in self._sql.execute(
            f"SELECT key, commit_id, sources, instances, {listed(DOCUMENT, 'document')}"
            f" FROM document WHERE state = {SHOWN} ORDER BY doc_id"
        ):
            said = document_properties(DocumentRow(*columns))
            own = {"key": self._edition(key), "commit_id": commit_id, "sources": sources, "instances": instances}
            yield said["doc_id"], {**said, **own}

    def _edition(self, key: int) -> str:
        return f"{self._stem}{key:08x}"

    def _sources(self) -> Iterator[Properties]:
        for doc_id, document in self._documents():
            after = -1
            while rows := self._built.sources(doc_id, after, ROWS_AT_ONCE):
                yield from (source_properties(row, document["key"]) for row in rows)
                after = rows[-1].chunk_index

    def _instances(self) -> Iterator[Properties]:
        for doc_id, document in self._documents():
            met: set[tuple[str, int]] = set()
            # In order of owner, whose node is the one that much hangs on.
            for row in sorted(self._built.instances_of(doc_id), key=lambda row: (row.owner, row.n)):
                first = row.owner_kind == "concept" and (row.owner, row.chunk_index) not in met
                met.add((row.owner, row.chunk_index))
                yield {"said": instance_properties(row, document["key"]), "appears": [1] if first else []}

    def _mentions(self) -> Iterator[Properties]:
        for row in self._asked(
            "document.key AS edition, concept.concept_id AS concept, ordinal, mention.deposit, mention.label, forms,"
            " mention.kind, score, definition"
            " FROM document CROSS JOIN mention ON mention.document = document.key"
            f" CROSS JOIN concept ON concept.key = mention.concept WHERE document.state = {SHOWN}"
        ):
            edition, concept = self._edition(row.pop("edition")), row.pop("concept")
            yield {"edition": edition, "concept": concept, "said": {**row, "forms": list(words(row["forms"]))}}

    def _marks(self) -> Iterator[Properties]:
        for row in self._asked("mark, concept AS concept_id, ontology, joined FROM mark"):
            yield {**row, "joined": bool(row["joined"])}
