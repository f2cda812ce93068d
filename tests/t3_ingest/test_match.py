"""Matching: label, alias, likeness, names, numbers; and that carrying out the decisions gives what they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from kgfs.domain.documents import Document
from kgfs.domain.identity import concept_id_of
from kgfs.ingest.matching.match import match
from kgfs.ingest.matching.publication import carry_out
from kgfs.ingest.reading.embeddings import concept_rows
from kgfs.settings import Pipeline
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.sqlite import SqliteGraph
from kgfs.stores.graph.vocabulary import Mark, Scope
from kgfs.stores.readings import Decisions, Reading, decode_decisions, decode_reading
from tests.fakes.vectors import MemoryVectors
from tests.support.readings import ONTOLOGY, document_of, embeddings_of, reading_of

SETTINGS = Pipeline()


@pytest.fixture
def graph() -> Iterator[Graph]:
    graph = SqliteGraph(None)
    yield graph
    graph.close()


def publish(graph: Graph, document: Document, reading: Reading, text: str, supersedes: Sequence[str] = ()) -> Decisions:
    decisions = match(graph, None, ONTOLOGY, reading, None, SETTINGS)
    carry_out(
        graph, document, reading, decisions, text=text, content_version=1, supersedes=supersedes, at=document.deposit
    )
    return decisions


def test_a_new_concept_is_founded_with_a_name_of_its_own(graph: Graph) -> None:
    text = "Direct experience comes first."
    document = document_of(text)
    decisions = publish(graph, document, reading_of(document, text, {"Direct experience": [text]}), text)
    assert [(c.how, c.name, c.numbers) for c in decisions.concepts] == [("new", "direct-experience", (1,))]
    concept = graph.concept_named(ONTOLOGY, "direct-experience")
    assert concept is not None
    assert concept.label == "Direct experience"
    [instance] = graph.instances(concept.concept_id)
    assert instance.quote == text


def test_labels_that_differ_in_case_are_one_concept_and_its_evidence_is_numbered_on(graph: Graph) -> None:
    for deposit, text in enumerate(["Zen is old.", "They say zen is calm."], 1):
        document = document_of(text, f"{deposit}.txt", deposit)
        label = "Zen" if deposit == 1 else "zen"
        decisions = publish(graph, document, reading_of(document, text, {label: [text]}), text)
    assert [(c.how, c.numbers) for c in decisions.concepts] == [("exact", (2,))]
    assert graph.counts(ONTOLOGY)["concepts"] == 1


def test_an_alias_joins(graph: Graph) -> None:
    first, second = "Garbage collection (GC) frees memory.", "GC is slow."
    document = document_of(first)
    reading = reading_of(document, first, {"Garbage collection": [first]}, forms={"Garbage collection": ["GC"]})
    publish(graph, document, reading, first)
    other = document_of(second, "b.txt", 2)
    decisions = publish(graph, other, reading_of(other, second, {"GC": [second]}), second)
    assert [(c.how, c.name) for c in decisions.concepts] == [("alias", "garbage-collection")]


@pytest.mark.parametrize(
    ("label", "direction", "how"),
    [
        ("type hinting", (1.0, 0.1, 0.0), "embedding"),
        ("duck typing", (0.0, 1.0, 0.0), "new"),
        ("type hints 3", (1.0, 0.0, 0.0), "new"),
    ],
)
def test_likeness_joins_above_the_threshold_unless_digits_differ(
    graph: Graph, label: str, direction: tuple[float, float, float], how: str
) -> None:
    text = "Type hints help. More on it here."
    document = document_of(text)
    reading = reading_of(document, text, {"Type hints": ["Type hints help."]})
    decisions = publish(graph, document, reading, text)
    vectors = MemoryVectors("test")
    found = embeddings_of(reading, {"Type hints": (1.0, 0.0, 0.0)})
    vectors.upsert(concept_rows(ONTOLOGY, reading, decisions, found))
    other = document_of(text + " ", "b.txt", 2)
    later = reading_of(other, text + " ", {label: ["More on it here."]})
    decided = match(graph, vectors, ONTOLOGY, later, embeddings_of(later, {label: direction}), SETTINGS)
    assert [concept.how for concept in decided.concepts] == [how]


def test_of_two_that_want_one_name_the_later_gets_a_suffix(graph: Graph) -> None:
    text = "C++ is fast. C, on the other hand, is small."
    document = document_of(text)
    reading = reading_of(document, text, {"a b": ["C++ is fast."], "a-b": ["C, on the other hand, is small."]})
    names = [concept.name for concept in publish(graph, document, reading, text).concepts]
    assert names[0] == "a-b"
    assert names[1].startswith("a-b~")


def test_a_republished_document_keeps_the_numbers_of_what_stays(graph: Graph) -> None:
    text = "One says so. Two says so."
    document = document_of(text)
    publish(graph, document, reading_of(document, text, {"so": ["One says so."]}), text)
    again = reading_of(document, text, {"so": ["One says so.", "Two says so."]})
    decisions = publish(graph, document, again, text)
    assert [concept.numbers for concept in decisions.concepts] == [(1, 2)]
    assert [row.n for row in graph.instances(decisions.concepts[0].concept_id)] == [1, 2]


def test_relationships_have_evidence_of_their_own(graph: Graph) -> None:
    text = "A koan is a riddle."
    document = document_of(text)
    reading = reading_of(document, text, {"koan": [text], "riddle": [text]}, [("koan", "IS_A", "riddle", text)])
    decisions = publish(graph, document, reading, text)
    koan = graph.concept_named(ONTOLOGY, "koan")
    assert koan is not None
    [related] = graph.related(koan.concept_id)
    assert (related.type, related.name, related.incoming) == ("IS_A", "riddle", False)
    assert [row.quote for row in graph.instances(decisions.relationships[0].relationship_id)] == [text]


def test_readings_and_decisions_come_back_from_their_json_as_they_were() -> None:
    text = "A koan is a riddle."
    document = document_of(text)
    reading = reading_of(document, text, {"koan": [text], "riddle": [text]}, [("koan", "IS_A", "riddle", text)])
    graph = SqliteGraph(None)
    decisions = publish(graph, document, reading, text)
    graph.close()
    assert decode_reading(reading.encode(), reading.key) == reading
    assert decode_decisions(decisions.encode(), decisions.key) == decisions


def test_a_symmetric_relationship_said_from_either_end_is_one(graph: Graph) -> None:
    for deposit, ends in enumerate([("koan", "riddle"), ("riddle", "koan")], 1):
        text = f"{ends[0]} contrasts with {ends[1]}."
        document = document_of(text, f"{deposit}.txt", deposit)
        stated = [(ends[0], "CONTRASTS_WITH", ends[1], text)]
        publish(graph, document, reading_of(document, text, {"koan": [text], "riddle": [text]}, stated), text)
    assert graph.counts(ONTOLOGY)["relationships"] == 1


def word(graph: Graph, scope: str, norm: str, *, joined: str = "", apart: str = "") -> None:
    """A person's word on a label: directory names of the concept that it is, and of the one that it never is."""
    marks = [
        Mark(concept_id_of(scope, norm), ONTOLOGY, graph.names_taken(ONTOLOGY, [name]).get(name, ""), is_joined)
        for name, is_joined in ((joined, True), (apart, False))
        if name
    ]
    graph.reassign(f"word on {scope}:{norm}", [], 1, marks)


def test_a_persons_word_comes_before_label_alias_and_likeness(graph: Graph) -> None:
    text = "Zen is old. Chan is older."
    document = document_of(text)
    publish(graph, document, reading_of(document, text, {"Zen": ["Zen is old."], "Chan": ["Chan is older."]}), text)
    word(graph, ONTOLOGY, "chan", joined="zen", apart="chan")
    later = document_of("Chan sits.", "b.txt", 2)
    decisions = publish(graph, later, reading_of(later, "Chan sits.", {"Chan": ["Chan sits."]}), "Chan sits.")
    assert [(c.how, c.name, c.numbers) for c in decisions.concepts] == [("decided", "zen", (2,))]


def test_a_word_holds_for_a_reading_that_is_compared_with_nothing(graph: Graph) -> None:
    """As when a whole ontology is read anew: what was merged does not come apart."""
    text = "Zen is old. Chan is older."
    document = document_of(text)
    reading = reading_of(document, text, {"Zen": ["Zen is old."], "Chan": ["Chan is older."]})
    publish(graph, document, reading, text)
    word(graph, ONTOLOGY, "chan", joined="zen")
    scope = Scope(since=99, but=document.doc_id)
    decided = match(graph, None, ONTOLOGY, reading, None, SETTINGS, scope)
    assert [(c.how, c.name) for c in decided.concepts] == [("new", "zen"), ("decided", "zen")]


def test_a_label_kept_apart_joins_neither_by_another_form_nor_by_likeness(graph: Graph) -> None:
    text = "Type hints help. More on it here."
    document = document_of(text)
    reading = reading_of(document, text, {"Type hints": ["Type hints help."], "PEP 484": ["More on it here."]})
    decisions = publish(graph, document, reading, text)
    vectors = MemoryVectors("test")
    found = embeddings_of(reading, {"Type hints": (1.0, 0.0, 0.0), "PEP 484": (0.0, 0.0, 1.0)})
    vectors.upsert(concept_rows(ONTOLOGY, reading, decisions, found))
    later = document_of(text + " ", "b.txt", 2)
    like = reading_of(later, text + " ", {"type hinting": ["More on it here."]}, forms={"type hinting": ["Type hints"]})
    directions = embeddings_of(like, {"type hinting": (1.0, 0.0, 0.0)})

    def decided() -> list[tuple[str, str]]:
        found = match(graph, vectors, ONTOLOGY, like, directions, SETTINGS, source_id=later.source_id)
        return [(concept.how, concept.name) for concept in found.concepts]

    assert decided() == [("alias", "type-hints")]
    word(graph, later.source_id, "", apart="type-hints")
    assert decided() == [("new", "type-hinting")]
    word(graph, later.source_id, "type hinting", joined="pep-484")
    assert decided() == [("decided", "pep-484")]


def test_a_label_that_is_kept_apart_from_the_very_concept_it_founds_gets_another(graph: Graph) -> None:
    text = "Python is a language."
    document = document_of(text)
    publish(graph, document, reading_of(document, text, {"Python": [text]}), text)
    snake = "A python is a snake."
    zoo = document_of(snake, "zoo.txt", 2)
    word(graph, zoo.source_id, "", apart="python")
    reading = reading_of(zoo, snake, {"python": [snake]})
    decisions = match(graph, None, ONTOLOGY, reading, None, SETTINGS, source_id=zoo.source_id)
    [found] = decisions.concepts
    assert found.how == "new"
    assert found.concept_id not in graph.names_taken(ONTOLOGY, ["python"]).values()
    assert found.name.startswith("python~")


def test_what_was_merged_into_a_concept_that_left_brings_it_back_under_its_name(graph: Graph) -> None:
    text = "Zen is old."
    document = document_of(text)
    publish(graph, document, reading_of(document, text, {"Zen": [text]}), text)
    word(graph, ONTOLOGY, "chan", joined="zen")
    graph.forget("f", [document.doc_id], 5)
    later = document_of("Chan sits.", "b.txt", 2)
    decisions = publish(graph, later, reading_of(later, "Chan sits.", {"Chan": ["Chan sits."]}), "Chan sits.")
    assert [(c.how, c.name, c.numbers) for c in decisions.concepts] == [("new", "zen", (2,))]
    concept = graph.concept_named(ONTOLOGY, "zen")
    assert concept is not None
    assert concept.label == "Chan"
