"""The server plans each statement once, whatever number of ids or rows it is given: planning takes longer than most of ours."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.t1_stores.graph_building import ONTOLOGY, Doc, Told, publish
from tests.t1_stores.graph_stores import on_server

if TYPE_CHECKING:
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
