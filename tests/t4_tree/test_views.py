"""The tree over real stores: everything that is listed is found, read whole, sized exactly and linked rightly."""

from __future__ import annotations

import json
import posixpath
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.domain.names import encode_name
from kgfs.render.words import visible
from kgfs.tree.node import File, Folder, Link
from kgfs.tree.ontology import Root
from tests.support.graph_building import Doc, Told, publish
from tests.support.library import ASTRAL, CRLF, MARKDOWN, ZEN, Library, fill, kind_of, library_at, read


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with library_at(tmp_path_factory.mktemp("views") / "home") as library:
        fill(library)
        yield library


def test_everything_listed_is_found_by_name_with_the_same_attributes(library: Library) -> None:
    inodes: dict[int, str] = {}
    for path, node in library.walk():
        found = library.root.lookup(path) if "/" not in path else None
        parent, _, name = path.rpartition("/")
        folder = library.node(parent)
        assert isinstance(folder, Folder)
        found = folder.lookup(name)
        assert found is not None, f"{path} is listed and not found"
        assert type(found) is type(node)
        if not path.startswith(".kgfs/"):
            assert found.attr() == node.attr(), path
        assert found.inode == node.inode == node.attr().inode
        assert inodes.setdefault(node.inode, path) == path, f"{path} and {inodes[node.inode]} share an inode number"


def test_sizes_are_exact(library: Library) -> None:
    files = 0
    for path, node in library.walk():
        if isinstance(node, File) and path != ".kgfs/status.json":
            assert len(read(node)) == node.attr().size, path
            files += 1
        elif isinstance(node, Link):
            assert len(node.target()) == node.attr().size, path
    assert files > 60


def test_links_are_relative_and_lead_to_files(library: Library) -> None:
    links = [(path, node) for path, node in library.walk() if isinstance(node, Link)]
    assert {path.rpartition("/")[2] for path, _ in links} >= {"document", "concept.md", "zen.md"}
    for path, node in links:
        goal = encode_name(node.target()).replace("%2F", "/")
        assert not goal.startswith("/")
        target = library.find(posixpath.normpath(posixpath.join(posixpath.dirname(path), goal)))
        assert isinstance(target, File), f"{path} -> {goal}"


def test_modes_let_the_kernel_say_erofs_and_owner_is_who_mounted(library: Library) -> None:
    for path, node in library.walk():
        if "/documents" in path or path in ("Zen", "Empty"):
            continue
        attr = node.attr()
        wanted = {stat.S_IFDIR: 0o755, stat.S_IFREG: 0o644, stat.S_IFLNK: 0o777}[kind_of(node)]
        assert (stat.S_IMODE(attr.mode), attr.uid, attr.gid) == (wanted, library.context.uid, library.context.gid), path
        assert attr.mtime > 0, path


def test_evidence_is_an_exact_quote_everywhere(library: Library) -> None:
    pieces = [path for path, _ in library.walk("Zen/concepts") if path.endswith("/citation.json")]
    assert len(pieces) >= 12
    for path in pieces:
        folder = path.rpartition("/")[0]
        cited = json.loads(library.read(path))
        quote = library.read(f"{folder}/quote.txt").decode()
        assert cited["quote"] == quote
        archive = f"Zen/archive/{cited['doc_id']}"
        raw = library.read(f"{archive}/text.txt")
        assert raw.decode()[cited["char_start"] : cited["char_end"]] == quote
        assert raw[cited["byte_start"] : cited["byte_end"]].decode() == quote
        lines = raw.decode().split("\n")
        assert "\n".join(lines[cited["line_start"] - 1 : cited["line_end"]]).find(quote.rstrip("\n")) >= 0
        shown = library.read(f"{folder}/source.txt").decode()
        spans = cited.get("source_spans") or [[cited["source_start"], cited["source_end"]]]
        assert "".join(shown[a:b] for a, b in spans) == visible(quote)
        assert shown.startswith(f"file: {cited['document']}\n")
        link = library.node(f"{folder}/document")
        assert isinstance(link, Link)
        assert encode_name(link.target()).endswith(cited["document"])
        assert (cited["ontology"], cited["stale"]) == ("Zen", False)
        assert cited["key"] == library.document(f"Zen/{cited['document']}").key


def test_the_same_quote_is_highlighted_as_the_design_shows_it(library: Library) -> None:
    shown = library.read("Zen/concepts/zen.concept/evidence/2/source.txt").decode()
    assert "\n> 4 | ==A koan is a riddle==\n> 5 | ==that Zen == teachers use.==\n" in shown


def test_relationships_are_seen_from_both_ends(library: Library) -> None:
    for here, type_, there in (("zen", "USES", "koan"), ("koan", "USED_BY", "zen")):
        folder = f"Zen/concepts/{here}.concept/related/{type_}/{there}"
        assert library.names(folder) == ["concept.md", "evidence"]
        assert b"that Zen == teachers use." in library.read(f"{folder}/evidence/1/quote.txt")
        assert json.loads(library.read(f"{folder}/evidence/1/citation.json"))["concept"] == here
        page = library.read(f"Zen/concepts/{here}.concept/concept.md").decode()
        assert f"](related/{type_}/{there}/concept.md)" in page


def test_a_relationship_by_name_has_no_evidence(library: Library) -> None:
    ontology = library.ontology().id
    told = [Told("long night", kinds=("night",)), Told("night")]
    publish(library.stores.graph, Doc("d" * 16, told, deposit=900, ontology=ontology))
    folder = "Zen/concepts/long-night.concept/related/IS_A/night"
    assert library.names(folder) == ["concept.md"]
    link = library.node(f"{folder}/concept.md")
    assert isinstance(link, Link) and link.target() == b"../../../../night.concept/concept.md"
    page = library.read("Zen/concepts/long-night.concept/concept.md").decode()
    assert "- IS_A [night](related/IS_A/night/concept.md) (by its name)" in page
    assert library.find("Zen/concepts/night.concept/related/HAS_KIND/long-night/evidence") is None


def test_concepts_are_listed_in_the_order_of_their_inode_numbers(library: Library) -> None:
    folder = library.node("Zen/concepts")
    assert isinstance(folder, Folder)
    entries = folder.entries()
    numbers = [node.inode for _, node in entries]
    assert len(numbers) > 3 and numbers == sorted(numbers)
    assert [name for name, _ in entries[1:3]] == [name for name, _ in entries][1:3]


def test_shortcuts_are_unlisted(library: Library) -> None:
    listed = library.names("Zen")
    assert listed == ["documents", ".ignore", "about.md", "terms.tsv", "archive", "concepts", "text", "versions"]
    assert library.read("Zen/zen.concept/concept.md") == library.read("Zen/concepts/zen.concept/concept.md")
    shortcut = library.node("Zen").lookup("zen.concept")  # type: ignore[attr-defined]
    assert isinstance(shortcut, Link) and shortcut.target() == b"concepts/zen.concept"
    assert library.node("Zen/zen.txt").inode == library.node("Zen/documents/zen.txt").inode
    assert library.read("Zen/zen.txt") == ZEN.encode()
    for absent in ("nobody.concept", "nothing", "sessions"):
        assert library.find(f"Zen/{absent}") is None, absent


def test_text_shows_what_was_read_under_names_that_do_not_clash(library: Library) -> None:
    listed = library.names("Zen/text")
    koan = library.stores.catalog.names.resolve(library.ontology().id, "koan")
    assert koan is not None
    assert {"notes", "zen.txt.md", "crlf.txt.md", "wide.txt.md", f"koan~{koan.id:x}.md", "koan.md"} <= set(listed)
    assert not {"picture.png.md", "empty.md", ".hidden"} & set(listed)
    assert all(len(name.encode()) <= 255 for name in listed)
    assert library.names("Zen/text/notes") == ["koans.md", "sitting 100%25.rst.md"]
    assert library.read("Zen/text/notes/koans.md") == MARKDOWN.encode()
    assert library.read("Zen/text/crlf.txt.md").decode().endswith("\n---\n\n" + CRLF)
    rst = library.read("Zen/text/notes/sitting 100%25.rst.md").decode()
    assert "[Original](../../documents/notes/sitting%20100%25.rst)" in rst
    assert "\n# Sitting\n" in rst and "Zazen is sitting:\n\n```\nsit()\n```\n" in rst
    assert visible(ASTRAL) in library.read("Zen/text/wide.txt.md").decode()


def test_archive_keeps_original_text_and_metadata(library: Library) -> None:
    document = library.document("Zen/documents/wide.txt")
    folder = f"Zen/archive/{document.doc_id}"
    assert library.names(folder) == [*("concepts", "metadata.json", "original", "text.txt", "wide.txt", "wide.txt.md")]
    assert library.read(f"{folder}/original") == ASTRAL.encode("utf-16")
    assert library.read(f"{folder}/text.txt").decode().endswith(ASTRAL)
    facts = json.loads(library.read(f"{folder}/metadata.json"))
    assert (facts["paths"], facts["version"], facts["ontology"]) == (["documents/wide.txt"], 1, "Zen")
    picture = library.document("Zen/documents/picture.png")
    assert library.names(f"Zen/archive/{picture.doc_id}") == ["metadata.json", "original", "picture.png"]
    assert library.find(f"Empty/archive/{document.doc_id}") is None


def test_about_links_lead_somewhere(library: Library) -> None:
    about = library.read("Zen/about.md").decode()
    assert about.startswith("# Zen\n") and "(concepts/zen.concept/concept.md)" in about
    assert "[notes/koans.md](documents/notes/koans.md)" in about
    assert b"Nothing is here yet" in library.read("Empty/about.md")


def test_the_root_explains_itself(library: Library) -> None:
    assert library.names("") == [".kgfs", "README.md", "AGENTS.md", "Empty", "Zen"]
    assert library.read("README.md").startswith(b"# Knowledge\n")
    status = json.loads(library.read(".kgfs/status.json"))
    zen = next(found for found in status["ontologies"] if found["name"] == "Zen")
    assert zen["documents"]["done"] == 8 and status["worker"]["alive"] is False
    assert status["owed"] == len(library.names(".kgfs/jobs")) == 2
    jobs = [json.loads(library.read(f".kgfs/jobs/{name}")) for name in library.names(".kgfs/jobs")]
    assert {job["document"] for job in jobs} == {"documents/picture.png", "documents/koan.md/x"}
    assert {(job["decision"], job["decision_reason"]) for job in jobs} == {("insert", "new document")}
    assert library.read(".kgfs/metrics.prom") == b"metric 1\n"


def test_the_fixed_files_keep_their_time_from_one_mount_to_the_next(library: Library) -> None:
    again = Root(replace(library.context, mounted_at=library.context.mounted_at + 10**9))
    for name in ("README.md", "AGENTS.md"):
        found = again.lookup(name)
        assert found is not None and found.attr().mtime == library.node(name).attr().mtime != 0


def test_the_error_log_grows_while_it_is_read(library: Library, tmp_path: Path) -> None:
    node = library.node(".kgfs/errors.ndjson")
    assert isinstance(node, File)
    handle = node.open(read=True, write=False, truncate=False)
    assert handle.direct_io and handle.read(0, 100) == b""
    library.context.config.errors_log.write_bytes(b'{"error": 1}\n')
    assert handle.read(0, 100) == b'{"error": 1}\n'
    library.context.config.errors_log.unlink()


def test_best_is_the_strongest_piece_of_evidence_and_follows_it(library: Library) -> None:
    """It has inodes of its own, and is not listed."""
    library.add(
        "Zen/documents/a.txt", b"Koan, koan. A koan is a riddle.", {"Koan": ["Koan", "koan", "A koan is a riddle"]}
    )
    folder = "Zen/koan.concept/evidence"
    rows = library.stores.graph.instances(concept_called(library, "koan"))
    strongest = min(rows, key=lambda row: (not row.defines, -row.confidence, row.n))
    assert library.names(folder) == [str(row.n) for row in rows]
    for name in library.names(f"{folder}/best"):
        best, listed = library.node(f"{folder}/best/{name}"), library.node(f"{folder}/{strongest.n}/{name}")
        assert best.inode != listed.inode
        assert replace(best.attr(), inode=0) == replace(listed.attr(), inode=0)
        if isinstance(best, File):
            assert library.read(f"{folder}/best/{name}") == library.read(f"{folder}/{strongest.n}/{name}")
    assert library.read(f"{folder}/best/quote.txt") == strongest.quote.encode()


def concept_called(library: Library, name: str) -> str:
    concept = library.stores.graph.concept_named(library.ontology().id, name)
    assert concept is not None
    return concept.concept_id
