"""``docs/graph.md``: its questions are asked of a real server, its tables held against what stands there."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgfs.stores.graph.rows import COUNTED
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import DocumentRow, InstanceRow, SourceRow
from kgfs.stores.projection.endpoint import Endpoint
from kgfs.stores.projection.source import Catalog, VersionLinks
from tests.support.graph_building import ONTOLOGY, Doc, Told, document_row, prepared

if TYPE_CHECKING:
    from kgfs.stores.projection.projection import Projection

PAGE = (Path(__file__).parents[2] / "docs" / "graph.md").read_text("utf-8")
NAME = r"`([a-z][a-z_0-9]*)`"
PROPERTIES = {
    label: set(re.findall(NAME, row)) for label, row in re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", PAGE, re.MULTILINE)
}
PROPERTIES |= {"Edition": PROPERTIES["Document"], "Owner": PROPERTIES["Concept"] | PROPERTIES["Relationship"]}
"""Of nodes, by label, as the page has them."""
TYPES = {
    kind: set(names.split(", ")) - {""} for kind, names in re.findall(r"\[:([A-Z_]+)(?: \{(.*?)\})?\]->\(\w+\)`", PAGE)
}
"""Of relationships, by type."""
QUESTIONS = dict(re.findall(r"^([^\n]+)\n\n```cypher\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))

A, B, C = "a" * 16, "b" * 16, "c" * 16
DOCS = (
    Doc(A, [Told("Zen", 2, ("zazen",), "a school", 0.9), Told("Koan")], [("Zen", "USES", "Koan", 0.8)], ["Zen uses koans.", "Sit."]),
    Doc(B, [Told("Zen"), Told("Buddhism")], [("Zen", "IS_A", "Buddhism", 0.6)], ["Naïve words on Zen."], deposit=2),
)  # fmt: skip
LEFT = Doc(C, [Told("Zen", 3), Told("Secret")], [("Secret", "USES", "Zen", 0.9)], ["Zen is no secret."], deposit=3)


VERSIONS = {B: VersionLinks(2, ((1, {"doc_id": C, "content_hash": "0" * 64, "ontology": ONTOLOGY}),))}


@pytest.fixture(scope="module")
def projection(neo4j_place: Endpoint) -> Iterator[Projection]:
    """Two documents that are shown, and an earlier version of one that is none any more."""
    from kgfs.stores.projection.projection import Projection

    endpoint = replace(neo4j_place, namespace=f"test-{secrets.token_hex(6)}")
    catalog = Catalog(lambda: {ONTOLOGY: "Buddhism"}, lambda doc_id: VERSIONS.get(doc_id, VersionLinks(0)))
    with closing(Graph()) as graph, closing(Projection(endpoint, graph, "home", catalog)) as projection:
        for doc in (LEFT, *DOCS):
            batch, publication = prepared(graph, doc, f"commit of {doc.doc_id}")
            graph.stage(publication.commit_id, doc.doc_id, batch)
            named = replace(document_row(doc), original_filename=f"{doc.doc_id[0]}.txt")
            graph.publish(replace(publication, document=named))
            projection.follow()
        graph.forget("gone", [LEFT.doc_id], 2000)
        projection.follow()
        yield projection


def ask(projection: Projection, name: str, **words: str) -> list[dict[str, Any]]:
    [question] = [question for title, question in QUESTIONS.items() if title.startswith(name)]
    assert "{name: 'kgfs'}" in question
    here = question.replace("'kgfs'", f"'{projection.connection.endpoint.namespace}'")
    return projection.connection.read(here, **words)


def test_there_are_ten() -> None:
    assert len(QUESTIONS) == 10


def test_what_is_in_it(projection: Projection) -> None:
    counts = {"documents": 2, "sources": 3, "concepts": 3, "relationships": 2, "quotes": 7}
    assert ask(projection, "What is in it") == [{"ontology": ONTOLOGY, **counts}]


def test_what_is_known_by_any_name(projection: Projection) -> None:
    for label in ("Zen", "zazen"):
        [found] = ask(projection, "What is known", label=label)
        assert (found["label"], found["aliases"], found["description"], found["evidence"]) == (
            "Zen", ["zazen"], "a school", 3,
        )  # fmt: skip
    assert ask(projection, "What is known", label="secret") == []


def test_where_it_stands(projection: Projection) -> None:
    found = ask(projection, "Where does it stand", label="zen")
    assert [(row["document"], row["quote"][:7]) for row in found] == [
        ("a.txt", "quote 0"), ("a.txt", "quote 1"), ("b.txt", "quote 0"),
    ]  # fmt: skip


def test_what_it_is_related_to(projection: Projection) -> None:
    assert ask(projection, "What is it related to", label="zen") == [
        {"how": "USES", "what": "Koan", "confidence": 0.8},
        {"how": "IS_A", "what": "Buddhism", "confidence": 0.6},
    ]
    assert [row["how"] for row in ask(projection, "What is it related to", label="koan")] == ["USED_BY"]


def test_on_which_words_a_relationship_rests(projection: Projection) -> None:
    found = ask(projection, "On which words")
    assert [(row["subject"], row["type"], row["object"], row["document"]) for row in found] == [
        ("Zen", "IS_A", "Buddhism", "b.txt"),
        ("Zen", "USES", "Koan", "a.txt"),
    ]


def test_how_two_hang_together(projection: Projection) -> None:
    [way] = ask(projection, "How do two things", label="koan", other="buddhism")
    assert way == {"concepts": ["Koan", "Zen", "Buddhism"], "types": ["USES", "IS_A"]}


def test_the_main_concepts(projection: Projection) -> None:
    found = ask(projection, "What are the main")
    assert [(row["label"], row["quotes"], row["relationships"]) for row in found] == [
        ("Zen", 3, 2), ("Buddhism", 1, 1), ("Koan", 1, 1),
    ]  # fmt: skip


def test_which_documents_speak_of_the_same(projection: Projection) -> None:
    found = ask(projection, "Which documents speak", filename="a.txt")
    assert found == [{"document": "b.txt", "shared": 1, "some": ["Zen"]}]


def test_which_passages_hold_words(projection: Projection) -> None:
    assert {row["document"] for row in ask(projection, "Which passages", words="zen")} == {"a.txt", "b.txt"}
    [found] = ask(projection, "Which passages", words="naive AND zen")
    assert found["text"] == "Naïve words on Zen."


def test_what_changed_lately(projection: Projection) -> None:
    found = ask(projection, "What changed lately")
    assert {(row["epoch"], row["what"], row["name"]) for row in found if row["kind"] == "document"} == {
        (1, "added", C), (2, "added", A), (3, "added", B), (4, "removed", C),
    }  # fmt: skip
    assert (4, "removed", "secret") in {(row["epoch"], row["what"], row["name"]) for row in found}


def rows(projection: Projection, question: str) -> list[list[Any]]:
    """Of a question about the graph ``g``."""
    whole, name = f"MATCH (g:Graph {{name: $graph}}) {question}", projection.connection.endpoint.namespace
    return [list(row.values()) for row in projection.connection.read(whole, graph=name)]


def test_concepts_appear_where_their_quotes_stand_and_chunks_are_in_order(projection: Projection) -> None:
    found = rows(
        projection,
        "MATCH (c:Concept {space: g.space}) RETURN COLLECT { MATCH (c)-[:APPEARS_IN]->(s:Source) RETURN elementId(s) },"
        " COLLECT { MATCH (c)-[:EVIDENCED_BY]->(:Instance)-[:DERIVED_FROM]->(s:Source) RETURN DISTINCT elementId(s) }",
    )
    assert [sorted(reported) for reported, _ in found] == [sorted(stands) for _, stands in found]
    assert len(found) == 3 and all(reported for reported, _ in found)
    chunks = rows(
        projection,
        "MATCH (:Document {space: g.space})-[r:HAS_CHUNK]->(s) RETURN r.index, s.chunk_index ORDER BY r.index",
    )
    assert chunks == [[0, 0], [0, 0], [1, 1]]


def test_the_page_names_every_label_and_what_nodes_with_it_have(projection: Projection) -> None:
    found = rows(
        projection,
        "MATCH (n) WHERE n.space = g.space OPTIONAL MATCH (n)-[:HAS_CHUNK|EVIDENCED_BY]->(part)"
        " WITH collect(DISTINCT n) + collect(DISTINCT part) AS nodes UNWIND nodes AS n"
        " UNWIND keys(n) AS name RETURN labels(n), collect(DISTINCT name)",
    )
    assert {label for labels, _ in found for label in labels if f"`{label}`" not in PAGE} == set()
    for labels, names in found:
        known = set().union(*(PROPERTIES.get(label, set()) for label in labels), {"space"})
        assert set(names) - known == set(), labels
    assert {label for labels, _ in found for label in labels} >= {"Graph", "Document", "Source", "Instance", "Concept"}


def test_what_the_page_names_is_there(projection: Projection) -> None:
    """Not all of it in one graph: some stands only in what writes it."""
    stores = Path(__file__).parents[2] / "kgfs/stores"
    written = "".join(path.read_text("utf-8") for path in stores.glob("projection/*.py"))
    declared = {field.name for row in (DocumentRow, SourceRow, InstanceRow) for field in fields(row)}
    named = set().union(*PROPERTIES.values()) - declared - set(COUNTED)
    assert {name for name in named if not re.search(rf"\.{name}\b|\b{name}:|\"{name}\"", written)} == set()
    found = rows(
        projection,
        "MATCH (n {space: g.space})-[r]->(m) OPTIONAL MATCH (m)-[further:DERIVED_FROM]->()"
        " WITH collect(r) + collect(further) AS all UNWIND all AS r"
        " WITH type(r) AS kind, CASE keys(r) WHEN [] THEN [''] ELSE keys(r) END AS names"
        " UNWIND names AS name RETURN kind, collect(DISTINCT name)",
    )
    there = {kind: set(names) - {""} for kind, names in found}
    there["RELATES_TO"].add("by_name")  # of relationships by name only, of which this graph has none
    assert there == TYPES


def test_the_page_names_every_constraint_and_index(projection: Projection) -> None:
    from kgfs.stores.projection.writing import INDEXED, UNIQUE

    for label, columns in (*UNIQUE, *INDEXED):
        assert f"`{label}({', '.join(columns)})`" in PAGE
    found = projection.connection.read("SHOW INDEXES YIELD name, state")
    there = {row["name"]: row["state"] for row in found if row["name"].startswith("kgfs_")}
    assert set(there.values()) == {"ONLINE"}
    assert len(there) == len(UNIQUE) + len(INDEXED) + 2
