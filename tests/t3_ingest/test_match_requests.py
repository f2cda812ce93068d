"""How often a server is asked: not once for each concept of a document that is matched and published, nor once for each
document where many are forgotten or derived anew."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from kgfs.config import Pipeline
from kgfs.ingest.matching.match import match
from kgfs.ingest.matching.publication import carry_out
from kgfs.stores.graph.contract import Graph
from tests.t1_stores.graph_stores import on_server
from tests.t3_ingest.readings import ONTOLOGY, document_of, reading_of

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.place import Place

FEW, MANY = 3, 40


def read(graph: Graph, deposit: int, numbers: range, known: range) -> int:
    """A document of these things, those of ``known`` among them related; how many of them were known already."""
    said = {f"thing {n}": f"A thing {n} is a part." for n in (*numbers, *known)}
    text = " ".join([f"Document {deposit}.", *said.values()])
    document = document_of(text, f"{deposit}.txt", deposit)
    stated = [(f"thing {n}", "USES", f"thing {numbers[0]}", said[f"thing {n}"]) for n in known]
    reading = reading_of(document, text, {label: [words] for label, words in said.items()}, stated)
    decisions = match(graph, None, ONTOLOGY, reading, None, Pipeline())
    carry_out(graph, document, reading, decisions, text=text, content_version=1, supersedes=(), at=deposit)
    return sum(concept.how == "exact" for concept in decisions.concepts)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that the driver asks from now on."""
    from neo4j import Session
    from neo4j._sync.work.transaction import TransactionBase

    asked: list[str] = []

    def count(kind: type) -> None:
        run: Any = kind.run  # type: ignore[attr-defined]
        monkeypatch.setattr(
            kind,
            "run",
            lambda self, question, *words, **more: asked.append(str(question)) or run(self, question, *words, **more),
        )

    count(Session)
    count(TransactionBase)
    return asked


def test_a_server_is_asked_as_often_for_many_concepts_as_for_few(neo4j_place: Place, asked: list[str]) -> None:
    with closing(on_server(neo4j_place)) as graph:
        read(graph, 1, range(100), range(0))
        asked.clear()
        assert read(graph, 2, range(100, 100 + FEW), range(FEW)) == FEW
        of_few = list(asked)
        asked.clear()
        assert read(graph, 3, range(200, 200 + MANY // 2), range(MANY // 2)) == MANY // 2
        assert asked == of_few
        assert len(asked) < 40


def test_a_server_is_asked_as_often_when_many_documents_are_forgotten_as_when_few(
    neo4j_place: Place, asked: list[str]
) -> None:
    with closing(on_server(neo4j_place)) as graph:
        for deposit in range(FEW + MANY // 2):
            read(graph, deposit, range(2 * deposit, 2 * deposit + 2), range(0))
        documents = [row.doc_id for row in graph.documents(ONTOLOGY)]
        assert len(documents) == FEW + MANY // 2
        asked.clear()
        graph.forget("few", documents[:FEW], 1000)
        of_few = list(asked)
        asked.clear()
        graph.forget("many", documents[FEW:], 1000)
        assert asked == of_few
        assert len(asked) < 30
        assert graph.counts()["documents"] == 0


def test_a_server_is_asked_as_often_when_many_documents_are_derived_anew_as_when_few(
    neo4j_place: Place, asked: list[str]
) -> None:
    with closing(on_server(neo4j_place)) as graph:

        def derive(documents: int) -> list[str]:
            with closing(graph.aside()) as built:
                asked.clear()
                for deposit in range(documents):
                    read(built, deposit, range(2 * deposit, 2 * deposit + 2), range(0))
                assert asked == []
                graph.adopt(built)
            return list(asked)

        derive(FEW)
        of_few = derive(FEW)
        assert graph.counts()["documents"] == FEW
        assert len(derive(MANY // 2)) == len(of_few) < 60
        assert graph.counts()["documents"] == MANY // 2
        assert graph.faults() == []
