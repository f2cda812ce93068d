"""The tree while documents change: paths shown follow, sizes stay exact, times move, failures are errors."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from kgfs.errors import (
    CorruptError,
    ExistsError,
    KgfsError,
    MissingError,
    NotEmptyError,
    ReadOnlyError,
    RefusedError,
    StoreError,
    TimedOutError,
)
from kgfs.ingest.writing import trash
from kgfs.settings import Tree
from kgfs.tree.node import AttrChange, File, Folder, Link
from tests.support.library import ME, Library, library_at, read

ZEN = b"Zen is a school.\nIt is old, and\nZen stays.\n"
QUOTES = {"Zen": ["Zen is a school.", "old, and\nZen"]}
PIECE = "Zen/concepts/zen.concept/evidence/2"


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with library_at(home) as library:
        library.add("Zen/documents/zen.txt", ZEN, QUOTES)
        yield library


def folder(library: Library, path: str) -> Folder:
    node = library.node(path)
    assert isinstance(node, Folder)
    return node


def assert_exact(library: Library) -> None:
    for path, node in library.walk("Zen"):
        if isinstance(node, File):
            assert len(read(node)) == node.attr().size, path


def shown(library: Library, piece: str = PIECE) -> tuple[str, bool, int]:
    """(path shown, stale, mtime) of a piece of evidence; source.txt and citation.json agree, and the link leads there."""
    source = library.node(f"{piece}/source.txt")
    cited = json.loads(library.read(f"{piece}/citation.json"))
    text = library.read(f"{piece}/source.txt").decode()
    assert text.startswith(f"file: {cited['document']}\n")
    spans = cited.get("source_spans") or [[cited["source_start"], cited["source_end"]]]
    assert "".join(text[a:b] for a, b in spans) == cited["quote"]
    assert library.read(f"{piece}/document/") == ZEN
    assert source.attr().mtime == library.node(f"{piece}/citation.json").attr().mtime
    return cited["document"], cited["stale"], source.attr().mtime


def test_a_rename_is_shown_and_moves_the_time_of_what_shows_it_alone(library: Library) -> None:
    concept = library.node("Zen/concepts/zen.concept/concept.md").attr()
    quote = library.node(f"{PIECE}/quote.txt").attr()
    path, stale, before = shown(library)
    assert (path, stale) == ("documents/zen.txt", False)
    documents = folder(library, "Zen/documents")
    documents.move("zen.txt", documents, "nez.txt", replace=True)
    path, stale, after = shown(library)
    assert (path, stale) == ("documents/nez.txt", False) and after > before
    assert library.node("Zen/concepts/zen.concept/concept.md").attr() == concept
    assert library.node(f"{PIECE}/quote.txt").attr() == quote
    assert library.names("Zen/text") == ["nez.txt.md"]
    assert_exact(library)


def test_the_rename_of_a_folder_above_is_shown_too(library: Library) -> None:
    documents = folder(library, "Zen/documents")
    for name in ("a", "b"):
        documents.make_folder(name, 0o755, ME)
    documents.move("zen.txt", folder(library, "Zen/documents/a"), "zen.txt", replace=True)
    documents.move("a", folder(library, "Zen/documents/b"), "c", replace=True)
    path, _, before = shown(library)
    assert path == "documents/b/c/zen.txt"
    documents.move("b", documents, "d", replace=True)
    path, _, after = shown(library)
    assert path == "documents/d/c/zen.txt" and after > before
    documents.make_folder("unconcerned", 0o755, ME)
    assert shown(library)[2] == after
    assert_exact(library)


def test_evidence_of_an_earlier_version_is_stale_until_the_next_is_read(library: Library) -> None:
    before = shown(library)[2]
    library.write("Zen/documents/zen.txt", b"Zen has changed.\n")
    library.settle()
    path, stale, after = shown(library)
    assert (path, stale) == ("versions/zen.txt@/1.txt", True) and after > before
    assert library.read(f"{PIECE}/source.txt").decode().split("\n")[1].startswith("note: stale")
    assert library.names("Zen/versions/zen.txt@") == ["1.txt", "2.txt"]
    assert library.read("Zen/text/zen.txt.md").endswith(ZEN), "the Text of the version before stays"
    assert_exact(library)
    library.publish("Zen/documents/zen.txt", {"Zen": ["Zen has changed."]})
    assert library.find(PIECE) is None
    assert library.names("Zen/concepts/zen.concept/evidence") == ["3"]
    assert library.read("Zen/text/zen.txt.md").endswith(b"Zen has changed.\n")
    assert library.read("Zen/versions/zen.txt@/1.txt") == ZEN
    assert_exact(library)


def test_a_second_name_takes_over_when_the_first_goes(library: Library) -> None:
    library.write("Zen/documents/other.txt", ZEN)
    library.settle()
    folder(library, "Zen/documents").remove_file("zen.txt")
    assert shown(library)[0] == "documents/other.txt"


def test_when_the_last_name_goes_the_archive_answers_until_it_is_forgotten(library: Library) -> None:
    document = library.document("Zen/documents/zen.txt")
    before = shown(library)[2]
    folder(library, "Zen/documents").remove_file("zen.txt")
    path, stale, after = shown(library)
    assert (path, stale) == (f"archive/{document.doc_id}/original", False) and after > before
    assert "note: original removed" in library.read(f"{PIECE}/source.txt").decode()
    assert library.names("Zen/text") == []
    assert_exact(library)
    removed = library.stores.catalog.names.document(document.doc_id)
    assert removed is not None
    library.pipeline.forget(removed, "forget-1")
    assert library.names("Zen/concepts") == []
    assert library.read(f"Zen/archive/{document.doc_id}/original") == ZEN
    assert library.names(f"Zen/archive/{document.doc_id}") == ["metadata.json", "original", "text.txt", "zen.txt"]
    assert_exact(library)


@pytest.mark.claim("AWAY-2")
@pytest.mark.parametrize("emptied", [False, True], ids=["in the trash", "emptied"])
def test_what_no_file_has_any_more_is_listed_without_a_word_to_the_garage(
    library: Library, monkeypatch: pytest.MonkeyPatch, emptied: bool
) -> None:
    """It would be asked by the event loop, and the whole mount wait where it is silent."""
    document = library.document("Zen/documents/zen.txt")
    folder(library, "Zen/documents").remove_file("zen.txt")
    if emptied:
        trash.empty(library.stores, library.context.deposits.settler, time.time_ns())

    def silent(key: str) -> NoReturn:
        raise TimedOutError("The bucket is silent.")

    monkeypatch.setattr(library.stores.garage.objects, "exists", silent)
    names = library.names(f"Zen/archive/{document.doc_id}")
    assert ("original" in names) is not emptied and "metadata.json" in names


def test_nodes_held_from_before_say_that_their_thing_is_gone(library: Library) -> None:
    held = [node for path, node in library.walk("Zen") if "/concepts" in path and path != "Zen/concepts"]
    assert len(held) > 10
    for node in held:
        node.attr()
    document = library.document("Zen/documents/zen.txt")
    folder(library, "Zen/documents").remove_file("zen.txt")
    library.pipeline.forget(document, "forget-1")
    for node in held:
        with pytest.raises(MissingError):
            node.attr()


def test_marks_are_a_setting_and_sizes_follow_it(library: Library) -> None:
    marked = replace(library.context, config=replace(library.context.config, tree=Tree(mark_start="<<", mark_end="»")))
    library.context = marked
    assert "> 2 | It is <<old, and»\n> 3 | <<Zen» stays." in library.read(f"{PIECE}/source.txt").decode()
    shown(library)
    assert_exact(library)


def test_a_gated_document_has_a_text_and_no_concepts(library: Library) -> None:
    library.write("Zen/documents/menu.txt", b"Home | Next | Previous")
    library.settle()
    document = library.publish("Zen/documents/menu.txt", {}, gated=True)
    text = library.read("Zen/text/menu.txt.md")
    (reason,) = library.stores.graph.gated_reasons(document.ontology)
    assert b"Home | Next | Previous\n\n<!-- No knowledge is drawn from these lines:\n1-1: " in text
    assert text.endswith(f"1-1: {reason}\n-->\n".encode()) and b"<!--" not in library.read(".kgfs/gate.ndjson")
    assert library.node("Zen/text/menu.txt.md").attr().size == len(text)
    (logged,) = library.read(".kgfs/gate.ndjson").splitlines()
    assert json.loads(logged) == {
        "document": "Zen/documents/menu.txt",
        "doc_id": document.doc_id,
        "line_start": 1,
        "line_end": 1,
        "reason": reason,
    }
    assert library.names(f"Zen/archive/{document.doc_id}/concepts") == []
    assert json.loads(library.read(f"Zen/archive/{document.doc_id}/metadata.json"))["state"] == "gated"


def test_a_page_shows_words_and_the_quote_its_markup(library: Library) -> None:
    marked = "[[Koans|Riddles]] are **told** by [teachers](https://zen.example/a)."
    library.add("Zen/documents/marked.md", f"{marked}\n".encode(), {"Riddles": [marked]})
    page = library.read("Zen/concepts/riddles.concept/concept.md").decode()
    assert "\n> Riddles are told by teachers. ([1]" in page and "“Riddles are told by teachers.”" in page
    assert library.read("Zen/concepts/riddles.concept/evidence/1/quote.txt").decode() == marked
    assert_exact(library)


@pytest.mark.parametrize("name", ["Z", "Größe 禅 und vieles mehr"])
def test_a_page_names_its_ontology_whatever_it_is_called(library: Library, name: str) -> None:
    assert '\nontology: "Zen"\n' in library.read("Zen/concepts/zen.concept/concept.md").decode()
    library.root.move("Zen", library.root, name, replace=False)
    page = library.read(f"{name}/concepts/zen.concept/concept.md")
    assert f'\nontology: "{name}"\n' in page.decode()
    assert library.node(f"{name}/concepts/zen.concept/concept.md").attr().size == len(page)


def test_a_history_and_a_folder_of_its_name_stand_side_by_side(library: Library) -> None:
    library.write("Zen/documents/zen.txt@/below.txt", b"below")
    library.write(f"Zen/documents/{'v' * 255}", b"long")
    library.settle()
    row = library.stores.catalog.names.resolve(library.ontology().id, "zen.txt@")
    assert row is not None
    assert library.read("Zen/versions/zen.txt@/1.txt") == ZEN
    assert library.read(f"Zen/versions/zen.txt@~{row.id:x}/below.txt@/1.txt") == b"below"
    (long,) = (name for name in library.names("Zen/versions") if name.startswith("vvv"))
    assert len(long) == 255 and library.read(f"Zen/versions/{long}/1.bin") == b"long"
    assert_exact(library)


def test_files_at_an_ontologys_root_are_those_of_documents(library: Library) -> None:
    root = folder(library, "Zen")
    made = root.make_file("note.txt", 0o600, ME)
    handle = made.open(read=False, write=True, truncate=False)
    handle.write(0, b"kept")
    handle.flush()
    handle.release()
    assert library.read("Zen/documents/note.txt") == b"kept"
    root.move("note.txt", root, "moved.txt", replace=True)
    documents = folder(library, "Zen/documents")
    sub = documents.make_folder("sub", 0o755, ME)
    root.move("moved.txt", sub, "deep.txt", replace=True)
    assert library.read("Zen/documents/sub/deep.txt") == b"kept"
    sub.move("deep.txt", root, "back.txt", replace=True)
    assert library.read("Zen/documents/back.txt") == library.read("Zen/back.txt") == b"kept"
    root.make_link("link", "back.txt", ME)
    found = root.lookup("link")
    assert isinstance(found, Link) and found.target() == b"back.txt"
    root.remove_file("back.txt")
    assert library.find("Zen/documents/back.txt") is None
    assert root.attr().mtime == documents.attr().mtime and root.inode != documents.inode


REFUSED: list[tuple[str, Callable[[Library], object], type[KgfsError]]] = [
    ("folder with a name of kgfs", lambda it: folder(it, "Zen").make_folder("insights", 0o755, ME), RefusedError),
    ("folder that exists", lambda it: folder(it, "Zen").make_folder("text", 0o755, ME), ExistsError),
    ("a name of kgfs", lambda it: folder(it, "Zen").make_file("insights", 0o644, ME), RefusedError),
    ("a name that is shown", lambda it: folder(it, "Zen").make_file("about.md", 0o644, ME), ReadOnlyError),
    ("a concept's name", lambda it: folder(it, "Zen").make_file("new.concept", 0o644, ME), RefusedError),
    ("a folder's name", lambda it: folder(it, "Zen").make_file("notes", 0o644, ME), ExistsError),
    ("write about", lambda it: _open(it, "Zen/about.md"), ReadOnlyError),
    ("write concept", lambda it: _open(it, "Zen/concepts/zen.concept/concept.md"), ReadOnlyError),
    ("write original", lambda it: _open(it, f"Zen/archive/{_doc(it)}/original"), ReadOnlyError),
    ("write status", lambda it: _open(it, ".kgfs/status.json"), ReadOnlyError),
    ("write readme", lambda it: _open(it, "README.md"), ReadOnlyError),
    ("make in concepts", lambda it: folder(it, "Zen/concepts").make_file("x", 0o644, ME), ReadOnlyError),
    ("make in text", lambda it: folder(it, "Zen/text").make_folder("x", 0o755, ME), ReadOnlyError),
    ("remove about", lambda it: folder(it, "Zen").remove_file("about.md"), ReadOnlyError),
    ("remove concept", lambda it: folder(it, "Zen/concepts").remove_folder("zen.concept"), ReadOnlyError),
    ("remove shortcut", lambda it: folder(it, "Zen").remove_file("zen.concept"), ReadOnlyError),
    ("remove documents", lambda it: folder(it, "Zen").remove_folder("documents"), NotEmptyError),
    ("remove archive", lambda it: folder(it, "Zen").remove_folder("archive"), ReadOnlyError),
    ("rename documents", lambda it: folder(it, "Zen").move("documents", it.root, "X", replace=True), RefusedError),
    ("rename about", lambda it: _move(it, "Zen", "about.md", "Zen", "x.md"), ReadOnlyError),
    ("rename over about", lambda it: _move(it, "Zen/documents", "zen.txt", "Zen", "about.md"), ReadOnlyError),
    ("move into concepts", lambda it: _move(it, "Zen/documents", "zen.txt", "Zen/concepts", "x"), ReadOnlyError),
    ("move a folder to a name of kgfs", lambda it: _move(it, "Zen/documents", "notes", "Zen", "ask"), RefusedError),
    ("move a file to the root", lambda it: _move(it, "Zen/documents", "zen.txt", "", "n"), RefusedError),
    ("file at the root", lambda it: it.root.make_file("x.txt", 0o644, ME), RefusedError),
    ("link at the root", lambda it: it.root.make_link("x", "y", ME), RefusedError),
    ("dot ontology", lambda it: it.root.make_folder(".git", 0o755, ME), RefusedError),
    ("ontology search", lambda it: it.root.make_folder("search", 0o755, ME), ExistsError),
    ("ontology ask", lambda it: it.root.make_folder("ask", 0o755, ME), ExistsError),
    ("remove search", lambda it: it.root.remove_folder("search"), ReadOnlyError),
    ("rename search", lambda it: it.root.move("search", it.root, "x", replace=True), ReadOnlyError),
    ("remove an ontology's search", lambda it: _folder(it, "Zen").remove_folder("search"), ReadOnlyError),
    ("rename an ontology's search", lambda it: _move(it, "Zen", "search", "Zen", "x"), ReadOnlyError),
    ("file called search", lambda it: _folder(it, "Zen").make_file("search", 0o644, ME), RefusedError),
    ("folder called search", lambda it: _folder(it, "Zen").make_folder("search", 0o755, ME), ExistsError),
    ("search by mkdir", lambda it: _folder(it, "Zen/search").make_folder("zen", 0o755, ME), ExistsError),
    ("no search", lambda it: _folder(it, "Zen/search").make_folder(".git", 0o755, ME), RefusedError),
    ("file in search", lambda it: _folder(it, "Zen/search").make_file("zen", 0o644, ME), ReadOnlyError),
    ("file in a search", lambda it: _folder(it, "Zen/search/zen").make_file("x", 0o644, ME), ReadOnlyError),
    ("unsaved search", lambda it: _folder(it, "Zen/search").remove_folder("zen"), MissingError),
    ("modes of a search", lambda it: it.node("Zen/search/zen").change(AttrChange(mode=0o700)), ReadOnlyError),
    ("ontology readme", lambda it: it.root.make_folder("README.md", 0o755, ME), ExistsError),
    ("ontology again", lambda it: it.root.make_folder("Zen", 0o755, ME), ExistsError),
    ("remove a full ontology", lambda it: it.root.remove_folder("Zen"), NotEmptyError),
    ("remove readme", lambda it: it.root.remove_file("README.md"), ReadOnlyError),
    ("rename to a taken name", lambda it: it.root.move("Zen", it.root, "ask", replace=True), RefusedError),
    ("ontology into another", lambda it: _move(it, "", "Zen", "Zen", "x"), RefusedError),
    ("remove what is not there", lambda it: it.root.remove_folder("Nobody"), MissingError),
]


def _open(library: Library, path: str) -> None:
    node = library.node(path)
    assert isinstance(node, File)
    node.open(read=False, write=True, truncate=False)


def _folder(library: Library, path: str) -> Folder:
    found = library.node(path)
    assert isinstance(found, Folder)
    return found


def _move(library: Library, source: str, name: str, goal: str, new_name: str) -> None:
    folder(library, source).move(name, folder(library, goal), new_name, replace=True)


def _doc(library: Library) -> str:
    return library.document("Zen/documents/zen.txt").doc_id


def test_what_the_tree_does_not_allow_is_refused_and_changes_nothing(library: Library) -> None:
    folder(library, "Zen/documents").make_folder("notes", 0o755, ME)
    before = [path for path, _ in library.walk()]
    for what, attempt, error in REFUSED:
        with pytest.raises(error) as raised:
            attempt(library)
        assert raised.type is error, what
        assert len(str(raised.value)) > 15, what
    assert [path for path, _ in library.walk()] == before


def test_ontologies_are_made_renamed_and_removed_as_folders(library: Library) -> None:
    root = library.root
    made = root.make_folder("New", 0o750, ME)
    assert made.attr().mode & 0o777 == 0o750 and library.names("New/documents") == []
    root.move("New", root, "Newer", replace=True)
    assert root.lookup("New") is None and root.lookup("Newer") is not None
    assert root.lookup("Newer").inode == made.inode  # type: ignore[union-attr]
    root.remove_folder("Newer")
    assert root.lookup("Newer") is None
    with pytest.raises(MissingError):
        made.attr()
    root.move("Zen", root, "Chan", replace=True)
    assert json.loads(library.read("Chan/concepts/zen.concept/evidence/2/citation.json"))["ontology"] == "Chan"


def test_a_symmetric_type_stated_both_ways_is_one_relationship_with_both_quotes(library: Library) -> None:
    text = "Zen is unlike Chan. Chan is unlike Zen."
    related = [("zen", "CONTRASTS_WITH", "chan", text[:19]), ("chan", "CONTRASTS_WITH", "zen", text[20:])]
    library.add("Zen/documents/two.txt", text.encode(), {"Zen": [text[:19]], "Chan": [text[20:]]}, related)
    for here, there in (("zen", "chan"), ("chan", "zen")):
        parent = f"Zen/concepts/{here}.concept/related/CONTRASTS_WITH"
        assert library.names(parent) == [there]
        quotes = {library.read(f"{parent}/{there}/evidence/{n}/quote.txt") for n in (1, 2)}
        assert quotes == {text[:19].encode(), text[20:].encode()}
    assert_exact(library)


def test_listings_have_a_token_that_moves_with_them(library: Library) -> None:
    paths = ("", "Zen", "Zen/concepts", PIECE, "Zen/text", "Zen/versions", "Zen/archive")
    before = {path: folder(library, path).token() for path in paths}
    assert {path: folder(library, path).token() for path in paths} == before
    library.write("Zen/documents/more.txt", b"Zen and more")
    library.settle()
    after = {path: folder(library, path).token() for path in paths}
    assert all(after[path] != before[path] for path in paths)
    library.publish("Zen/documents/more.txt", {"Zen": ["Zen and more"]})
    assert folder(library, "Zen/concepts").token() != after["Zen/concepts"]


def test_rot_and_loss_are_errors_never_content(library: Library) -> None:
    document = library.document("Zen/documents/zen.txt")
    garage = library.context.config.garage
    objects = [path for path in garage.rglob("*") if path.is_file() and path.read_bytes() == ZEN]
    assert objects
    paths = (f"Zen/archive/{document.doc_id}/original", "Zen/versions/zen.txt@/1.txt", "Zen/text/zen.txt.md")
    for path in objects:
        path.chmod(0o600)
        path.write_bytes(ZEN.replace(b"old", b"new"))
    for path in paths:
        with pytest.raises(CorruptError):
            library.read(path)
    for path in objects:
        path.unlink()
    for path in paths:
        with pytest.raises(StoreError):
            library.read(path)
    assert library.read(f"{PIECE}/quote.txt") == b"old, and\nZen", "the graph still answers"


def test_metadata_says_what_a_document_supersedes_and_what_supersedes_it(library: Library) -> None:
    path = "Zen/documents/a.txt"
    found = []
    for content in (b"one", b"two", b"one", b"three"):
        library.write(path, content)
        library.settle()
        found.append(library.document(path).doc_id)
    one, two, again, three = found
    assert one == again

    def versions(doc_id: str) -> list[tuple[object, ...]]:
        rows = json.loads(library.read(f"Zen/archive/{doc_id}/metadata.json"))["versions"]
        return [(row["path"], row["n"], row["supersedes"], row["superseded_by"]) for row in rows]

    assert versions(one) == [("a.txt", 1, None, two), ("a.txt", 3, two, three)]
    assert versions(two) == [("a.txt", 2, one, one)]
    assert versions(three) == [("a.txt", 4, one, None)]
