"""Constraints and indexes. Each is made if it is not there; ``docs/graph.md`` lists them."""

from __future__ import annotations

from kgfs.stores.graph.neo4j.speaking import Speaking

FORMAT = 3
"""Goes up with every addition below."""

UNIQUE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Graph", ("name",)),
    ("Edition", ("key",)),
    ("Edition", ("space", "doc_id", "commit_id")),
    ("Document", ("space", "doc_id")),
    ("Source", ("edition", "chunk_index")),
    ("Instance", ("edition", "owner", "n")),
    ("Owner", ("space", "id")),
    ("Owner", ("space", "ontology", "name")),
    ("Form", ("space", "ontology", "form")),
    ("Ontology", ("space", "ontology")),
    ("Commit", ("space", "commit_id")),
    ("Change", ("space", "epoch", "part")),
    ("Mark", ("space", "mark", "concept_id")),
    ("IngestVersion", ("version",)),
    ("Discarded", ("space",)),
    ("Lease", ("graph", "what")),
)

INDEXED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Document", ("space", "ontology", "doc_id")),
    ("Document", ("space", "ontology", "deposit")),
    # An index over several properties serves only who asks for all of them.
    ("Source", ("edition",)),
    ("Instance", ("edition",)),
    ("Instance", ("owner",)),
    ("Source", ("chunk_id",)),
    ("Instance", ("owner", "n")),
    ("Instance", ("edition", "chunk_index")),
    ("Concept", ("space", "id")),
    ("Relationship", ("space", "id")),
    ("Concept", ("space", "ontology", "name")),
    ("Concept", ("space", "ontology", "id")),
    ("Concept", ("space", "ontology", "weight")),
    ("Mark", ("concept_id",)),
)

WORDS = "kgfs_words"
"""The full-text index over the folded words of Sources that passed the gate."""


def statements() -> list[str]:
    made = []
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


def make(speaking: Speaking) -> None:
    """Several processes may do this at once."""
    found = speaking.read(
        lambda tx: tx.run("MATCH (s:KgfsSchema) RETURN max(s.format) AS format").single(strict=True)["format"]
    )
    if (found or 0) >= FORMAT:
        return
    for statement in statements():
        speaking.change_schema(statement)
    speaking.change_schema("CALL db.awaitIndexes(300)")
    speaking.write(lambda tx: tx.run("CREATE (:KgfsSchema {format: $format})", format=FORMAT).consume())
