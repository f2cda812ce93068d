"""The lock of a graph, which who changes it holds, and how those who follow it know that a change is there as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neo4j import ManagedTransaction

LOCKED = "SET g.locked = true REMOVE g.locked"
"""Who writes to a node holds it until the transaction ends, so what is looked at after this stays as it is."""
COUNTED_UP = "g.turn = coalesce(g.turn, 0) + 1"
"""What whoever changes what replicas follow sets: see :data:`WHOLE`."""
BEGUN = f"{LOCKED} SET {COUNTED_UP}"
_LOCK = f"MATCH (g:Graph {{name: $graph}}) {BEGUN} WITH properties(g) AS root"
FOLLOWED = ("epoch", "clears", "imposed", "marked", "redacted", "changes_above", "ids_above", "ids_up_to")
"""Numbers of a graph by which replicas know what they have to follow."""
_NUMBERS = f"[{', '.join(f'coalesce(g.{number}, 0)' for number in FOLLOWED)}]"
WHOLE = (
    f"MATCH (g:Graph {{name: $graph}}) {LOCKED} SET g.whole = coalesce(g.turn, 0), g.whole_at = {_NUMBERS}"
    " RETURN properties(g) AS root"
)
"""Note that all that was committed so far is there. A server shows what a transaction commits piece by piece, the new epoch
before what an index finds of it, and gives its locks back when all of it is there: so who has the lock knows. As long as ``turn``
and ``whole`` differ, or are not there, somebody's commit may be there in part. A node's own properties are read one by one, too, so
a look may find the ``turn`` of before with a number of after: therefore the numbers are noted as well."""
IS_WHOLE = f"coalesce(g.whole = coalesce(g.turn, 0) AND g.whole_at = {_NUMBERS}, false)"
""":func:`is_whole` for who asks the server."""


def is_whole(root: Mapping[str, Any]) -> bool:
    """Whether nothing was committed that may be there in part."""
    noted = root.get("whole", -1), root.get("whole_at")
    return noted == (root.get("turn", 0), [root.get(number, 0) for number in FOLLOWED])


def lock(tx: ManagedTransaction, graph: str) -> dict[str, Any] | None:
    """The graph's node, which nobody else commits to until this transaction ends. None where there is no such graph."""
    found = tx.run(f"{_LOCK} RETURN root", graph=graph).single()
    return dict(found["root"]) if found else None


def lock_whole(tx: ManagedTransaction, graph: str) -> dict[str, Any] | None:
    """As :func:`lock`, for who changes nothing: all that was committed is there, and noted to be."""
    found = tx.run(WHOLE, graph=graph).single()
    return dict(found["root"]) if found else None


def lock_for(tx: ManagedTransaction, graph: str, commit_id: str) -> tuple[dict[str, Any], int | None] | None:
    """As :func:`lock`, with the epoch of that commit if it was done."""
    found = tx.run(
        f"{_LOCK} OPTIONAL MATCH (c:Commit {{space: root.space, commit_id: $commit_id}}) RETURN root, c.epoch AS epoch",
        graph=graph,
        commit_id=commit_id,
    ).single()
    return (dict(found["root"]), found["epoch"]) if found else None
