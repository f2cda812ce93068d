"""The change feed: what each commit did to derived directories. A node holds many changes, as lists of equal length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from neo4j import ManagedTransaction

from kgfs.stores.graph.neo4j.locking import BEGUN
from kgfs.stores.graph.neo4j.requests import run
from kgfs.stores.graph.neo4j.speaking import Speaking
from kgfs.stores.graph.vocabulary import Change
from kgfs.stores.portions import portions

PART = 1000
"""Changes of one node."""
PARTS_AT_ONCE = 10
"""Nodes that are written in one request."""
KEPT_CHANGES = 200_000
"""At least so many of the newest are kept; older epochs go once there are a tenth more."""
MOST_CHANGES = KEPT_CHANGES * 11 // 10
COLUMNS = ("what", "kind", "ontology", "owner", "name")


def parts_of(space: str, epoch: int, changes: Sequence[Change]) -> list[dict[str, Any]]:
    """The nodes that they are written as."""
    return [
        {column: [getattr(change, column) for change in changes[start : start + PART]] for column in COLUMNS}
        | {"space": space, "epoch": epoch, "part": start // PART, "size": len(changes[start : start + PART])}
        for start in range(0, len(changes), PART)
    ]


def write(tx: ManagedTransaction, parts: Sequence[Mapping[str, Any]]) -> None:
    """In one request, so not more than :data:`PARTS_AT_ONCE`."""
    run(tx, "UNWIND $parts AS part CREATE (c:Change) SET c = part", parts=parts).consume()


def parts(tx: ManagedTransaction, space: str, after: int, up_to: int) -> Iterator[tuple[int, list[tuple[str, ...]]]]:
    """(epoch, its changes as :data:`COLUMNS`) above ``after`` and up to ``up_to``, in order, as they come; one epoch may come in
    several. What is given up meanwhile may be missing: a commit shows a graph's new numbers before it takes a node away, so who looks
    at ``changes_above`` behind this knows."""
    rows = run(
        tx,
        "MATCH (c:Change) WHERE c.space = $space AND c.epoch > $after AND c.epoch <= $up_to AND c.part >= 0"
        f" RETURN c.epoch, {', '.join(f'c.{column}' for column in COLUMNS)} ORDER BY c.epoch, c.part",
        space=space,
        after=after,
        up_to=up_to,
    )
    for epoch, *columns in rows:
        if is_there(columns):
            yield epoch, list(zip(*columns, strict=True))


def is_there(columns: Sequence[object]) -> bool:
    """Of a node that always has them: one that was deleted since the server found it is told of all the same, with nothing in it."""
    return None not in columns


def changes(tx: ManagedTransaction, root: dict[str, Any], after: int, limit: int) -> list[Change] | None:
    """Whole epochs above ``after``: the first in any case, more while they fit in ``limit``. None when not all are kept."""
    if after < root["changes_above"] or after > root["epoch"]:
        return None
    found: list[Change] = []
    for epoch, told in groupby(parts(tx, root["space"], after, root["epoch"]), key=lambda part: part[0]):
        whole = [Change(epoch, *words) for _, some in told for words in some]
        if found and len(found) + len(whole) > limit:
            break
        found += whole
    return found


def prune(speaking: Speaking, graph: str) -> None:
    """Forget the oldest epochs where more is kept than was promised."""

    def work(tx: ManagedTransaction) -> None:
        found = tx.run(
            f"MATCH (g:Graph {{name: $graph}}) WHERE g.told > $most {BEGUN} RETURN g.space AS space, g.told AS told",
            graph=graph,
            most=MOST_CHANGES,
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


# ----------------------------------------------------------------------------------------- for replicas

UNTOLD = 50
"""Epochs of a feed that was given up whose bare ids are kept, for replicas that have not followed them yet."""


def keep_ids(tx: ManagedTransaction, space: str, root: dict[str, Any]) -> None:
    """Before the feed is given up and names are hidden: keep of its last epochs which documents, concepts and relationships
    they touched, by ids alone, under negative parts, which the feed does not have."""
    epoch, above = root["epoch"], root["changes_above"]
    if root.get("ids_up_to") == above:
        above = root["ids_above"]  # those of the time before follow without a gap
    above = max(above, epoch - UNTOLD)
    found = list(
        tx.run(
            "MATCH (c:Change) WHERE c.space = $space AND c.epoch > $above AND c.part >= 0"
            " RETURN c.epoch AS epoch, c.part AS part, c.kind AS kind, c.ontology AS ontology, c.owner AS owner, c.name AS name",
            space=space,
            above=above,
        )
    )
    names = {
        (ontology, name)
        for row in found
        for kind, ontology, name in zip(row["kind"], row["ontology"], row["name"], strict=True)
        if kind == "concept"
    }
    ids = tx.run(
        "UNWIND $names AS n MATCH (o:Owner {space: $space, ontology: n[0], name: n[1]}) RETURN n, o.id AS id",
        space=space,
        names=[list(name) for name in sorted(names)],
    )
    id_of = {tuple(row["n"]): row["id"] for row in ids}
    parts = []
    for row in found:
        touched = {
            ("document", name)
            if kind == "document"
            else ("", id_of.get((ontology, name)) if kind == "concept" else owner)
            for kind, ontology, owner, name in zip(row["kind"], row["ontology"], row["owner"], row["name"], strict=True)
        }
        known = sorted((kind, id_) for kind, id_ in touched if id_)
        parts.append(
            {
                "space": space, "epoch": row["epoch"], "part": -1 - row["part"], "size": len(known),
                "kind": [kind for kind, _ in known], "owner": [id_ for _, id_ in known],
            }
        )  # fmt: skip
    for some in portions(parts, PARTS_AT_ONCE):
        write(tx, some)
    tx.run(
        "MATCH (g:Graph) WHERE g.space = $space SET g.ids_above = $above, g.ids_up_to = $epoch"
        " WITH g OPTIONAL MATCH (c:Change) WHERE c.space = $space AND c.epoch <= $above AND c.part < 0 DELETE c",
        space=space,
        above=above,
        epoch=epoch,
    ).consume()
