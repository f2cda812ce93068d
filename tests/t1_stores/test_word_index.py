"""The index of words: it finds what the graph shows, whatever came and went, and keeps nothing of what is gone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.word_forms import forms_in
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.words import index, scoring
from kgfs.stores.words.merging import LARGEST, MOST, to_join
from kgfs.stores.words.scoring import WordView
from kgfs.stores.words.segment import Indexed, Segment, build, merge, opened, save
from tests.support.graph_building import Doc, prepared, publish

A, B, C = "a" * 16, "b" * 16, "c" * 16
WORDS = ["zen", "koan", "garden", "tea", "stone", "water", "run_target", "検索語"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=4)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    store = Graph(tmp_path / "graph.sqlite")
    yield store
    store.close()


def found(graph: Graph, words: str) -> list[tuple[str, int]]:
    view = graph.word_view()
    assert view is not None
    return [place for place, _ in view.best(forms_in(words), 10)]


def publish_texts(graph: Graph, doc_id: str, texts: list[str], commit: str) -> None:
    publish(graph, Doc(doc_id, texts=texts), commit)


def held(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_what_is_published_is_found_at_once_and_what_leaves_is_not(graph: Graph) -> None:
    assert found(graph, "koan") == []
    publish_texts(graph, A, ["Zen uses koans.\n", "Sit still.\n"], "c1")
    assert found(graph, "koan") == [(A, 0)]
    assert graph.index_words() and graph.words_indexed()
    publish_texts(graph, B, ["A koan is no riddle.\n"], "c2")
    assert not graph.words_indexed()
    assert set(found(graph, "koan")) == {(A, 0), (B, 0)}
    graph.forget("c3", [A], 1)
    assert found(graph, "koan") == [(B, 0)] and found(graph, "sitting") == []
    assert graph.index_words()
    assert found(graph, "koan") == [(B, 0)]


def test_another_process_begins_with_the_files(graph: Graph, tmp_path: Path) -> None:
    publish_texts(graph, A, ["Zen uses koans.\n"], "c1")
    graph.index_words()
    other = Graph(tmp_path / "graph.sqlite")
    assert found(other, "koan") == [(A, 0)] and other.words_indexed()
    publish_texts(graph, A, ["Zen gardens.\n"], "c2")
    assert found(other, "koan") == [] and found(other, "garden") == [(A, 0)]
    other.close()


def test_too_much_that_is_new_is_left_to_the_full_text(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "AT_ONCE", 1)
    publish_texts(graph, A, ["Zen.\n", "Koans.\n"], "c1")
    assert graph.word_view() is None
    assert graph.index_words()
    assert found(graph, "koan") == [(A, 1)]


def test_a_purge_leaves_no_word_in_the_files(graph: Graph, tmp_path: Path) -> None:
    publish_texts(graph, A, ["The xylophone of Quebec.\n"], "c1")
    publish_texts(graph, B, ["A koan.\n"], "c2")
    graph.index_words()
    folder = tmp_path / "words"
    assert b"xylophon" in held(folder) and A.encode() in held(folder)
    graph.forget("c3", [A], 1)
    graph.redact([], [])
    assert b"xylophon" not in held(folder) and A.encode() not in held(folder)
    assert found(graph, "koan") == [(B, 0)] and found(graph, "xylophone") == []


def test_a_process_that_searches_lets_go_of_erased_files(graph: Graph, tmp_path: Path) -> None:
    publish_texts(graph, A, ["The xylophone of Quebec.\n"], "c1")
    publish_texts(graph, B, ["A koan.\n"], "c2")
    graph.index_words()
    with closing(Graph(tmp_path / "graph.sqlite")) as other:
        graph.forget("c3", [A], 1)
        assert found(other, "xylophone") == []  # while the files have it yet
        graph.redact([], [])
        view = other.word_view()
        assert view is not None and not any(b"xylophon" in segment.words.tobytes() for segment in view.segments)
        assert found(other, "koan") == [(B, 0)]


def test_files_that_are_replaced_while_they_are_read_are_read_again(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(MOST):
        publish_texts(graph, f"{n:016}", ["A koan.\n"], f"c{n}")
        graph.index_words()
    publish_texts(graph, A, ["A koan.\n"], "c")
    monkeypatch.setattr(index, "AT_ONCE", 0)
    begun = False

    def opened_late(path: Path) -> Segment:
        nonlocal begun
        if not begun:
            begun = True
            assert graph.index_words() and not path.exists()
        return opened(path)

    monkeypatch.setattr(index, "opened", opened_late)
    with closing(Graph(tmp_path / "graph.sqlite")) as other:
        assert len(found(other, "koan")) == MOST + 1
    assert begun


def test_damaged_files_are_made_again(graph: Graph, tmp_path: Path) -> None:
    publish_texts(graph, A, ["Zen uses koans.\n"], "c1")
    graph.index_words()
    for path in (tmp_path / "words").glob("segment-*"):
        path.write_bytes(path.read_bytes()[:100])
    other = Graph(tmp_path / "graph.sqlite")
    assert found(other, "koan") == [(A, 0)]
    assert other.index_words()
    other.close()
    assert found(graph, "koan") == [(A, 0)]


def test_a_changed_byte_is_a_fault_and_a_graph_derived_anew_has_no_such_file(graph: Graph, tmp_path: Path) -> None:
    publish_texts(graph, A, ["Zen uses koans.\n"], "c1")
    graph.index_words()
    assert graph.faults() == []
    (path,) = (tmp_path / "words").glob("segment-*")
    raw = bytearray(path.read_bytes())
    raw[raw.rindex(b"koan")] ^= 1
    path.write_bytes(raw)
    assert [fault.what for fault in graph.faults()] == ["words"]
    built = graph.aside()
    publish_texts(built, A, ["Zen uses koans.\n"], "c1")
    graph.adopt(built)
    built.close()
    assert graph.faults() == [] and found(graph, "koan") == [(A, 0)]
    assert graph.index_words() and graph.faults() == []


def test_what_another_version_made_is_made_again(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_texts(graph, A, ["Zen uses koans.\n"], "c1")
    graph.index_words()
    assert found(graph, "koan") == [(A, 0)]
    manifest = tmp_path / "words" / index.MANIFEST
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**told, "made_by": ["another"], "segments": []}))
    monkeypatch.setattr(index, "AT_ONCE", 0)  # a process that has all in memory needs no file
    assert found(graph, "koan") == [(A, 0)] and not graph.words_indexed()
    with closing(Graph(tmp_path / "graph.sqlite")) as other:
        assert other.word_view() is None
    assert graph.index_words() and graph.words_indexed()


def test_many_small_publications_become_few_segments(graph: Graph, tmp_path: Path) -> None:
    names = [f"koan{chr(97 + n) * 2}" for n in range(3 * MOST)]
    for n, name in enumerate(names):
        publish_texts(graph, f"{n:016}", [f"zen {name}\n"], f"c{n}")
        graph.index_words()
    assert len(list((tmp_path / "words").glob("segment-*"))) <= MOST + 1
    assert [found(graph, name) for name in names] == [[(f"{n:016}", 0)] for n in range(len(names))]


@pytest.mark.parametrize("held", [[], [30_000, 90_000], [240_000] * 5, [249_990, 249_990, 200_000, 130_000]])
def test_few_rows_are_written_for_each_that_comes(held: list[int]) -> None:
    rows, written, come = list(held), 0, 0
    for _ in range(3000):
        rows.append(20)
        come += 20
        if joined := to_join(rows):
            written += sum(rows[place] for place in joined)
            rows = [count for place, count in enumerate(rows) if place not in joined] + [sum(rows[p] for p in joined)]
        assert len([count for count in rows if count < 60_000]) <= 12
    assert sum(rows) == sum(held) + come and max(rows) <= LARGEST
    assert written <= 10 * come + sum(held)


def test_rows_that_did_not_pass_the_gate_are_found_too(graph: Graph) -> None:
    batch, publication = prepared(graph, Doc(A, texts=["Zen.\n", "Menu of zen.\n"]), "c1")
    gated = [row if row.chunk_index == 0 else replace(row, gated="a menu") for row in batch.sources]
    graph.stage("c1", A, replace(batch, sources=gated))
    graph.publish(publication)
    assert found(graph, "zen") == [(A, 0), (A, 1)] and found(graph, "menu") == [(A, 1)]


# ------------------------------------------------------------------------------------------------------ segments


def documents(texts: dict[str, list[str]]) -> list[Indexed]:
    return [
        Indexed(doc_id, n, "P", False, [(at, text, f"title {n}") for at, text in enumerate(some)])
        for n, (doc_id, some) in enumerate(texts.items())
    ]


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.sampled_from([f"{n:016x}" for n in range(12)]), TEXTS), st.integers(1, 5))
def test_a_segment_made_in_pieces_is_the_same(texts: dict[str, list[str]], piece: int) -> None:
    whole, pieced = build(documents(texts)), build(documents(texts), piece)
    assert pieced.ontologies == whole.ontologies
    for name, values in whole.arrays().items():
        other = pieced.arrays()[name]
        assert other.dtype == values.dtype and other.tolist() == values.tolist(), name


def scored(view: WordView, words: list[str]) -> list[tuple[tuple[str, int], float]]:
    return view.best(words, 100)


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.sampled_from([f"{n:016x}" for n in range(12)]), TEXTS, min_size=1), st.data())
def test_scores_do_not_depend_on_how_documents_are_in_segments(
    texts: dict[str, list[str]], data: st.DataObject
) -> None:
    every = documents(texts)
    gone = data.draw(st.sets(st.sampled_from([one.doc_id for one in every])))
    cut = data.draw(st.integers(0, len(every)))
    kept = [one for one in every if one.doc_id not in gone]
    parts = [build(every[:cut]), build(every[cut:])]
    masks = [np.array([one.doc_id not in gone for one in some], np.bool_) for some in (every[:cut], every[cut:])]
    alone = WordView([build(kept)], [np.ones(len(kept), np.bool_)])
    views = [WordView(parts, masks)]
    merged = merge(parts, masks)
    with TemporaryDirectory() as folder:
        read = opened(Path(folder) / save(merged, Path(folder)))
        views += [WordView([merged], [np.ones(merged.documents, np.bool_)])]
        views += [WordView([read], [np.ones(read.documents, np.bool_)])]
        words = [form for word in WORDS[:4] for form in forms_in(word)]
        places = [(one.doc_id, at) for one in every for at, _, _ in one.sources]
        for view in views:
            assert scored(view, words) == scored(alone, words)
            assert view.scores(words, places) == alone.scores(words, places)
            assert view.rows == alone.rows
            with pytest.MonkeyPatch.context() as patched:  # the lists of frequent words are not read whole
                patched.setattr(scoring, "FREQUENT", 0)
                assert view.best(words, 2) == scored(alone, words)[:2]
        found = alone.scores(words, places)
        for place, score in scored(alone, words):
            assert found[place].bag == pytest.approx(score, abs=1e-4)
        assert {place for place, one in found.items() if one.bag} == {place for place, _ in scored(alone, words)}
