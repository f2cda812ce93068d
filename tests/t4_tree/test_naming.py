"""What words name: every way to a document leads to the same one, and every listed path of a view to its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.domain.documents import State
from kgfs.domain.names import decode_name
from kgfs.errors import BadInputError, MissingError
from kgfs.stores.locks import locked
from kgfs.stores.mount_files import KNOWLEDGE
from kgfs.stores.resolve import Found, FoundKind, find_document
from kgfs.tree.node import File
from tests.support.library import Library, fill, library_at


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with library_at(tmp_path_factory.mktemp("naming") / "home") as library:
        fill(library)
        library.add("Zen/documents/notes/koans.md", b"# Koans\n\nA koan was answered.\n", {"koan": ["A koan was"]})
        library.write("Zen/documents/text/twice.txt", b"A folder called as a view.")
        library.write("Zen/documents/twice.txt", b"A file with a text of its own.")
        library.write("Zen/documents/odd\xe9%0A100%25.txt", b"An odd name.")
        library.settle()
        yield library


MOUNT = Path("/mnt/nobody-mounted-this")


@pytest.fixture(autouse=True)
def noted(library: Library) -> Iterator[None]:
    """A mount of another process that was never asked: its locked note is all there is of it."""
    note = library.context.config.run / "mount-elsewhere.json"
    about = {"mountpoint": str(MOUNT), "pid": 1, "started": 0, "view": KNOWLEDGE, "config": None}
    with locked(note):
        note.write_text(json.dumps({**about, "inode": note.stat().st_ino}))
        yield
    note.unlink()


def found(library: Library, words: str | Path) -> Found:
    return find_document(library.stores, library.context.config.run, os.fspath(words))


def test_every_way_leads_to_the_same_document(library: Library) -> None:
    document = library.document("Zen/documents/zen.txt")
    ways = [
        "Zen/zen.txt",
        "Zen/documents/zen.txt",
        document.doc_id,
        document.key,
        MOUNT / "Zen" / "zen.txt",
        MOUNT / "Zen/documents/zen.txt",
        MOUNT / "Zen/documents/notes/../zen.txt",
        MOUNT / "Zen/text/zen.txt.md",
        MOUNT / "Zen/versions/zen.txt@",
        MOUNT / "Zen/archive" / document.doc_id / "original",
        MOUNT / "Zen/concepts/zen.concept/evidence/1/document",
        MOUNT / "Zen/zen.concept/evidence/1/source.txt",
        MOUNT / "Zen/zen.concept/related/USES/koan/evidence/1",
        MOUNT / document.key,
        "Zen/text/zen.txt.md",
    ]
    for words in ways:
        one = found(library, words)
        assert (one.kind, one.ontology.name, one.path) == (FoundKind.DOCUMENT, "Zen", "zen.txt"), words
        assert one.doc_id == document.doc_id, words
        assert one.name is not None
        assert one.name.doc_id == document.doc_id, words


def test_every_file_of_documents_text_and_versions_is_found_by_its_path(library: Library) -> None:
    seen = 0
    for view in ("documents", "text", "versions"):
        for path, node in library.walk(f"Zen/{view}"):
            one = found(library, MOUNT / os.fsdecode(decode_name(path)))
            if view == "documents" and isinstance(node, File):
                assert one.name is not None
                assert one.name.id == node.inode, path
            if view == "text" and isinstance(node, File):
                assert library.node(f"Zen/archive/{one.doc_id}/text.txt"), path
            if view == "versions" and isinstance(node, File):
                assert library.stores.garage.objects.get(document_key(one)) == library.read(path), path
                assert one.version > 0
            seen += 1
    assert seen > 40


def document_key(one: Found) -> str:
    assert one.document is not None
    return one.document.key


def test_a_version_of_a_path_is_named_by_its_number(library: Library) -> None:
    first, second = (found(library, MOUNT / f"Zen/versions/notes/koans.md@/{n}.md") for n in (1, 2))
    assert (first.version, second.version) == (1, 2)
    assert second.doc_id == library.document("Zen/documents/notes/koans.md").doc_id != first.doc_id
    assert first.name == second.name
    assert str(first) == "Zen/documents/notes/koans.md@1"


def test_folders_and_ontologies_are_named_too(library: Library) -> None:
    for words in ("Zen", "Zen/", MOUNT / "Zen", "Zen/documents", MOUNT / "Zen/documents"):
        assert found(library, words).kind is FoundKind.ONTOLOGY
    for words in ("Zen/notes", "Zen/documents/notes/", MOUNT / "Zen/documents/notes"):
        one = found(library, words)
        assert (one.kind, one.path) == (FoundKind.FOLDER, "notes")


def test_names_are_taken_as_bytes_of_a_shell_and_as_they_are_shown(library: Library) -> None:
    for words in ("Zen/oddé\n100%.txt", "Zen/oddé%0A100%25.txt", MOUNT / "Zen/documents/oddé\n100%.txt"):
        assert found(library, words).path == "oddé%0A100%25.txt"


def test_bytes_of_a_shell_need_not_be_utf8(library: Library) -> None:
    library.write("Zen/documents/latin%E9.txt", b"Of another age.")
    library.settle()
    for words in (b"Zen/latin\xe9.txt", b"Zen/documents/latin\xe9.txt", b"Zen/latin%E9.txt"):
        assert found(library, os.fsdecode(words)).path == "latin%E9.txt"
    assert found(library, MOUNT / os.fsdecode(b"Zen/documents/latin\xe9.txt")).path == "latin%E9.txt"
    with pytest.raises(MissingError):
        found(library, os.fsdecode(b"Zen\xe9/latin.txt"))


def test_what_is_no_document_yet_is_found_without_one(library: Library) -> None:
    empty = found(library, "Zen/empty")
    assert empty.name is not None
    assert (empty.document, empty.doc_id) == (None, "")


def test_words_that_mean_two_things_are_refused_and_can_be_said_exactly(library: Library) -> None:
    library.publish("Zen/documents/twice.txt", {"file": ["A file"]})
    library.write("Zen/documents/text/twice.txt.md", b"Where the text of another stands.")
    library.settle()
    with pytest.raises(BadInputError, match=r"twice.txt.*or Zen/documents/text/twice.txt.md"):
        found(library, "Zen/text/twice.txt.md")
    assert found(library, "Zen/documents/text/twice.txt.md").path == "text/twice.txt.md"
    assert found(library, MOUNT / "Zen/text/twice.txt.md").path == "twice.txt"


def test_a_document_that_no_file_has_is_named_by_id_key_and_archive(library: Library) -> None:
    library.add("Zen/documents/gone.txt", b"Gone soon.", {"gone": ["Gone"]})
    document = library.document("Zen/documents/gone.txt")
    name = found(library, "Zen/gone.txt").name
    assert name is not None
    library.context.deposits.remove(name.id)
    for words in (document.doc_id, document.key, MOUNT / "Zen/archive" / document.doc_id):
        one = found(library, words)
        assert one.document is not None
        assert (one.name, one.path, one.doc_id) == (None, "gone.txt", document.doc_id)
        assert one.document.state is State.TRASHED
    with pytest.raises(MissingError):
        found(library, "Zen/gone.txt")


def test_a_removed_file_is_found_where_it_is_asked_for(library: Library) -> None:
    for content in (b"First removed.", b"Removed last."):
        library.write("Zen/documents/notes/removed.txt", content)
        library.settle()
        name = found(library, "Zen/notes/removed.txt").name
        assert name is not None
        library.context.deposits.remove(name.id)
        library.context.deposits.make_file(library.ontology().root, f"other {len(content)}.txt", 0o644, 0, 0)
    for words in ("Zen/notes/removed.txt", MOUNT / "Zen/documents/notes/removed.txt"):
        one = find_document(library.stores, library.context.config.run, os.fspath(words), trashed=True)
        assert one.document is not None
        assert one.trashed is not None
        assert library.stores.garage.objects.get(one.document.key) == b"Removed last."
        assert (one.name, one.path) == (None, "notes/removed.txt")
    with pytest.raises(MissingError):
        found(library, "Zen/notes/removed.txt")


def test_the_file_of_an_original_in_the_home_is_its_document(library: Library) -> None:
    [file] = (library.context.config.garage / "objects").rglob(library.document("Zen/documents/zen.txt").key[-36:])
    assert found(library, file).path == "zen.txt"


def test_a_key_is_found_though_the_garage_has_lost_it(library: Library) -> None:
    library.write("Zen/documents/lost.txt", b"Lost soon.")
    library.settle()
    document = library.document("Zen/documents/lost.txt")
    assert library.stores.garage.objects.delete(document.key)
    assert found(library, document.key).doc_id == document.doc_id


@pytest.mark.parametrize(
    "words",
    [
        "Nothing",
        "Zen/nothing.txt",
        "0123456789abcdef",
        "sources/Zen/nothing.txt",
        "/etc/hostname",
        "",
        "/",
        ".",
        str(MOUNT),
    ],
)
def test_words_that_name_nothing_say_what_to_try(library: Library, words: str) -> None:
    with pytest.raises(MissingError, match=r"ONTOLOGY/PATH.*doc_id.*sources/"):
        found(library, words)


def test_a_link_to_a_mount_is_followed(library: Library, tmp_path: Path) -> None:
    (tmp_path / "knowledge").symlink_to(MOUNT)
    assert found(library, tmp_path / "knowledge/Zen/zen.txt").path == "zen.txt"
