"""Asking for matching within a scope: as if only some mentions were there (SQLite and in memory alike)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.stores.graph import scoped
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import EVERYTHING, Scope
from tests.fakes.graph import MemoryGraph
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, publish

A, B = "a" * 16, "b" * 16


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    yield made
    made.close()


def test_only_what_a_mention_in_the_scope_says_is_known(graph: Graph) -> None:
    publish(graph, Doc(A, [Told("Zen", 1, ("chan",)), Told("Koan")], deposit=1))
    publish(graph, Doc(B, [Told("Zen", 1, ("thien",))], deposit=5))
    norms = ["zen", "chan", "thien", "koan"]
    zen, koan = cid("Zen"), cid("Koan")
    assert graph.match(ONTOLOGY, norms) == {"zen": zen, "chan": zen, "thien": zen, "koan": koan}
    assert graph.match(ONTOLOGY, norms, Scope(since=2)) == {"zen": zen, "thien": zen}
    assert graph.match(ONTOLOGY, norms, Scope(but=B)) == {"zen": zen, "chan": zen, "koan": koan}
    assert graph.match(ONTOLOGY, norms, Scope(since=6)) == {}


def test_the_next_holder_of_an_alias_counts_where_the_first_is_out_of_scope(graph: Graph) -> None:
    publish(graph, Doc(A, [Told("Earlier", 1, ("it",))], deposit=1))
    publish(graph, Doc(B, [Told("Later", 1, ("it",))], deposit=2))
    assert graph.match(ONTOLOGY, ["it"]) == {"it": cid("Earlier")}
    assert graph.match(ONTOLOGY, ["it"], Scope(since=2)) == {"it": cid("Later")}


def test_popular_and_sample_choose_among_the_concepts_in_scope(graph: Graph) -> None:
    publish(graph, Doc(A, [Told("old", 9), Told("both", 4)], deposit=1))
    publish(graph, Doc(B, [Told("both", 1), Told("new", 2)], deposit=5))
    assert [concept.label for concept in graph.popular(ONTOLOGY, 9)] == ["old", "both", "new"]
    assert [concept.label for concept in graph.popular(ONTOLOGY, 9, Scope(since=5))] == ["new", "both"]
    assert [concept.label for concept in graph.popular(ONTOLOGY, 1, Scope(but=A))] == ["both"]
    assert {concept.label for concept in graph.sample(ONTOLOGY, 9, 1, Scope(since=5))} == {"both", "new"}
    assert graph.sample(ONTOLOGY, 9, 1, Scope(since=6)) == graph.popular(ONTOLOGY, 9, Scope(since=6)) == []


def test_what_left_the_graph_is_in_no_scope(graph: Graph) -> None:
    publish(graph, Doc(A, [Told("Zen", 1, ("chan",))], deposit=1))
    publish(graph, Doc(A, [Told("Zen")], deposit=7), "again", at=2000)
    assert graph.match(ONTOLOGY, ["zen", "chan"], Scope(since=1, but=B)) == {"zen": cid("Zen")}


LABELS = [f"concept {number}" for number in range(90)]


FEW = 8


@settings(max_examples=15, deadline=None)
@given(
    documents=st.integers(1, 2 * FEW),
    since=st.integers(0, 2 * FEW),
    but=st.integers(1, 2 * FEW),
    limit=st.sampled_from([0, 3, 20, 200]),
    seed=st.integers(0, 5),
)
def test_both_graphs_choose_alike_with_few_and_with_many_documents_in_scope(
    documents: int, since: int, but: int, limit: int, seed: int
) -> None:
    sqlite, memory = Graph(), MemoryGraph()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoped, "FEW", FEW)
        for number in range(1, documents + 1):
            labels = {LABELS[number * step % len(LABELS)]: 1 + step % 2 for step in (1, 5)}
            told = [Told(label, quotes, (f"form {number % 7}",)) for label, quotes in labels.items()]
            joined = [(told[0].label, "USES", told[1].label, 0.5)] if len(told) > 1 and number % 3 else []
            for graph in (sqlite, memory):
                publish(graph, Doc(f"{number:016x}", told, joined, deposit=number))
        for scope in (Scope(since, f"{but:016x}"), Scope(since), Scope(0, f"{but:016x}"), EVERYTHING):
            norms = [*LABELS, *(f"form {number}" for number in range(7))]
            assert sqlite.match(ONTOLOGY, norms, scope) == memory.match(ONTOLOGY, norms, scope)
            for ask in ("popular", "sample"):
                more = (seed,) if ask == "sample" else ()
                one, other = (getattr(g, ask)(ONTOLOGY, limit, *more, scope) for g in (sqlite, memory))
                assert [c.concept_id for c in one] == [c.concept_id for c in other]
    sqlite.close()
    memory.close()
