"""``docs/graph.md``: its questions are asked of a real server, its tables held against what stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.t1_stores.graph_building import ONTOLOGY, Doc, Told, document_row, prepared
from tests.t1_stores.graph_stores import own

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.graph.neo4j.place import Place

PAGE = (Path(__file__).parents[2] / "docs" / "graph.md").read_text("utf-8")
QUESTIONS = dict(re.findall(r"^([^\n]+)\n\n```cypher\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))

A, B, C = "a" * 16, "b" * 16, "c" * 16
DOCS = (
    Doc(A, [Told("Zen", 2, ("zazen",), "a school", 0.9), Told("Koan")], [("Zen", "USES", "Koan", 0.8)], ["Zen uses koans."]),
    Doc(B, [Told("Zen"), Told("Buddhism")], [("Zen", "IS_A", "Buddhism", 0.6)], ["Naïve words on Zen."], deposit=2),
)  # fmt: skip
LEFT = Doc(C, [Told("Zen", 3), Told("Secret")], [("Secret", "USES", "Zen", 0.9)], ["Zen is no secret."], deposit=3)


@pytest.fixture(scope="module")
def graph(neo4j_place: Place) -> Iterator[Neo4jGraph]:
    """Two documents that are shown, one of before that is none any more, and one that is only prepared."""
    from kgfs.stores.graph.neo4j import editions
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    with closing(Neo4jGraph(own(neo4j_place))) as graph, pytest.MonkeyPatch.context() as patch:
        for doc in (LEFT, *DOCS):
            batch, publication = prepared(graph, doc, f"commit of {doc.doc_id}")
            graph.stage(publication.commit_id, doc.doc_id, batch)
            named = replace(document_row(doc), original_filename=f"{doc.doc_id[0]}.txt")
            graph.publish(replace(publication, document=named))
        patch.setattr(editions, "remove_left", lambda *_: None)
        graph.forget("gone", [LEFT.doc_id], 2000)
        batch, _ = prepared(graph, replace(LEFT, doc_id="d" * 16, deposit=4), "staged")
        graph.stage("staged", "d" * 16, batch)
        yield graph


def ask(graph: Neo4jGraph, name: str, **words: str) -> list[dict[str, Any]]:
    [question] = [question for title, question in QUESTIONS.items() if title.startswith(name)]
    assert "{name: 'kgfs'}" in question
    here = question.replace("'kgfs'", f"'{graph._graph}'")
    return graph._speaking.read(lambda tx: [dict(row) for row in tx.run(here, **words)])


def test_there_are_ten() -> None:
    assert len(QUESTIONS) == 10


def test_what_is_in_it(graph: Neo4jGraph) -> None:
    counts = {"documents": 2, "sources": 2, "concepts": 3, "relationships": 2, "quotes": 7}
    assert ask(graph, "What is in it") == [{"ontology": ONTOLOGY, **counts}]


def test_what_is_known_by_any_name(graph: Neo4jGraph) -> None:
    for label in ("Zen", "zazen"):
        [found] = ask(graph, "What is known", label=label)
        assert (found["label"], found["aliases"], found["description"], found["evidence"]) == (
            "Zen", ["zazen"], "a school", 3,
        )  # fmt: skip
    assert ask(graph, "What is known", label="secret") == []


def test_where_it_stands(graph: Neo4jGraph) -> None:
    found = ask(graph, "Where does it stand", label="zen")
    assert [(row["document"], row["quote"][:7]) for row in found] == [
        ("a.txt", "quote 0"), ("a.txt", "quote 1"), ("b.txt", "quote 0"),
    ]  # fmt: skip


def test_what_it_is_related_to(graph: Neo4jGraph) -> None:
    assert ask(graph, "What is it related to", label="zen") == [
        {"how": "USES", "what": "Koan", "confidence": 0.8},
        {"how": "IS_A", "what": "Buddhism", "confidence": 0.6},
    ]
    assert [row["how"] for row in ask(graph, "What is it related to", label="koan")] == ["USED_BY"]


def test_on_which_words_a_relationship_rests(graph: Neo4jGraph) -> None:
    found = ask(graph, "On which words")
    assert [(row["subject"], row["type"], row["object"], row["document"]) for row in found] == [
        ("Zen", "IS_A", "Buddhism", "b.txt"),
        ("Zen", "USES", "Koan", "a.txt"),
    ]


def test_how_two_hang_together(graph: Neo4jGraph) -> None:
    [way] = ask(graph, "How do two things", label="koan", other="buddhism")
    assert way == {"concepts": ["Koan", "Zen", "Buddhism"], "types": ["USES", "IS_A"]}


def test_the_main_concepts(graph: Neo4jGraph) -> None:
    found = ask(graph, "What are the main")
    assert [(row["label"], row["quotes"], row["relationships"]) for row in found] == [
        ("Zen", 3, 2), ("Buddhism", 1, 1), ("Koan", 1, 1),
    ]  # fmt: skip


def test_which_documents_speak_of_the_same(graph: Neo4jGraph) -> None:
    found = ask(graph, "Which documents speak", filename="a.txt")
    assert found == [{"document": "b.txt", "shared": 1, "some": ["Zen"]}]


def test_which_passages_hold_words(graph: Neo4jGraph) -> None:
    assert {row["document"] for row in ask(graph, "Which passages", words="zen")} == {"a.txt", "b.txt"}
    [found] = ask(graph, "Which passages", words="naive AND zen")
    assert found["text"] == "Naïve words on Zen."


def test_what_changed_lately(graph: Neo4jGraph) -> None:
    found = ask(graph, "What changed lately")
    assert {(row["epoch"], row["what"], row["name"]) for row in found if row["kind"] == "document"} == {
        (1, "added", C), (2, "added", A), (3, "added", B), (4, "removed", C),
    }  # fmt: skip
    assert (4, "removed", "secret") in {(row["epoch"], row["what"], row["name"]) for row in found}


def test_the_page_names_every_label_type_and_property(graph: Neo4jGraph) -> None:
    def work(tx: Any, space: str) -> tuple[set[str], set[str]]:
        labels = tx.run("MATCH (n) UNWIND labels(n) AS label RETURN collect(DISTINCT label) AS all").single()["all"]
        types = tx.run("MATCH ()-[r]->() RETURN collect(DISTINCT type(r)) AS all").single()["all"]
        names = tx.run("MATCH (n) UNWIND keys(n) AS name RETURN collect(DISTINCT name) AS all").single()["all"]
        return {*labels, *types}, set(names)

    kinds, names = graph._speaking.steadily(graph._graph, work)
    assert {kind for kind in kinds if f"`{kind}`" not in PAGE and f":{kind}" not in PAGE} == set()
    assert {name for name in names if f"`{name}`" not in PAGE} == set()


def test_the_page_names_every_constraint_and_index(graph: Neo4jGraph) -> None:
    from kgfs.stores.graph.neo4j.schema import INDEXED, UNIQUE

    for label, columns in (*UNIQUE, *INDEXED):
        assert f"`{label}({', '.join(columns)})`" in PAGE
    rows = graph._speaking.read(lambda tx: [dict(row) for row in tx.run("SHOW INDEXES YIELD name, state")])
    there = {row["name"]: row["state"] for row in rows if row["name"].startswith("kgfs_")}
    assert set(there.values()) == {"ONLINE"}
    assert len(there) == len(UNIQUE) + len(INDEXED) + 2
