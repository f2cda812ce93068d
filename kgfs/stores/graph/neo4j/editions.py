"""Editions: a document under one commit. Written in batches before it is shown, removed in batches after it was."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from typing import Any

from neo4j import ManagedTransaction

from kgfs.stores.graph.neo4j.requests import run
from kgfs.stores.graph.neo4j.rows import instance_properties, source_properties
from kgfs.stores.graph.neo4j.speaking import Speaking
from kgfs.stores.graph.vocabulary import Batch, InstanceRow, SourceRow
from kgfs.stores.portions import portions

ROWS_AT_ONCE = 500
WEIGHT_AT_ONCE = 800_000
"""Rows and characters of one transaction outside of publications: its memory on the server stays below some 25 MB. Measured were
up to 25 bytes a character of a Source, which is kept, kept as words, and indexed."""
REMOVED_AT_ONCE = 2500
"""Rows of a transaction that removes what no index has the words of: quotes, which take some 2 KB each there, and mentions."""

_OPEN = """
MATCH (g:Graph {name: $graph})
OPTIONAL MATCH (c:Commit {space: g.space, commit_id: $commit_id})
WITH g.space AS space, c WHERE c IS NULL
MERGE (e:Edition {space: space, doc_id: $doc_id, commit_id: $commit_id})
ON CREATE SET e:Staged, e.key = $fresh
RETURN space, e.key AS key"""

_SOURCES = """
UNWIND $rows AS row
MATCH (e:Edition {key: $key})
MERGE (s:Source {edition: $key, chunk_index: row.chunk_index})
SET s = row
MERGE (e)-[:HAS_CHUNK {index: row.chunk_index}]->(s)
WITH s
MATCH (i:Instance {edition: $key, chunk_index: s.chunk_index})
MERGE (i)-[:DERIVED_FROM]->(s)
WITH s, i WHERE i.owner_kind = 'concept'
MATCH (o:Owner)-[:EVIDENCED_BY]->(i)
MERGE (o)-[:APPEARS_IN]->(s)"""

_INSTANCES = """
UNWIND $rows AS row
MERGE (i:Instance {edition: $key, owner: row.owner, n: row.n})
SET i = row
MERGE (o:Owner {space: $space, id: row.owner})
MERGE (o)-[:EVIDENCED_BY]->(i)
WITH o, i
OPTIONAL MATCH (i)-[former:DERIVED_FROM]->(:Source)
DELETE former
WITH DISTINCT o, i
MATCH (s:Source {edition: $key, chunk_index: i.chunk_index})
MERGE (i)-[:DERIVED_FROM]->(s)
WITH o, i, s WHERE i.owner_kind = 'concept'
MERGE (o)-[:APPEARS_IN]->(s)"""


def open_edition(tx: ManagedTransaction, graph: str, doc_id: str, commit_id: str) -> tuple[str, str] | None:
    """Space and key of the edition, made if it is new; None where the commit was published."""
    fresh = secrets.token_hex(12)
    found = tx.run(_OPEN, graph=graph, doc_id=doc_id, commit_id=commit_id, fresh=fresh).single()
    return (found["space"], found["key"]) if found else None


def stage(speaking: Speaking, graph: str, commit_id: str, doc_id: str, batch: Batch) -> None:
    """Without a row the edition is opened."""
    rows: list[SourceRow | InstanceRow] = [*batch.sources, *batch.instances]
    for some in [*portions(rows, ROWS_AT_ONCE, _weight, WEIGHT_AT_ONCE)] or [[]]:
        speaking.write(partial(_keep, graph=graph, doc_id=doc_id, commit_id=commit_id, rows=some))


def _weight(row: SourceRow | InstanceRow) -> int:
    return len(row.full_text if isinstance(row, SourceRow) else row.quote)


def _keep(
    tx: ManagedTransaction, graph: str, doc_id: str, commit_id: str, rows: Sequence[SourceRow | InstanceRow]
) -> None:
    if found := open_edition(tx, graph, doc_id, commit_id):
        space, key = found
        if sources := [row for row in rows if isinstance(row, SourceRow)]:
            put_sources(tx, key, sources)
        if instances := [row for row in rows if isinstance(row, InstanceRow)]:
            put_instances(tx, space, key, instances)


def put_sources(tx: ManagedTransaction, key: str, rows: Sequence[SourceRow]) -> None:
    run(tx, _SOURCES, key=key, rows=[source_properties(row, key) for row in rows]).consume()


def put_instances(tx: ManagedTransaction, space: str, key: str, rows: Sequence[InstanceRow]) -> None:
    # In one order everywhere, so that two who meet at the same owners wait for each other and do not dead-lock.
    ordered = sorted(rows, key=lambda row: (row.owner, row.n))
    properties = [instance_properties(row, key) for row in ordered]
    run(tx, _INSTANCES, space=space, key=key, rows=properties).consume()


def drop_instances(tx: ManagedTransaction, key: str, pairs: Sequence[tuple[str, int]]) -> None:
    """Take single pieces of evidence out of an edition that stays."""
    run(
        tx,
        "UNWIND $pairs AS pair MATCH (i:Instance {edition: $key, owner: pair[0], n: pair[1]})"
        " OPTIONAL MATCH (o:Owner)-[:EVIDENCED_BY]->(i)-[:DERIVED_FROM]->(s:Source)"
        " DETACH DELETE i WITH DISTINCT o, s WHERE o IS NOT NULL"
        " AND NOT EXISTS { (o)-[:EVIDENCED_BY]->(:Instance)-[:DERIVED_FROM]->(s) }"
        " MATCH (o)-[appears:APPEARS_IN]->(s) DELETE appears",
        key=key,
        pairs=[list(pair) for pair in pairs],
    ).consume()


# ---------------------------------------------------------------------------------------------- removing

_LEAVE = "SET e:Leaving, e.commit_id = e.commit_id + ' ' + e.key REMOVE e:Staged"
"""One that was abandoned and is still being removed is not taken up again, since it has lost rows."""


def abandon(tx: ManagedTransaction, graph: str, commit_id: str) -> None:
    tx.run(
        "MATCH (g:Graph {name: $graph}) MATCH (e:Staged)"
        f" WHERE e.space = g.space AND e.commit_id = $commit_id {_LEAVE}",
        graph=graph,
        commit_id=commit_id,
    ).consume()


def remove_left(speaking: Speaking, space: str) -> None:
    """Remove the rows of editions that left, little by little. A kill in between is made up for by the next call."""
    remove_editions(speaking, "MATCH (e:Leaving) WHERE e.space = $space", space)


def remove_editions(speaking: Speaking, which: str, space: str) -> None:
    """Of those which are matched as ``e`` everything, so many rows a transaction, whichever editions they are of."""
    while speaking.write(lambda tx: _remove_some(tx, which, space)):
        pass


def _remove_some(tx: ManagedTransaction, which: str, space: str) -> bool:
    """Whether there may be more."""
    found = tx.run(f"{which} WITH e LIMIT $limit RETURN collect(e.key) AS keys", space=space, limit=ROWS_AT_ONCE)
    keys = found.single(strict=True)["keys"]
    if not keys:
        return False
    if _remove_instances(tx, keys, REMOVED_AT_ONCE) == REMOVED_AT_ONCE:
        return True
    return any(counted(tx, question, most, keys=keys) == most for question, most in _OF_EDITIONS)


_OF_EDITIONS = (
    (
        "UNWIND $keys AS key MATCH (s:Source {edition: key}) WITH s LIMIT $limit DETACH DELETE s RETURN count(*) AS gone",
        ROWS_AT_ONCE,
    ),
    (
        "UNWIND $keys AS key MATCH (:Owner)-[m:MENTIONED_IN]->(:Edition {key: key})"
        " WITH m LIMIT $limit DELETE m RETURN count(*) AS gone",
        REMOVED_AT_ONCE,
    ),
    (
        "UNWIND $keys AS key MATCH (e:Edition {key: key}) WITH e LIMIT $limit DETACH DELETE e RETURN count(*) AS gone",
        ROWS_AT_ONCE,
    ),
)
"""What they have beside quotes, and at last they themselves; how many at once."""


def counted(tx: ManagedTransaction, question: str, limit: int = ROWS_AT_ONCE, **words: Any) -> int:
    return int(run(tx, question, limit=limit, **words).single(strict=True)["gone"])


def _remove_instances(tx: ManagedTransaction, keys: Sequence[str], limit: int) -> int:
    found = run(
        tx,
        "UNWIND $keys AS key MATCH (i:Instance {edition: key}) WITH i LIMIT $limit"
        " OPTIONAL MATCH (o:Owner)-[:EVIDENCED_BY]->(i) WHERE o.ontology IS NULL"
        " WITH i, [o.space, o.id] AS owner DETACH DELETE i"
        " RETURN count(*) AS gone, collect(DISTINCT owner) AS owners",
        keys=keys,
        limit=limit,
    ).single(strict=True)
    if owners := sorted(owner for owner in found["owners"] if owner[0] is not None):
        # They were only ever staged for. Writing to one locks it, so nobody gives it evidence while we look.
        run(
            tx,
            "UNWIND $owners AS owner MATCH (o:Owner {space: owner[0], id: owner[1]}) SET o.locked = true REMOVE o.locked"
            " WITH o WHERE o.ontology IS NULL AND NOT EXISTS { (o)-[:EVIDENCED_BY]->() } DETACH DELETE o",
            owners=owners,
        ).consume()
    return int(found["gone"])
