"""Write nodes of one space in bounded transactions. Whatever is written twice is the same as written once.

Statements are collected and carried out in the order of :data:`_ORDER`, so that many small documents share a transaction: what belongs
to one document is given in that order, and documents do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from kgfs.failpoints import border
from kgfs.stores.projection.connection import Connection, Statement
from kgfs.stores.projection.source import Catalog, Owner, Properties, ShownDocument

ROWS = 1000
WEIGHT = 800_000
"""Rows, and characters of texts, of one transaction. Its memory on the server was 12 MiB with quotes of 400 characters."""
PAGE = 5000

SOURCES = "(n:Source {edition: $edition}) WHERE n.chunk_index IS NOT NULL"
INSTANCES = "(n:Instance {edition: $edition}) WHERE n.owner IS NOT NULL AND n.n IS NOT NULL"
"""All of a document. An index over several properties serves only questions that name all of them."""

Key = TypeVar("Key", str, int, tuple[str, int])

_STUB = ".key, .space, .doc_id, .ontology, .source_id, .content_hash, .garage_key, .size_bytes, status: 'superseded'"
_UNLINKED = """
UNWIND $rows AS row
MATCH (:Edition {key: row.edition})-[link:SUPERSEDES]->(old:Edition)
DELETE link
WITH DISTINCT old WHERE old.status = 'superseded' AND NOT EXISTS { (old)<-[:SUPERSEDES]-() }
DETACH DELETE old"""

_ORDER = {
    "remove owners": """
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
    "leave forms": """
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
    "begin documents": """
UNWIND $rows AS row
MERGE (e:Edition {key: row.edition}) ON CREATE SET e.space = $space, e.doc_id = row.doc_id
REMOVE e.digest""",
    "remove sources": """
UNWIND $rows AS row
MATCH (s:Source {edition: row.edition, chunk_index: row.key}) DETACH DELETE s""",
    "sources": """
UNWIND $rows AS row
MATCH (e:Edition {key: row.edition})
MERGE (s:Source {edition: row.edition, chunk_index: row.chunk_index}) SET s = row
MERGE (e)-[has:HAS_CHUNK]->(s) SET has.index = row.chunk_index""",
    "remove instances": """
UNWIND $rows AS row
MATCH (i:Instance {edition: row.edition, owner: row.key[0], n: row.key[1]})
OPTIONAL MATCH (i)-[:DERIVED_FROM]->(s:Source)
OPTIONAL MATCH (s)<-[appears:APPEARS_IN]-(:Owner {id: row.key[0]})
DETACH DELETE i
WITH DISTINCT appears, s, row.key[0] AS owner
WHERE appears IS NOT NULL AND NOT EXISTS { MATCH (s)<-[:DERIVED_FROM]-(other:Instance) WHERE other.owner = owner }
DELETE appears""",
    "instances": """
UNWIND $rows AS row
MERGE (o:Owner {space: $space, id: row.owner})
CREATE (i:Instance) SET i = row
CREATE (o)-[:EVIDENCED_BY]->(i)
WITH o, i, row
MATCH (s:Source {edition: row.edition, chunk_index: row.chunk_index})
CREATE (i)-[:DERIVED_FROM]->(s)
FOREACH (_ IN CASE row.owner_kind WHEN 'concept' THEN [1] ELSE [] END | MERGE (o)-[:APPEARS_IN]->(s))""",
    "leave mentions": "UNWIND $rows AS row MATCH (:Edition {key: row.edition})<-[m:MENTIONED_IN]-() DELETE m",
    "mentions": """
UNWIND $rows AS row
MATCH (e:Edition {key: row.edition})
MERGE (o:Owner {space: $space, id: row.concept})
CREATE (o)-[m:MENTIONED_IN]->(e) SET m = row.properties""",
    "documents": "UNWIND $rows AS row MATCH (e:Edition {key: row.key}) SET e = row, e:Document",
    "leave versions": _UNLINKED,
    "versions": """
UNWIND $rows AS row
MATCH (e:Edition {key: row.edition})
MERGE (old:Edition {key: row.old.key}) ON CREATE SET old = row.old, old.status = 'superseded', old:Document
CREATE (e)-[:SUPERSEDES {version: row.version}]->(old)""",
}


class Writer:
    """Write into one space, for the home that owns the projection. Use :meth:`flush` at the end. LostLeaseError once another home
    owns it."""

    def __init__(self, connection: Connection, space: str, owner: str, catalog: Catalog) -> None:
        self._connection = connection
        self._space = space
        self._owner = owner
        self._catalog = catalog
        self._names = dict(catalog.ontologies())
        self._rows: dict[str, list[Any]] = {}
        self._count = 0
        self._weight = 0

    def put_owner(self, owner: Owner) -> None:
        if "type" in owner.properties:
            self._add("relationships", owner.properties)
        else:
            self._add("concepts", owner.properties)
            self._add("leave forms", {"concept": owner.id, "keys": [key for _, key, _ in owner.forms]})
            for form, key, rank in owner.forms:
                row = {"concept": owner.id, "ontology": owner.properties["ontology"], "key": key, "rank": rank}
                self._add("forms", {**row, "whole": None if key == form else form}, len(form))
        self._flush_if_full()

    def remove_owner(self, id_: str) -> None:
        self._add("remove owners", {"id": id_})
        self._flush_if_full()

    def put_document(self, document: ShownDocument, digest: str) -> None:
        """Make the server's document the one of the graph, which has that digest. Of its Sources and quotes only those are written
        that differ."""
        edition = self.edition(document.doc_id)
        self._add("begin documents", {"edition": edition, "doc_id": document.doc_id})
        for index, _, source in differences(document.sources(), self._digests(edition, "Source")):
            if source is None:
                self._add("remove sources", {"edition": edition, "key": index})
            else:
                self._add("sources", {**source, "edition": edition}, 2 * len(source["full_text"]))
            self._flush_if_full()
        for key, is_known, quote in differences(document.instances(), self._digests(edition, "Instance")):
            if is_known:
                self._add("remove instances", {"edition": edition, "key": list(key)})
            if quote is not None:
                self._add("instances", {**quote, "edition": edition}, len(quote["quote"]))
            self._flush_if_full()
        self._add("leave mentions", {"edition": edition})
        for concept, properties in document.mentions():
            self._add("mentions", {"edition": edition, "concept": concept, "properties": properties})
            self._flush_if_full()
        content, chunk_ids = document.content()
        properties = document.properties | {"content": content, "chunk_ids": chunk_ids, "digest": digest}
        links = self._catalog.versions(document.doc_id)
        properties |= {"version": links.version or None, "project": self._names.get(properties["ontology"], "")}
        self._add("documents", {**properties, "key": edition, "space": self._space}, len(content or ""))
        self.put_versions(document.doc_id)
        self._flush_if_full()

    def put_versions(self, doc_id: str) -> None:
        """Link a document to the earlier versions of its path, as the catalog has them now."""
        edition = self.edition(doc_id)
        self._add("leave versions", {"edition": edition})
        for version, properties in self._catalog.versions(doc_id).superseded:
            old = {**properties, "key": self.edition(properties["doc_id"]), "space": self._space}
            self._add("versions", {"edition": edition, "version": version, "old": old})

    def remove_document(self, doc_id: str) -> None:
        """Remove a document with all that hangs on it, shown or half written. Where another document supersedes it a node without
        content stays."""
        self.flush()
        row = {"edition": self.edition(doc_id)}
        hidden = "UNWIND $rows AS row MATCH (e:Edition {key: row.edition}) REMOVE e:Document, e.digest"
        self._write([(hidden, {"rows": [row]}), (_UNLINKED, {"rows": [row]})])
        for label, limit in (("Instance", ROWS), ("Source", ROWS // 5)):
            removed = (
                f"MATCH (n:{label} {{edition: $edition}}) WITH n LIMIT $limit DETACH DELETE n RETURN count(*) AS gone"
            )
            while self._write([(removed, {**row, "limit": limit})])[0]["gone"] == limit:
                pass
        left = """
MATCH (e:Edition {key: $edition})
OPTIONAL MATCH (e)<-[m:MENTIONED_IN]-() DELETE m
WITH DISTINCT e
FOREACH (_ IN CASE WHEN EXISTS { (e)<-[:SUPERSEDES]-() } THEN [1] ELSE [] END | SET e = e {%s}, e:Document)
WITH e WHERE NOT e:Document
DETACH DELETE e"""
        self._write([(left % _STUB, row)])

    def put_counts(self, rows: Sequence[Properties]) -> None:
        """Write all ``Ontology`` nodes, and remove those of other ontologies."""
        self.flush()
        put = "UNWIND $rows AS row MERGE (o:Ontology {space: $space, ontology: row.ontology}) SET o = row, o.space = $space"
        gone = "MATCH (o:Ontology {space: $space}) WHERE NOT o.ontology IN $known DELETE o"
        self._write([(put, {"rows": list(rows)}), (gone, {"known": [row["ontology"] for row in rows]})])

    def rename_projects(self) -> None:
        """Write the names of ontologies to their documents, where they are other names than before."""
        self.flush()
        renamed = (
            "MATCH (d:Document {space: $space, ontology: $ontology}) WHERE d.doc_id IS NOT NULL AND d.project <> $name"
            " WITH d LIMIT $limit SET d.project = $name RETURN count(*) AS done"
        )
        for ontology, name in self._names.items():
            while self._write([(renamed, {"ontology": ontology, "name": name, "limit": ROWS})])[0]["done"] == ROWS:
                pass

    def edition(self, doc_id: str) -> str:
        return f"{self._space}/{doc_id}"

    def flush(self) -> None:
        """Carry out what was collected."""
        statements: list[Statement] = [
            (_ORDER[name], {"rows": self._rows[name]}) for name in _ORDER if name in self._rows
        ]
        self._rows, self._count, self._weight = {}, 0, 0
        if statements:
            self._write(statements)
            border("projected")

    def _write(self, statements: Sequence[Statement]) -> list[Properties]:
        return self._connection.write(
            [(text, {**words, "space": self._space}) for text, words in statements], self._owner
        )

    def _add(self, name: str, row: Properties, weight: int = 0) -> None:
        self._rows.setdefault(name, []).append(row)
        self._count += 1
        self._weight += weight

    def _flush_if_full(self) -> None:
        if self._count >= ROWS or self._weight >= WEIGHT:
            self.flush()

    def _digests(self, edition: str, label: str) -> Iterator[tuple[Any, str]]:
        """Return keys and digests of what the server has of a document, in order."""
        first: Any = -1
        if label == "Source":
            pattern, key, passed = SOURCES, "n.chunk_index", "n.chunk_index > $after"
        else:
            pattern, key, first = INSTANCES, "[n.owner, n.n]", ["", 0]
            passed = "(n.owner > $after[0] OR (n.owner = $after[0] AND n.n > $after[1]))"
        question = f"MATCH {pattern} AND {passed} RETURN {key} AS key, n.digest AS digest ORDER BY key LIMIT $limit"
        after = first
        while page := self._connection.read(question, edition=edition, after=after, limit=PAGE):
            for row in page:
                yield (tuple(row["key"]) if label == "Instance" else row["key"]), row["digest"] or ""
            if len(page) < PAGE:
                return
            after = page[-1]["key"]


def differences(
    wanted: Iterable[tuple[Key, str, Properties]], known: Iterable[tuple[Key, str]]
) -> Iterator[tuple[Key, bool, Properties | None]]:
    """Compare two lists in order of key. Return (key, whether it is known, what is wanted in its place) of each key whose digest
    differs; None where nothing is wanted."""
    left = iter(known)
    there = next(left, None)
    for key, digest, properties in wanted:
        while there is not None and there[0] < key:
            yield there[0], True, None
            there = next(left, None)
        if there is None or there[0] != key:
            yield key, False, properties
        else:
            if there[1] != digest:
                yield key, True, properties
            there = next(left, None)
    while there is not None:
        yield there[0], True, None
        there = next(left, None)
