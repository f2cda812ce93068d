"""What is built aside takes the place of what was shown, at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgfs.domain.identity import normalise_label
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import Mark, Redaction
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, name_taken, next_n, publish, rid

A, B, C = "a" * 16, "b" * 16, "c" * 16
OTHER = "ba9876543210"

ZEN = Doc(
    A,
    [Told("Zen", 2, ("zazen",), "a school of Buddhism", 0.9), Told("Koan")],
    [("Zen", "USES", "Koan", 0.8)],
    ["Zen uses koans.\n", "Sit.\n"],
)
MORE = Doc(B, [Told("Zen", 1, ("Chan",)), Told("Buddhism")], [("Zen", "IS_A", "Buddhism", 0.6)], deposit=2)
ELSEWHERE = Doc(C, [Told("Zen", 1), Told("Lisp")], [("Lisp", "USES", "Zen", 0.5)], ["Lisp.\n"], ontology=OTHER)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    store = Graph(tmp_path / "graph.sqlite")
    yield store
    store.close()


def shown(graph: Graph, ontology: str) -> dict[str, Any]:
    """All that readers see of an ontology."""
    concepts = graph.concepts(ontology)
    documents = graph.documents(ontology)
    related = {c.name: graph.related(c.concept_id) for c in concepts}
    return {
        "documents": documents,
        "sources": [graph.sources(d.doc_id) for d in documents],
        "concepts": concepts,
        "pages": [graph.page(c.concept_id) for c in concepts],
        "evidence": [graph.instances(c.concept_id) for c in concepts],
        "related": related,
        "numbers": [next_n(graph, c.concept_id) for c in concepts],
        "counts": graph.counts(ontology),
        "changed": graph.changed_at(ontology),
        "words": [(row.doc_id, row.chunk_index) for row, _ in graph.find_text("zen sit lisp", ontology)],
        "match": graph.match(ontology, ["zen", "chan", "lisp", "koan"]),
    }


def test_everything_is_replaced(graph: Graph) -> None:
    publish(graph, ZEN)
    publish(graph, ELSEWHERE)
    epoch = graph.epoch()
    graph.changed()
    built = graph.aside()
    publish(built, MORE)
    wanted = shown(built, ONTOLOGY)
    assert graph.adopt(built) > epoch
    built.close()
    assert shown(graph, ONTOLOGY) == wanted
    assert graph.documents(OTHER) == []
    assert graph.changed()
    assert graph.changes(epoch) is None, "who follows the feed must look at everything anew"
    assert graph.changes(graph.epoch()) == []
    assert graph.published(f"commit of {A} at 1000") is None
    assert graph.published(f"commit of {B} at 1000") is not None
    assert name_taken(graph, ONTOLOGY, "koan") is None


def test_one_ontology_is_replaced_and_the_other_stays(graph: Graph) -> None:
    publish(graph, ELSEWHERE)
    publish(graph, ZEN)
    publish(graph, MORE)
    graph.forget("gone", [B], 2000)
    untouched, before = shown(graph, OTHER), shown(graph, ONTOLOGY)
    built = graph.aside()
    publish(built, replace(MORE, texts=["Chan sits.\n"]))
    publish(built, ZEN)
    built.forget("gone", [B, C], 2000)
    wanted = shown(built, ONTOLOGY)
    graph.adopt(built, ONTOLOGY)
    built.close()
    assert shown(graph, OTHER) == untouched
    assert shown(graph, ONTOLOGY) == wanted
    assert wanted.keys() == before.keys()
    assert name_taken(graph, ONTOLOGY, "buddhism") == cid("Buddhism"), "a dead one keeps its name"
    # And both go on.
    publish(graph, replace(MORE, deposit=9), "again", at=3000)
    publish(graph, replace(ELSEWHERE, texts=["Lisp again.\n"]), "elsewhere again", at=3000)
    assert {row.doc_id for row, _ in graph.find_text("again")} == {C}
    assert [concept.name for concept in graph.concepts(ONTOLOGY)] == ["buddhism", "koan", "zen"]


def test_what_a_killed_builder_left_is_no_part_of_the_next(graph: Graph) -> None:
    publish(graph.aside(), ZEN)
    built = graph.aside()
    assert built.documents(ONTOLOGY) == []
    publish(built, MORE)
    graph.adopt(built)
    built.close()
    assert [row.doc_id for row in graph.documents(ONTOLOGY)] == [B]


LONG = "zazen " * 300
REDACTION = Redaction(
    names=(("1" * 16, ONTOLOGY, "hidden~1"),),
    numbers=(("1" * 16, 4), (cid("Zen"), 9)),
    relationships=(("2" * 16, ONTOLOGY, "1" * 16, "USES", "3" * 16, 5, 600), (rid("Zen", "USES", "Koan"), ONTOLOGY, cid("Zen"), "USES", cid("Koan"), 7, 700)),
    concept_times=((cid("Koan"), 800),),
    changed_at=((ONTOLOGY, 900),),
)  # fmt: skip


def begin(graph: Graph) -> None:
    """Of everything that a graph may have by the end something: what is dead, hidden, gated, marked, long."""
    publish(graph, replace(ZEN, texts=["Zen uses koans.\n", "Sit.\n", "Not this.\n"], gated={2: "table"}))
    publish(graph, MORE)
    publish(graph, ELSEWHERE, at=1100)
    publish(graph, Doc("d" * 16, [Told("Way", 1, (LONG,)), Told("Zen", 3)], [("Way", "PART_OF", "Zen", 0.7)]), at=1200)
    graph.reassign(
        "word", [], 1300, [Mark("m" * 16, ONTOLOGY, cid("Zen"), True), Mark("n" * 16, ONTOLOGY, cid("Way"), False)]
    )
    graph.forget("gone", [B], 1400)
    graph.impose(REDACTION)


def go_on(graph: Graph) -> None:
    publish(graph, replace(MORE, texts=["Buddhism again.\n"]), "again", at=2000)
    publish(graph, replace(ZEN, concepts=[Told("Zen", 3, ("zazen",), "a way"), Told("Koan", 2)]), "anew", at=2100)
    graph.forget("more", [C], 2200)


def test_what_was_adopted_goes_on_as_what_was_made_step_by_step(graph: Graph) -> None:
    oracle = Graph()
    begin(oracle)
    built = graph.aside()
    begin(built)
    graph.adopt(built)
    built.close()
    for more in (lambda graph: None, go_on):
        more(oracle)
        more(graph)
        for ontology in (ONTOLOGY, OTHER):
            assert shown(graph, ontology) == shown(oracle, ontology)
        assert graph.marks_of(cid("Zen")) == oracle.marks_of(cid("Zen"))
        assert graph.next_numbers(["1" * 16, "2" * 16]) == oracle.next_numbers(["1" * 16, "2" * 16])
        assert graph.match(ONTOLOGY, [normalise_label(LONG)]) == {normalise_label(LONG): cid("Way")}
        assert graph.faults() == []
    assert graph.published("gone") is not None
    oracle.close()


def test_a_reader_in_another_connection_sees_the_former_or_the_new(tmp_path: Path) -> None:
    graph, mount = Graph(tmp_path / "graph.sqlite"), Graph(tmp_path / "graph.sqlite")
    publish(graph, ZEN)
    mount.changed()
    built = graph.aside()
    publish(built, MORE)
    with mount._database.snapshot():
        before = shown(mount, ONTOLOGY)
        graph.adopt(built)
        assert shown(mount, ONTOLOGY) == before
    built.close()
    assert mount.changed()
    assert shown(mount, ONTOLOGY) == shown(graph, ONTOLOGY) != before
    assert sorted(path.name for path in tmp_path.iterdir() if "new" in path.name) == []
    graph.close()
    mount.close()
