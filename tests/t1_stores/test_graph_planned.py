"""The server plans each statement once, whatever number of ids or rows it is given: planning takes longer than most of ours."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.support.graph_building import ONTOLOGY, Doc, Told, publish
from tests.support.graph_stores import on_server

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.graph.neo4j.place import Place

SIZES = (1, 7, 40)
"""For each of which it would keep a plan."""


def met(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, frozenset[tuple[str, str]]]]:
    """The statements that the server is sent from now on, each with what it goes by: how long a list or a text is, roughly."""
    from neo4j import Session
    from neo4j._sync.work.transaction import TransactionBase

    found: set[tuple[str, frozenset[tuple[str, str]]]] = set()

    def look(kind: type) -> None:
        asked = kind.run  # type: ignore[attr-defined]

        def run(self: object, query: object, parameters: object = None, **words: object) -> object:
            given = {**(parameters or {}), **words}  # type: ignore[dict-item]
            sizes = frozenset((name, str(magnitude(value))) for name, value in given.items())
            found.add((str(getattr(query, "text", query)), sizes))
            return asked(self, query, parameters, **words)

        monkeypatch.setattr(kind, "run", run)

    look(Session)
    look(TransactionBase)
    return found


def magnitude(value: object) -> object:
    if isinstance(value, (str, list, tuple)):
        return len(value) if len(value) < 2 else len(str(len(value) - 1))
    return type(value)


def test_a_statement_has_one_plan_for_all_sizes(neo4j_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(on_server(neo4j_place)) as graph:
        sent = met(monkeypatch)
        for at, size in enumerate(SIZES):
            labels = [f"{at} {'long' * size} {n}" for n in range(size)]
            joined = [(labels[0], "USES", other, 0.5) for other in labels[1:]]
            doc = Doc(f"{at:016x}", [Told(label, 2) for label in labels], joined, [f"text {n}" for n in range(size)])
            publish(graph, doc)
        for at in range(len(SIZES)):
            ids = [concept.concept_id for concept in graph.concepts_of(f"{at:016x}")]
            assert {len(found) for found in graph.documents_of(ids).values()} == {1}
        graph.forget("one", [f"{0:016x}"], 5)
        graph.forget("more", [f"{at:016x}" for at in range(1, len(SIZES))], 6)
        assert graph.counts(ONTOLOGY)["documents"] == 0
    lists = {statement: {sizes for text, sizes in sent if text == statement} for statement, _ in sent}
    assert sum("UNWIND" in statement for statement in lists) > 20
    assert {statement for statement, sizes in lists.items() if "UNWIND" in statement and len(sizes) > 1} == set()


def test_nothing_that_changes_a_graph_looks_through_all_there_is(
    neo4j_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planned beside 2,000 editions of other graphs: so each statement goes by what it is about, however many documents there are."""
    with closing(on_server(neo4j_place)) as graph:
        graph._speaking.write(
            lambda tx: tx.run(
                "UNWIND range(1, 2000) AS n CREATE (e:Edition {space: 'others', key: 'other-' + n, doc_id: '' + n, commit_id: ''})"
                " CREATE (o:Owner {space: 'others', id: '' + n}) CREATE (:Instance {edition: e.key, owner: o.id, n: n})"
            ).consume()
        )
        try:
            sent = met(monkeypatch)
            for text in ("Zen", "Tao"):
                told = [Told(label, 2) for label in ("koan", text)]
                publish(graph, Doc("1".zfill(16), told, [("koan", "USES", text, 0.5)], [f"{text} is a word."]))
            graph.forget("one", ["1".zfill(16)], 5)
            with closing(graph.aside()) as built:
                publish(built, Doc("1".zfill(16), [Told("koan", 2)]))
                graph.adopt(built, ONTOLOGY)
            monkeypatch.undo()
            scans = {statement: scans_of(graph, statement) for statement, _ in sent}
        finally:
            for label in ("Edition", "Owner", "Instance"):
                where = "n.edition STARTS WITH 'other-'" if label == "Instance" else "n.space = 'others'"
                graph._speaking.write(
                    lambda tx, what=f"(n:{label}) WHERE {where}": tx.run(f"MATCH {what} DELETE n").consume()
                )
    assert len(scans) > 20
    few = ("e:Leaving", "e:Staged", "s:KgfsSchema", "g:Graph")
    assert {text: found for text, scan in scans.items() if (found := [what for what in scan if what not in few])} == {}


def scans_of(graph: Neo4jGraph, statement: str) -> list[str]:
    """What the server would look through for it, by its plan."""
    found, parts = [], [graph._speaking.read(lambda tx: tx.run(f"EXPLAIN {statement}", given={}).consume().plan)]
    while parts:
        part = parts.pop()
        if "Scan" in part["operatorType"]:
            found.append(part["args"].get("Details", ""))
        parts += part.get("children", ())
    return found
