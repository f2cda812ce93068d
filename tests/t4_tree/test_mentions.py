"""``mentions.tsv``: every place where a concept is named, exact, in order of publication, whatever comes and goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.ingest.lifecycle.rebuild import rebuild_graph
from kgfs.ingest.matching.concept_plans import plan_merge
from kgfs.ingest.matching.concepts import decide
from kgfs.render.tsv import MENTIONS_HEADER
from kgfs.tree import mentions
from kgfs.tree.node import File
from kgfs.tree.streamed import Streamed
from tests.support.library import Library, library_at, read

ZEN = "Zen is a school of Buddhism. A Zen school has a Zen master.\n\nZEN is old.\n"
KOAN = "A koan is a riddle of Zen.\r\nKoans are used in Zen\r\npractice; Zen-\r\nmasters use koans — 𝒳 koan.\r\n"
LATER = "Zazen is sitting. No koan, no Zen.\n"


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with library_at(home) as library:
        library.add("Zen/documents/zen.txt", ZEN.encode(), {"Zen": ["Zen is a school"], "Zen master": ["A Zen school"]})
        library.add("Zen/documents/koan.txt", KOAN.encode(), {"Koan": ["A koan is a riddle of Zen."]})
        yield library


def named(library: Library, concept: str) -> list[str]:
    """The words at the places of a concept, after everything else that the file says was checked."""
    node = library.node(f"Zen/concepts/{concept}.concept/{mentions.NAME}")
    assert isinstance(node, File)
    raw = read(node)
    assert raw.startswith(MENTIONS_HEADER) and node.attr().size == len(raw)
    words = []
    for line in raw.decode().splitlines()[1:]:
        doc_id, *numbers, chunk_id = line.split("\t")
        first, start, end = map(int, numbers)
        text = library.read(f"Zen/archive/{doc_id}/text.txt").decode()
        assert text.count("\n", 0, start) + 1 == first
        row = library.stores.graph.chunk_ids_held([chunk_id])[chunk_id]
        source = library.stores.graph.source(*row)
        assert row[0] == doc_id and source is not None and source.char_start <= start < source.char_end
        words.append(text[start:end])
    return words


def test_all_places_of_all_documents_in_order_of_publication(library: Library) -> None:
    assert named(library, "zen") == ["Zen", "Zen", "Zen", "ZEN", "Zen", "Zen", "Zen"]
    assert named(library, "koan") == ["koan", "Koans", "koans", "koan"]
    assert named(library, "zen-master") == ["Zen master", "Zen-\r\nmasters"], (
        "which koan.txt names and is no evidence for"
    )
    before = library.node("Zen/concepts/zen.concept/mentions.tsv").attr()
    library.add("Zen/documents/later.txt", LATER.encode(), {"Zazen": ["Zazen is sitting."]})
    after = library.node("Zen/concepts/zen.concept/mentions.tsv").attr()
    assert named(library, "zen")[-1] == "Zen" and named(library, "koan")[-1] == "koan"
    assert (after.size > before.size, after.mtime > before.mtime) == (True, True)


def test_a_rebuild_gives_the_same_and_what_is_forgotten_leaves_no_place(library: Library) -> None:
    library.add("Zen/documents/later.txt", LATER.encode(), {"Zazen": ["Zazen is sitting."]})
    graph, ontology = library.stores.graph, library.ontology()
    decide(library.stores, plan_merge(library.stores, ontology, "koan", ["zen-master"]))
    assert named(library, "koan") == ["Zen master", "koan", "Koans", "Zen-\r\nmasters", "koans", "koan", "koan"]

    def files() -> dict[str, tuple[bytes, int]]:
        found = {path: node for path, node in library.walk("Zen") if path.endswith(mentions.NAME)}
        return {path: (read(node), node.attr().mtime) for path, node in found.items() if isinstance(node, File)}

    before = files()
    assert graph.faults() == []
    rebuild_graph(library.stores)
    assert files() == before and graph.faults() == []
    zen = library.document("Zen/documents/zen.txt")
    library.pipeline.forget(zen, "forget-zen")
    assert library.find("Zen/concepts/zen.concept") is None
    assert named(library, "koan") == ["koan", "Koans", "Zen-\r\nmasters", "koans", "koan", "koan"]
    assert zen.doc_id.encode() not in b"".join(raw for raw, _ in files().values())
    assert graph.faults() == []
    # the concept is founded again: documents that named it all the while name it again
    library.add("Zen/documents/new.txt", b"Zen again.\n", {"Zen": ["Zen again."]})
    assert named(library, "zen") == ["Zen", "Zen", "Zen", "Zen", "Zen"]
    after = files()
    rebuild_graph(library.stores)
    assert files() == after and graph.faults() == []


def test_a_long_file_is_read_document_by_document(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = library.read("Zen/concepts/zen.concept/mentions.tsv")
    monkeypatch.setattr(mentions, "AT_ONCE", 0)
    node = library.node("Zen/concepts/zen.concept/mentions.tsv")
    assert isinstance(node, File)
    handle = node.open(read=True, write=False, truncate=False)
    assert isinstance(handle, Streamed) and handle.size == len(whole)
    for length in (1, 7, 1000):
        assert b"".join(handle.read(at, length) for at in range(0, len(whole) + 7, length)) == whole
