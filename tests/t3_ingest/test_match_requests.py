"""How often a server is asked: not once for each concept of a document that is matched and published, nor once for each
document where many are forgotten or derived anew."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

import pytest

from kgfs.ingest.matching.match import match
from kgfs.ingest.matching.publication import carry_out
from kgfs.settings import Pipeline
from kgfs.stores.graph.contract import Graph
from tests.support.graph_stores import on_server
from tests.support.readings import ONTOLOGY, document_of, reading_of

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


@dataclass(frozen=True)
class Given:
    """What one request is given."""

    longest: int
    """Rows of its longest list."""
    changes: int
    """Of the feed."""
    seconds: float
    """That its transaction may take."""


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Given]:
    """Of everything that the driver asks in transactions from now on."""
    from neo4j._sync.work.transaction import TransactionBase

    noted: list[Given] = []
    seconds: dict[Any, float] = {}
    run, begin = TransactionBase.run, TransactionBase._begin

    def noting_run(self: Any, question: Any, words: Any = None, **more: Any) -> Any:
        lists = {name: value for name, value in (words or {}).get("given", {}).items() if isinstance(value, list)}
        lists.pop("keys", None)  # of what is removed after the commit, so many at a time
        parts = lists.get("parts", [])
        noted.append(
            Given(max(map(len, lists.values()), default=0), sum(part["size"] for part in parts), seconds[self])
        )
        return run(self, question, words, **more)

    def noting_begin(self: Any, *words: Any, **more: Any) -> Any:
        seconds[self] = signature(begin).bind(self, *words, **more).arguments["timeout"] or 0.0
        return begin(self, *words, **more)

    monkeypatch.setattr(TransactionBase, "run", noting_run)
    monkeypatch.setattr(TransactionBase, "_begin", noting_begin)
    return noted


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


def test_no_request_grows_with_the_documents_that_are_forgotten(
    neo4j_place: Place, given: list[Given], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one commit all the same, which has time for all of them."""
    from kgfs.stores.graph.neo4j import feed
    from kgfs.stores.graph.neo4j.commit import LEFT_AT_ONCE

    monkeypatch.setattr(feed, "PART", 3)
    documents = 2 * LEFT_AT_ONCE + MANY
    with closing(on_server(neo4j_place)) as graph:
        with closing(graph.aside()) as built:
            for deposit in range(documents):
                read(built, deposit, range(deposit, deposit + 1), range(0))
            graph.adopt(built)
        epoch = graph.epoch()
        doc_ids = [row.doc_id for row in graph.documents(ONTOLOGY)]
        struck = [concept.concept_id for concept in graph.concepts(ONTOLOGY)]
        assert len(doc_ids) == len(struck) == documents
        given.clear()
        graph.forget("half", doc_ids[::2], 1000)
        graph.forget("all", doc_ids[1::2], 1000, struck)
        assert graph.epoch() == epoch + 2
        assert graph.counts() == dict.fromkeys(graph.counts(), 0)
        told = graph.changes(epoch, 100_000)
        assert told is not None
        gone = [change.name for change in told if change.kind == "document"]
        assert sorted(gone) == sorted(doc_ids)
    assert max(one.longest for one in given) == LEFT_AT_ONCE
    assert max(one.changes for one in given) == feed.PART * feed.PARTS_AT_ONCE
    assert sum(one.changes for one in given) == len(told)
    assert max(one.seconds for one in given) >= neo4j_place.timeout * (documents // 2)


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
