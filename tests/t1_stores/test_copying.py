"""Copying garages and comparing graphs, between any two kinds."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from kgfs.errors import CorruptError, ExistsError
from kgfs.stores.garage.contract import BLOCK, Garage, Objects
from kgfs.stores.garage.copying import copy_ledger, copy_news, copy_objects, prove_ledger
from kgfs.stores.garage.opening import FileGarage
from kgfs.stores.graph.comparing import difference
from kgfs.stores.graph.sqlite import Graph
from tests.support.graph_building import ONTOLOGY, Doc, Told, publish
from tests.support.peers.buckets import GARAGES, garage_of

CONTENTS = {"sources/A/1.txt": b"", "sources/A/2.txt": b"two", "texts/x": b"long" * BLOCK, "z": b"\0" * BLOCK}


@pytest.fixture(params=GARAGES)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Garage:
    return garage_of(request.param, tmp_path / "target", request, cache_bytes=0)


@pytest.fixture
def source(tmp_path: Path) -> FileGarage:
    garage = FileGarage(tmp_path / "source")
    for key, content in CONTENTS.items():
        garage.objects.put(key, content)
    garage.ledger.append(1, [b'{"n":1}', b'{"n":2}'])
    return garage


def shown(objects: Objects) -> dict[str, bytes]:
    return {key: objects.get(key) for key, _ in objects.keys("")}


def test_every_object_is_there_in_the_end(source: FileGarage, target: Garage, tmp_path: Path) -> None:
    counted: list[int] = []
    target.objects.put("z", CONTENTS["z"])
    copy_objects(source.objects, target.objects, tmp_path, counted.append)
    assert counted == [1, 2, 3, 4]
    assert shown(target.objects) == CONTENTS
    source.objects.delete("sources/A/2.txt")
    source.objects.put("new", b"new")
    copy_news(source.objects, target.objects, tmp_path)
    assert shown(target.objects) == shown(source.objects)


def test_another_content_under_a_key_is_left_alone(source: FileGarage, target: Garage, tmp_path: Path) -> None:
    target.objects.put("sources/A/2.txt", b"mine")
    with pytest.raises(ExistsError):
        copy_objects(source.objects, target.objects, tmp_path, lambda done: None)
    assert target.objects.get("sources/A/2.txt") == b"mine"


def test_what_rotted_on_arrival_is_taken_out_and_copied_anew(source: FileGarage, tmp_path: Path) -> None:
    target = FileGarage(tmp_path / "target")
    copy_objects(source.objects, target.objects, tmp_path, lambda done: None)
    [rotten] = [path for path in (tmp_path / "target").rglob("x") if path.is_file()]
    os.chmod(rotten, 0o600)
    with rotten.open("r+b") as file:
        file.seek(3 * BLOCK)
        file.write(b"L")
    with pytest.raises(CorruptError, match="texts/x"):
        copy_objects(source.objects, target.objects, tmp_path, lambda done: None)
    assert not target.objects.exists("texts/x")
    copy_objects(source.objects, target.objects, tmp_path, lambda done: None)
    assert shown(target.objects) == CONTENTS


@pytest.mark.claim("MOVE-1")
def test_a_ledger_is_copied_from_where_it_ends_and_proved(source: FileGarage, target: Garage) -> None:
    told = [entry for _, entry in source.ledger.replay()]
    copy_ledger(told[:1], target.ledger)
    copy_ledger(told, target.ledger)
    prove_ledger(told, target.ledger)
    for other in (told[:1], [*told, b"{}"], [told[0], b'{"n":3}']):
        with pytest.raises(CorruptError, match=r"Entry [23]"):
            prove_ledger(other, target.ledger)


# --------------------------------------------------------------------------------------------- graphs

ZEN = Doc("a" * 16, [Told("Zen", 2, definition="Zen is a school."), Told("Koan")], [("Zen", "USES", "Koan", 0.8)])
LATER = Doc("b" * 16, [Told("Zen"), Told("Stupa", 3)], deposit=2)


@pytest.fixture
def graph() -> Graph:
    return Graph()


def differs(one: Graph, other: Graph) -> str:
    return difference(one, other, [ONTOLOGY], lambda done: None)


def test_graphs_that_show_the_same_do_not_differ(graph: Graph) -> None:
    with closing(graph), closing(Graph()) as other:
        for each in (graph, other):
            publish(each, ZEN)
            publish(each, LATER)
            each.forget("gone", [LATER.doc_id], 2000)
        assert differs(graph, other) == ""
        publish(graph, LATER, at=3000)
        assert "documents" in differs(graph, other)


def test_each_row_counts(request: pytest.FixtureRequest) -> None:
    def shows(doc: Doc, at: int = 1000) -> Graph:
        graph = Graph()
        request.addfinalizer(graph.close)
        publish(graph, doc, at=at)
        return graph

    one = shows(ZEN)
    assert differs(one, shows(ZEN)) == ""
    assert differs(one, shows(ZEN, at=1001))
    changed = (
        Doc(ZEN.doc_id, ZEN.concepts, ZEN.relationships, title="Another"),
        Doc(ZEN.doc_id, ZEN.concepts, ZEN.relationships, texts=("some test",)),
        Doc(ZEN.doc_id, ZEN.concepts, [("Zen", "USES", "Koan", 0.7)]),
        Doc(ZEN.doc_id, ZEN.concepts, [("Koan", "USES", "Zen", 0.8)]),
        Doc(ZEN.doc_id, [Told("Zen", 2, definition="Zen is a word."), Told("Koan")], ZEN.relationships),
    )
    for doc in changed:
        assert differs(one, shows(doc)), doc
