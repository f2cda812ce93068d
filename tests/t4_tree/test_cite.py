"""cite/<chunk_id>/ in memory: found for every id ever issued, listed by nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.errors import ReadOnlyError
from kgfs.stores.thread_slots import WouldBlock, inline
from kgfs.tree.node import File, Folder, Link
from tests.support.library import ME, Library, library_at, read

ZEN = "Zen is a school of Buddhism.\r\nA koan is a riddle that Zen teachers use.\x1b[0m\n"
LATER = "Zen came to Japan. The abbot of Kyoto keeps a garden of stones, and sits there.\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with library_at(tmp_path / "home") as library:
        library.add("Zen/documents/zen.txt", ZEN.encode(), {"Zen": ["Zen is a school of Buddhism."]})
        yield library


def issued(library: Library, path: str) -> dict[str, str]:
    """Each chunk_id that the graph has now, with its text."""
    doc_id = library.document(path).doc_id
    return {source.chunk_id: source.full_text for source in library.stores.graph.sources(doc_id)}


def assert_cited(library: Library, known: dict[str, str], document: str, *, shown: bool) -> None:
    for chunk_id, text in known.items():
        folder = library.node(f"cite/{chunk_id}")
        assert isinstance(folder, Folder)
        entries = dict(folder.entries())
        assert sorted(entries) == ["citation.json", "document", "text.txt"]
        for name, node in entries.items():
            assert folder.lookup(name) is not None
            size = len(read(node)) if isinstance(node, File) else len(node.target()) if isinstance(node, Link) else -1
            assert node.attr().size == size, name
        assert library.read(f"cite/{chunk_id}/text.txt") == text.encode()
        cited = json.loads(library.read(f"cite/{chunk_id}/citation.json"))
        assert (cited["chunk_id"], cited["ontology"], cited["document"]) == (chunk_id, "Zen", document)
        assert (cited["shown"], cited["reason"]) == (shown, "")
        link = entries["document"]
        assert isinstance(link, Link) and link.target().decode() == f"../../Zen/{document}"
        original = library.read(f"Zen/{document}")
        assert original.decode()[cited["char_start"] : cited["char_end"]] == text
        assert original[cited["byte_start"] : cited["byte_end"]] == text.encode()


@pytest.mark.claim("CITE-3")
def test_ids_of_today_and_of_earlier_versions_are_found(library: Library) -> None:
    first = issued(library, "Zen/documents/zen.txt")
    assert len(first) > 1
    assert_cited(library, first, "documents/zen.txt", shown=True)
    library.add("Zen/documents/zen.txt", LATER.encode(), {"Zen": ["Zen came to Japan."]})
    assert_cited(library, first, "versions/zen.txt@/1.txt", shown=False)
    assert_cited(library, issued(library, "Zen/documents/zen.txt"), "documents/zen.txt", shown=True)


@pytest.mark.claim("CITE-3")
def test_cite_lists_nothing_and_is_read_only(library: Library) -> None:
    assert "cite" not in library.names("")
    assert library.names("cite") == []
    folder = library.node("cite")
    assert isinstance(folder, Folder)
    for name in ("0123456789ab", "readme", "0123456789AB", "0123456789ab.txt", ".git"):
        assert folder.lookup(name) is None
    for make in (folder.make_file, folder.make_folder):
        with pytest.raises(ReadOnlyError):
            make("0123456789ab", 0o644, ME)


def test_only_ids_that_the_graph_does_not_show_make_a_lookup_wait(library: Library) -> None:
    [chunk_id, *_] = issued(library, "Zen/documents/zen.txt")
    folder = library.node("cite")
    assert isinstance(folder, Folder)
    assert inline(lambda: folder.lookup(chunk_id)) is not None
    assert inline(lambda: folder.lookup("no id")) is None
    with pytest.raises(WouldBlock):
        inline(lambda: folder.lookup("0123456789ab"))
