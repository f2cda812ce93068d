"""What only the graph in a file can show: readers beside a writer, other processes, kills, a feed of bounded length."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kgfs.errors import BadInputError, StoreError
from kgfs.stores.graph import feed, sqlite
from kgfs.stores.graph.sqlite import Graph
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, prepared, publish, version

OLD, NEW = "a" * 16, "b" * 16


def test_a_reader_never_sees_both_versions_or_neither(tmp_path: Path) -> None:
    graph = Graph(tmp_path / "graph.sqlite")
    publish(graph, version(0))
    stop = threading.Event()
    wrong: list[object] = []
    looked = 0

    def look() -> None:
        nonlocal looked
        while not stop.is_set():
            documents, hits = len(graph.documents(ONTOLOGY)), len(graph.find_text("zen"))
            zen, page = graph.concept(cid("Zen")), graph.page(cid("Zen"))
            names = [concept.name for concept in graph.concepts(ONTOLOGY)]
            if (documents, hits, len(names)) != (1, 1, 2) or zen is None or page is None or zen.evidence != 2:
                wrong.append((documents, hits, names, zen, page))
            if page is not None and (len(page.evidence), page.documents) != (2, 1):
                wrong.append(page)
            looked += 1

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    for n in range(1, 60):
        publish(graph, version(n), supersedes=[version(n - 1).doc_id])
    stop.set()
    for reader in readers:
        reader.join()
    graph.close()
    assert wrong == []
    assert looked > 20


def test_rows_of_what_left_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "graph.sqlite"
    graph = Graph(path)
    publish(graph, version(0))
    publish(graph, version(1), supersedes=[version(0).doc_id])
    batch, _ = prepared(graph, version(2), "left")
    graph.stage("left", version(2).doc_id, batch)
    graph.abandon("left")
    graph.forget("f", [version(1).doc_id], 1)
    assert rows_left(path) == dict.fromkeys(
        ("document", "source", "instance", "mention", "neighbour", "concept_form"), 0
    )
    graph.close()


def rows_left(path: Path) -> dict[str, int]:
    connection = sqlite3.connect(path)
    tables = ("document", "source", "instance", "mention", "neighbour", "concept_form")
    counts = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    connection.execute("INSERT INTO source_words (source_words, rank) VALUES ('integrity-check', 1)")
    connection.close()
    return counts


def test_no_word_of_the_forgotten_stays_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "graph.sqlite"
    graph = Graph(path)
    publish(graph, Doc(OLD, [Told("Secretive", 1, ("hushhush",), "a concealed thing")], texts=["clandestine words"]))
    publish(graph, Doc(NEW, [Told("Zen")], texts=["open words"]))
    graph.forget("f", [OLD], 2)
    connection = sqlite3.connect(path)
    dump = "\n".join(connection.iterdump())
    connection.close()
    graph.close()
    for word in ("hushhush", "concealed", "clandestine", "Secretive"):
        assert word not in dump
    assert "open words" in dump


def test_two_processes_share_the_graph(tmp_path: Path) -> None:
    path = tmp_path / "graph.sqlite"
    mine = Graph(path)
    assert not mine.changed()
    script = f"""
from pathlib import Path
from kgfs.stores.graph.sqlite import Graph
from tests.support.graph_building import *
graph = Graph(Path({str(path)!r}))
for n in range(3):
    publish(graph, Doc(f"{{n:016x}}", [Told("Zen")], deposit=n))
graph.close()
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2])
    assert mine.changed()
    assert not mine.changed()
    assert mine.epoch() == 3
    changes = mine.changes(2)
    assert changes
    assert {change.epoch for change in changes} == {3}
    zen = mine.concept(cid("Zen"))
    assert zen is not None
    assert zen.evidence == 3
    publish(mine, version(9))
    assert mine.changed()
    mine.close()


WRITER = """
import sys
from pathlib import Path
from kgfs.stores.graph.sqlite import Graph
from tests.support.graph_building import version
from tests.support.graph_building import prepared
graph = Graph(Path(sys.argv[1]))
n = graph.counts()["documents"] and graph.documents("0123456789ab")[0].deposit
while True:
    batch, publication = prepared(graph, version(n), f"commit {n}", [version(n - 1).doc_id] if n else [])
    graph.stage(f"commit {n}", version(n).doc_id, batch)
    print("staged", n, flush=True)
    epoch = graph.publish(publication)
    print("published", n, flush=True)
    n += 1
"""


@pytest.mark.parametrize("lines", [1, 2, 3, 8, 13, 22])
def test_a_kill_leaves_the_graph_before_or_after(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "graph.sqlite"
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        ) as writer:
            assert writer.stdout is not None
            reported = [writer.stdout.readline().split() for _ in range(lines)]
            writer.kill()
        published = [int(n) for what, n in reported if what == "published"]
        graph = Graph(path)
        (documents, hits) = graph.documents(ONTOLOGY), graph.find_text("zen", limit=1000)
        if published or documents:
            (document,) = documents
            n = document.deposit - 1
            assert n >= max(published, default=0)
            assert graph.published(f"commit {n}") == graph.epoch()
            assert [row.full_text for row, _ in hits] == [f"zen {n}"]
            assert sorted(concept.label for concept in graph.concepts(ONTOLOGY)) == sorted(["Zen", f"only in {n}"])
            assert [row.doc_id for row in graph.instances(cid("Zen"))] == [document.doc_id] * 2
        for commit_id in graph.staged():
            graph.abandon(commit_id)
        left = rows_left(path)
        assert (left["document"], left["source"]) == (len(documents), len(documents))
        graph.close()


def test_a_large_document_is_staged_and_removed_in_bounded_steps(tmp_path: Path) -> None:
    graph = Graph(tmp_path / "graph.sqlite")
    count = 3 * sqlite.ROWS_BATCH + 7
    publish(graph, Doc(OLD, [Told("Zen", count)], texts=[f"text {n}" for n in range(count)]))
    assert dict(graph.counts())["sources"] == count == dict(graph.counts())["instances"]
    graph.forget("f", [OLD], 1)
    assert rows_left(tmp_path / "graph.sqlite")["instance"] == 0
    graph.close()


def test_the_feed_is_kept_so_far_back_and_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "KEPT_CHANGES", 100)
    graph = Graph(tmp_path / "graph.sqlite")
    for n in range(100):
        publish(graph, version(n))
    assert graph.changes(0) is None
    first = next(after for after in range(100) if graph.changes(after) is not None)
    kept = graph.changes(first) or []
    assert {change.epoch for change in kept} == set(range(first + 1, 101))
    assert 100 <= len(kept) < 120
    graph.close()


def test_other_formats_and_damage_are_said(tmp_path: Path) -> None:
    path = tmp_path / "graph.sqlite"
    Graph(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(StoreError, match="mount it with the version that made it"):
        Graph(path)
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match="rebuild"):
        Graph(path)


def test_files_are_private(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        graph = Graph(tmp_path / "graph.sqlite")
        publish(graph, version(1))
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
        graph.close()
    finally:
        os.umask(umask)


def test_a_lone_surrogate_is_bad_input(tmp_path: Path) -> None:
    graph = Graph(tmp_path / "graph.sqlite")
    with pytest.raises(BadInputError):
        graph.find_text("a\ud800b")
    with pytest.raises(BadInputError):
        publish(graph, Doc(NEW, [Told("Zen", definition="a\ud800b")]))
    publish(graph, Doc(NEW, texts=["ab"]), "another")
    assert graph.epoch() == 1
    graph.close()


def test_without_a_path_nothing_stays() -> None:
    graph = Graph()
    publish(graph, version(1))
    folder = Path(str(graph._folder.name if graph._folder else ""))
    assert (folder / "graph.sqlite").exists()
    graph.close()
    assert not folder.exists()
    with pytest.raises(StoreError):
        graph.epoch()
