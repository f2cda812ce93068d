"""``terms.tsv``, what makes a candidate a concept, and that it stays so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.domain.documents import INGEST_VERSION
from kgfs.ingest.lifecycle.rebuild import rebuild_graph
from kgfs.knowledge.status import status
from kgfs.knowledge.terms import found_terms
from kgfs.render.tsv import TERMS_HEADER
from kgfs.tree import terms
from kgfs.tree.node import File
from kgfs.tree.streamed import Streamed
from tests.support.library import Library, library_at, read
from tests.support.terms import ABOVE, BELOW, SURE, WEAK, add, concepts, named


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with library_at(home) as library:
        yield library


def listed(library: Library) -> dict[str, tuple[int, str]]:
    """Term → (count, doc_id), after everything that the file says was checked."""
    node = library.node(f"Zen/{terms.NAME}")
    assert isinstance(node, File)
    raw = read(node)
    assert raw.startswith(TERMS_HEADER) and node.attr().size == len(raw)
    found = {}
    for line in raw.decode().splitlines()[1:]:
        term, count, doc_id, first, start, end = line.split("\t")
        text = library.read(f"Zen/archive/{doc_id}/text.txt").decode()
        assert " ".join(text[int(start) : int(end)].split()) == term
        assert text.count("\n", 0, int(start)) + 1 == int(first)
        found[term] = (int(count), doc_id)
    assert library.stores.graph.faults() == []
    return found


def without_numbers(library: Library) -> str:
    """The concept's page. The evidence of another version has numbers of its own."""
    return re.sub(r"\bevidence/\d+|\[\d+\]", "", library.read("Zen/concepts/zen.concept/concept.md").decode())


A = "Zen is a school.\n\nSitting meditation comes first. Sitting\nmeditation stays.\n"


def test_what_is_no_concept_is_a_term_until_a_document_makes_it_one_and_after(library: Library) -> None:
    odds = {"Zen": (SURE, "Zen is a school."), "Sitting meditation": (WEAK, "Sitting meditation comes first.")}
    first = add(library, "a.txt", A, odds)
    assert (concepts(library), listed(library)) == (["zen"], {"Sitting meditation": (2, first.doc_id)})
    text = "Sitting meditations are called zazen.\n"
    later = add(library, "b.txt", text, {"sitting meditation": (SURE, text.strip())})
    assert set(concepts(library)) == {"sitting-meditation", "zen"}
    assert listed(library) == {}
    assert named(library, "sitting-meditation") == 3, "its places in the earlier document, too"
    everything = {path: read(node) for path, node in library.walk("Zen") if isinstance(node, File)}
    rebuild_graph(library.stores)
    assert {path: read(node) for path, node in library.walk("Zen") if isinstance(node, File)} == everything
    library.pipeline.forget(later, "forget-later")
    assert (concepts(library), listed(library)) == (["zen"], {"Sitting meditation": (2, first.doc_id)})
    library.pipeline.forget(first, "forget-first")
    assert (concepts(library), listed(library)) == ([], {})
    rebuild_graph(library.stores)
    assert (concepts(library), listed(library)) == ([], {})


def test_a_heading_of_four_documents_is_structure(library: Library) -> None:
    texts = [f"Open Issues\n\nDocument {number} is about Zen.\n" for number in range(5)]
    for number, text in enumerate(texts[:3]):
        quote = f"Document {number} is about Zen."
        add(library, f"{number}.txt", text, {"Open Issues": (SURE, quote)}, headings=("Open Issues",))
    assert concepts(library) == ["open-issues"]
    add(library, "3.txt", texts[3], {"Open Issues": (SURE, "Document 3 is about Zen.")}, headings=("Open Issues",))
    concept = library.stores.graph.concept_named(library.ontology().id, "open-issues")
    assert concept is not None and concept.evidence == 3, "the fourth is none, the first three keep it"
    for number in range(3):
        library.pipeline.forget(library.document(f"Zen/documents/{number}.txt"), f"forget-{number}")
    assert concepts(library) == [] and "Open Issues" in listed(library), "one heading alone is a term again"


def test_one_more_sentence_changes_nothing_about_the_others(library: Library) -> None:
    odds = {"Zen": (ABOVE, "Zen is a school."), "Sitting meditation": (BELOW, "Sitting meditation comes first.")}
    add(library, "a.txt", A, odds)
    before = (concepts(library), listed(library).keys())
    assert before == (["zen"], {"Sitting meditation"})
    page = without_numbers(library)
    # what the models say of the whole moved a little, across the borders both ways
    moved = {"Zen": (BELOW, "Zen is a school."), "Sitting meditation": (ABOVE, "Sitting meditation comes first.")}
    add(library, "a.txt", A + "Koans are riddles.\n", {**moved, "Koans": (SURE, "Koans are riddles.")})
    assert set(concepts(library)) == {"zen", "koans"} and listed(library).keys() == {"Sitting meditation"}
    assert without_numbers(library) == page
    # a sentence of its own changed: it is decided anew
    text = A.replace("comes first", "comes last")
    add(library, "a.txt", text, {"Zen": moved["Zen"], "Sitting meditation": (ABOVE, "Sitting meditation comes last.")})
    assert set(concepts(library)) == {"zen", "sitting-meditation"}


def test_terms_are_found_the_whole_one_first_and_read_in_parts(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Tea house, tea, garden path and the tea house garden.\n"
    odds = {label: (WEAK, text.strip()) for label in ("Tea house", "tea", "garden path", "tea house garden")}
    add(library, "a.txt", text, odds)
    graph, ontology = library.stores.graph, library.ontology().id
    assert [one.term for one in found_terms(graph, "tea houses", ontology)] == ["Tea house", "Tea", "tea house garden"]
    assert [one.term for one in found_terms(graph, "garden", "")] == ["garden path", "tea house garden"]
    assert found_terms(graph, "koan", ontology) == [] == found_terms(graph, "tea", "no ontology")
    whole = library.read(f"Zen/{terms.NAME}")
    monkeypatch.setattr(terms, "AT_ONCE", 1)
    node = library.node(f"Zen/{terms.NAME}")
    assert isinstance(node, File)
    handle = node.open(read=True, write=False, truncate=False)
    assert isinstance(handle, Streamed)
    assert b"".join(handle.read(at, 7) for at in range(0, len(whole), 7)) == whole


def test_documents_of_earlier_rules_are_counted(library: Library) -> None:
    odds = {"Zen": (SURE, "Zen is a school."), "Sitting meditation": (BELOW, "Sitting meditation comes first.")}
    first = add(library, "a.txt", A, odds, version=INGEST_VERSION - 1)
    graph = library.stores.graph
    assert status(library.context.config, library.stores)["read_by_earlier_rules"] == 1
    assert graph.extent([first.doc_id]) == (len(A), 1)
    add(library, "a.txt", A + "Koans are riddles.\n", odds)
    assert status(library.context.config, library.stores)["read_by_earlier_rules"] == 0
