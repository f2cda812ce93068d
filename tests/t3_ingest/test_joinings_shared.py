"""Joinings and partings in homes that share a bucket: each home has the same, and so has what is derived anew."""

from __future__ import annotations

from tests.support.following import Home, same

LONG = (
    "The garbage collector frees memory cells. A garbage collector needs time. The garbage collector stops threads.\n"
)
SHORT = "GC pauses annoy people. The GC runs often. A slow GC stops everything. People tune the GC by hand.\n"
BOTH = "This page tells what a garbage collector (GC) has to do with reference counts and with reference cycles.\n"


def _names(home: Home) -> set[str]:
    graph = home.stores.graph
    (ontology,) = home.stores.catalog.names.ontologies()
    return {concept.name for concept in graph.concepts(ontology.id)} & {"gc", "garbage-collector"}


def _add(home: Home, name: str, text: str) -> None:
    home.host.file(f"{name}.txt", text.encode())
    home.host.settle()
    home.host.exchange()
    home.work()


def test_a_second_home_joins_and_parts_as_the_first(homes: tuple[Home, Home]) -> None:
    here, there = homes
    _add(here, "long", LONG)
    there.host.exchange()
    _add(there, "short", SHORT)
    here.host.exchange()
    here.work()
    assert _names(here) == _names(there) == {"gc", "garbage-collector"}
    _add(here, "both", BOTH)
    there.host.exchange()
    there.work()
    assert _names(here) == _names(there) == {"garbage-collector"}
    assert [one.younger for one in here.stores.graph.joined.joinings()] == [
        one.younger for one in there.stores.graph.joined.joinings()
    ]
    same(homes)
    there.forget("both.txt")
    there.host.exchange()
    here.host.exchange()
    here.work()
    there.work()
    assert _names(here) == _names(there) == {"gc", "garbage-collector"}
    same(homes)
