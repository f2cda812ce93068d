"""The constraints and indexes of the published model. ``docs/graph.md`` lists them."""

from __future__ import annotations

import random
import time

from kgfs.domain.documents import INGEST_VERSIONS
from kgfs.errors import TimedOutError
from kgfs.stores import timing
from kgfs.stores.projection.connection import Connection

FORMAT = 4
"""Goes up with every change below."""
ATTEMPTS = 5
"""How often a statement is run that another home's statement gets in the way of."""

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
    ("Discarded", ("space",)),
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

_REFUSING = ("kgfs_owner_space_ontology_name",)
"""Constraints of former formats that would refuse what is in order now: of two concepts that were called the same in turn, either
may be written first."""
_UNUSED = (
    "kgfs_source_edition",
    "kgfs_instance_edition",
    "kgfs_instance_owner_n",
    "kgfs_instance_edition_chunk_index",
    "kgfs_mark_concept_id",
)
"""Indexes of former formats that serve nothing any more, and cost time with each node that is written."""


def statements() -> list[str]:
    made = [f"DROP CONSTRAINT {name} IF EXISTS" for name in _REFUSING]
    made += [f"DROP INDEX {name} IF EXISTS" for name in _UNUSED]
    for label, names in UNIQUE:
        columns = ", ".join(f"n.{name}" for name in names)
        made.append(
            f"CREATE CONSTRAINT {called(label, names)} IF NOT EXISTS FOR (n:{label}) REQUIRE ({columns}) IS UNIQUE"
        )
    for label, names in INDEXED:
        columns = ", ".join(f"n.{name}" for name in names)
        made.append(f"CREATE INDEX {called(label, names)} IF NOT EXISTS FOR (n:{label}) ON ({columns})")
    made.append(
        "CREATE INDEX kgfs_relates_to_relationship_id IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON (r.relationship_id)"
    )
    made.append(
        f"CREATE FULLTEXT INDEX {WORDS} IF NOT EXISTS FOR (n:Source) ON EACH [n.words]"
        " OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}"
    )
    return made


def called(label: str, names: tuple[str, ...]) -> str:
    return "_".join(("kgfs", label.lower(), *names))


def _change(connection: Connection, statement: str) -> None:
    """Run one statement; repeat it where the schema is just changed by another home too: Neo4j ends one of two such
    transactions as a deadlock. TimedOutError after ATTEMPTS."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            connection.change_schema(statement)
        except TimedOutError:
            if attempt == ATTEMPTS:
                raise
            time.sleep(attempt * timing.SCHEMA_RETRY * (0.5 + random.random()))
        else:
            return


def make_schema(connection: Connection) -> None:
    """Make the constraints and indexes that the database lacks, and wait until they serve. Several homes may do this at once."""
    found = connection.read_one(
        "OPTIONAL MATCH (s:KgfsSchema) WITH max(s.format) AS format"
        " OPTIONAL MATCH (v:IngestVersion) RETURN coalesce(format, 0) AS format, coalesce(max(v.version), 0) AS version"
    )
    if found and found["format"] >= FORMAT and found["version"] >= max(INGEST_VERSIONS):
        return
    if not found or found["format"] < FORMAT:
        for statement in statements():
            _change(connection, statement)
        connection.change_schema("CALL db.awaitIndexes(300)")
    versions = [
        {"version": number, "description": version.description, "breaking": version.breaking}
        for number, version in INGEST_VERSIONS.items()
    ]
    connection.write(
        [
            (
                "UNWIND $versions AS row MERGE (v:IngestVersion {version: row.version})"
                " SET v.description = row.description, v.breaking = row.breaking",
                {"versions": versions},
            ),
            ("MERGE (s:KgfsSchema {format: $format})", {"format": FORMAT}),
        ]
    )
