"""What a server has not the memory to have said anew: a purge leaves it for later, a person's word waits for it, and says for what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgfs.errors import AwayError, TooMuchError
from kgfs.ingest.life import survivors
from kgfs.ingest.matching.concepts import catch_up, is_word_owed
from kgfs.stores.garage.memory import MemoryGarage
from kgfs.stores.graph.vocabulary import Mark
from kgfs.stores.journal.facts import ConceptsMerged
from kgfs.stores.journal.sqlite import SqliteJournal
from kgfs.stores.stores import Stores
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, publish
from tests.support.graph_stores import own
from tests.support.journal_building import Hand

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.place import Place

MARKS = [Mark(f"{n:016x}", ONTOLOGY, cid("Zen"), True) for n in range(60_000)]
"""More than fit in a transaction of the server of a session."""
REMEDY = r"takes more memory than Neo4j gives a transaction.*server\.memory\.heap\.max_size, db\.memory\.transaction\.total\.max"


@pytest.fixture
def stores(neo4j_place: Place, tmp_path: Path) -> Iterator[Stores]:
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    place = replace(own(neo4j_place), timeout=3.0)
    with closing(Neo4jGraph(place)) as graph, closing(SqliteJournal(tmp_path / "front.sqlite")) as journal:
        publish(graph, Doc("a" * 16, [Told("Zen")]))
        yield Stores(MemoryGarage(), journal, graph)


@pytest.mark.claim("GONE-3")
def test_of_a_purge_it_is_too_much_and_nothing_of_it_is_done(stores: Stores) -> None:
    renaming = survivors.Renaming(marks=tuple((mark.mark, mark.ontology, mark.concept_id, True) for mark in MARKS))
    before = stores.graph.epoch()
    with pytest.raises(TooMuchError, match=REMEDY):
        survivors.say_in_graph(stores, "purge", renaming, 5000)
    assert (stores.graph.epoch(), stores.graph.marks_of(cid("Zen"))) == (before, [])


@pytest.mark.claim("WORD-2", "WORD-3")
def test_a_persons_word_waits_for_a_server_that_is_given_more(stores: Stores) -> None:
    marks = tuple(f"+{mark.mark}={mark.concept_id}" for mark in MARKS)
    Hand(stores.journal)
    stores.journal.record(ConceptsMerged("id-P", cid("Zen"), (), (), marks, (), "word", 5000))
    before = stores.graph.epoch()
    with pytest.raises(AwayError, match=f"{REMEDY}.*nothing else is published"):
        catch_up(stores)
    assert is_word_owed(stores)
    assert (stores.graph.epoch(), stores.graph.marks_of(cid("Zen"))) == (before, [])
