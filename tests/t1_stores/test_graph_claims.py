"""Claims in the graph: one claim of all documents that have its sentence, as long as any of them is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.domain.identity import claim_id_of
from kgfs.stores.graph.comparing import difference
from kgfs.stores.graph.sqlite import Graph
from tests.support.graph_building import ONTOLOGY, Doc, publish

GREW, FELL = "Acme grew by five percent.", "Acme fell by six percent."
FIRST = Doc("a" * 16, claims=[("In 2024 Acme grew by 5 %.", GREW), ("!Acme is quxbad.", "qux")], deposit=2)
EARLIER = Doc("b" * 16, claims=[("Acme grew by 5 % in 2024.", GREW), ("Acme fell by 6 % in 2024.", FELL)], deposit=1)
GREW_ID = claim_id_of(ONTOLOGY, GREW, "Acme", "metric")


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    graph = Graph(tmp_path / "graph.sqlite")
    publish(graph, FIRST)
    yield graph
    graph.close()


def test_a_sentence_of_two_documents_is_one_claim_in_the_words_of_the_earlier_deposit(graph: Graph) -> None:
    assert [one.shown.claim for one in graph.claims.living(ONTOLOGY, "metric")] == ["In 2024 Acme grew by 5 %."]
    before = graph.epoch()
    publish(graph, EARLIER)
    grew = graph.claims.find([GREW_ID])[GREW_ID]
    assert (grew.shown.claim, grew.shown.doc_id, grew.evidence) == ("Acme grew by 5 % in 2024.", EARLIER.doc_id, 2)
    assert [row.doc_id for row in graph.claims.evidence(GREW_ID)] == [EARLIER.doc_id, FIRST.doc_id]
    assert graph.claims.counts(ONTOLOGY) == {"metric": 2} and graph.claims.has_any(ONTOLOGY)
    told = {change.owner for change in graph.changes(before) or [] if change.kind == "claim"}
    assert told == {GREW_ID, claim_id_of(ONTOLOGY, FELL, "Acme", "metric")}
    graph.forget("gone", [EARLIER.doc_id], 2000)
    assert graph.claims.find([GREW_ID])[GREW_ID].shown.doc_id == FIRST.doc_id
    graph.forget("all gone", [FIRST.doc_id], 3000)
    assert not graph.claims.find([GREW_ID]) and not graph.claims.has_any(ONTOLOGY)


def test_what_was_refused_is_found_by_those_who_ask_for_it_alone(graph: Graph) -> None:
    assert [(row.claim, row.rejected) for row in graph.claims.rejected(ONTOLOGY)] == [("!Acme is quxbad.", "too short")]
    assert graph.claims.search("quxbad", ONTOLOGY) == []
    assert graph.claims.at([(FIRST.doc_id, 1)]) == {}


def test_a_search_finds_claims_by_all_of_its_words_whatever_their_endings(graph: Graph) -> None:
    publish(graph, EARLIER)
    assert [one.evidence for one in graph.claims.search("Acme's 2024", ONTOLOGY)] == []
    assert [one.evidence for one in graph.claims.search("ACME 2024")] == [2, 1]
    assert [one.shown.claim for one in graph.claims.search("falls fell", ONTOLOGY)] == []
    assert [one.shown.claim for one in graph.claims.search("fell", ONTOLOGY)] == ["Acme fell by 6 % in 2024."]
    assert graph.claims.search("fell", "another") == []


def test_a_claim_that_may_say_the_same_has_equal_measures_and_an_actor_who_is_named(graph: Graph) -> None:
    publish(graph, EARLIER)
    found = graph.claims.naming(ONTOLOGY, "Growth of 5 % is what Acme had in 2024.")
    assert [one.shown.claim_id for one in found] == [GREW_ID]
    assert graph.claims.naming(ONTOLOGY, "Growth of 5 % is what Bolt had in 2024.") == []
    assert len(graph.claims.about(ONTOLOGY, "ACME")) == 2


def test_graphs_with_other_claims_differ_and_a_purge_leaves_no_word_of_them(graph: Graph, tmp_path: Path) -> None:
    other = Graph(tmp_path / "other.sqlite")
    publish(other, Doc(FIRST.doc_id, claims=FIRST.claims[:1], deposit=2))
    assert "quxbad" in difference(graph, other, [ONTOLOGY], lambda done: None)
    other.close()
    graph.forget("gone", [FIRST.doc_id], 2000)
    graph.redact([], [], [FIRST.doc_id])
    assert b"quxbad" not in b"".join(path.read_bytes() for path in tmp_path.glob("graph.sqlite*"))


def test_what_persons_say_of_claims_holds_for_evidence_to_come_and_is_undone_by_a_split(graph: Graph) -> None:
    publish(graph, EARLIER)
    fell = claim_id_of(ONTOLOGY, FELL, "Acme", "metric")
    epoch = graph.epoch()
    assert graph.mark_claim("merge", ONTOLOGY, GREW_ID, fell, 3000) == graph.mark_claim(
        "merge", ONTOLOGY, GREW_ID, fell, 9
    )
    [one] = graph.claims.living(ONTOLOGY, "metric")
    assert (one.shown.claim_id, one.evidence, graph.changed_at(ONTOLOGY)) == (fell, 3, 3000)
    told = {(change.kind, change.owner) for change in graph.changes(epoch) or []}
    assert told >= {("claim", GREW_ID), ("claim", fell)}
    publish(graph, Doc("c" * 16, claims=FIRST.claims, deposit=3))
    assert graph.claims.find([fell])[fell].evidence == 4 and not graph.claims.find([GREW_ID])
    graph.mark_claim("split", ONTOLOGY, fell, "", 4000)
    assert sorted(one.evidence for one in graph.claims.living(ONTOLOGY, "metric")) == [1, 1, 2]
    assert graph.claims.marks(ONTOLOGY) == sorted([(GREW_ID, fell), (fell, "")])
    assert graph.faults() == []
