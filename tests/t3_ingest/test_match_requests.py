"""How often a server is asked while a document is matched and published: not once for each of its concepts."""

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


def test_a_server_is_asked_as_often_for_many_concepts_as_for_few(
    neo4j_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neo4j import Session
    from neo4j._sync.work.transaction import TransactionBase

    asked: list[str] = []

    def counted(kind: type) -> None:
        run: Any = kind.run  # type: ignore[attr-defined]
        monkeypatch.setattr(
            kind,
            "run",
            lambda self, question, *words, **more: asked.append(str(question)) or run(self, question, *words, **more),
        )

    with closing(on_server(neo4j_place)) as graph:
        read(graph, 1, range(100), range(0))
        counted(Session)
        counted(TransactionBase)
        assert read(graph, 2, range(100, 100 + FEW), range(FEW)) == FEW
        of_few = list(asked)
        asked.clear()
        assert read(graph, 3, range(200, 200 + MANY // 2), range(MANY // 2)) == MANY // 2
        assert asked == of_few
        assert len(asked) < 40
