"""A virtual folder or file is one file and one row of VIEWS: here a row more, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from kgfs.domain.documents import Ontology
from kgfs.errors import ReadOnlyError
from kgfs.stores.graph.vocabulary import Concept
from kgfs.tree import keys
from kgfs.tree.change_feed import ChangeFeed
from kgfs.tree.changes import ConceptChanged, OntologyChanged
from kgfs.tree.derived import Page
from kgfs.tree.invalidation import StaleInode
from kgfs.tree.node import ROOT_INODE, Folder, inode_of
from kgfs.tree.places import CONCEPT, ONTOLOGY
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.vfs import Vfs, space_of
from kgfs.tree.view import View, Views
from kgfs.tree.views import VIEWS
from tests.support.library import ME, Library, library_at

# What would be the view's own file.


def counts_txt(context: TreeContext, ontology: Ontology) -> Page:
    def page() -> tuple[bytes, int]:
        names = context.stores.graph.concept_names(ontology.id)
        newest = max([ontology.made_at, context.stores.graph.changed_at(ontology.id)])
        return f"{len(names)} concepts\n".encode(), newest

    return Page(context, keys.part(ontology.id, "counts.txt"), page)


def label_txt(context: TreeContext, concept: Concept) -> Page:
    return Page(
        context,
        keys.of_concept(concept.concept_id, "label.txt"),
        lambda: (f"{concept.label}\n".encode(), concept.mtime),
    )


# What would be its rows.

TOYS: tuple[View[Any], ...] = (
    View(
        "counts.txt",
        ONTOLOGY,
        counts_txt,
        follows=(OntologyChanged,),
        repeats=True,
        about=(("counts.txt", "how many concepts there are"),),
    ),
    View("label.txt", CONCEPT, label_txt, listed=False, follows=(ConceptChanged,)),
)


@contextmanager
def with_toys(home: Path) -> Iterator[Library]:
    with library_at(home) as plain:
        yield Library(replace(plain.context, views=Views((*VIEWS, *TOYS))), plain.pipeline)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with with_toys(tmp_path / "home") as found:
        found.add("Zen/documents/zen.txt", b"Zen is here.", {"Zen": ["Zen"]})
        yield found


def test_a_view_is_listed_and_read_and_has_exact_size_and_time(library: Library) -> None:
    assert "counts.txt" in library.names("Zen") and "label.txt" not in library.names("Zen/concepts/zen.concept")
    for path, content in (("Zen/counts.txt", b"1 concepts\n"), ("Zen/zen.concept/label.txt", b"Zen\n")):
        attr = library.node(path).attr()
        assert library.read(path) == content and attr.size == len(content)
        assert attr.mtime == library.node("Zen/concepts/zen.concept/concept.md").attr().mtime


def test_its_name_is_taken_and_files_that_explain_the_tree_tell_of_it(library: Library) -> None:
    ontology = library.node("Zen")
    assert isinstance(ontology, Folder)
    with pytest.raises(ReadOnlyError, match="kgfs's own"):
        ontology.make_file("counts.txt", 0o644, ME)
    assert b"/counts.txt/" in library.read("Zen/.ignore")
    assert b"| `counts.txt` | how many concepts there are |" in library.read("README.md")
    agents = library.read("AGENTS.md")
    assert b"| `counts.txt` | how many concepts there are |" in agents and b" .docx, " in agents and b"@@" not in agents


def test_it_follows_what_its_row_says(library: Library) -> None:
    async def life() -> None:
        vfs = Vfs(library.root, lambda: space_of("/"))
        feed = ChangeFeed(library.context, vfs)

        async def inode(path: str) -> int:
            at = ROOT_INODE
            for part in path.split("/"):
                found = await vfs.lookup(at, part.encode())
                assert found is not None
                at = found.inode
            return at

        counts, label = await inode("Zen/counts.txt"), await inode("Zen/concepts/zen.concept/label.txt")
        feed.poll()
        library.add("Zen/documents/koan.txt", b"A koan.", {"Koan": ["koan"]})
        stale = feed.poll()
        assert StaleInode(counts, data=True) in stale and StaleInode(label, data=True) not in stale
        assert library.read("Zen/counts.txt") == b"2 concepts\n"
        library.add("Zen/documents/more.txt", b"Zen again.", {"Zen": ["Zen"]})
        stale = feed.poll()
        assert {StaleInode(counts, data=True), StaleInode(label, data=True)} <= set(stale)
        assert label == inode_of(keys.of_concept(concept_id(library, "zen"), "label.txt"))

    trio.run(life)


def concept_id(library: Library, name: str) -> str:
    concept = library.stores.graph.concept_named(library.ontology().id, name)
    assert concept is not None
    return concept.concept_id
