"""Relationships by name: a pure function of the living mentions, without evidence, gone with either end."""

from __future__ import annotations

from contextlib import closing

from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.forms import form_key
from kgfs.render.concept import render
from kgfs.stores.graph.sqlite import Graph
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, publish, rid

NARROW = Told("async context manager", kinds=("context manager", "manager"))


def _shown(graph: Graph) -> set[tuple[str, str]]:
    concepts = graph.concepts(ONTOLOGY)
    return {
        (concept.label, row.label)
        for concept in concepts
        for row in graph.related(concept.concept_id, "IS_A")
        if row.by_name
    }


def test_shown_as_by_its_name_without_evidence_and_gone_with_either_end() -> None:
    with closing(Graph()) as graph:
        publish(graph, Doc("a" * 16, [NARROW]))
        assert _shown(graph) == set()
        publish(graph, Doc("b" * 16, [Told("Manager")]))
        assert _shown(graph) == {("async context manager", "Manager")}
        publish(graph, Doc("c" * 16, [Told("Context-Managers")], deposit=3))
        assert _shown(graph) == {("async context manager", "Context-Managers")}  # the longest
        page = graph.page(cid("async context manager"))
        assert page is not None and graph.counts(ONTOLOGY)["relationships"] == 1
        assert (
            "- IS_A [Context-Managers](related/IS_A/context-managers/concept.md) (by its name)" in render(page).decode()
        )
        concept = graph.concept(cid("context-managers"))
        assert concept is not None and concept.related == 1
        other = graph.page(cid("context-managers"))
        assert other is not None and concept.size == len(render(other)) and b"HAS_KIND" in render(other)
        assert graph.instances(rid("async context manager", "IS_A", "context-managers")) == []
        graph.forget("f1", ["c" * 16], 2000)
        assert _shown(graph) == {("async context manager", "Manager")}
        graph.forget("f2", ["a" * 16], 3000)
        assert graph.related(cid("manager")) == [] and graph.counts(ONTOLOGY)["relationships"] == 0
        assert graph.faults() == []


def test_a_sentence_that_says_it_is_shown_instead_until_it_is_forgotten() -> None:
    with closing(Graph()) as graph:
        publish(graph, Doc("a" * 16, [NARROW, Told("manager")]))
        says = Doc("b" * 16, [NARROW, Told("manager")], [(NARROW.label, "IS_A", "manager", 0.8)], deposit=2)
        publish(graph, says)
        (row,) = graph.related(cid(NARROW.label))
        assert not row.by_name and row.confidence == 0.8 and graph.counts(ONTOLOGY)["relationships"] == 1
        graph.forget("f", [says.doc_id], 2000)
        (row,) = graph.related(cid(NARROW.label))
        assert row.by_name and row.confidence == 0 and graph.faults() == []


def test_another_form_of_a_concept_is_not_its_name() -> None:
    with closing(Graph()) as graph:
        publish(graph, Doc("a" * 16, [Told("TypeGuard", forms=("TypeGuard function",), kinds=("function",))]))
        publish(graph, Doc("b" * 16, [Told("function")], deposit=2))
        assert _shown(graph) == set()


NAMES = ("manager", "context manager", "context managers", "async context manager", "async managers")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.sets(st.sampled_from(NAMES), max_size=4)), max_size=9))
def test_equal_to_what_the_living_mentions_say_whatever_came_before(steps: list[tuple[int, set[str]]]) -> None:
    with closing(Graph()) as graph:
        for at, (number, labels) in enumerate(steps, 1):
            doc_id = f"{number:016x}"
            told = [Told(label, kinds=_kinds(label)) for label in sorted(labels)]
            if told:
                publish(graph, Doc(doc_id, told, deposit=number + 1), f"c{at}", at=at)
            else:
                graph.forget(f"f{at}", [doc_id], at)
            assert graph.faults() == []
            living = graph.concepts(ONTOLOGY)
            first = {
                concept.label: graph.documents_of([concept.concept_id])[concept.concept_id][0] for concept in living
            }
            wanted = set()
            for concept in living:
                for kind in _kinds(concept.label):
                    named = [one for one in living if form_key(one.norm) == kind and one != concept]
                    if named:
                        best = min(named, key=lambda one: (first[one.label], one.norm))
                        equal = [one for one in named if first[one.label] == first[best.label]]
                        wanted.add((concept.label, frozenset(one.label for one in equal)))
                        break
            shown = _shown(graph)
            assert {subject for subject, _ in shown} == {subject for subject, _ in wanted}
            assert all(any(s == subject and object_ in objects for s, objects in wanted) for subject, object_ in shown)
            for concept in living:
                page = graph.page(concept.concept_id)
                assert page is not None and len(render(page)) == concept.size


def _kinds(label: str) -> tuple[str, ...]:
    words = label.split()
    return tuple(form_key(" ".join(words[at:])) for at in range(1, len(words)))
