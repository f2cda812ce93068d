"""Write nodes of one graph in bounded transactions. Whatever is written twice is the same as written once.

The constraints and indexes of the published model, which ``docs/graph.md`` lists, are made here, too. Rows are
collected and written in the order of :data:`_ORDER`, so that many small documents share a transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kgfs.domain.documents import INGEST_VERSIONS
from kgfs.failpoints import border
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.projection.connection import Connection
from kgfs.stores.projection.source import (
    Catalog,
    Properties,
    claims,
    concepts,
    counts,
    form_key,
    relationships,
    shown_document,
)

FORMAT = 7
"""The format of the published model. Goes up with every change of it. A projection of another format is written over."""

UNIQUE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Graph", ("name",)),
    ("Edition", ("key",)),
    ("Document", ("space", "doc_id")),
    ("Source", ("edition", "chunk_index")),
    ("Instance", ("edition", "owner", "n")),
    ("Owner", ("space", "id")),
    ("Form", ("space", "ontology", "form")),
    ("Ontology", ("space", "ontology")),
    ("Change", ("space", "epoch", "part")),
    ("IngestVersion", ("version",)),
)

INDEXED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Edition", ("space", "doc_id")),
    ("Document", ("space", "ontology", "doc_id")),
    ("Document", ("space", "ontology", "deposit")),
    # An index over several properties serves only questions that name all of them.
    ("Source", ("chunk_id",)),
    ("Instance", ("owner",)),
    ("Concept", ("space", "id")),
    ("Relationship", ("space", "id")),
    ("Concept", ("space", "ontology", "name")),
    ("Concept", ("space", "ontology", "id")),
    ("Concept", ("space", "ontology", "weight")),
    ("Claim", ("space", "id")),
    ("Claim", ("space", "ontology", "role")),
)

WORDS = "kgfs_words"
"""The full-text index over the folded words of Sources that passed the gate."""

ROWS = 1000
WEIGHT = 800_000
"""Rows, and characters of texts, of one transaction. Its memory on the server was 12 MiB with quotes of 400 characters."""

_SOURCES = "(n:Source {edition: $edition}) WHERE n.chunk_index IS NOT NULL"
_INSTANCES = "(n:Instance {edition: $edition}) WHERE n.owner IS NOT NULL AND n.n IS NOT NULL"
"""All of a document. An index over several properties serves only questions that name all of them."""
_STUB = ".key, .space, .doc_id, .ontology, .source_id, .content_hash, .garage_key, .size_bytes, status: 'superseded'"

_ORDER = {
    "dead owners": """
UNWIND $rows AS row
OPTIONAL MATCH (s)-[x:RELATES_TO {relationship_id: row.id}]->() WHERE s.space = $space
DELETE x
WITH row
MATCH (o:Owner {space: $space, id: row.id})
OPTIONAL MATCH (o)-[:CALLED]->(f:Form)
WITH o, collect(f) AS forms
DETACH DELETE o
WITH forms UNWIND forms AS f
WITH DISTINCT f WHERE NOT EXISTS { (f)<-[:CALLED]-() }
DELETE f""",
    "concepts": "UNWIND $rows AS row MERGE (o:Owner {space: $space, id: row.id}) SET o = row, o.space = $space, o:Concept",
    "lost forms": """
UNWIND $rows AS row
MATCH (o:Owner {space: $space, id: row.concept})-[called:CALLED]->(f:Form) WHERE NOT f.form IN row.keys
DELETE called
WITH DISTINCT f WHERE NOT EXISTS { (f)<-[:CALLED]-() }
DELETE f""",
    "forms": """
UNWIND $rows AS row
MATCH (o:Owner {space: $space, id: row.concept})
MERGE (f:Form {space: $space, ontology: row.ontology, form: row.key}) ON CREATE SET f.whole = row.whole
MERGE (o)-[called:CALLED]->(f) SET called.rank = row.rank""",
    "relationships": """
UNWIND $rows AS row
MERGE (r:Owner {space: $space, id: row.id}) SET r = row, r.space = $space, r:Relationship
MERGE (s:Owner {space: $space, id: row.subject}) MERGE (o:Owner {space: $space, id: row.object})
MERGE (r)-[:SUBJECT]->(s) MERGE (r)-[:OBJECT]->(o)
MERGE (s)-[x:RELATES_TO {relationship_id: row.id}]->(o)
SET x.type = row.type, x.inverse = row.inverse, x.confidence = row.confidence, x.mtime = row.mtime,
    x.by_name = row.by_name""",
    "claims": "UNWIND $rows AS row MERGE (o:Owner {space: $space, id: row.id}) SET o = row, o.space = $space, o:Claim",
    "editions": "UNWIND $rows AS row MERGE (e:Edition {key: row.edition}) SET e.space = $space, e.doc_id = row.doc_id",
    "sources": """
UNWIND $rows AS row
MATCH (e:Edition {key: row.edition})
MERGE (s:Source {edition: row.edition, chunk_index: row.chunk_index}) SET s = row
MERGE (e)-[has:HAS_CHUNK]->(s) SET has.index = row.chunk_index""",
    "instances": """
UNWIND $rows AS row
MERGE (o:Owner {space: $space, id: row.owner})
MERGE (i:Instance {edition: row.edition, owner: row.owner, n: row.n}) SET i = row
MERGE (o)-[:EVIDENCED_BY]->(i)
WITH o, i, row
MATCH (s:Source {edition: row.edition, chunk_index: row.chunk_index})
MERGE (i)-[:DERIVED_FROM]->(s)
FOREACH (_ IN CASE row.owner_kind WHEN 'concept' THEN [1] ELSE [] END | MERGE (o)-[:APPEARS_IN]->(s))""",
    "mentions": """
UNWIND $rows AS row
MATCH (e:Edition {key: row.edition})
MERGE (o:Owner {space: $space, id: row.concept})
MERGE (o)-[m:MENTIONED_IN {deposit: row.said.deposit, ordinal: row.said.ordinal}]->(e) SET m = row.said""",
    "documents": "UNWIND $rows AS row MATCH (e:Edition {key: row.key}) SET e = row, e:Document",
    "lost versions": """
UNWIND $rows AS row
MATCH (:Edition {key: row.edition})-[link:SUPERSEDES]->(old:Edition)
DELETE link
WITH DISTINCT old WHERE old.status = 'superseded' AND NOT EXISTS { (old)<-[:SUPERSEDES]-() }
DETACH DELETE old""",
    "versions": """
UNWIND $rows AS row
MATCH (e:Edition {key: row.edition})
MERGE (old:Edition {key: row.old.key}) ON CREATE SET old = row.old, old.status = 'superseded', old:Document
MERGE (e)-[:SUPERSEDES {version: row.version}]->(old)""",
}
_HIDDEN = """
MATCH (e:Edition {key: $edition}) REMOVE e:Document, e.digest
WITH e OPTIONAL MATCH (e)<-[m:MENTIONED_IN]-() DELETE m"""
_LEFT = f"""
MATCH (e:Edition {{key: $edition}})
FOREACH (_ IN CASE WHEN EXISTS {{ (e)<-[:SUPERSEDES]-() }} THEN [1] ELSE [] END | SET e = e {{{_STUB}}}, e:Document)
WITH e WHERE NOT e:Document
DETACH DELETE e"""


class Writer:
    """Write into the graph of the endpoint's namespace, for the home that owns the projection. Use :meth:`flush` at the end. LostLeaseError once another home
    owns it."""

    def __init__(self, connection: Connection, graph: Graph, owner: str, catalog: Catalog) -> None:
        self._connection = connection
        self._graph = graph
        self._space = connection.endpoint.namespace
        self._owner = owner
        self._catalog = catalog
        self._names = dict(catalog.ontologies())
        self._rows: dict[str, list[Properties]] = {}
        self._count = self._weight = 0

    def put_owners(self, ids: Sequence[str]) -> None:
        """Make the server's concepts, relationships and claims of these ids those of the graph."""
        with self._graph.whole() as sql:
            found, related, claimed = list(concepts(sql, ids)), list(relationships(sql, ids)), list(claims(sql, ids))
        living = {row["id"] for row, _ in found} | {row["id"] for row in (*related, *claimed)}
        for id_ in ids:
            if id_ not in living:
                self._add("dead owners", {"id": id_})
        for row, forms in found:
            keys = {form_key(form): (form, rank) for form, rank in forms}
            self._add("concepts", row)
            self._add("lost forms", {"concept": row["id"], "keys": list(keys)})
            for key, (form, rank) in keys.items():
                called = {"concept": row["id"], "ontology": row["ontology"], "key": key, "rank": rank}
                self._add("forms", called | {"whole": None if key == form else form}, len(form))
            self._flush_if_full()
        for name, rows in (("relationships", related), ("claims", claimed)):
            for row in rows:
                self._add(name, row)
                self._flush_if_full()

    def put_documents(self, doc_ids: Sequence[str]) -> None:
        """Make the server's documents of these ids those of the graph, each with all that hangs on it. One that is there already is
        no Document until it is written again."""
        question = "UNWIND $keys AS key MATCH (:Edition {key: key}) RETURN key"
        there = {row["key"] for row in self._connection.read(question, keys=[self._edition(one) for one in doc_ids])}
        for doc_id in doc_ids:
            edition = self._edition(doc_id)
            if edition in there:
                with self._graph.whole() as sql:
                    is_shown = shown_document(sql, doc_id) is not None
                self.flush()
                self._remove_document(edition, is_shown)
            self._put_document(doc_id, edition)

    def _put_document(self, doc_id: str, edition: str) -> None:
        with self._graph.whole() as sql:
            document = shown_document(sql, doc_id)
            if document is None:  # it left the graph
                return
            self._add("editions", {"edition": edition, "doc_id": doc_id})
            for source in document.sources():
                self._add("sources", {**source, "edition": edition}, 2 * len(source["full_text"]))
                self._flush_if_full()
            for quote in document.instances():
                self._add("instances", {**quote, "edition": edition}, len(quote["quote"]))
                self._flush_if_full()
            for quote in document.claimed():
                self._add("instances", {**quote, "edition": edition}, len(quote["quote"]))
                self._flush_if_full()
            for concept, said in document.mentions():
                self._add("mentions", {"edition": edition, "concept": concept, "said": said})
                self._flush_if_full()
            properties = document.properties() | {"key": edition, "space": self._space}
        version = self._catalog.versions(doc_id).version
        properties |= {"version": version or None, "project": self._names.get(properties["ontology"], "")}
        self._add("documents", properties, len(properties["content"] or ""))
        self.put_versions(doc_id)

    def put_versions(self, doc_id: str) -> None:
        """Link a document to the earlier versions of its path, as the catalog has them now."""
        edition = self._edition(doc_id)
        self._add("lost versions", {"edition": edition})
        for version, properties in self._catalog.versions(doc_id).superseded:
            old = {**properties, "key": self._edition(properties["doc_id"]), "space": self._space}
            self._add("versions", {"edition": edition, "version": version, "old": old})
        self._flush_if_full()

    def _remove_document(self, edition: str, comes_again: bool) -> None:
        """Remove a document with all that hangs on it, in portions. Where another document supersedes it a node without content
        stays."""
        self._write(_HIDDEN, edition=edition)
        self._remove(_INSTANCES, ROWS, edition=edition)
        self._remove(_SOURCES, ROWS // 5, edition=edition)
        if not comes_again:
            self._write(_ORDER["lost versions"], rows=[{"edition": edition}])
            self._write(_LEFT, edition=edition)

    def carry_out_purges(self) -> None:
        """Remove what may still tell of a purged document: names in the feed, and earlier versions that nobody has any more."""
        self._remove("(n:Change {space: $space}) WHERE n.epoch IS NOT NULL", ROWS)
        linked = (
            "MATCH (d:Document {space: $space}) WHERE d.doc_id > $after AND EXISTS { (d)-[:SUPERSEDES]->() }"
            " RETURN d.doc_id AS doc_id ORDER BY doc_id LIMIT $limit"
        )
        after = ""
        while page := self._connection.read(linked, space=self._space, after=after, limit=ROWS):
            for row in page:
                self.put_versions(row["doc_id"])
            after = page[-1]["doc_id"]
        self.flush()

    def put_counts(self) -> None:
        """Write all ``Ontology`` nodes, remove those of other ontologies, and write names that have changed to documents."""
        with self._graph.whole() as sql:
            rows = counts(sql, self._names)
        put = "UNWIND $rows AS row MERGE (o:Ontology {space: $space, ontology: row.ontology}) SET o = row, o.space = $space"
        gone = "MATCH (o:Ontology {space: $space}) WHERE NOT o.ontology IN $known DELETE o"
        renamed = (
            "MATCH (d:Document {space: $space, ontology: $ontology}) WHERE d.doc_id IS NOT NULL AND d.project <> $name"
            " WITH d LIMIT $limit SET d.project = $name RETURN count(*) AS done"
        )
        self._write(put, rows=rows)
        self._write(gone, known=[row["ontology"] for row in rows])
        for ontology, name in self._names.items():
            while self._write(renamed, ontology=ontology, name=name, limit=ROWS)[0]["done"] == ROWS:
                pass

    def flush(self) -> None:
        """Write what was collected."""
        rows, self._rows, self._count, self._weight = self._rows, {}, 0, 0
        if rows:
            statements = [(_ORDER[name], {"rows": rows[name], "space": self._space}) for name in _ORDER if name in rows]
            self._connection.write(statements, self._owner)
            border("projected")

    def _edition(self, doc_id: str) -> str:
        return f"{self._space}/{doc_id}"

    def _write(self, statement: str, **words: Any) -> list[Properties]:
        return self._connection.write([(statement, {**words, "space": self._space})], self._owner)

    def _remove(self, pattern: str, limit: int, **words: Any) -> None:
        statement = f"MATCH {pattern} WITH n LIMIT $limit DETACH DELETE n RETURN count(*) AS gone"
        while self._write(statement, limit=limit, **words)[0]["gone"] == limit:
            pass

    def _add(self, name: str, row: Properties, weight: int = 0) -> None:
        self._rows.setdefault(name, []).append(row)
        self._count += 1
        self._weight += weight

    def _flush_if_full(self) -> None:
        if self._count >= ROWS or self._weight >= WEIGHT:
            self.flush()


def statements() -> list[str]:
    made = []
    for kind, rows in (("CONSTRAINT", UNIQUE), ("INDEX", INDEXED)):
        for label, names in rows:
            columns = ", ".join(f"n.{name}" for name in names)
            what = f"REQUIRE ({columns}) IS UNIQUE" if kind == "CONSTRAINT" else f"ON ({columns})"
            made.append(
                f"CREATE {kind} {'_'.join(('kgfs', label.lower(), *names))} IF NOT EXISTS FOR (n:{label}) {what}"
            )
    return [
        *made,
        "CREATE INDEX kgfs_relates_to_relationship_id IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON (r.relationship_id)",
        f"CREATE FULLTEXT INDEX {WORDS} IF NOT EXISTS FOR (n:Source) ON EACH [n.words]"
        " OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}",
    ]


def make_schema(connection: Connection) -> None:
    """Make the constraints and indexes that the database lacks, and wait until they serve. Several homes may do this at once."""
    [found] = connection.read(
        "OPTIONAL MATCH (s:KgfsSchema) WITH max(s.format) AS format"
        " OPTIONAL MATCH (v:IngestVersion) RETURN coalesce(format, 0) AS format, coalesce(max(v.version), 0) AS version"
    )
    if found["format"] >= FORMAT and found["version"] >= max(INGEST_VERSIONS):
        return
    for statement in statements():
        connection.change_schema(statement)
    connection.change_schema("CALL db.awaitIndexes(300)")
    versions = [
        {"version": number, "description": version.description, "breaking": version.breaking}
        for number, version in INGEST_VERSIONS.items()
    ]
    put = "UNWIND $versions AS row MERGE (v:IngestVersion {version: row.version}) SET v = row"
    connection.write([(put, {"versions": versions}), ("MERGE (s:KgfsSchema {format: $format})", {"format": FORMAT})])
