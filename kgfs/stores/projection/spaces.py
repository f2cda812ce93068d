"""Spaces of a database. All nodes of a projection bear the name of its space, or of an edition in it; its ``Graph`` node says which
space is shown. So a projection that is made anew takes the former one's place by one value."""

from __future__ import annotations

import secrets

from kgfs.stores.projection.connection import Connection
from kgfs.stores.projection.writing import INSTANCES, SOURCES

_IN_SPACE = (("Owner", "id"), ("Form", "form"), ("Mark", "mark"), ("Commit", "commit_id"), ("Change", "epoch"), ("Ontology", "ontology"))  # fmt: skip
"""What stands in a space besides documents. ``Mark`` and ``Commit`` were written until format 3."""
_BATCH = 2000


def fresh_space(namespace: str) -> str:
    return f"{namespace}/{secrets.token_hex(6)}"


def remove_discarded(connection: Connection) -> None:
    """Remove what lies in spaces that are not shown any more, little by little. A kill in between is made up for by the next call."""
    namespace = connection.endpoint.namespace
    # The lease nodes and half-built graphs of format 3 belong to the namespace, and to no space.
    connection.write(
        [
            ("MATCH (l:Lease {graph: $graph}) DELETE l", {"graph": namespace}),
            (
                "MATCH (g:Graph {name: $aside}) MERGE (:Discarded {space: g.space}) DELETE g",
                {"aside": f"{namespace} aside"},
            ),
        ]
    )
    question = "MATCH (d:Discarded) WHERE d.space STARTS WITH $beginning RETURN d.space AS space LIMIT 1"
    while found := connection.read_one(question, beginning=f"{namespace}/"):
        _remove(connection, found["space"])


def _remove(connection: Connection, space: str) -> None:
    editions = "MATCH (e:Edition {space: $space}) WHERE e.doc_id IS NOT NULL WITH e LIMIT 1 RETURN e.key AS key"
    while found := connection.read_one(editions, space=space):
        for pattern, limit in ((INSTANCES, _BATCH), (SOURCES, _BATCH // 5)):
            _remove_nodes(connection, pattern, limit, edition=found["key"])
        connection.write([("MATCH (e:Edition {key: $key}) DETACH DELETE e", {"key": found["key"]})])
    for label, name in _IN_SPACE:
        _remove_nodes(connection, f"(n:{label} {{space: $space}}) WHERE n.{name} IS NOT NULL", _BATCH, space=space)
    connection.write([("MATCH (d:Discarded {space: $space}) DELETE d", {"space": space})])


def _remove_nodes(connection: Connection, pattern: str, limit: int, **words: str) -> None:
    statement = f"MATCH {pattern} WITH n LIMIT $limit DETACH DELETE n RETURN count(*) AS gone"
    while connection.write([(statement, {**words, "limit": limit})])[0]["gone"] == limit:
        pass
