"""What is counted is what the tree shows, and a document that gave no concept says why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.knowledge.document import document_page
from kgfs.stores.resolve import find_document
from tests.support.library import Library, library_at, reading_of
from tests.support.terms import SURE, WEAK, add

LIST = "- milk\n- two eggs\n- 500 g of flour\n"


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with library_at(home) as library:
        yield library


def told(library: Library, name: str) -> tuple[int, str]:
    """The number of concepts and the reason for none, by status and metadata.json, which say the same."""
    document = library.document(f"Zen/documents/{name}")
    run = library.context.config.run
    page = document_page(library.stores, find_document(library.stores, run, document.doc_id))
    fields = json.loads(library.read(f"Zen/archive/{document.doc_id}/metadata.json"))
    assert page["reading"]["concepts"] == fields["concepts"]
    assert fields["concepts"] == len(library.names(f"Zen/archive/{document.doc_id}/concepts"))
    assert page["no_concepts"] == fields["no_concepts"]
    return fields["concepts"], fields["no_concepts"] or ""


def test_what_is_counted_is_what_the_tree_shows(library: Library) -> None:
    text = "Zen is a school.\n\nSitting comes first.\n"
    add(library, "a.txt", text, {"Zen": (SURE, "Zen is a school."), "Sitting": (WEAK, "Sitting comes first.")})
    document = library.document("Zen/documents/a.txt")
    page = document_page(library.stores, find_document(library.stores, library.context.config.run, document.doc_id))
    assert told(library, "a.txt") == (1, "") and page["reading"]["candidates"] == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Tea is hot.\n", "it names nothing twice; terms.tsv lists that"),
        ("Tea is hot. Tea is cold.\n", "it says too little of what it names; terms.tsv lists that"),
        ("It is so.\n", "it names nothing that could be looked up"),
        (LIST, "it is only a list or a table"),
        ("| Name | Age |\n|---|---|\n| Ann | 7 |\n", "it is only a list or a table"),
        ("\n \n", "it has no text"),
    ],
)
def test_a_document_without_a_concept_says_why(library: Library, text: str, why: str) -> None:
    add(library, "a.md", text, {"Tea": (WEAK, "Tea is hot.")} if "Tea" in text else {})
    assert told(library, "a.md") == (0, why)
    assert f": no concept, {why}\n" in library.read("Zen/about.md").decode()


@pytest.mark.parametrize(("language", "named"), [("de", "German"), ("und", "not known")])
def test_a_language_without_a_grammar_is_the_reason(library: Library, language: str, named: str) -> None:
    library.write("Zen/documents/a.txt", b"Die Katze schl\xc3\xa4ft.\n")
    library.settle()
    document = library.document("Zen/documents/a.txt")
    raw = library.stores.garage.objects.get(document.key)
    reading = replace(reading_of(document, "a.txt", raw, {}), language=language)
    library.stores.garage.objects.put(reading.key, reading.encode())
    library.pipeline.publish(document, reading, lambda: None)
    assert told(library, "a.txt")[1].startswith(f"its language is {named}: ")


def test_what_is_gated_is_counted_and_is_not_unread(library: Library) -> None:
    library.write("Zen/documents/menu.txt", b"Home | Next | Previous")
    library.settle()
    library.publish("Zen/documents/menu.txt", {}, gated=True)
    assert told(library, "menu.txt") == (0, "gated: by hand")
    page = library.read("Zen/about.md").decode()
    assert "1 document read (1 gated: found by words, and no source of concepts), 0 concepts" in page
    assert "Not read" not in page
    status = json.loads(library.read(".kgfs/status.json"))
    assert status["documents"] == {"gated": 1} and status["not_read"] == []


def test_the_heaviest_terms_stand_beside_the_concepts(library: Library) -> None:
    names = [f"thing {chr(97 + n)}" for n in range(12)]
    said = [" ".join([f"Here is {name}."] * (n + 1)) for n, name in enumerate(names)]
    odds = {name: (WEAK, f"Here is {name}.") for name in names}
    add(library, "a.txt", "\n\n".join(said), {**odds, names[11]: (SURE, f"Here is {names[11]}.")})
    page = library.read("Zen/about.md").decode().partition("## Terms\n")[2].partition("\n## ")[0]
    listed = [line for line in page.splitlines() if line.startswith("- ")]
    assert listed[0] == "- thing k: 11 places" and len(listed) == 10 and "thing l" not in page
