"""Documents in old encodings, from the file to text/, metadata.json, evidence and status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgfs.domain.documents import Document
from kgfs.knowledge.document import document_page
from kgfs.stores.resolve import find_document
from tests.support.library import Library, library_at
from tests.support.working import Counting, work

WORDS = "Der Gezeitenkalender nennt für jeden Tag den Wasserstand im Hafen. Im Gezeitenkalender steht der Wasserstand zweimal am Tag."


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with library_at(tmp_path / "home") as library:
        yield library


def ingest(library: Library, path: str, content: bytes) -> tuple[Document, dict[str, Any]]:
    """Return the document, and its Reading as the status tells it."""
    library.write(path, content)
    library.settle()
    config = library.context.config
    work(config, library.stores, Counting())
    document = library.document(path)
    return document, document_page(library.stores, find_document(library.stores, config.run, document.doc_id))[
        "reading"
    ]


@pytest.mark.parametrize(("name", "shown"), [("tides.txt", "tides.txt.md"), ("tides.md", "tides.md")])
def test_a_guess_is_told_wherever_the_text_is_shown(library: Library, name: str, shown: str) -> None:
    text = f"Насос в третьем помещении.\r\n\r\n{WORDS.replace('für', 'на')}\r\n"
    document, reading = ingest(library, f"Zen/documents/{name}", text.encode("cp1251"))
    page = library.read(f"Zen/text/{shown}")
    assert "**Encoding:** windows-1251, guessed\n" in page.decode().partition("---")[0] and "Насос" in page.decode()
    assert library.node(f"Zen/text/{shown}").attr().size == len(page)
    archive = f"Zen/archive/{document.doc_id}"
    assert json.loads(library.read(f"{archive}/metadata.json"))["encoding"] == "windows-1251, guessed"
    assert library.read(f"{archive}/text.txt") == text.encode()
    assert (reading["encoding"], reading["not_read"]) == ("windows-1251, guessed", None)
    assert library.stores.graph.find_text("насос", document.ontology)


def test_wrong_bytes_are_told_and_evidence_stays_true(library: Library) -> None:
    content = b"\xe4\xf6\n\x00\x00\x00\x00\n\n" + WORDS.encode() + b"\n"
    document, reading = ingest(library, "Zen/documents/tides.txt", content * 2)
    assert (reading["encoding"], reading["not_read"]) == (
        None,
        "4 characters are not valid UTF-8, shown as \ufffd; 8 NUL characters, each run of them shown as \ufffd",
    )
    raw = library.read(f"Zen/archive/{document.doc_id}/text.txt")
    assert raw.decode() == f"\ufffd\ufffd\n\ufffd\n\n{WORDS}\n" * 2
    cited = [path for path, _ in library.walk("Zen/concepts") if path.endswith("/citation.json")]
    assert cited
    for path in cited:
        found = json.loads(library.read(path))
        assert raw[found["byte_start"] : found["byte_end"]].decode() == found["quote"]
