"""Sizes that an earlier version of the renderers stored: they are computed again in short transactions, by any process."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kgfs.render.concept import render
from kgfs.stores.database import Database
from kgfs.stores.graph import sizes, sizes_kept
from kgfs.stores.graph.sqlite import Graph
from tests.support.graph_building import ONTOLOGY, Doc, Told, publish

CONCEPTS = 12


class KilledError(Exception):
    """In the place of a kill."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A graph whose pages have sizes of before."""
    path = tmp_path / "graph.sqlite"
    with closing(Graph(path)) as graph:
        publish(graph, Doc("a" * 16, [Told(f"Concept {n}", 1 + n % 3) for n in range(CONCEPTS)]))
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE concept SET size = 7")
        file.execute("UPDATE meta SET value = 4 WHERE name = 'rendered'")
        file.commit()
    return path


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """One page in each transaction."""
    monkeypatch.setattr(sizes, "SLICE", 0.0)
    taken: list[bool] = []
    renew = sizes.renew_some

    def renew_some(database: Database) -> bool:
        taken.append(more := renew(database))
        return more

    monkeypatch.setattr(sizes, "renew_some", renew_some)
    yield taken


def assert_exact(path: Path) -> None:
    with closing(Graph(path)) as graph:
        concepts = graph.concepts(ONTOLOGY)
        assert len(concepts) == CONCEPTS
        for concept in concepts:
            page = graph.page(concept.concept_id)
            assert page is not None and concept.size == len(render(page))
    with closing(sqlite3.connect(path)) as file:
        kept = dict(file.execute("SELECT name, value FROM meta WHERE name LIKE 'rene%' OR name = 'rendered'"))
    assert kept == {"rendered": sizes_kept.RENDERED}


def renewed(path: Path) -> int:
    with closing(sqlite3.connect(path)) as file:
        found: int = file.execute("SELECT count(*) FROM concept WHERE size != 7").fetchone()[0]
        return found


def killed_after(number: int, monkeypatch: pytest.MonkeyPatch, path: Path, steps: list[bool]) -> None:
    def sleep(seconds: float) -> None:
        if len(steps) == number:
            raise KilledError

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr("kgfs.stores.graph.sizes_kept.time.sleep", sleep)
        Graph(path)


def test_a_killed_process_leaves_the_rest_to_the_next_one(
    path: Path, steps: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_after(5, monkeypatch, path, steps)
    assert renewed(path) == 5
    assert_exact(path)
    assert len(steps) == CONCEPTS + 1  # no page twice; the last step finds that there is no other


def test_another_version_of_the_renderers_begins_anew(
    path: Path, steps: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_after(5, monkeypatch, path, steps)
    with monkeypatch.context() as patch:
        patch.setattr(sizes, "RENDERED", 6)
        patch.setattr(sizes_kept, "RENDERED", 6)
        del steps[:]
        assert_exact(path)
    assert len(steps) == CONCEPTS + 1


def test_another_process_opens_and_writes_meanwhile(
    path: Path, steps: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It computes some of them, and comes to write between two transactions."""
    begun, go_on = threading.Event(), threading.Event()
    first = threading.Thread(target=lambda: Graph(path).close())

    def sleep(seconds: float) -> None:
        if threading.current_thread() is first and len(steps) == 3:
            begun.set()
            assert go_on.wait(30)

    monkeypatch.setattr("kgfs.stores.graph.sizes_kept.time.sleep", sleep)
    first.start()
    assert begun.wait(30)
    with closing(Graph(path)) as other:
        publish(other, Doc("b" * 16, [Told("Concept 3"), Told("Concept 11")], deposit=2))
    go_on.set()
    first.join()
    assert_exact(path)
