"""What a graph promises about documents that say something else from now on, for each implementation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.errors import BadInputError, StoreError
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import DocumentContent, Mark
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, name_taken, next_n, prepared, publish, rid

A, B = "a" * 16, "b" * 16
ZEN = Doc(A, [Told("Zen", 2), Told("Koan")], [("Zen", "USES", "Koan", 0.8)])
CHAN = Doc(B, [Told("Chan", 2, ("Chan school",)), Told("Koan")], [("Chan", "USES", "Koan", 0.9)], deposit=2)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    store = Graph(tmp_path / "graph.sqlite")
    publish(store, ZEN)
    publish(store, CHAN)
    yield store
    store.close()


def reported(graph: Graph, doc: Doc) -> DocumentContent:
    batch, publication = prepared(graph, doc, "unused", at=5000)
    instances = [replace(row, mtime=99) for row in batch.rows["instance"]]
    return DocumentContent(doc.doc_id, publication.concepts, publication.relationships, instances)


MERGED = replace(CHAN, concepts=[Told("Zen", 2, ("Chan", "Chan school")), Told("Koan")])
MERGED = replace(MERGED, relationships=[("Zen", "USES", "Koan", 0.9)])


def test_mentions_evidence_and_relationships_go_to_the_other_concept(graph: Graph) -> None:
    epoch = graph.epoch()
    assert graph.reassign("m1", [reported(graph, MERGED)], 5000) == epoch + 1 == graph.epoch()
    assert graph.published("m1") == epoch + 1
    assert [concept.name for concept in graph.concepts(ONTOLOGY)] == ["koan", "zen"]
    zen = graph.concept(cid("Zen"))
    assert zen is not None
    assert (zen.evidence, zen.related) == (4, 1)
    assert "Chan" in zen.aliases
    assert graph.match(ONTOLOGY, ["chan", "chan school"]) == dict.fromkeys(["chan", "chan school"], cid("Zen"))
    assert [row.n for row in graph.instances(cid("Zen"))] == [1, 2, 3, 4]
    assert [row.doc_id for row in graph.instances(cid("Zen"))] == [A, A, B, B]
    [uses] = graph.related(cid("Zen"))
    assert (uses.name, uses.confidence) == ("koan", 0.9)
    assert [row.n for row in graph.instances(rid("Zen", "USES", "Koan"))] == [1, 2]
    assert graph.counts()["instances"] == 8
    assert graph.sources(B)


def test_the_name_that_left_is_never_another_concepts(graph: Graph) -> None:
    graph.reassign("m1", [reported(graph, MERGED)], 5000)
    assert graph.concept_named(ONTOLOGY, "chan") is None
    assert name_taken(graph, ONTOLOGY, "chan") == cid("Chan")
    stolen = reported(graph, MERGED)
    rows = [replace(row, concept_id="f" * 16, name="chan") for row in stolen.concepts if row.name == "zen"]
    with pytest.raises(StoreError):
        graph.reassign("m2", [replace(stolen, concepts=[*rows, *stolen.concepts])], 6000)


def test_the_feed_tells_it(graph: Graph) -> None:
    epoch = graph.epoch()
    graph.reassign("m1", [reported(graph, MERGED)], 5000)
    told = {(c.what, c.kind, c.owner, c.name) for c in graph.changes(epoch) or []}
    chan, zen, koan = cid("Chan"), cid("Zen"), cid("Koan")
    assert told >= {
        ("removed", "concept", ONTOLOGY, "chan"),
        ("changed", "concept", ONTOLOGY, "zen"),
        ("changed", "document", ONTOLOGY, B),
        ("removed", "evidence", chan, "1"),
        ("added", "evidence", zen, "3"),
        ("removed", "related", koan, "USED_BY/chan"),
        ("removed", "related", chan, "USES/koan"),
        ("changed", "related", zen, "USES/koan"),
    }
    assert ("changed", "document", ONTOLOGY, A) not in told


def test_what_stays_as_it_was_keeps_its_time(graph: Graph) -> None:
    before = graph.instances(cid("Koan"))
    graph.reassign("m1", [reported(graph, MERGED)], 5000)
    assert graph.instances(cid("Koan")) == before
    assert {row.mtime for row in graph.instances(cid("Zen"))} == {55, 99}


def test_repeating_changes_nothing_and_saying_the_same_neither(graph: Graph) -> None:
    change = reported(graph, MERGED)
    epoch = graph.reassign("m1", [change], 5000)
    before = graph.concepts(ONTOLOGY), graph.counts()
    assert graph.reassign("m1", [reported(graph, CHAN)], 6000) == epoch
    assert graph.reassign("m2", [change], 7000) == epoch + 1
    assert (graph.concepts(ONTOLOGY), graph.counts()) == before
    changes = graph.changes(epoch)
    assert changes is not None
    assert [c for c in changes if c.kind != "document"] == []


def test_a_concept_that_left_comes_back_under_its_name_and_new_numbers(graph: Graph) -> None:
    graph.reassign("m1", [reported(graph, MERGED)], 5000)
    graph.reassign("m2", [reported(graph, CHAN)], 6000)
    assert [concept.name for concept in graph.concepts(ONTOLOGY)] == ["chan", "koan", "zen"]
    assert [row.n for row in graph.instances(cid("Chan"))] == [3, 4]
    assert [row.n for row in graph.instances(cid("Zen"))] == [1, 2]
    assert next_n(graph, cid("Zen")) == 5
    assert graph.match(ONTOLOGY, ["chan"]) == {"chan": cid("Chan")}


def test_documents_that_are_not_shown_are_passed_over(graph: Graph) -> None:
    change = reported(graph, MERGED)
    graph.forget("f1", [B], 4000)
    graph.reassign("m1", [change], 5000)
    assert graph.document(B) is None
    assert [row.doc_id for row in graph.instances(cid("Zen"))] == [A, A]


def test_forgetting_a_document_that_was_said_anew_leaves_nothing_of_it(graph: Graph) -> None:
    graph.reassign("m1", [reported(graph, MERGED)], 5000)
    graph.forget("f1", [B], 6000)
    zen = graph.concept(cid("Zen"))
    assert zen is not None
    assert (zen.evidence, zen.aliases) == (2, ())
    assert graph.match(ONTOLOGY, ["chan"]) == {}


def test_mistakes_change_nothing(graph: Graph) -> None:
    good = reported(graph, MERGED)
    before = graph.epoch(), graph.concepts(ONTOLOGY), graph.counts()
    koanless = [row for row in good.concepts if row.name != "koan"]
    taken = [replace(row, n=1) if row.owner == cid("Zen") else row for row in good.instances]
    for wrong, error in (
        (replace(good, concepts=koanless), BadInputError),
        (replace(good, relationships=[]), BadInputError),
        (replace(good, instances=taken), StoreError),
    ):
        with pytest.raises(error):
            graph.reassign("wrong", [wrong], 5000)
    assert (graph.epoch(), graph.concepts(ONTOLOGY), graph.counts()) == before


def test_marks_are_kept_told_and_taken_back(graph: Graph) -> None:
    joined, apart = Mark(cid("Chan"), ONTOLOGY, cid("Zen"), True), Mark(cid("Chan"), ONTOLOGY, cid("Koan"), False)
    graph.reassign("m1", [], 5000, marks=[joined, apart])
    assert {(m.concept_id, m.joined, m.name) for m in graph.marked([cid("Chan"), cid("Way")])} == {
        (cid("Zen"), True, "zen"),
        (cid("Koan"), False, "koan"),
    }
    assert [m.joined for m in graph.marks_of(cid("Zen"))] == [True]
    graph.reassign("m2", [], 6000, marks=[replace(joined, joined=False)], unmarked=[apart])
    assert [(m.concept_id, m.joined) for m in graph.marked([cid("Chan")])] == [(cid("Zen"), False)]
    graph.clear()
    assert graph.marked([cid("Chan")]) == []


def test_marks_go_over_to_a_graph_that_was_built_aside(graph: Graph) -> None:
    built = graph.aside()
    try:
        publish(built, ZEN)
        built.reassign("m1", [], 5000, marks=[Mark(cid("Chan"), ONTOLOGY, cid("Zen"), True)])
        graph.reassign("m0", [], 4000, marks=[Mark("0" * 16, "other ontology", cid("Zen"), True)])
        graph.adopt(built, ONTOLOGY)
    finally:
        built.close()
    assert len(graph.marked([cid("Chan"), "0" * 16])) == 2
