"""Asking for matching within a scope: as if only some mentions were there.

Drawing a sample of ids that others may take away meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.identity import norm_hash
from kgfs.stores.graph import scoped
from kgfs.stores.graph.scoped import draw, stepwise
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import EVERYTHING, Scope
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, publish, rid

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


def inside(documents: list[Doc], scope: Scope) -> list[Doc]:
    return [doc for doc in documents if doc.deposit >= scope.since and doc.doc_id != scope.but]


def matched(documents: list[Doc], norms: list[str], scope: Scope) -> dict[str, str]:
    """An exact label wins over an alias; of several concepts the one that was founded first."""
    founded: dict[str, int] = {}
    for doc in documents:
        for told in doc.concepts:
            founded[cid(told.label)] = min(doc.deposit, founded.get(cid(told.label), doc.deposit))
    found = {}
    for norm in norms:
        candidates = [
            (told.label != norm, founded[cid(told.label)], norm_hash(told.label), cid(told.label))
            for doc in inside(documents, scope)
            for told in doc.concepts
            if norm in (told.label, *told.forms)
        ]
        if candidates:
            found[norm] = min(candidates)[-1]
    return found


def most_popular(documents: list[Doc], limit: int, scope: Scope) -> list[str]:
    """Evidence and relationships count: those of the scope where it begins at a deposit, else all."""
    evidence: Counter[str] = Counter()
    ends: dict[str, tuple[str, str]] = {}
    for doc in inside(documents, scope) if scope.since else documents:
        evidence.update({cid(told.label): told.quotes for told in doc.concepts})
        ends |= {rid(one, type_, other): (cid(one), cid(other)) for one, type_, other, _ in doc.relationships}
    evidence.update(Counter(end for pair in ends.values() for end in pair))
    named = {cid(told.label): norm_hash(told.label) for doc in inside(documents, scope) for told in doc.concepts}
    return sorted(named, key=lambda one: (-evidence[one], named[one], one))[:limit]


@settings(max_examples=15, deadline=None)
@given(
    count=st.integers(1, 2 * FEW),
    since=st.integers(0, 2 * FEW),
    but=st.integers(1, 2 * FEW),
    limit=st.sampled_from([0, 3, 20, 200]),
    seed=st.integers(0, 5),
)
def test_choosing_within_a_scope_is_choosing_among_its_mentions(
    count: int, since: int, but: int, limit: int, seed: int
) -> None:
    graph, documents = Graph(), []
    for number in range(1, count + 1):
        labels = {LABELS[number * step % len(LABELS)]: 1 + step % 2 for step in (1, 5)}
        told = [Told(label, quotes, (f"form {number % 7}",)) for label, quotes in labels.items()]
        joined = [(told[0].label, "USES", told[1].label, 0.5)] if len(told) > 1 and number % 3 else []
        documents.append(Doc(f"{number:016x}", told, joined, deposit=number))
        publish(graph, documents[-1])
    norms = [*LABELS, *(f"form {number}" for number in range(7))]
    for scope in (Scope(since, f"{but:016x}"), Scope(since), Scope(0, f"{but:016x}"), EVERYTHING):
        assert graph.match(ONTOLOGY, norms, scope) == matched(documents, norms, scope)
        popular = [concept.concept_id for concept in graph.popular(ONTOLOGY, limit, scope)]
        assert popular == most_popular(documents, limit, scope)
        drawn = []
        for few in (0, FEW, 1 << 30):  # how a sample is drawn depends on how many documents are in the scope
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(scoped, "FEW", few)
                drawn.append([concept.concept_id for concept in graph.sample(ONTOLOGY, limit, seed, scope)])
        assert drawn[0] == drawn[1] == drawn[2]
        everyone = most_popular(documents, 1 << 30, scope)
        assert len(drawn[0]) == min(limit, len(everyone)) and set(drawn[0]) <= set(everyone)
    graph.close()


IDS = [f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}" for number in range(300)]


@pytest.mark.parametrize("left", [300, 250, 20, 1])
def test_a_sample_comes_to_an_end_where_most_ids_left_since_they_were_counted(left: int) -> None:
    ids = sorted(IDS[:left])
    drawn = draw(7, 100, 300, stepwise(lambda at, n: [i for i in ids if i >= at][:n]), lambda: ids)
    assert len(drawn) == len(set(drawn)) == min(100, left)
    assert set(drawn) <= set(ids)
