"""Folders and ontologies that two homes change at once: made under one name by both, or filled by one and removed by the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgfs.domain.documents import Name
from kgfs.errors import MissingError
from kgfs.tree.documents import DocumentsFolder
from kgfs.tree.node import ROOT_INODE, AttrChange, Caller, File
from kgfs.tree.ontology import OntologyFolder
from kgfs.tree.vfs import RENAME_NOREPLACE, Vfs, space_of
from tests.fakes.garage import MemoryGarage
from tests.support.documents_tree import world_of
from tests.support.hosts import Host, host

CALLER = Caller(0, 0, 0o022)
pytestmark = pytest.mark.claim("SHARE-4")


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[tuple[Host, Host]]:
    garage = MemoryGarage()
    made = host(tmp_path / "here", garage), host(tmp_path / "there", garage)
    for one in made:
        one.exchange()
    yield made
    for one in made:
        one.session.close()
        one.stores.close()


def ontology(home: Host) -> OntologyFolder:
    return OntologyFolder(world_of(home), home.deposits.make_ontology("Notes", 0o755, 0, 0))


def documents(held: OntologyFolder) -> DocumentsFolder:
    found = held.lookup("documents")
    assert isinstance(found, DocumentsFolder)
    return found


def names(folder: DocumentsFolder) -> list[str]:
    return [name for name, _ in folder.entries()]


def in_both(homes: tuple[Host, Host]) -> DocumentsFolder:
    """A folder of the first home, which has become that of the second with one file."""
    here, there = homes
    ours = ontology(here)
    here.exchange()
    there.exchange()
    (known,) = there.catalog.names.ontologies()
    held = documents(ours).make_folder("docs", 0o755, CALLER)
    theirs = DocumentsFolder(world_of(there), known, known.root).make_folder("docs", 0o700, CALLER)
    theirs.make_file("theirs", 0o644, CALLER)
    there.exchange()
    here.exchange()
    assert isinstance(held, DocumentsFolder)
    return held


def test_who_is_in_an_ontology_goes_on_in_what_it_became(homes: tuple[Host, Host]) -> None:
    here, there = homes
    ours, theirs = ontology(here), ontology(there)
    held = documents(ours)
    held.make_file("ours", 0o644, CALLER)
    documents(theirs).make_file("theirs", 0o644, CALLER)
    there.exchange()
    here.exchange()
    assert here.catalog.names.ontology(ours.ontology_id) is None, "that of the other home came first"
    assert isinstance(held.lookup("theirs"), File)
    assert isinstance(held.make_file("later", 0o644, CALLER), File)
    assert names(held) == ["later", "ours", "theirs"]
    assert held.attr() == documents(ours).attr()
    assert ours.lookup("documents") is not None
    assert ours.ontology_id == theirs.ontology_id


@pytest.mark.parametrize("first", ["attr", "attr_again", "change", "entries", "lookup", "make_file", "make_folder"])
def test_who_is_in_a_folder_goes_on_in_what_it_became(homes: tuple[Host, Host], first: str) -> None:
    held = in_both(homes)
    made = ["made"] if first.startswith("make") else []
    given: dict[str, list[object]] = {"lookup": ["theirs"], "change": [AttrChange(mtime=1)]}
    assert getattr(held, first)(*(["made", 0o755, CALLER] if made else given.get(first, [])))
    assert held.attr().mode & 0o777 == 0o700
    assert names(held) == [*made, "theirs"]
    assert held.lookup("nothing") is None


def test_threads_that_are_in_a_folder_at_once_all_go_on(
    homes: tuple[Host, Host], monkeypatch: pytest.MonkeyPatch
) -> None:
    held, deposits = in_both(homes), homes[0].deposits
    make = deposits.make_folder

    def make_meanwhile(*given: Any) -> Name:
        try:
            return make(*given)
        finally:
            held.attr()  # by another thread, which is the first to find out

    monkeypatch.setattr(deposits, "make_folder", make_meanwhile)
    assert held.make_folder("made", 0o755, CALLER)
    assert names(held) == ["made", "theirs"]


async def test_a_kernel_goes_on_in_what_a_folder_became(homes: tuple[Host, Host]) -> None:
    held = in_both(homes)
    held.make_file("other", 0o644, CALLER)
    vfs = Vfs(held, lambda: space_of("/"))
    with pytest.raises(MissingError):  # news about names that come would not reach who believes in none here
        await vfs.lookup(ROOT_INODE, b"nothing")
    opened = await vfs.opendir(ROOT_INODE)
    assert len((await vfs.folders.listing(opened, 0))[0]) == 2
    held.remove_file("other")
    assert (await vfs.folders.listing(opened, 1))[1], "so that each is asked for again"
    assert [(at, entry.name) for at, entry in await vfs.folders.page(opened, 0)] == [(1, b"theirs")]
    await vfs.rename(ROOT_INODE, b"theirs", ROOT_INODE, b"renamed", RENAME_NOREPLACE)
    assert names(held) == ["renamed"]


async def test_a_kernel_goes_on_in_what_an_ontology_became(homes: tuple[Host, Host]) -> None:
    here, there = homes
    ours, theirs = ontology(here), ontology(there)
    documents(theirs).make_file("theirs", 0o644, CALLER)
    there.exchange()
    here.exchange()
    vfs = Vfs(ours, lambda: space_of("/"))
    await vfs.mknod(ROOT_INODE, b"ours", 0o644, CALLER)
    with pytest.raises(MissingError):
        await vfs.lookup(ROOT_INODE, b"nothing")
    assert ours.lookup("nothing") is None
    await vfs.rename(ROOT_INODE, b"theirs", ROOT_INODE, b"renamed", 0)
    assert names(documents(ours)) == ["ours", "renamed"]


def test_who_is_in_a_folder_that_was_removed_is_nowhere(homes: tuple[Host, Host]) -> None:
    here, _ = homes
    root = documents(ontology(here))
    held = root.make_folder("docs", 0o755, CALLER)
    root.remove_folder("docs")
    root.make_folder("docs", 0o755, CALLER)
    with pytest.raises(MissingError):
        held.attr()


@pytest.mark.logs(r"ontology\.removed was not carried out")
def test_an_ontology_that_is_filled_while_it_is_removed_elsewhere_shows_what_came(homes: tuple[Host, Host]) -> None:
    here, there = homes
    ours = ontology(here)
    documents(ours).make_file("known", 0o644, CALLER)
    here.exchange()
    there.exchange()
    (known,) = there.catalog.names.ontologies()
    theirs = OntologyFolder(world_of(there), known)
    documents(theirs).make_folder("unseen", 0o755, CALLER)
    there.exchange()
    documents(ours).remove_file("known")
    ours.remove_folder("documents")
    assert not ours.entries()
    here.deposits.remove_ontology(known.id)
    here.exchange()
    there.exchange()
    for held in (ours, theirs):
        assert names(documents(held)) == ["unseen"]
