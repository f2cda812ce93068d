"""The constraints and indexes of the published model. ``docs/graph.md`` lists them."""

from __future__ import annotations

from kgfs.domain.documents import INGEST_VERSIONS
from kgfs.stores.projection.connection import Connection

FORMAT = 6
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
)

WORDS = "kgfs_words"
"""The full-text index over the folded words of Sources that passed the gate."""


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
