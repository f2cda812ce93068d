"""The projection of a graph to a real Neo4j: whatever happened on the way, it is what one made from scratch is."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from kgfs.errors import BadInputError, LostLeaseError
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import DocumentContent
from kgfs.stores.projection.endpoint import Endpoint
from kgfs.stores.projection.source import Catalog, State, VersionLinks
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, prepared, publish

if TYPE_CHECKING:
    from kgfs.stores.projection.projection import Projection

A, B, C, D = "a" * 16, "b" * 16, "c" * 16, "d" * 16
ZEN = Doc(
    A, [Told("Zen", 2, ("Zazen",)), Told("Koan")], [("Zen", "USES", "Koan", 0.8)], ["Zen uses koans.\n", "Sit.\n"]
)
TEA = Doc(B, [Told("Zen"), Told("Tea", 3)], [("Tea", "SUPPORTS", "Zen", 0.5)], ["Tea is Zen.\n"], deposit=2)
OAK = Doc(C, [Told("Oak")], [], ["An oak in the garden.\n", "short"], {1: "too short"}, deposit=3)


@pytest.fixture
def endpoint(neo4j_place: Endpoint) -> Endpoint:
    return replace(neo4j_place, namespace=f"test-{secrets.token_hex(6)}")


@pytest.fixture
def graph() -> Iterator[Graph]:
    with closing(Graph()) as store:
        yield store


def projection(endpoint: Endpoint, graph: Graph, home: str = "one", catalog: Catalog | None = None) -> Projection:
    from kgfs.stores.projection.projection import Projection

    return Projection(endpoint, graph, home, catalog)


def follow(endpoint: Endpoint, graph: Graph, home: str = "one", catalog: Catalog | None = None) -> None:
    with closing(projection(endpoint, graph, home, catalog)) as one:
        position = one.follow()
        assert position.epoch == graph.epoch()
        assert one.position() == position


def on_server(endpoint: Endpoint) -> dict[str, Any]:
    """All that a graph's space has, in an order and with names that do not depend on the space."""
    from kgfs.stores.projection.connection import Connection

    with closing(Connection(endpoint)) as connection:
        (root,) = connection.read("MATCH (g:Graph {name: $graph}) RETURN g.space AS space", graph=endpoint.namespace)
        space = root["space"]
        nodes = connection.read(
            "MATCH (n) WHERE (n.space = $space OR n.edition STARTS WITH $space) AND NOT n:Graph AND NOT n:Change"
            " RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties",
            space=space,
        )
        links = connection.read(
            "MATCH (n)-[r]->(m) WHERE (n.space = $space OR n.edition STARTS WITH $space)"
            " RETURN elementId(n) AS start, type(r) AS type, properties(r) AS properties, elementId(m) AS end",
            space=space,
        )
    names = {}
    for node in nodes:
        properties = {key: value for key, value in node["properties"].items() if key != "space"}
        for key in ("key", "edition"):
            if key in properties:
                properties[key] = properties[key].removeprefix(space)
        names[node["id"]] = (sorted(node["labels"]), sorted(properties.items(), key=lambda item: item[0]))
    return {
        "nodes": sorted(map(repr, names.values())),
        "links": sorted(
            repr((names[r["start"]], r["type"], sorted(r["properties"].items()), names[r["end"]])) for r in links
        ),
    }


def assert_as_from_scratch(endpoint: Endpoint, graph: Graph, catalog: Catalog | None = None, home: str = "one") -> None:
    with closing(projection(endpoint, graph, home, catalog)) as one:
        assert list(one.differences()) == []
    fresh = replace(endpoint, namespace=f"test-{secrets.token_hex(6)}")
    follow(fresh, graph, catalog=catalog)
    was, wanted = on_server(endpoint), on_server(fresh)
    assert was["nodes"] == wanted["nodes"]
    assert was["links"] == wanted["links"]


def ask(endpoint: Endpoint, question: str, **words: Any) -> list[Any]:
    from kgfs.stores.projection.connection import Connection

    with closing(Connection(endpoint)) as connection:
        rows = connection.read(f"MATCH (g:Graph {{name: $graph}}) {question}", graph=endpoint.namespace, **words)
    return [tuple(row.values()) if len(row) > 1 else next(iter(row.values())) for row in rows]


QUOTES = """
MATCH (c:Concept {space: g.space})-[:EVIDENCED_BY]->(i:Instance)-[:DERIVED_FROM]->(s:Source)<-[:HAS_CHUNK]-(d:Document)
RETURN c.label AS label, d.doc_id AS doc_id, i.quote AS quote, s.chunk_index AS chunk ORDER BY label, doc_id, quote"""


def test_relationships_by_name_arrive_change_and_leave(endpoint: Endpoint, graph: Graph) -> None:
    narrow = Told("long night", kinds=("night",))
    seen = (
        "MATCH (:Concept {space: g.space})-[r:RELATES_TO]->(c:Concept) RETURN r.type, r.by_name, r.confidence, c.label"
    )
    publish(graph, Doc("1" * 16, [narrow]))
    follow(endpoint, graph)
    publish(graph, Doc("2" * 16, [Told("night")], deposit=2))
    follow(endpoint, graph)
    assert ask(endpoint, seen) == [("IS_A", True, None, "night")]
    publish(graph, Doc("3" * 16, [narrow, Told("night")], [("long night", "IS_A", "night", 0.75)], deposit=3))
    follow(endpoint, graph)
    assert ask(endpoint, seen) == [("IS_A", None, 0.75, "night")]
    assert_as_from_scratch(endpoint, graph)
    graph.forget("f1", ["3" * 16], 2000)
    follow(endpoint, graph)
    assert ask(endpoint, seen) == [("IS_A", True, None, "night")]
    graph.forget("f2", ["2" * 16], 3000)
    follow(endpoint, graph)
    assert ask(endpoint, seen) == []
    assert_as_from_scratch(endpoint, graph)


def test_each_commit_arrives(endpoint: Endpoint, graph: Graph) -> None:
    publish(graph, ZEN)
    follow(endpoint, graph)
    assert ask(endpoint, QUOTES) == [
        ("Koan", A, f"quote 100 of {A}", 0),
        ("Zen", A, f"quote 0 of {A}", 0),
        ("Zen", A, f"quote 1 of {A}", 0),
    ]
    publish(graph, TEA)
    publish(graph, OAK)
    follow(endpoint, graph)
    assert_as_from_scratch(endpoint, graph)
    assert [row[:2] for row in ask(endpoint, QUOTES)] == [
        (label, doc.doc_id)
        for label, doc in [
            ("Koan", ZEN),
            ("Oak", OAK),
            ("Tea", TEA),
            ("Tea", TEA),
            ("Tea", TEA),
            ("Zen", ZEN),
            ("Zen", ZEN),
            ("Zen", TEA),
        ]
    ]
    graph.forget("forgotten", [A], 2000)
    follow(endpoint, graph)
    assert_as_from_scratch(endpoint, graph)
    assert [row[:2] for row in ask(endpoint, QUOTES)] == [("Oak", C), ("Tea", B), ("Tea", B), ("Tea", B), ("Zen", B)]
    assert ask(endpoint, "MATCH (n) WHERE n.space = g.space AND n.form = 'zazen' RETURN n.form") == []


def test_claims_stand_there_with_their_evidence_as_long_as_they_live(endpoint: Endpoint, graph: Graph) -> None:
    asked = (
        "MATCH (c:Claim {space: g.space})-[:EVIDENCED_BY]->(i:Instance)-[:DERIVED_FROM]->(:Source)<-[:HAS_CHUNK]-(d:Document)"
        " RETURN c.claim, c.role, c.evidence, i.quote, i.claim, d.doc_id ORDER BY d.doc_id"
    )
    publish(graph, replace(TEA, claims=[("Tea grew by 5 %.", "It grew."), ("!Tea is qux.", "qux")]))
    follow(endpoint, graph)
    publish(graph, replace(ZEN, claims=[("By 5 % tea grew.", "It grew.")]))
    follow(endpoint, graph)
    said = "By 5 % tea grew.", "metric", 2, "It grew."
    assert ask(endpoint, asked) == [(*said, "By 5 % tea grew.", A), (*said, "Tea grew by 5 %.", B)]
    assert_as_from_scratch(endpoint, graph)
    claim_id = graph.claims.living(ONTOLOGY, "metric")[0].shown.claim_id
    graph.mark_claim("split", ONTOLOGY, claim_id, "", 1500)
    follow(endpoint, graph)
    assert_as_from_scratch(endpoint, graph)
    assert [row[0] for row in ask(endpoint, asked)] == ["By 5 % tea grew.", "Tea grew by 5 %."]
    graph.forget("gone", [A], 2000)
    follow(endpoint, graph)
    assert_as_from_scratch(endpoint, graph)
    assert ask(endpoint, asked) == [("Tea grew by 5 %.", "metric", 1, "It grew.", "Tea grew by 5 %.", B)]
    publish(graph, TEA, "again", at=3000)
    follow(endpoint, graph)
    assert_as_from_scratch(endpoint, graph)
    assert ask(endpoint, asked) == [] == ask(endpoint, "MATCH (c:Claim {space: g.space}) RETURN c.id")


def test_a_version_takes_the_place_of_the_former(endpoint: Endpoint, graph: Graph) -> None:
    publish(graph, ZEN)
    publish(graph, TEA)
    follow(endpoint, graph)
    newer = Doc(D, [Told("Zen", 1), Told("Garden")], [("Zen", "USES", "Garden", 0.9)], ["A garden.\n"], deposit=4)
    publish(graph, newer, supersedes=[A])
    publish(
        graph,
        replace(TEA, texts=["Tea is Zen.\n", "More tea.\n"], concepts=[Told("Tea", 2)], relationships=[]),
        at=3000,
    )
    follow(endpoint, graph)
    assert_as_from_scratch(endpoint, graph)


def test_merging_and_parting_concepts(endpoint: Endpoint, graph: Graph) -> None:
    publish(graph, ZEN)
    publish(graph, TEA)
    follow(endpoint, graph)
    batch, publication = prepared(
        graph, replace(TEA, concepts=[Told("Zen", 1), Told("Koan", 3)], relationships=[]), "merged"
    )
    properties = DocumentContent(B, publication.concepts, publication.relationships, batch.rows["instance"])
    graph.reassign("merged", [properties], 4000)
    follow(endpoint, graph)
    assert_as_from_scratch(endpoint, graph)
    assert ask(endpoint, "MATCH (c:Concept {space: g.space}) RETURN c.label AS label ORDER BY label") == ["Koan", "Zen"]
    batch, publication = prepared(graph, TEA, "parted")
    graph.reassign(
        "parted", [DocumentContent(B, publication.concepts, publication.relationships, batch.rows["instance"])], 5000
    )
    graph.forget("all of it", [], 6000, [cid("Koan")])
    follow(endpoint, graph)
    assert_as_from_scratch(endpoint, graph)


def test_a_purge_is_owed_until_nothing_of_it_is_left(endpoint: Endpoint, graph: Graph) -> None:
    """The feed's words are given up before the projection has followed."""
    publish(graph, ZEN)
    publish(graph, TEA)
    publish(graph, OAK)
    follow(endpoint, graph)
    assert properties_on_server(endpoint, "koan")
    publish(graph, replace(OAK, concepts=[Told("Acorn")]), at=2500)
    graph.forget("purged", [A], 3000)
    with closing(projection(endpoint, graph)) as one:
        before = one.position()
        graph.redact([cid("Koan"), cid("Zen")], [])
        assert one.position() == before
        assert one.follow().epoch == graph.epoch()
    assert properties_on_server(endpoint, "koan") == []
    assert properties_on_server(endpoint, A) == []
    assert_as_from_scratch(endpoint, graph)
    assert next(row[:2] for row in ask(endpoint, QUOTES)) == ("Acorn", C)


def test_a_purge_after_the_projection_has_followed_is_carried_out_too(endpoint: Endpoint, graph: Graph) -> None:
    publish(graph, ZEN)
    graph.forget("purged", [A], 3000)
    follow(endpoint, graph)
    assert properties_on_server(endpoint, "koan"), "the feed names it"
    graph.redact([cid("Koan"), cid("Zen")], [])
    follow(endpoint, graph)
    assert properties_on_server(endpoint, "koan") == []


def properties_on_server(endpoint: Endpoint, word: str) -> list[Any]:
    """Nodes and relationships of the namespace that hold a word anywhere."""
    return ask(
        endpoint,
        "MATCH (n) WHERE n.space STARTS WITH $graph OR n.edition STARTS WITH $graph"
        " OPTIONAL MATCH (n)-[r]->() WITH collect(DISTINCT properties(n)) + collect(properties(r)) AS all"
        " UNWIND all AS said UNWIND keys(said) AS key WITH key, said[key] AS value"
        " WITH key, CASE WHEN value IS :: LIST<ANY> THEN [x IN value | toString(x)] ELSE [toString(value)] END AS values"
        " UNWIND values AS value WITH key, value WHERE toLower(value) CONTAINS $word RETURN key, value",
        word=word,
    )


def test_a_home_that_takes_over_writes_its_own_and_the_former_one_nothing_more(
    endpoint: Endpoint, graph: Graph
) -> None:
    publish(graph, ZEN)
    with closing(projection(endpoint, graph, "one")) as one, closing(Graph()) as taken:
        one.follow()
        for doc in (TEA, ZEN):
            publish(taken, doc)
        follow(endpoint, taken, "other")
        publish(graph, OAK)
        before = on_server(endpoint)
        with pytest.raises(LostLeaseError):
            one._follow_some(set(), {C}, State(1, 0, 0), State(2, 0, 0))
        assert on_server(endpoint) == before
        assert one.position() is None
        assert_as_from_scratch(endpoint, taken, home="other")


def test_a_projection_of_another_garage_is_left_alone(endpoint: Endpoint, graph: Graph) -> None:
    from kgfs.stores.projection.projection import Projection

    publish(graph, ZEN)
    with closing(Projection(endpoint, graph, "one", origin="its garage")) as one:
        one.follow()
        before = on_server(endpoint)
        with closing(Graph()) as strange:
            publish(strange, OAK)
            with closing(Projection(endpoint, strange, "other", origin="another")) as other:
                with pytest.raises(BadInputError, match=r"is another home's\. Set graph\.namespace"):
                    other.follow()
                assert on_server(endpoint) == before
                other.rebuild()
            with pytest.raises(BadInputError):
                one.follow()
            follow_as(endpoint, strange, "another")


def follow_as(endpoint: Endpoint, graph: Graph, origin: str) -> None:
    from kgfs.stores.projection.projection import Projection

    with closing(Projection(endpoint, graph, "other", origin=origin)) as one:
        one.follow()
        assert list(one.differences()) == []


def test_a_graph_that_was_derived_anew_is_written_over_the_former(endpoint: Endpoint, graph: Graph) -> None:
    publish(graph, ZEN)
    publish(graph, TEA)
    follow(endpoint, graph)
    with closing(graph.aside()) as built:
        publish(built, TEA)
        publish(built, OAK)
        graph.adopt(built)
    follow(endpoint, graph)
    assert_as_from_scratch(endpoint, graph)


def test_what_somebody_changed_on_the_server_is_found_and_written_again(endpoint: Endpoint, graph: Graph) -> None:
    publish(graph, ZEN)
    publish(graph, TEA)
    follow(endpoint, graph)
    with closing(projection(endpoint, graph)) as one:
        damage = [
            ("MATCH (d:Document {doc_id: $a}) WHERE d.space STARTS WITH $graph REMOVE d:Document, d.digest", {}),
            ("MATCH (c:Concept {id: $tea}) WHERE c.space STARTS WITH $graph DETACH DELETE c", {}),
            ("MATCH (c:Concept {id: $koan}) WHERE c.space STARTS WITH $graph SET c.digest = 'x'", {}),
        ]
        words = {"a": A, "tea": cid("Tea"), "koan": cid("Koan"), "graph": endpoint.namespace}
        one.connection.write([(statement, words) for statement, _ in damage])
        assert set(one.differences()) == {
            ("documents", "1 there, 2 in the home"),
            ("sources", "1 there, 3 in the home"),
            ("concepts", "2 there, 3 in the home"),
            ("instances", "5 there, 9 in the home"),
            (f"Concept {cid('Tea')}", "missing"),
            (f"Concept {cid('Koan')}", "other"),
            (f"Document {A}", "missing"),
        }
        seen: list[tuple[int, int]] = []
        one.rebuild(lambda done, total: seen.append((done, total)))
        assert seen[-1][0] == seen[-1][1] == sum(graph.counts().values())
        assert list(one.differences()) == []
    assert_as_from_scratch(endpoint, graph)


def test_names_and_versions_come_from_the_catalog(endpoint: Endpoint, graph: Graph) -> None:
    names = {ONTOLOGY: "Philosophy"}
    old = {"doc_id": C, "ontology": ONTOLOGY, "source_id": "s", "content_hash": "h", "garage_key": "k", "size_bytes": 3}
    versions = {A: VersionLinks(3, ((2, old), (1, {**old, "doc_id": B})))}
    catalog = Catalog(lambda: dict(names), lambda doc_id: versions.get(doc_id, VersionLinks(0)))
    publish(graph, ZEN)
    publish(graph, TEA)
    follow(endpoint, graph, catalog=catalog)
    names[ONTOLOGY] = "Zen"
    follow(endpoint, graph, catalog=catalog)
    assert ask(endpoint, "MATCH (o:Ontology {space: g.space}) RETURN o.ontology, o.name, o.documents") == [
        (ONTOLOGY, "Zen", 2)
    ]
    linked = ask(
        endpoint,
        "MATCH (d:Document {space: g.space})-[s:SUPERSEDES]->(old:Document)"
        " RETURN d.doc_id, d.project, d.version, s.version, old.doc_id, old.status ORDER BY s.version",
    )
    assert linked == [(A, "Zen", 3, 1, B, "done"), (A, "Zen", 3, 2, C, "superseded")]
    assert_as_from_scratch(endpoint, graph, catalog)
    graph.forget("tea", [B], 5)  # now it is a former version alone
    follow(endpoint, graph, catalog=catalog)
    found = "MATCH (d:Document {space: g.space, status: 'superseded'}) RETURN d.doc_id ORDER BY d.doc_id"
    assert ask(endpoint, found) == [B, C]
    versions[A] = VersionLinks(3, ((1, {**old, "doc_id": B}),))
    graph.redact([], [])  # the other one was purged
    follow(endpoint, graph, catalog=catalog)
    assert ask(endpoint, found) == [B]
    graph.forget("zen", [A], 6)
    follow(endpoint, graph, catalog=catalog)
    assert ask(endpoint, "MATCH (d:Edition {space: g.space}) RETURN d.doc_id") == []


def test_what_a_document_and_its_sources_say(endpoint: Endpoint, graph: Graph) -> None:
    from datetime import UTC, datetime

    publish(graph, ZEN)
    publish(graph, OAK)
    follow(endpoint, graph)
    (properties,) = ask(endpoint, "MATCH (d:Document {space: g.space, doc_id: $a}) RETURN d {.*}", a=A)
    assert properties["content"] == "Zen uses koans.\nSit.\n"
    assert properties["content_length"] == len(properties["content"])
    chunk_ids = [row.chunk_id for row in graph.sources(A)]
    assert properties["chunk_ids"] == chunk_ids
    assert (properties["source_type"], properties["source_url"], properties["title"]) == (
        "text/plain",
        f"documents/{A}.txt",
        A,
    )
    assert properties["created_at"].to_native() == datetime(1970, 1, 1, tzinfo=UTC)
    sources = ask(
        endpoint, "MATCH (s:Source {chunk_id: $id}) WHERE s.edition STARTS WITH g.space RETURN s {.*}", id=chunk_ids[1]
    )
    row = document_of(graph, A)
    for name in ("source_id", "garage_key", "content_hash", "source_title"):
        assert sources[0][name] == getattr(row, name)
    assert "words" in sources[0]
    gated = ask(
        endpoint,
        "MATCH (s:Source {doc_id: $c, chunk_index: 1}) WHERE s.edition STARTS WITH g.space RETURN s.words",
        c=C,
    )
    assert gated == [None]


def document_of(graph: Graph, doc_id: str) -> Any:
    row = graph.document(doc_id)
    assert row is not None
    return row


def test_a_projection_of_another_format_is_written_over(endpoint: Endpoint, graph: Graph) -> None:
    """What is not kgfs's stays."""
    publish(graph, ZEN)
    with closing(projection(endpoint, graph)) as one:
        one.follow()
        former = (
            "MATCH (g:Graph {name: $graph}) SET g.format = 1 CREATE (:Owner:Concept {space: g.space, id: 'gone'})"
            " CREATE (:Mine {of: $graph, space: 'mine', name: 'stays'})"
        )
        one.connection.write([(former, {"graph": endpoint.namespace})])
        one.follow()
    assert_as_from_scratch(endpoint, graph)
    assert ask(endpoint, "MATCH (n) WHERE n.of = $graph RETURN labels(n)") == [["Mine"]]


LABELS = ("Zen", "Koan", "Tea", "Oak", "Garden", "Moon")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_whatever_happens_it_is_what_one_made_from_scratch_is(
    endpoint: Endpoint, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Publishing, superseding, saying other things, forgetting, purging and deriving anew in any order, followed now and then."""
    from kgfs.stores.projection import projection as following
    from kgfs.stores.projection import writing

    random = Random(seed)
    if seed % 2:  # in the smallest portions
        monkeypatch.setattr(following, "FOLLOWED_BATCH", 10)
        monkeypatch.setattr(following, "IDS_BATCH", 3)
        monkeypatch.setattr(writing, "ROWS", 7)
    shown: dict[str, Doc] = {}
    with closing(Graph()) as graph, closing(projection(endpoint, graph)) as one:
        for step in range(25):
            what = random.choice(["publish", "publish", "publish", "say", "forget", "strike", "purge", "anew"])
            if what == "publish" or not shown:
                doc = _random_doc(random, step)
                gone = random.sample(sorted(shown), min(len(shown), random.choice([0, 0, 1])))
                publish(graph, doc, f"commit {step}", supersedes=gone, at=1000 + step)
                shown = {doc_id: known for doc_id, known in shown.items() if doc_id not in gone} | {doc.doc_id: doc}
            elif what == "say":
                doc = replace(
                    shown[random.choice(sorted(shown))], concepts=[Told("Zen"), Told("Moon", 2)], relationships=[]
                )
                batch, publication = prepared(graph, doc, f"commit {step}")
                properties = DocumentContent(
                    doc.doc_id, publication.concepts, publication.relationships, batch.rows["instance"]
                )
                graph.reassign(f"commit {step}", [properties], 1000 + step)
            elif what in ("forget", "purge"):
                gone = random.sample(sorted(shown), random.randint(1, len(shown)))
                graph.forget(f"commit {step}", gone, 1000 + step)
                shown = {doc_id: doc for doc_id, doc in shown.items() if doc_id not in gone}
                if what == "purge":
                    graph.redact([cid(label) for label in LABELS], [])
            elif what == "strike":
                graph.forget(f"commit {step}", [], 1000 + step, [cid(random.choice(LABELS))])
            else:
                with closing(graph.aside()) as built:
                    for doc in shown.values():
                        publish(built, doc, f"derived {step} {doc.doc_id}")
                    graph.adopt(built)
            if random.random() < 0.4:
                one.follow()
        one.follow()
        assert_as_from_scratch(endpoint, graph)


def _random_doc(random: Random, step: int) -> Doc:
    properties = [
        Told(label, random.randint(1, 3), (f"{label}s",)) for label in random.sample(LABELS, random.randint(1, 4))
    ]
    pairs = [(a.label, "USES", b.label, random.random()) for a, b in pairwise(properties) if random.random() < 0.6]
    texts = [f"text {n} of step {step}\n" for n in range(random.randint(1, 4))]
    said = [(f"Claim {random.randint(0, 2)}.", quote) for quote in random.sample(("It grew.", "It fell."), 2)]
    claims = said[: random.randint(0, 2)]
    return Doc(f"{random.randint(0, 5):016x}", properties, pairs, texts, deposit=step, claims=claims)
