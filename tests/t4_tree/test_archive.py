"""archive/<doc_id>/ of earlier versions and of what is in the trash."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.config import load
from tests.support.library import Library, library_at
from tests.support.office import pdf, pptx, shape
from tests.support.working import Counting, work

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


def test_links_lead_to_a_web_server_where_one_is_set(tmp_path: Path) -> None:
    config = load(tmp_path / "home")
    config = replace(config, tree=replace(config.tree, archive_base_url="https://notes.example/kept/"))
    with library_at(tmp_path / "home", config) as library:
        document = library.add("Zen/documents/zen 1.txt", FIRST.encode(), {"Zen": ["Zen is a school of Buddhism."]})
        found = json.loads(library.read(f"Zen/archive/{document.doc_id}/metadata.json"))
        base = f"https://notes.example/kept/Zen/archive/{document.doc_id}"
        assert (found["archive_browse_uri"], found["archive_download_uri"]) == (
            f"{base}/zen%201.txt.md",
            f"{base}/zen%201.txt",
        )


PAGES = ("Zen is a school of Buddhism.", "", "Zen came to Japan.", "")


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [("zen.pdf", pdf(*PAGES), "page"), ("zen.pptx", pptx(*(shape(words) for words in PAGES)), "slide")],
)
def test_pages_are_marked_in_readable_forms(library: Library, name: str, content: bytes, kind: str) -> None:
    library.write(f"Zen/documents/a/{name}", content)
    library.settle()
    work(library.context.config, library.stores, Counting())
    doc_id = library.document(f"Zen/documents/a/{name}").doc_id
    one, two, three, four = (f'<a id="{kind}-{n}"></a>\n\n' for n in (1, 2, 3, 4))
    for path, above in ((f"Zen/archive/{doc_id}/{name}.md", "## Content"), (f"Zen/text/a/{name}.md", "---")):
        shown = library.read(path)
        assert library.node(path).attr().size == len(shown)
        assert shown.decode().endswith(f"{above}\n\n{one}{PAGES[0]}\n\n{two}{three}{four}{PAGES[2]}\n")
    assert b"<a id" not in library.read(f"Zen/archive/{doc_id}/text.txt")
