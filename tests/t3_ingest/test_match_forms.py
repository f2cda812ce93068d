"""What a document's forms join in other documents, and a title that other notes link to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from kgfs.ingest.matching.match import match
from kgfs.settings import Pipeline
from kgfs.stores.graph.sqlite import Graph
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, publish
from tests.support.readings import document_of, reading_of


@pytest.fixture
def graph() -> Iterator[Graph]:
    with closing(Graph()) as found:
        yield found


@pytest.mark.parametrize(
    ("known", "reported", "joins"),
    [
        ("event-loops", "Event loop", True),
        ("asyncio.Task", "asyncio.Task objects", True),
        ("asyncio.Task object", "asyncio.Task", True),
        ("gather_all", "gather_alls", False),
        ("Python 2", "Python 3", False),
        ("native coroutine", "coroutine", False),
    ],
)
def test_forms_of_one_thing_join_across_documents(graph: Graph, known: str, reported: str, joins: bool) -> None:
    publish(graph, Doc("a" * 16, [Told(known)]))
    [decided] = match(
        graph, None, ONTOLOGY, reading_of(document_of(reported), reported, {reported: [reported]}), None, Pipeline()
    ).concepts
    assert (decided.concept_id == cid(known)) == joins


def test_the_title_of_a_note_that_others_link_to_is_a_concept(graph: Graph) -> None:
    text = "Greenhouse keeps warm."
    reading = reading_of(document_of(text), text, {"Greenhouse": [text], "warm": [text]})
    weak = tuple(replace(found, odds=-0.5) for found in reading.concepts)
    reading = replace(reading, title="Greenhouse", concepts=weak)
    assert match(graph, None, ONTOLOGY, reading, None, Pipeline()).concepts == ()
    told = [Told("Whitefly"), Told("Greenhouse")]
    publish(graph, Doc("a" * 16, told, [("Whitefly", "LINKS_TO", "Greenhouse", 1.0)]))
    [decided] = match(graph, None, ONTOLOGY, reading, None, Pipeline()).concepts
    assert decided.concept_id == cid("Greenhouse")
