"""archive/<doc_id>/ of earlier versions and of what is in the trash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.library import Library, library_at

FIRST = "Zen is a school of Buddhism. 日本\r\n"
LATER = "Zen came to Japan.\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with library_at(tmp_path / "home") as library:
        yield library


@pytest.mark.claim("CITE-4")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_earlier_version_keeps_its_text(library: Library, encoding: str) -> None:
    reported = {"Zen": ["Zen is a school of Buddhism."]}
    doc_id = library.add("Zen/documents/zen.txt", FIRST.encode(encoding), reported).doc_id
    before = library.read(f"Zen/archive/{doc_id}/text.txt")
    assert before.decode().removeprefix("\ufeff") == FIRST
    library.add("Zen/documents/zen.txt", LATER.encode(), {"Zen": ["Zen came to Japan."]})
    assert library.stores.graph.document(doc_id) is None
    folder = f"Zen/archive/{doc_id}"
    assert library.names(folder) == ["metadata.json", "original", "text.txt", "zen.txt"]
    assert library.read(f"{folder}/text.txt") == before
    assert library.node(f"{folder}/text.txt").attr().size == len(before)
    assert library.read(f"{folder}/original") == FIRST.encode(encoding)


def test_a_document_that_was_never_read_has_no_text(library: Library) -> None:
    library.write("Zen/documents/zen.txt", FIRST.encode())
    library.settle()
    doc_id = library.document("Zen/documents/zen.txt").doc_id
    assert library.names(f"Zen/archive/{doc_id}") == ["metadata.json", "original", "zen.txt"]
