"""Graphs and their spaces. All nodes of a graph bear the name of its space; the graph's own node says which one is shown.

So a graph that was built aside takes another's place, or one is emptied, by one value; what lies in a space that nobody
shows any more is removed afterwards, little by little.
"""

from __future__ import annotations

import secrets

from neo4j import ManagedTransaction

from kgfs.errors import MissingError
from kgfs.stores.graph.neo4j.editions import ROWS_AT_ONCE, counted, remove_editions
from kgfs.stores.graph.neo4j.feed import forget_changes
from kgfs.stores.graph.neo4j.locking import COUNTED_UP, FOLLOWED, LOCKED, lock
from kgfs.stores.graph.neo4j.speaking import Speaking

REST = (("Owner", "id"), ("Form", "form"), ("Mark", "mark"), ("Commit", "commit_id"), ("Change", "part"), ("Ontology", "ontology"))  # fmt: skip
"""What stands in a space besides editions, each with a property that all have."""

_OF_ONTOLOGY = {
    "Edition": ("doc_id", "commit_id"),
    "Owner": ("id",),
    "Form": ("form",),
    "Mark": ("mark", "concept_id"),
    "Ontology": (),
}
"""With the other properties of an index that begins with the space: it serves only who asks for all."""


def fresh_space(namespace: str) -> str:
    return f"{namespace}/{secrets.token_hex(6)}"


def make(tx: ManagedTransaction, graph: str, space: str) -> None:
    """The graph, if it is new."""
    tx.run(
        "MERGE (g:Graph {name: $graph}) ON CREATE SET"
        " g.space = $space, g.epoch = 0, g.clears = 0, g.changes_above = 0, g.told = 0, g.turn = 0, g.whole = 0,"
        " g.whole_at = $numbers",
        graph=graph,
        space=space,
        numbers=[0] * len(FOLLOWED),
    ).consume()


def begin_anew(tx: ManagedTransaction, graph: str, space: str) -> None:
    """Show an empty space from now on."""
    make(tx, graph, space)
    tx.run(
        f"MATCH (g:Graph {{name: $graph}}) {LOCKED} WITH g WHERE g.space <> $space"
        " CREATE (:Discarded {space: g.space})"
        f" SET {COUNTED_UP}, g.space = $space, g.epoch = 0, g.clears = g.clears + 1, g.changes_above = 0, g.told = 0"
        " REMOVE g.newest",
        graph=graph,
        space=space,
    ).consume()


def make_aside(tx: ManagedTransaction, graph: str, space: str, epoch: int) -> None:
    """A graph to be filled by :func:`loaded` and adopted, with the epoch of what it is filled from."""
    begin_anew(tx, graph, space)
    tx.run("MATCH (g:Graph {name: $graph}) SET g.epoch = $epoch, g.loaded = 0", graph=graph, epoch=epoch).consume()


def loaded(tx: ManagedTransaction, graph: str, space: str, number: int) -> int | None:
    """Note that this portion is loaded; which was the last one before. None where the graph is another by now."""
    found = tx.run(
        f"MATCH (g:Graph {{name: $graph}}) {LOCKED} WITH g WHERE g.space = $space"
        " WITH g, g.loaded AS before SET g.loaded = $number RETURN before",
        graph=graph,
        space=space,
        number=number,
    ).single()
    return int(found["before"]) if found else None


def drop(tx: ManagedTransaction, graph: str) -> None:
    tx.run(
        f"MATCH (g:Graph {{name: $graph}}) {LOCKED} WITH g MERGE (:Discarded {{space: g.space}}) DELETE g", graph=graph
    ).consume()


def adopt(tx: ManagedTransaction, graph: str, built: str, space: str, ontology: str) -> int:
    """Show what ``built``, whose space is named, shows in place of everything, or of everything of one ontology. The new epoch. The first costs
    the same whatever the size; the second moves the documents, concepts and relationships of that ontology over."""
    mine, theirs = lock(tx, graph), lock(tx, built)
    if mine and mine.get("adopted") == space:
        return int(mine["epoch"])
    if mine is None or theirs is None:
        raise MissingError(f"There is no graph '{graph if mine is None else built}'.")
    epoch: int = max(mine["epoch"] + 1, theirs["epoch"])
    given_up = f"{mine['space']}-{secrets.token_hex(4)}" if ontology else mine["space"]
    if ontology:
        _move(tx, mine["space"], given_up, ontology)
        _move(tx, theirs["space"], mine["space"], ontology)
        tx.run(
            "MATCH (c:Commit) WHERE c.space = $theirs AND c.commit_id IS NOT NULL"
            " AND NOT EXISTS { MATCH (:Commit {space: $mine, commit_id: c.commit_id}) } SET c.space = $mine",
            mine=mine["space"],
            theirs=theirs["space"],
        ).consume()
        forget_changes(tx, graph, mine["space"], epoch)
    tx.run(
        "MATCH (g:Graph {name: $graph}) MATCH (b:Graph {name: $built}) SET g.space = $space, g.epoch = $epoch,"
        " g.clears = g.clears + 1, g.changes_above = $epoch, g.told = 0, g.adopted = $adopted REMOVE g.newest DELETE b"
        " WITH 1 AS done UNWIND $discarded AS space MERGE (:Discarded {space: space})",
        graph=graph,
        built=built,
        adopted=space,
        space=mine["space"] if ontology else theirs["space"],
        epoch=epoch,
        discarded=[given_up, theirs["space"]] if ontology else [given_up],
    ).consume()
    if not ontology:
        # The feed of the building is no part of ours: nobody followed it.
        tx.run(
            "MATCH (c:Change) WHERE c.space = $space AND c.epoch >= 0 AND c.part >= 0 DELETE c", space=theirs["space"]
        ).consume()
    return epoch


def _move(tx: ManagedTransaction, space: str, other: str, ontology: str) -> None:
    for label, names in _OF_ONTOLOGY.items():
        has_all = "".join(f" AND n.{name} IS NOT NULL" for name in names)
        tx.run(
            f"MATCH (n:{label} {{space: $space}}) WHERE n.ontology = $ontology{has_all} SET n.space = $other",
            space=space,
            other=other,
            ontology=ontology,
        ).consume()


def remove_discarded(speaking: Speaking) -> None:
    """Remove what lies in spaces that this graph, or one built aside it, gave up. A kill in between is made up for by the next call."""
    beginning = f"{speaking.place.namespace}/"
    question = "MATCH (d:Discarded) WHERE d.space STARTS WITH $beginning RETURN d.space AS space LIMIT 1"
    while found := speaking.read(lambda tx: tx.run(question, beginning=beginning).single()):
        _remove(speaking, found["space"])


def _remove(speaking: Speaking, space: str) -> None:
    edition = "MATCH (e:Edition) WHERE e.space = $space AND e.doc_id IS NOT NULL AND e.commit_id IS NOT NULL"
    remove_editions(speaking, edition, space)
    for label, name in REST:
        more = " AND n.epoch IS NOT NULL" if label == "Change" else ""
        more = " AND n.ontology IS NOT NULL" if label == "Form" else more
        more = " AND n.concept_id IS NOT NULL" if label == "Mark" else more
        question = (
            f"MATCH (n:{label}) WHERE n.space = $space AND n.{name} IS NOT NULL{more}"
            " WITH n LIMIT $limit DETACH DELETE n RETURN count(*) AS gone"
        )
        while speaking.write(lambda tx, q=question: counted(tx, q, space=space)) == ROWS_AT_ONCE:  # type: ignore[misc]
            pass
    speaking.write(lambda tx: tx.run("MATCH (d:Discarded {space: $space}) DELETE d", space=space).consume())
