"""What is hidden by a purge, and what a rebuild is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neo4j import ManagedTransaction

from kgfs.stores.graph.hiding import hidden_name
from kgfs.stores.graph.neo4j.commit import COUNTED, relationship_properties
from kgfs.stores.graph.neo4j.feed import forget_changes, keep_ids
from kgfs.stores.graph.vocabulary import Redaction, RelationshipRow


def redact(
    tx: ManagedTransaction,
    graph: str,
    root: dict[str, Any],
    concept_ids: Sequence[str],
    relationships: Sequence[RelationshipRow],
) -> Redaction:
    """Hide the names of those of these concepts that are dead, and forget the feed up to now. May be done twice."""
    space = root["space"]
    keep_ids(tx, space, root)
    known = list(
        tx.run(
            "UNWIND $ids AS id MATCH (o:Owner {space: $space, id: id}) WHERE o.name IS NOT NULL"
            " RETURN o.id AS id, o.ontology AS ontology, o.name AS name, o:Concept AS lives, o.last_n AS last_n,"
            " COLLECT { MATCH (o)-[:RELATES_TO]-(c:Concept) RETURN DISTINCT [c.id, c.mtime] } AS neighbours,"
            " o.mtime AS mtime",
            space=space,
            ids=sorted(set(concept_ids)),
        )
    )
    names = [
        (row["id"], row["ontology"], hidden_name(row["ontology"], row["name"])) for row in known if not row["lives"]
    ]
    times: dict[str, int] = {}
    for row in known:
        if row["lives"]:
            times |= {row["id"]: row["mtime"], **dict(row["neighbours"])}
    tx.run(
        "UNWIND $rows AS row MATCH (o:Owner {space: $space, id: row[0]}) SET o.name = row[1]",
        space=space,
        rows=[[id_, name] for id_, _, name in names],
    ).consume()
    joined = tx.run(
        "UNWIND $ids AS id MATCH (r:Owner {space: $space, id: id}) WHERE r.type IS NOT NULL"
        " RETURN r.id, r.ontology, r.subject, r.type, r.object, r.last_n, r.mtime",
        space=space,
        ids=[row.relationship_id for row in relationships],
    )
    known_relationships = tuple((str(r[0]), str(r[1]), str(r[2]), str(r[3]), str(r[4]), r[5], r[6]) for r in joined)
    changed = tx.run(
        "UNWIND $ontologies AS ontology MATCH (o:Ontology {space: $space, ontology: ontology})"
        " RETURN o.ontology, o.changed_at ORDER BY o.ontology",
        space=space,
        ontologies=sorted({row["ontology"] for row in known}),
    )
    changed_at = tuple((str(row[0]), int(row[1])) for row in changed)
    forget_changes(tx, graph, space, root["epoch"])
    count_up(tx, space, "redacted")
    return Redaction(
        names=tuple(names),
        numbers=tuple(sorted((row["id"], row["last_n"]) for row in known)),
        relationships=known_relationships,
        concept_times=tuple(sorted(times.items())),
        changed_at=changed_at,
    )


def count_up(tx: ManagedTransaction, space: str, what: str) -> None:
    """Tell replicas of something that no feed tells."""
    tx.run(f"MATCH (g:Graph) WHERE g.space = $space SET g.{what} = coalesce(g.{what}, 0) + 1", space=space).consume()


def impose(tx: ManagedTransaction, space: str, redaction: Redaction) -> None:
    """Make a graph that was built without the purged documents the one that was left by their purge."""
    tx.run(
        "UNWIND $rows AS row MERGE (o:Owner {space: $space, id: row[0]})"
        " SET o.ontology = row[1], o.name = row[2], o.last_n = coalesce(o.last_n, 0)",
        space=space,
        rows=[list(row) for row in redaction.names],
    ).consume()
    tx.run(
        "UNWIND $rows AS row MERGE (r:Owner {space: $space, id: row.known.id})"
        " SET r += row.known, r.evidence = coalesce(r.evidence, 0), r.confidence = coalesce(r.confidence, 0.0),"
        " r.last_n = coalesce(r.last_n, 0), r.mtime = row.mtime"
        " MERGE (s:Owner {space: $space, id: r.subject}) MERGE (o:Owner {space: $space, id: r.object})"
        " MERGE (r)-[:SUBJECT]->(s) MERGE (r)-[:OBJECT]->(o)"
        " WITH r, s MATCH (s)-[x:RELATES_TO {relationship_id: r.id}]->() SET x.mtime = r.mtime",
        space=space,
        rows=[
            {"known": relationship_properties(RelationshipRow(*row[:5])), "mtime": row[6]}
            for row in redaction.relationships
        ],
    ).consume()
    numbers = [*redaction.numbers, *((row[0], row[5]) for row in redaction.relationships)]
    tx.run(
        "UNWIND $rows AS row MATCH (o:Owner {space: $space, id: row[0]}) WHERE o.last_n < row[1] SET o.last_n = row[1]",
        space=space,
        rows=[list(row) for row in numbers],
    ).consume()
    tx.run(
        "UNWIND $rows AS row MATCH (c:Concept {space: $space, id: row[0]}) SET c.mtime = row[1]",
        space=space,
        rows=[list(row) for row in redaction.concept_times],
    ).consume()
    none = ", ".join(f"o.{what} = 0" for what in COUNTED)
    tx.run(
        "UNWIND $rows AS row MERGE (o:Ontology {space: $space, ontology: row[0]})"
        f" ON CREATE SET {none}, o.changed_at = row[1]"
        " ON MATCH SET o.changed_at = CASE WHEN o.changed_at > row[1] THEN o.changed_at ELSE row[1] END",
        space=space,
        rows=[list(row) for row in redaction.changed_at],
    ).consume()
    count_up(tx, space, "imposed")
