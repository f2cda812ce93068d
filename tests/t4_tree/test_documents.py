"""documents/ is an honest folder: every scenario of the filesystem on real stores, while paths settle all the time; and
what is its own."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator

import pytest

from kgfs.domain.identity import new_id
from kgfs.errors import (
    BadInputError,
    IsAFolderError,
    MissingError,
    NoSuchAttributeError,
    NotAFolderError,
    NotEmptyError,
    ReadOnlyError,
    RefusedError,
    UnsupportedError,
)
from kgfs.stores.catalog.facts import DocumentRead, FileMade
from kgfs.tree.documents import DocumentFile, DocumentLink, DocumentsFolder
from kgfs.tree.node import AttrChange, Caller, Folder
from kgfs.tree.vfs import Vfs, space_of
from tests.support.depositing import Desk
from tests.support.documents_tree import documents_of, root_of
from tests.support.scenarios.filesystem import SCENARIOS, Scenario
from tests.support.scenarios.memory import Loop, MemoryDriver

BIG = b"0123456789abcdef" * 20_000
ME = Caller(os.getuid(), os.getgid())


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.stop()


@pytest.fixture
def documents(desk: Desk) -> DocumentsFolder:
    return documents_of(desk, desk.ontology())


@pytest.fixture
def settling(desk: Desk) -> Iterator[None]:
    """Whatever no writer has open is settled at once, again and again."""
    stop = threading.Event()
    errors: list[BaseException] = []

    def settle() -> None:
        try:
            while not stop.wait(0.001):
                desk.deposits.settler.settle_now()
        except BaseException as error:
            errors.append(error)
            raise

    thread = threading.Thread(target=settle)
    thread.start()
    yield
    stop.set()
    thread.join()
    assert errors == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_scenario(scenario: Scenario, loop: Loop, desk: Desk, settling: None) -> None:
    vfs = Vfs(root_of(desk), lambda: space_of("/"))
    scenario(MemoryDriver(loop, vfs, b"documents"))
    assert len(vfs.inodes) == 1, "every lookup was given back"
    assert len(vfs.handles) == 0, "everything was closed"


def write(file: DocumentFile, content: bytes) -> None:
    handle = file.open(read=False, write=True, truncate=True)
    handle.write(0, content)
    handle.flush()
    handle.release()


def made(folder: Folder, name: str, content: bytes = b"") -> DocumentFile:
    file = folder.make_file(name, 0o644, ME)
    assert isinstance(file, DocumentFile)
    if content:
        write(file, content)
    return file


def test_sizes_and_times_are_exact_while_a_file_is_written(documents: DocumentsFolder) -> None:
    file = made(documents, "a.txt", b"old")
    before, token = file.attr(), documents.token()
    handle = file.open(read=True, write=True, truncate=False)
    handle.write(10, BIG)
    during = file.attr()
    assert during.size == 10 + len(BIG)
    assert during.mtime > before.mtime
    assert during.ctime >= during.mtime
    assert documents.token() != token
    assert dict(documents.entries())["a.txt"].attr().size == during.size
    handle.flush()
    assert file.attr().mtime == during.mtime
    handle.release()
    assert (file.attr().size, file.attr().mtime) == (during.size, during.mtime)


def test_inodes_are_name_ids(documents: DocumentsFolder, desk: Desk) -> None:
    file = made(documents, "a.txt", b"bytes")
    row = desk.catalog.names.child(documents.inode, "a.txt")
    assert row is not None
    assert file.inode == file.attr().inode == row.id
    assert documents.inode == desk.ontology().root


def test_extended_attributes_follow_the_document(documents: DocumentsFolder, desk: Desk) -> None:
    file = made(documents, "a.txt")
    assert file.attributes() == ()
    write(file, b"bytes")
    assert sorted(file.attributes()) == ["user.kgfs.sha256", "user.kgfs.state"]
    assert file.attribute("user.kgfs.state") == b"kept"
    desk.settle()
    row = desk.row(file.inode)
    assert file.attribute("user.kgfs.state") == b"queued"
    assert file.attribute("user.kgfs.sha256") == row.sha256.encode()
    assert file.attribute("user.kgfs.doc_id") == row.doc_id.encode()
    assert file.attribute("user.kgfs.key") == row.key.encode()
    assert file.attribute("user.kgfs.decision") == b"insert"
    assert file.attribute("user.kgfs.reason") == b"new document"
    desk.catalog.record(DocumentRead(row.doc_id, "done", "r", "d", "c", (), 1))
    assert file.attribute("user.kgfs.state") == b"done"
    write(file, b"newer")
    assert file.attribute("user.kgfs.state") == b"kept"
    assert not {"user.kgfs.doc_id", "user.kgfs.decision", "user.kgfs.reason"} & set(file.attributes())
    for name in ("user.kgfs.nothing", "user.other", "sha256"):
        with pytest.raises(NoSuchAttributeError):
            file.attribute(name)
    with pytest.raises(UnsupportedError):
        file.set_attribute("user.kgfs.state", b"done")


def test_non_documents_say_that_they_are_kept(documents: DocumentsFolder, desk: Desk) -> None:
    file = made(documents, ".hidden", b"bytes")
    desk.settle()
    known = ("decision", "key", "reason", "sha256", "state")
    assert sorted(file.attributes()) == [f"user.kgfs.{name}" for name in known]
    assert file.attribute("user.kgfs.reason") == b"a dot-name or temporary name is no document"
    assert file.attribute("user.kgfs.state") == b"kept"


def test_links_are_kept_and_never_followed(documents: DocumentsFolder, desk: Desk) -> None:
    link = documents.make_link("link", "a%FFb", ME)
    assert isinstance(documents.lookup("link"), DocumentLink)
    assert link.target() == b"a\xffb"
    assert stat.S_ISLNK(link.attr().mode)
    assert link.attr().size == 3
    link.change(AttrChange(mtime=77))
    assert link.attr().mtime == 77
    desk.settle()
    assert desk.catalog.jobs.owed() == 0


def test_types_are_kept_apart(documents: DocumentsFolder) -> None:
    folder = documents.make_folder("sub", 0o755, ME)
    made(documents, "a.txt", b"bytes")
    made(folder, "below.txt", b"bytes")
    cases = [
        (lambda: documents.remove_file("sub"), IsAFolderError),
        (lambda: documents.remove_folder("a.txt"), NotAFolderError),
        (lambda: documents.remove_folder("sub"), NotEmptyError),
        (lambda: documents.remove_file("gone"), MissingError),
        (lambda: documents.move("gone", documents, "b", replace=True), MissingError),
        (lambda: documents.move("a.txt", documents, "sub", replace=True), IsAFolderError),
        (lambda: documents.move("sub", documents, "a.txt", replace=True), NotAFolderError),
        (lambda: documents.move("sub", folder, "below", replace=True), BadInputError),
    ]
    for call, kind in cases:
        with pytest.raises(kind):
            call()


def test_moves_between_ontologies(documents: DocumentsFolder, desk: Desk) -> None:
    other = documents_of(desk, desk.ontology("Other"))
    folder = documents.make_folder("sub", 0o755, ME)
    made(folder, "a.txt", BIG)
    desk.settle()
    documents.move("sub", other, "moved", replace=True)
    desk.settle()
    moved = other.lookup("moved")
    assert isinstance(moved, DocumentsFolder)
    file = moved.lookup("a.txt")
    assert isinstance(file, DocumentFile)
    assert file.attribute("user.kgfs.key").startswith(b"sources/Other/")
    assert documents.lookup("sub") is None


def test_nothing_leaves_documents_by_a_rename(documents: DocumentsFolder) -> None:
    class Derived(Folder):
        pass

    file = made(documents, "a.txt", b"bytes")
    with pytest.raises(ReadOnlyError) as caught:
        documents.move("a.txt", Derived(), "a.txt", replace=True)
    assert caught.value.errno == errno.EROFS
    assert documents.lookup("a.txt") is not None
    assert file.attr().size == 5


def test_what_is_gone_says_so(documents: DocumentsFolder) -> None:
    file, folder = made(documents, "a.txt", b"bytes"), documents.make_folder("sub", 0o755, ME)
    documents.remove_file("a.txt")
    documents.remove_folder("sub")
    calls = [
        file.attr,
        lambda: file.change(AttrChange(mode=0o600)),
        lambda: file.change(AttrChange(size=0)),
        lambda: file.open(read=True, write=False, truncate=False),
        file.attributes,
        folder.attr,
        lambda: folder.make_file("a", 0o644, ME),
        lambda: folder.make_folder("a", 0o755, ME),
    ]
    for call in calls:
        with pytest.raises(MissingError):
            call()
    assert list(folder.entries()) == []


def test_only_root_gives_files_away(documents: DocumentsFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    file = made(documents, "a.txt", b"bytes")
    before = file.attr()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getgroups", lambda: [50])
    with pytest.raises(RefusedError):
        file.change(AttrChange(uid=before.uid + 1))
    with pytest.raises(RefusedError):
        file.change(AttrChange(gid=51))
    assert file.change(AttrChange(uid=before.uid, gid=50, mode=0o640)).gid == 50
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    after = file.change(AttrChange(uid=7, gid=8))
    assert (after.uid, after.gid, stat.S_IMODE(after.mode)) == (7, 8, 0o640)


def test_changing_several_things_at_once(documents: DocumentsFolder, desk: Desk) -> None:
    file = made(documents, "a.txt", BIG)
    desk.settle()
    after = file.change(AttrChange(size=5, mode=0o4711, atime=1, mtime=2))
    assert (after.size, stat.S_IMODE(after.mode), after.atime, after.mtime) == (5, 0o4711, 1, 2)
    assert desk.read(file.inode) == BIG[:5]


def test_a_large_folder_is_listed_whole_and_in_order(documents: DocumentsFolder, desk: Desk) -> None:
    names = [f"{number:04}" for number in range(2100)]
    made = [FileMade(new_id(), desk.ontology().id, documents.inode, name, 0o644, 0, 0, 1) for name in names]
    desk.catalog.record(*reversed(made))
    assert [name for name, _ in documents.entries()] == names


def test_documents_itself_cannot_be_taken_away(documents: DocumentsFolder, desk: Desk) -> None:
    with pytest.raises(RefusedError):
        desk.deposits.remove(documents.inode)
