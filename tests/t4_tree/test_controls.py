"""Control characters of documents: exact where bytes are promised, visible where a terminal shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.compute.deadline import Deadline
from kgfs.render.words import visible
from kgfs.tree.node import File, Folder
from tests.support.library import Library, library_at, read

ALL = "".join(chr(code) for code in (*range(1, 9), 11, *range(0x0E, 0x20), 0x7F, *range(0x80, 0xA0)))
QUOTE = f"Zen{ALL}\nis \x1b[31mred\x1b[0m.\r\nOld"
TEXT = f"A \x1b]0;title\x07 first line.\r\n{'Plain words. ' * 60}\n{QUOTE} and\x0c new: koan\x9b.\n"
TITLED = f"# A ti\x1btle\x7f\n\n{TEXT}"
RST = f"Heading\x1b\n========\n\n{TEXT}\x0c\n::\n\n  code\x01 \x1c\n"
FILES = {"a.txt": TEXT, "b.md": TITLED, "c.rst": RST}
EXACT = ("quote.txt", "text.txt", "original")


def fill(library: Library) -> None:
    for name, text in FILES.items():
        quotes = {"Zen": [QUOTE], "koan\x9b": ["koan\x9b"], "r\x1bed": ["\x1b[31mred\x1b[0m"]}
        library.add(f"Zen/documents/{name}", text.encode(), quotes, [("zen", "USES", "koan\x9b", QUOTE)])


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with library_at(tmp_path / "home") as library:
        fill(library)
        yield library


def rendered_files(library: Library) -> dict[str, bytes]:
    """Every listed file, whose size is asserted, but those that promise exact bytes."""
    found: dict[str, bytes] = {}
    for path, node in library.walk():
        if isinstance(node, File) and not path.startswith(("Zen/documents/", "Zen/versions/", ".kgfs/status.json")):
            content = read(node)
            assert len(content) == node.attr().size, path
            folder, _, name = path.rpartition("/")
            is_original = (
                folder.count("/") == 2 and "/archive/" in folder and content == library.read(f"{folder}/original")
            )
            if name not in EXACT and not is_original:
                found[path] = content
    return found


def assert_visible(files: dict[str, bytes]) -> None:
    kinds = {path.rpartition("/")[2] for path in files}
    assert kinds >= {"concept.md", "source.txt", "citation.json", "about.md", "metadata.json", "a.txt.md"}
    for path, content in files.items():
        assert visible(content.decode()) == content.decode(), path


@pytest.mark.claim("CITE-2")
def test_no_rendered_file_has_a_control_character(library: Library) -> None:
    files = rendered_files(library)
    assert_visible(files)
    assert files["Zen/text/b.md"].decode() == visible(TITLED)
    assert "koan\ufffd" in files["Zen/about.md"].decode()
    asked = library.node("Zen/search/koan")
    assert isinstance(asked, Folder)
    results = asked.work_out(Deadline(10)).entries()
    assert len(results) > 2
    for name, node in results:
        if isinstance(node, Folder):  # the next page
            continue
        assert isinstance(node, File)
        content = read(node).decode()
        assert visible(content) == content, name


@pytest.mark.claim("CITE-2")
def test_quotes_originals_and_texts_stay_exact_and_spans_lead_to_the_quote(library: Library) -> None:
    pieces = [path for path in rendered_files(library) if path.endswith("/citation.json")]
    assert len(pieces) > 9
    for path in pieces:
        folder = path.rpartition("/")[0]
        cited = json.loads(library.read(path))
        assert library.read(f"{folder}/quote.txt").decode() == cited["quote"]
        text = library.read(f"Zen/archive/{cited['doc_id']}/text.txt").decode()
        assert text[cited["char_start"] : cited["char_end"]] == cited["quote"]
        shown = library.read(f"{folder}/source.txt").decode()
        spans = cited.get("source_spans") or [[cited["source_start"], cited["source_end"]]]
        assert "".join(shown[a:b] for a, b in spans) == visible(cited["quote"])
    for name, text in FILES.items():
        doc_id = library.document(f"Zen/documents/{name}").doc_id
        exact = library.read(f"Zen/archive/{doc_id}/text.txt")
        assert exact == library.read(f"Zen/archive/{doc_id}/original") == text.encode()
