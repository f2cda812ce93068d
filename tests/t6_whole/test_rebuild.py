"""``kgfs rebuild`` as a user sees it: while mounted, killed in the middle, with a database that is beyond use."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tests.support.knowledge_of import knowledge_of
from tests.support.peers.homes import anywhere, lifecycle
from tests.support.running import LET_GO_SOON, OTHER_HASHES, QUICK, Place, contents, one_line, until
from tests.support.texts import GARBAGE, ZEN

pytestmark = lifecycle


@pytest.fixture
def filled(place: Place, tmp_path: Path) -> Place:
    place.environment |= QUICK
    (tmp_path / "zen.md").write_text(ZEN)
    (tmp_path / "garbage.txt").write_text(GARBAGE)
    place.run("ingest", tmp_path / "zen.md", "--ontology", "Zen")
    place.run("ingest", tmp_path / "garbage.txt", "--ontology", "Memory")
    return place


@pytest.mark.claim("DERIVE-1")
@pytest.mark.mounted
@pytest.mark.parametrize("words", [[], ["Zen"]])
def test_the_tree_stays_while_it_is_derived_anew(filled: Place, words: list[str]) -> None:
    filled.mount()
    until(lambda: filled.status()["worker"]["alive"])
    concepts = filled.mountpoint / "Zen/concepts"
    before = contents(filled.mountpoint)
    listed = sorted(os.listdir(concepts))
    assert len(listed) > 2
    odd: list[object] = []
    ended = threading.Event()

    def read_on() -> None:
        while not ended.is_set():
            seen = sorted(os.listdir(concepts))
            if seen != listed:
                odd.append(seen)
            for name in listed:
                path = concepts / name / "concept.md"
                if path.read_bytes() != before[f"Zen/concepts/{name}/concept.md"][1]:
                    odd.append(name)

    reader = threading.Thread(target=read_on)
    reader.start()
    try:
        reported = filled.run("rebuild", *words, "--yes").stderr
    finally:
        ended.set()
        reader.join()
    assert odd == []
    assert ("1 publication " if words else "2 publications ") in reported
    assert contents(filled.mountpoint) == before
    (filled.mountpoint / "Zen/documents/more.md").write_text("A stupa is a mound. The stupa is older than Zen.\n")
    filled.wait()
    assert os.getxattr(filled.mountpoint / "Zen/documents/more.md", "user.kgfs.state") == b"done"


@pytest.mark.claim("DERIVE-1")
def test_a_graph_that_was_lost_is_derived_whole_though_one_ontology_was_asked_for(filled: Place) -> None:
    known = knowledge_of(filled.home)
    for path in filled.home.glob("graph.sqlite*"):
        path.unlink()
    assert "2 publications " in filled.run("rebuild", "Zen", "--yes").stderr
    assert knowledge_of(filled.home) == known


@anywhere
@pytest.mark.claim("DERIVE-1")
def test_killed_in_the_middle_leaves_what_was(filled: Place) -> None:
    before = knowledge_of(filled.home)
    for border in ("staged:2", "built-aside"):
        filled.run("rebuild", "--yes", expect=-9, env=LET_GO_SOON | {"KGFS_FAIL_AT": border})
        assert knowledge_of(filled.home) == before
    filled.run("rebuild", "--yes", env=OTHER_HASHES)  # the one command on servers here that ends as Python does
    assert knowledge_of(filled.home) == before
    assert [path.name for path in filled.home.iterdir() if ".new" in path.name] == []


@pytest.mark.files("damage")
def test_what_the_graph_lost_comes_back(filled: Place) -> None:
    import sqlite3

    before = knowledge_of(filled.home)
    with sqlite3.connect(filled.home / "graph.sqlite") as graph:
        graph.execute("DELETE FROM instance")
        graph.execute("UPDATE concept SET label = 'nonsense'")
    graph.close()
    assert knowledge_of(filled.home) != before
    filled.run("rebuild", "--yes")
    assert knowledge_of(filled.home) == before


@pytest.mark.files("damage")
def test_a_database_that_cannot_be_opened_is_replaced(filled: Place) -> None:
    before = knowledge_of(filled.home)
    for path in filled.home.glob("graph.sqlite-*"):
        path.unlink()
    (filled.home / "graph.sqlite").write_bytes(b"no database at all, " * 1000)
    assert "kgfs rebuild" in one_line(filled.run("status", expect=7).stderr)
    filled.run("rebuild", "--yes")
    assert knowledge_of(filled.home) == before


def test_it_asks_and_knows_what_there_is(filled: Place) -> None:
    assert filled.run("rebuild", expect=2).stderr.startswith(
        "Error: 'Derive graph and index of all ontologies anew?' needs an answer"
    )
    assert "no ontology 'Nothing'" in one_line(filled.run("rebuild", "Nothing", "--yes", expect=4).stderr)
