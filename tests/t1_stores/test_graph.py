"""What a graph promises, sentence by sentence, for each implementation.

Relationships by name: a pure function of the living mentions, without evidence, gone with either end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.forms import form_key
from kgfs.domain.names import MAX_NAME_BYTES
from kgfs.errors import BadInputError, StoreError
from kgfs.render.concept import SHOWN_EVIDENCE, render
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import Batch, Change, EarlierText
from tests.support.graph_building import (
    ONTOLOGY,
    Doc,
    Told,
    cid,
    document_row,
    name_taken,
    next_n,
    prepared,
    publish,
    rid,
    source_rows,
)

A, B, C = "a" * 16, "b" * 16, "c" * 16
OTHER = "ba9876543210"


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    store = Graph(tmp_path / "graph.sqlite")
    yield store
    store.close()


ZEN = Doc(
    A,
    [Told("Zen", 2, ("zazen",), "a school of Buddhism", 0.9), Told("Koan")],
    [("Zen", "USES", "Koan", 0.8)],
    ["Zen uses koans.\n", "Sit.\n"],
)
MORE = Doc(B, [Told("Zen", 1, ("Chan",), score=0.2), Told("Buddhism")], [("Zen", "IS_A", "Buddhism", 0.6)], deposit=2)


def labels(graph: Graph, ontology: str = ONTOLOGY) -> list[str]:
    return [concept.label for concept in graph.concepts(ontology)]


def told(graph: Graph, epoch: int) -> set[tuple[str, str, str, str]]:
    return {(c.what, c.kind, c.owner, c.name) for c in graph.changes(epoch - 1) or [] if c.epoch == epoch}


# ----------------------------------------------------------------------------------- stage and publish


def test_nothing_is_seen_before_publish(graph: Graph) -> None:
    batch, publication = prepared(graph, ZEN, "c1")
    graph.stage("c1", A, batch)
    assert graph.staged() == ["c1"]
    assert graph.epoch() == 0
    assert graph.document(A) is None
    assert graph.sources(A) == [] == graph.instances_of(A) == graph.concepts_of(A)
    assert graph.source(A, 0) is None
    assert graph.chunk_ids_held([batch.sources[0].chunk_id]) == {}
    assert graph.find_text("zen") == []
    assert graph.instance(cid("Zen"), 1) is None
    assert set(graph.counts().values()) == {0}
    assert graph.publish(publication) == 1


def test_everything_is_seen_after_publish(graph: Graph) -> None:
    batch, publication = prepared(graph, ZEN, "c1", at=5000)
    graph.stage("c1", A, batch)
    assert graph.publish(publication) == 1 == graph.epoch() == graph.published("c1")
    assert graph.staged() == []
    assert graph.document(A) == publication.document
    assert graph.documents(ONTOLOGY) == [publication.document]
    assert graph.sources(A) == list(batch.sources)
    assert graph.source(A, 1) == batch.sources[1]
    held = graph.chunk_ids_held([*(row.chunk_id for row in batch.sources), "never given"])
    assert held == {row.chunk_id: (A, row.chunk_index) for row in batch.sources}
    assert sorted(graph.instances_of(A), key=repr) == sorted(batch.rows["instance"], key=repr)
    assert [concept.name for concept in graph.concepts_of(A)] == ["koan", "zen"]
    assert graph.documents_of([cid("Zen")]) == {cid("Zen"): [A]}
    assert dict(graph.counts()) == {"documents": 1, "sources": 2, "concepts": 2, "relationships": 1, "instances": 4}


def test_the_text_of_what_left_is_known(graph: Graph) -> None:
    publish(graph, ZEN, "c1")
    assert graph.earlier_text(A) is None
    shown = graph.document(A)
    assert shown is not None
    size = graph.sources(A)[-1].byte_end
    graph.forget("c2", [A], 2000)
    assert graph.earlier_text(A) == EarlierText(shown.reading, size, is_original=False)
    assert graph.earlier_text(B) is None
    graph.redact([], [], [A])
    assert graph.earlier_text(A) is None


def test_a_batch_may_come_in_pieces_and_twice(graph: Graph) -> None:
    batch, publication = prepared(graph, ZEN, "c1")
    for _ in range(2):
        for row in batch.sources:
            graph.stage("c1", A, Batch(sources=[row]))
        for instance in batch.rows["instance"]:
            graph.stage("c1", A, Batch(rows={"instance": [instance]}))
    graph.publish(publication)
    assert graph.sources(A) == list(batch.sources)
    assert graph.counts()["instances"] == 4
    assert [row.doc_id for row, _ in graph.find_text("koans")] == [A]


def test_a_published_commit_is_left_alone(graph: Graph) -> None:
    batch, publication = prepared(graph, ZEN, "c1")
    graph.stage("c1", A, batch)
    assert graph.publish(publication) == 1
    publish(graph, MORE)
    before = graph.concepts(ONTOLOGY)
    graph.stage("c1", A, batch)
    assert graph.staged() == []
    assert graph.publish(publication) == 1
    graph.abandon("c1")
    assert graph.epoch() == 2
    assert graph.concepts(ONTOLOGY) == before


def test_abandon_drops_what_was_staged(graph: Graph) -> None:
    batch, _ = prepared(graph, ZEN, "c1")
    graph.stage("c1", A, batch)
    graph.abandon("c1")
    graph.abandon("c1")
    graph.abandon("unknown")
    assert graph.staged() == []
    _, empty = prepared(graph, Doc(A, texts=[]), "c1")
    graph.publish(empty)
    assert graph.counts()["sources"] == 0
    assert graph.find_text("zen") == []


def test_an_abandoned_commit_may_be_staged_again(graph: Graph) -> None:
    batch, publication = prepared(graph, ZEN, "c1")
    graph.stage("c1", A, batch)
    graph.abandon("c1")
    graph.stage("c1", A, batch)
    graph.publish(publication)
    assert graph.counts()["instances"] == 4


def test_a_gated_document_has_sources_and_no_concepts(graph: Graph) -> None:
    publish(graph, Doc(A, texts=["nothing but links"], gated={0: "only links"}))
    assert [row.gated for row in graph.sources(A)] == ["only links"]
    assert graph.concepts_of(A) == []
    assert [row.chunk_index for row, _ in graph.find_text("links")] == [0], "the gate hides nothing from a search"


def test_sources_are_read_together(graph: Graph) -> None:
    publish(graph, Doc(A, texts=["one zen", "two zen"]))
    publish(graph, Doc(B, texts=["three zen"]))
    found = graph.sources_at([(B, 0), (A, 1), (A, 7), ("unknown", 0)])
    assert {place: row.full_text for place, row in found.items()} == {(B, 0): "three zen", (A, 1): "two zen"}
    assert graph.sources_at([]) == {}


def test_phrases_and_documents_narrow_the_full_text(graph: Graph) -> None:
    publish(graph, Doc(A, texts=["old zen", "zen is old"]))
    publish(graph, Doc(B, texts=["the old zen", 'say "old zen"']))
    assert {(row.doc_id, row.chunk_index) for row, _ in graph.find_text("zen", phrases=["OLD zen"])} == {
        *((A, 0), (B, 0), (B, 1))
    }
    assert [row.doc_id for row, _ in graph.find_text("zen", phrases=["is old", "zen"])] == [A]
    assert {row.doc_id for row, _ in graph.find_text("zen", doc_ids=[B])} == {B}
    assert graph.find_text("zen", doc_ids=[]) == []
    assert graph.documents_with("zen is") == {A} and graph.documents_with("old", OTHER) == set()
    assert graph.documents_with('"') == set()


def test_phrases_are_found_whatever_stands_unseen_in_their_words(graph: Graph) -> None:
    publish(graph, Doc(A, texts=["the sever\u00adance\u200b pay", "pay after sev\u200cer\u2060ance"]))
    for phrase in ("severance pay", "sever\u00adance \ufeffpay"):
        assert graph.sources_with_phrase(phrase) == {(A, 0)}
    assert graph.sources_with(["sever"]) == {"sever": 2} and graph.documents_with("ance") == set()
    publish(graph, Doc(B, texts=["nothing"]), supersedes=[A])
    assert graph.sources_with(["sever", "ance", "pay"]) == {"sever": 0, "ance": 0, "pay": 0}, "nothing of it is left"


def test_the_predecessor_leaves_in_the_same_step(graph: Graph) -> None:
    publish(graph, ZEN)
    epoch = publish(graph, Doc(C, [Told("Zen"), Told("Satori")], deposit=3), supersedes=[A, "unknown"])
    assert epoch == 2
    assert graph.document(A) is None
    assert graph.sources(A) == []
    assert graph.find_text("koans") == []
    assert labels(graph) == ["Satori", "Zen"]
    assert graph.related(cid("Zen")) == []
    assert dict(graph.counts()) == {"documents": 1, "sources": 1, "concepts": 2, "relationships": 0, "instances": 2}


def test_a_document_under_another_commit_replaces_itself(graph: Graph) -> None:
    publish(graph, ZEN)
    numbers = [row.n for row in graph.instances(cid("Zen"))]
    again = replace(ZEN, concepts=[Told("Zen", 1, ("zazen",)), Told("Satori")], relationships=[], texts=["Zen anew."])
    assert publish(graph, again, "second") == 2
    assert [row.full_text for row in graph.sources(A)] == ["Zen anew."]
    assert labels(graph) == ["Satori", "Zen"]
    assert [row.n for row in graph.instances(cid("Zen"))] == numbers[:1]
    assert graph.counts()["instances"] == 2
    assert [row.full_text for row, _ in graph.find_text("zen koans")] == ["Zen anew."]


def test_publishing_the_same_again_changes_no_page(graph: Graph) -> None:
    publish(graph, ZEN, at=1000)
    before = graph.concepts(ONTOLOGY)
    epoch = publish(graph, ZEN, "second", at=2000)
    assert graph.concepts(ONTOLOGY) == before
    assert told(graph, epoch) == {("changed", "document", ONTOLOGY, A)}


# -------------------------------------------------------------------------------------------- forget


def test_forget_takes_orphans_along(graph: Graph) -> None:
    publish(graph, ZEN)
    publish(graph, MORE)
    assert graph.forget("f1", [A, "unknown"], 3000) == 3
    assert labels(graph) == ["Buddhism", "Zen"]
    assert graph.documents(ONTOLOGY) == [document_row(MORE)]
    assert [r.type for r in graph.related(cid("Zen"))] == ["IS_A"]
    assert dict(graph.counts()) == {"documents": 1, "sources": 1, "concepts": 2, "relationships": 1, "instances": 3}
    assert graph.forget("f1", [B], 4000) == 3
    assert labels(graph) == ["Buddhism", "Zen"]
    assert graph.published("f1") == 3


def test_forgetting_nothing_is_still_a_commit(graph: Graph) -> None:
    assert graph.forget("f1", ["unknown"], 1000) == 1
    assert graph.epoch() == 1
    assert graph.changes(0) == []


def test_a_forgotten_document_leaves_no_trace_in_a_name(graph: Graph) -> None:
    publish(graph, Doc(A, [Told("ZEN!", 1, ("zazen",), "a secret", 0.9, "person")]))
    publish(graph, Doc(B, [Told("Zen", 1, ("Chan",), "", 0.2)], deposit=2))
    both = graph.concept(cid("Zen"))
    assert both is not None
    assert (both.label, both.aliases, both.description, both.kind) == ("ZEN!", ("zazen", "Chan"), "a secret", "person")
    graph.forget("f", [A], 2000)
    left = graph.concept(cid("Zen"))
    assert left is not None
    assert (left.label, left.aliases, left.description, left.kind) == ("Zen", ("Chan",), "", "term")
    assert graph.match(ONTOLOGY, ["zazen", "chan"]) == {"chan": cid("Zen")}


def test_the_result_is_as_if_the_forgotten_had_never_been(graph: Graph, request: pytest.FixtureRequest) -> None:
    fresh = Graph()
    publish(fresh, MORE)
    request.addfinalizer(fresh.close)
    publish(graph, ZEN)
    publish(graph, MORE)
    graph.forget("f", [A], 9000)
    for label in ("Zen", "Buddhism"):
        page, never = graph.page(cid(label)), fresh.page(cid(label))
        assert page is not None
        assert never is not None
        assert (page.label, page.aliases, page.description, page.related) == (
            never.label, never.aliases, never.description, never.related,
        )  # fmt: skip


def test_evidence_numbers_are_never_used_again(graph: Graph) -> None:
    assert next_n(graph, cid("Zen")) == 1
    publish(graph, ZEN)
    assert next_n(graph, cid("Zen")) == 3
    assert next_n(graph, rid("Zen", "USES", "Koan")) == 2
    graph.forget("f", [A], 2000)
    assert next_n(graph, cid("Zen")) == 3
    assert next_n(graph, rid("Zen", "USES", "Koan")) == 2
    publish(graph, MORE)
    assert [row.n for row in graph.instances(cid("Zen"))] == [3]


def test_what_is_asked_of_many_is_told_of_each(graph: Graph) -> None:
    publish(graph, ZEN)
    publish(graph, MORE)
    graph.forget("f", [A], 2000)
    zen, koan, never = cid("Zen"), cid("Koan"), cid("Never")
    assert graph.concepts_by_id([zen, koan, never, zen]) == {zen: graph.concept(zen)}, "those that live"
    uses = rid("Zen", "USES", "Koan")
    assert graph.next_numbers([zen, koan, never, uses]) == {zen: 4, koan: 2, never: 1, uses: 2}
    assert graph.names_taken(ONTOLOGY, ["zen", "koan", "never"]) == {"zen": zen, "koan": koan}
    assert graph.names_taken(OTHER, ["zen"]) == {}
    assert graph.concepts_by_id([]) == graph.next_numbers([]) == graph.names_taken(ONTOLOGY, []) == {}
    assert graph.chunk_ids_held([]) == {}


def test_a_number_of_a_living_quote_is_refused_to_another(graph: Graph) -> None:
    publish(graph, ZEN)
    batch, publication = prepared(graph, MORE, "c2")
    graph.stage("c2", B, Batch(batch.sources, {"instance": [replace(row, n=1) for row in batch.rows["instance"]]}))
    with pytest.raises(StoreError):
        graph.publish(publication)
    assert graph.epoch() == 1
    assert graph.document(B) is None
    assert next_n(graph, cid("Zen")) == 3


def test_evidence_without_an_owner_is_refused(graph: Graph) -> None:
    batch, publication = prepared(graph, ZEN, "c1")
    graph.stage("c1", A, batch)
    with pytest.raises(BadInputError):
        graph.publish(replace(publication, concepts=publication.concepts[:1], relationships=[]))
    with pytest.raises(BadInputError):
        graph.publish(replace(publication, relationships=[replace(publication.relationships[0], object=cid("Else"))]))
    with pytest.raises(BadInputError):
        graph.publish(replace(publication, relationships=[replace(publication.relationships[0], type="LIKES")]))
    assert (graph.epoch(), labels(graph)) == (0, [])
    assert graph.publish(publication) == 1


def test_a_concept_that_comes_back_is_the_same_concept(graph: Graph) -> None:
    publish(graph, ZEN)
    graph.forget("f", [A], 2000)
    assert graph.concept(cid("Zen")) is None
    assert graph.concept_named(ONTOLOGY, "zen") is None
    assert name_taken(graph, ONTOLOGY, "zen") == cid("Zen")
    batch, publication = prepared(graph, MORE, "c2", at=3000)
    renamed = [replace(row, name="other-" + row.name) for row in publication.concepts]
    graph.stage("c2", B, batch)
    graph.publish(replace(publication, concepts=renamed))
    back = graph.concept(cid("Zen"))
    assert back is not None
    assert (back.name, back.norm, back.mtime) == ("zen", "zen", 3000)
    assert graph.concept_named(ONTOLOGY, "other-buddhism") == graph.concept(cid("Buddhism"))


def test_a_taken_directory_name_is_refused(graph: Graph) -> None:
    publish(graph, ZEN)
    graph.forget("f", [A], 2000)
    batch, publication = prepared(graph, MORE, "c2")
    graph.stage("c2", B, batch)
    with pytest.raises(StoreError):
        graph.publish(replace(publication, concepts=[replace(row, name="koan") for row in publication.concepts]))
    assert graph.epoch() == 2
    assert graph.publish(publication) == 3


# ---------------------------------------------------------------------------------- pages, sizes, times


def sizes_are_true(graph: Graph) -> bool:
    concepts = graph.concepts(ONTOLOGY)
    pages = [graph.page(concept.concept_id) for concept in concepts]
    return all(page and len(render(page)) == concept.size for page, concept in zip(pages, concepts, strict=True))


def test_size_and_time_are_those_of_the_page(graph: Graph) -> None:
    publish(graph, ZEN, at=1000)
    assert sizes_are_true(graph)
    publish(graph, MORE, at=2000)
    assert sizes_are_true(graph)
    assert {c.label: c.mtime for c in graph.concepts(ONTOLOGY)} == {"Zen": 2000, "Buddhism": 2000, "Koan": 1000}
    page = graph.page(cid("Zen"))
    assert page is not None
    assert (page.documents, page.evidence_count, page.related_count) == (2, 3, 2)
    assert [line.n for line in page.evidence] == [1, 2, 3]
    assert [(line.type, line.name) for line in page.related] == [("USES", "koan"), ("IS_A", "buddhism")]
    assert graph.page("unknown") is None


def test_a_neighbours_page_changes_with_a_label(graph: Graph) -> None:
    publish(graph, ZEN, at=1000)
    epoch = publish(graph, Doc(B, [Told("ZEN", 1, score=1.0)], deposit=2), at=2000)
    koan = graph.concept(cid("Koan"))
    assert koan is not None
    assert koan.mtime == 2000
    assert sizes_are_true(graph)
    page = graph.page(cid("Koan"))
    assert page is not None
    assert [line.label for line in page.related] == ["ZEN"]
    assert ("changed", "concept", ONTOLOGY, "koan") in told(graph, epoch)


def test_a_long_page_shows_the_first_of_its_evidence(graph: Graph) -> None:
    publish(graph, Doc(A, [Told("Zen", SHOWN_EVIDENCE + 7)]))
    page = graph.page(cid("Zen"))
    assert page is not None
    assert page.evidence_count == SHOWN_EVIDENCE + 7
    assert [line.n for line in page.evidence] == list(range(1, SHOWN_EVIDENCE + 1))
    assert sizes_are_true(graph)


def test_sizes_are_those_of_words_on_one_line(graph: Graph) -> None:
    """Also when some of the lines leave, and others come into the page for them."""
    for deposit, doc_id in enumerate((A, B, C), start=1):
        told = [Told("Kōan\n study", SHOWN_EVIDENCE // 2), Told("Zen", score=0.1 * deposit)]
        doc = Doc(doc_id, told, [("Zen", "USES", told[0].label, 0.5)], deposit=deposit, title="Über\n\t alles")
        batch, publication = prepared(graph, doc, f"of {doc_id}", at=deposit)
        quotes = [
            replace(row, quote=f" “{row.n}”\r\n\u2003is ", line_end=row.line_start) for row in batch.rows["instance"]
        ]
        graph.stage(f"of {doc_id}", doc_id, replace(batch, rows={"instance": quotes}))
        graph.publish(publication)
        assert sizes_are_true(graph)
    graph.forget("leave", [A], 9)
    assert sizes_are_true(graph)
    page = graph.page(cid("Zen"))
    assert page is not None
    assert [line.n for line in page.evidence] == [3, 2]
    assert graph.concept(cid("Zen")).mtime == 9  # type: ignore[union-attr]


def test_saying_the_same_anew_leaves_pages_their_time(graph: Graph) -> None:
    publish(graph, ZEN, at=1000)
    publish(graph, MORE, at=1500)
    epoch = publish(graph, ZEN, "the same", at=2000)
    assert {concept.label: concept.mtime for concept in graph.concepts(ONTOLOGY)} == {
        "Zen": 1500, "Koan": 1000, "Buddhism": 1500,
    }  # fmt: skip
    assert [change.kind for change in graph.changes(epoch - 1) or []] == ["document"]


def test_a_title_stands_in_the_page(graph: Graph) -> None:
    publish(graph, replace(ZEN, title="Old"), at=1000)
    publish(graph, replace(ZEN, title="New"), "second", at=2000)
    page = graph.page(cid("Koan"))
    assert page is not None
    assert page.evidence[0].title == "New"
    assert graph.concepts(ONTOLOGY)[0].mtime == 2000


# ------------------------------------------------------------------------------------------- the feed


def test_the_feed_names_every_entry(graph: Graph) -> None:
    uses = rid("Zen", "USES", "Koan")
    first = {
        ("added", "document", ONTOLOGY, A),
        ("added", "concept", ONTOLOGY, "zen"),
        ("added", "concept", ONTOLOGY, "koan"),
        ("added", "evidence", cid("Zen"), "1"),
        ("added", "evidence", cid("Zen"), "2"),
        ("added", "evidence", cid("Koan"), "1"),
        ("added", "evidence", uses, "1"),
        ("added", "related", cid("Zen"), "USES/koan"),
        ("added", "related", cid("Koan"), "USED_BY/zen"),
    }
    assert told(graph, publish(graph, ZEN)) == first
    assert told(graph, publish(graph, MORE)) == {
        ("added", "document", ONTOLOGY, B),
        ("changed", "concept", ONTOLOGY, "zen"),
        ("added", "concept", ONTOLOGY, "buddhism"),
        ("added", "evidence", cid("Zen"), "3"),
        ("added", "evidence", cid("Buddhism"), "1"),
        ("added", "evidence", rid("Zen", "IS_A", "Buddhism"), "1"),
        ("added", "related", cid("Zen"), "IS_A/buddhism"),
        ("added", "related", cid("Buddhism"), "HAS_KIND/zen"),
    }
    removed = {("removed", *rest) for _, *rest in first if rest != ["concept", ONTOLOGY, "zen"]}
    assert told(graph, graph.forget("f", [A], 3000)) == removed | {("changed", "concept", ONTOLOGY, "zen")}


def test_changed_evidence_is_told(graph: Graph) -> None:
    publish(graph, ZEN)
    batch, publication = prepared(graph, ZEN, "second", at=2000)
    graph.stage(
        "second",
        A,
        Batch(batch.sources, {"instance": [replace(row, source_size=999) for row in batch.rows["instance"]]}),
    )
    epoch = graph.publish(publication)
    assert {change for change in told(graph, epoch) if change[1] != "document"} == {
        ("changed", "evidence", cid("Zen"), "1"),
        ("changed", "evidence", cid("Zen"), "2"),
        ("changed", "evidence", cid("Koan"), "1"),
        ("changed", "evidence", rid("Zen", "USES", "Koan"), "1"),
        ("changed", "related", cid("Zen"), "USES/koan"),
        ("changed", "related", cid("Koan"), "USED_BY/zen"),
    }


def test_the_feed_comes_in_whole_epochs(graph: Graph) -> None:
    publish(graph, ZEN)
    publish(graph, MORE)
    everything = graph.changes(0)
    assert everything is not None
    assert [change.epoch for change in everything] == [1] * 9 + [2] * 8
    assert {change.epoch for change in graph.changes(0, limit=1) or []} == {1}
    assert {change.epoch for change in graph.changes(0, limit=16) or []} == {1}
    assert {change.epoch for change in graph.changes(0, limit=17) or []} == {1, 2}
    assert {change.epoch for change in graph.changes(1) or []} == {2}
    assert graph.changes(2) == []
    assert graph.changes(3) is None
    assert all(isinstance(change, Change) and change.ontology == ONTOLOGY for change in everything)


def test_changed_tells_once(graph: Graph) -> None:
    assert not graph.changed()
    publish(graph, ZEN)
    assert graph.changed()
    assert not graph.changed()
    graph.clear()
    assert graph.changed()


def test_clear_drops_everything(graph: Graph) -> None:
    batch, _ = prepared(graph, MORE, "left")
    graph.stage("left", B, batch)
    publish(graph, ZEN, "c1")
    graph.clear()
    assert (graph.epoch(), graph.published("c1"), graph.staged()) == (0, None, [])
    assert (graph.documents(ONTOLOGY), labels(graph), graph.find_text("zen")) == ([], [], [])
    assert set(graph.counts().values()) == {0}
    assert (next_n(graph, cid("Zen")), name_taken(graph, ONTOLOGY, "zen"), graph.changes(0)) == (1, None, [])
    assert publish(graph, ZEN, "c1") == 1
    assert labels(graph) == ["Koan", "Zen"]
    assert [row.doc_id for row, _ in graph.find_text("koans")] == [A]


# ------------------------------------------------------------------------------------ lists and pages


def test_lists_page_by_key(graph: Graph) -> None:
    names = [f"concept {n:02}" for n in range(25)]
    star = [("concept 00", "USES", name, 0.5) for name in names[1:]] + [
        (name, "EXTENDS", "concept 00", 0.5) for name in names[1:9]
    ]
    publish(graph, Doc(A, [Told(name, 3) for name in names], star, [f"text {n}" for n in range(25)]))
    for n in range(7):
        publish(graph, Doc(f"{n:016}", [Told("concept 00")], deposit=n + 2))
    whole = graph.concepts(ONTOLOGY)
    by_id = sorted(whole, key=lambda concept: concept.concept_id)
    shown = [(concept.name, concept.concept_id, concept.mtime) for concept in by_id]
    assert graph.concept_names(ONTOLOGY) == shown
    assert graph.concept_names(ONTOLOGY, by_id[3].concept_id, 4) == shown[4:8]
    assert [graph.concept_listed(ONTOLOGY, name) for name, *_ in shown] == [(id_, mtime) for _, id_, mtime in shown]
    assert graph.concept_listed(ONTOLOGY, "nobody") is None
    assert [concept.label for concept in whole] == names
    paged, after = [], ""
    while page := graph.concepts(ONTOLOGY, after, 4):
        paged += page
        after = page[-1].name
    assert paged == whole
    sources, at = [], -1
    while some := graph.sources(A, at, 6):
        sources += some
        at = some[-1].chunk_index
    assert [row.chunk_index for row in sources] == list(range(25))
    evidence, n = [], 0
    while rows := graph.instances(cid("concept 00"), n, 3):
        evidence += rows
        n = rows[-1].n
    assert [row.n for row in evidence] == list(range(1, 11))
    assert [row.doc_id for row in graph.documents(ONTOLOGY, "0" * 15 + "2", 3)] == [f"{n:016}" for n in (3, 4, 5)]
    related, key = [], ""
    while some_related := graph.related(cid("concept 00"), after=key, limit=5):
        related += some_related
        key = f"{some_related[-1].type}/{some_related[-1].name}"
    assert related == graph.related(cid("concept 00"))
    assert [r.type for r in related] == ["EXTENDED_BY"] * 8 + ["USES"] * 24
    assert graph.related_types(cid("concept 00")) == ["EXTENDED_BY", "USES"]
    uses = graph.related(cid("concept 00"), "USES", "concept-10", 3)
    assert [r.name for r in uses] == ["concept-11", "concept-12", "concept-13"]
    assert graph.related_types("unknown") == [] == graph.related("unknown")


def test_a_relationship_is_seen_from_both_ends(graph: Graph) -> None:
    publish(graph, ZEN, at=1000)
    (seen,) = graph.related(cid("Zen"))
    assert (seen.type, seen.name, seen.label, seen.concept_id) == ("USES", "koan", "Koan", cid("Koan"))
    assert (seen.incoming, seen.confidence, seen.mtime) == (False, 0.8, 1000)
    (back,) = graph.related(cid("Koan"))
    assert (back.type, back.name, back.incoming, back.relationship_id) == ("USED_BY", "zen", True, seen.relationship_id)
    assert [row.n for row in graph.instances(seen.relationship_id)] == [1]


def test_a_pair_stated_both_ways_is_not_split_over_pages(graph: Graph) -> None:
    both = [("Zen", "CONTRASTS_WITH", "Koan", 0.8), ("Koan", "CONTRASTS_WITH", "Zen", 0.6)]
    publish(graph, Doc(A, [Told("Zen"), Told("Koan"), Told("Way")], [*both, ("Zen", "CONTRASTS_WITH", "Way", 0.5)]))
    first = graph.related(cid("Zen"), "CONTRASTS_WITH", limit=1)
    assert {(r.name, r.incoming) for r in first} == {("koan", False), ("koan", True)}
    assert [r.name for r in graph.related(cid("Zen"), "CONTRASTS_WITH", "koan", 1)] == ["way"]
    assert graph.related(cid("Zen"), limit=0) == []
    zen = graph.concept(cid("Zen"))
    assert zen is not None
    assert zen.related == 3
    assert sizes_are_true(graph)


def test_confidence_is_the_highest_of_living_evidence(graph: Graph) -> None:
    stated = [("Zen", "USES", "Koan", 0.9)]
    publish(graph, ZEN, at=1000)
    publish(graph, Doc(B, [Told("Zen"), Told("Koan")], stated, deposit=2), at=2000)
    (seen,) = graph.related(cid("Zen"))
    assert (seen.confidence, seen.mtime) == (0.9, 2000)
    graph.forget("f", [B], 3000)
    (seen,) = graph.related(cid("Zen"))
    assert (seen.confidence, seen.mtime) == (0.8, 3000)
    assert graph.counts()["relationships"] == 1
    assert sizes_are_true(graph)


def test_ontologies_are_apart(graph: Graph) -> None:
    publish(graph, ZEN)
    publish(graph, Doc(B, [Told("Zen", 1, score=0.1)], texts=["Zen too"], ontology=OTHER))
    assert graph.concept_named(OTHER, "zen") == graph.concept(cid("Zen", OTHER))
    assert graph.concept_named(ONTOLOGY, "zen") == graph.concept(cid("Zen"))
    assert labels(graph, OTHER) == ["Zen"]
    assert graph.match(OTHER, ["zen", "koan"]) == {"zen": cid("Zen", OTHER)}
    assert [row.doc_id for row, _ in graph.find_text("zen", OTHER)] == [B]
    assert graph.counts(OTHER)["documents"] == 1
    assert graph.counts()["documents"] == 2
    assert set(graph.counts("unknown").values()) == {0}
    assert graph.popular(OTHER, 5) == graph.concepts(OTHER) == graph.sample(OTHER, 5, 1)


def test_an_ontology_tells_when_it_last_changed(graph: Graph) -> None:
    assert graph.changed_at(ONTOLOGY) == 0
    publish(graph, ZEN, at=1000)
    publish(graph, Doc(B, [Told("Zen", 1, score=0.1)], ontology=OTHER), at=2000)
    assert (graph.changed_at(ONTOLOGY), graph.changed_at(OTHER)) == (1000, 2000)
    graph.forget("f1", [A], 3000)
    graph.forget("f2", ["unknown"], 4000)
    assert (graph.changed_at(ONTOLOGY), graph.changed_at(OTHER)) == (3000, 2000)
    graph.clear()
    assert graph.changed_at(ONTOLOGY) == 0


def test_documents_of_a_concept_come_in_order_of_deposit(graph: Graph) -> None:
    for doc_id, deposit in ((A, 3), (B, 1), (C, 2)):
        publish(graph, Doc(doc_id, [Told("Zen")], deposit=deposit))
        publish(graph, Doc(doc_id.upper(), [Told(doc_id)], deposit=deposit))
    asked = [cid("Zen"), cid(B), "unknown"]
    assert graph.documents_of(asked) == {cid("Zen"): [B, C, A], cid(B): [B.upper()], "unknown": []}
    assert graph.documents_of([]) == {}


def test_two_labels_of_one_document_may_be_one_concept(graph: Graph) -> None:
    batch, publication = prepared(graph, ZEN, "c1")
    second = replace(publication.concepts[0].mention, label="Chan", forms=("Chan",), score=0.1)
    graph.stage("c1", A, batch)
    graph.publish(
        replace(publication, concepts=[*publication.concepts, replace(publication.concepts[0], mention=second)])
    )
    zen = graph.concept(cid("Zen"))
    assert zen is not None
    assert (zen.label, zen.aliases) == ("Zen", ("Chan", "zazen"))
    page = graph.page(cid("Zen"))
    assert page is not None
    assert page.documents == 1
    assert len(graph.concepts_of(A)) == 2


# ----------------------------------------------------------------------------------------- full text


def test_case_and_accents_are_of_no_account(graph: Graph) -> None:
    publish(graph, Doc(A, texts=["Naïve ZEN"]))
    assert len(graph.find_text("naive")) == len(graph.find_text("zen")) == 1


def test_words_are_taken_literally(graph: Graph) -> None:
    publish(graph, Doc(A, texts=['He said "NOT OR AND" near(a b)*', "plain words", "col:umn -minus c++ naïve"]))
    assert [row.chunk_index for row, _ in graph.find_text('"NOT')] == [0]
    assert [row.chunk_index for row, _ in graph.find_text("NOT plain")] in ([0, 1], [1, 0])
    assert [row.chunk_index for row, _ in graph.find_text("near(")] == [0]
    assert [row.chunk_index for row, _ in graph.find_text("-minus")] == [2]
    for nothing in ("", "  ", '"', "* ^ ++", "absent", "pla*"):
        assert graph.find_text(nothing) == []


def test_the_best_hit_comes_first(graph: Graph) -> None:
    publish(graph, Doc(A, texts=["zen zen zen", "zen and many other words that say nothing of it", "koan"]))
    hits = graph.find_text("zen")
    assert [row.chunk_index for row, _ in hits] == [0, 1]
    assert hits[0][1] > hits[1][1] > 0
    assert len(graph.find_text("zen", limit=1)) == 1
    assert graph.find_text("zen", OTHER) == []


# ---------------------------------------------------------------------------------------- for matching


def test_an_exact_label_wins_over_an_alias(graph: Graph) -> None:
    publish(graph, Doc(A, [Told("Meditation", 1, ("Zen",))]))
    assert graph.match(ONTOLOGY, ["zen"]) == {"zen": cid("Meditation")}
    publish(graph, Doc(B, [Told("Zen")], deposit=2))
    assert graph.match(ONTOLOGY, ["zen", "meditation", "none"]) == {"zen": cid("Zen"), "meditation": cid("Meditation")}
    assert graph.match(ONTOLOGY, []) == {}


def test_an_alias_of_several_belongs_to_the_first_founded(graph: Graph) -> None:
    publish(graph, Doc(B, [Told("Later", 1, ("it",))], deposit=2))
    publish(graph, Doc(A, [Told("Earlier", 1, ("it",))], deposit=1))
    assert graph.match(ONTOLOGY, ["it"]) == {"it": cid("Earlier")}
    graph.forget("f", [A], 2000)
    assert graph.match(ONTOLOGY, ["it"]) == {"it": cid("Later")}


def test_popular_goes_by_relationships_and_evidence(graph: Graph) -> None:
    publish(graph, Doc(A, [Told("few", 1), Told("many", 5), Told("linked", 3)], [("linked", "USES", "few", 0.5)]))
    assert [concept.label for concept in graph.popular(ONTOLOGY, 2)] == ["many", "linked"]


def test_a_sample_is_the_same_for_the_same_seed(graph: Graph) -> None:
    publish(graph, Doc(A, [Told(f"concept {n}") for n in range(60)]))
    one = graph.sample(ONTOLOGY, 10, 7)
    assert one == graph.sample(ONTOLOGY, 10, 7)
    assert len({concept.concept_id for concept in one}) == 10
    assert {c.name for seed in range(100) for c in graph.sample(ONTOLOGY, 10, seed)} == {
        c.name for c in graph.concepts(ONTOLOGY)
    }
    assert len(graph.sample(ONTOLOGY, 100, 1)) == 60
    assert graph.sample(ONTOLOGY, 0, 1) == []
    assert graph.sample(OTHER, 5, 1) == []


def test_text_of_any_script_and_size_comes_back_exactly(graph: Graph) -> None:
    text = "line\r\n\tå\u0301 𝔘𝔫𝔦 \x0c नमस्ते \u2028 end" * 5000
    doc = Doc(A, [Told("Ünï 𝔘" + "x" * MAX_NAME_BYTES, 1, ("a\nb", '"q"', "[]"))], texts=[text])
    publish(graph, doc)
    assert graph.sources(A) == source_rows(doc)
    (concept,) = graph.concepts(ONTOLOGY)
    assert set(concept.aliases) == {"a\nb", '"q"'}
    assert sizes_are_true(graph)


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
