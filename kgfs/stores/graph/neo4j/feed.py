"""The change feed: what each commit did to derived directories. A node holds many changes, as lists of equal length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from neo4j import ManagedTransaction

from kgfs.stores.graph.contract import Change
from kgfs.stores.graph.neo4j.speaking import Speaking

PART = 1000
"""Changes of one node."""
KEPT_CHANGES = 200_000
"""At least so many of the newest are kept; older epochs go once there are a tenth more."""
COLUMNS = ("what", "kind", "ontology", "owner", "name")


def write_changes(tx: ManagedTransaction, space: str, epoch: int, changes: Sequence[Change]) -> int:
    """How many were written."""
    parts = [
        {column: [getattr(change, column) for change in changes[start : start + PART]] for column in COLUMNS}
        | {"space": space, "epoch": epoch, "part": start // PART, "size": len(changes[start : start + PART])}
        for start in range(0, len(changes), PART)
    ]
    tx.run("UNWIND $parts AS part CREATE (c:Change) SET c = part", parts=parts).consume()
    return len(changes)


def changes(tx: ManagedTransaction, root: dict[str, Any], after: int, limit: int) -> list[Change] | None:
    """Whole epochs above ``after``: the first in any case, more while they fit in ``limit``. None when not all are kept."""
    if after < root["changes_above"] or after > root["epoch"]:
        return None
    found: list[Change] = []
    rows = tx.run(
        "MATCH (c:Change) WHERE c.space = $space AND c.epoch > $after AND c.part >= 0"
        f" RETURN c.epoch AS epoch, {', '.join(f'c.{column} AS {column}' for column in COLUMNS)}"
        " ORDER BY c.epoch, c.part",
        space=root["space"],
        after=after,
    )
    for epoch, parts in groupby(rows, key=lambda row: row["epoch"]):
        whole = [Change(epoch, *words) for part in parts for words in zip(*(part[c] for c in COLUMNS), strict=True)]
        if found and len(found) + len(whole) > limit:
            break
        found += whole
    return found


def prune(speaking: Speaking, graph: str) -> None:
    """Forget the oldest epochs where more is kept than was promised."""

    def work(tx: ManagedTransaction) -> None:
        found = tx.run(
            "MATCH (g:Graph {name: $graph}) WHERE g.told > $most SET g.locked = true REMOVE g.locked"
            " RETURN g.space AS space, g.told AS told",
            graph=graph,
            most=KEPT_CHANGES * 11 // 10,
        ).single()
        if found is None:
            return
        surplus, above = found["told"] - KEPT_CHANGES, 0
        for row in tx.run(
            "MATCH (c:Change) WHERE c.space = $space AND c.epoch >= 0 AND c.part >= 0"
            " RETURN c.epoch AS epoch, sum(c.size) AS size ORDER BY epoch",
            space=found["space"],
        ):
            if row["size"] > surplus:
                break
            surplus, above = surplus - row["size"], row["epoch"]
        forget_changes(tx, graph, found["space"], above)

    speaking.write(work)


def forget_changes(tx: ManagedTransaction, graph: str, space: str, above: int) -> None:
    """Keep only what happened above that epoch."""
    tx.run(
        "MATCH (g:Graph {name: $graph}) OPTIONAL MATCH (c:Change) WHERE c.space = $space AND c.epoch <= $above AND c.part >= 0"
        " WITH g, collect(c) AS gone"
        " SET g.told = g.told - reduce(sum = 0, c IN gone | sum + c.size),"
        " g.changes_above = CASE WHEN g.changes_above > $above THEN g.changes_above ELSE $above END"
        " FOREACH (c IN gone | DELETE c)",
        graph=graph,
        space=space,
        above=above,
    ).consume()
