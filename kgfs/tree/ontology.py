"""Serve the root of the mount, and ``<Ontology>/`` in it, the folder with everything about one body of knowledge.

The root has a folder for each ontology, made with mkdir, and the files that explain the rest. An ontology's folder
also stands for its ``documents/``: a file or folder that is created, read, written, renamed or removed directly here
is the one of that name in ``documents/``, and is not listed here. The folder's owner, mode and times are those of
``documents/``.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import replace

from kgfs.domain.documents import Ontology
from kgfs.errors import ExistsError, IsAFolderError, MissingError, NotAFolderError, ReadOnlyError, RefusedError
from kgfs.ingest.writing.rules import check_ontology_name
from kgfs.stores.catalog.facts import (
    Fact,
    OntologyMade,
    OntologyRemoved,
    OntologyRenamed,
    QuestionRemoved,
    SearchRemoved,
)
from kgfs.tree import keys
from kgfs.tree.concepts import SUFFIX, Shortcut, shortcut
from kgfs.tree.derived import bring_back, derived_attr, is_being_removed, remove_documents, with_remedy
from kgfs.tree.documents import FOLDER_TIMES, BesideFolder, DocumentsFolder, beside
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.listing import name_bytes
from kgfs.tree.node import FOLDER_MODE, ROOT_INODE, Attr, AttrChange, Caller, File, Folder, Link, Node, inode_of
from kgfs.tree.places import ONTOLOGY, ROOT
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.view import Rule, View, on

DOCUMENTS = "documents"
RESERVED = frozenset(("map.html", "map.svg", "insights"))
"""Names of future views. They do not stand for files of documents/ here."""


class OntologyFolder(Folder):
    """Serve the folder of an ontology."""

    __slots__ = ("_context", "_ontology")

    def group(self) -> tuple[str, Hashable]:
        return FOLDER_TIMES, None

    def __init__(self, context: TreeContext, ontology: Ontology) -> None:
        self._context = context
        self._ontology = ontology
        """The row as of the lookup. Only id, root and made_at are used, which never change."""

    @property
    def inode(self) -> int:
        return inode_of(keys.ontology(self._ontology.id))

    def as_copied_to(self) -> Folder:
        return CopiedOntology(self._context, self._ontology)

    def attr(self) -> Attr:
        return replace(self._documents().attr(), inode=self.inode)

    def change(self, wanted: AttrChange) -> Attr:
        return replace(self._documents().change(wanted), inode=self.inode)

    def token(self) -> Hashable | None:
        graph = self._context.stores.graph
        return graph.clears(), graph.epoch(), self._documents().token()

    # ------------------------------------------------------------------------------------------ reading

    def lookup(self, name: str) -> Node | None:
        if name == DOCUMENTS and self._is_being_removed():
            raise MissingError("documents/ was removed. Bring it back: mkdir documents")  # None would be cached
        if name in self._views():
            return self._context.views.find(ONTOLOGY, name, self._context, self._ontology)
        if name in RESERVED:
            return None
        if found := shortcut(self._context, self._ontology, name):
            return found
        below = self._documents().lookup(name)
        return beside(below) if isinstance(below, DocumentsFolder) else below

    def entries(self) -> Sequence[tuple[str, Node]]:
        if self._is_being_removed():
            return []
        return self._context.views.entries(ONTOLOGY, self._context, self._ontology)

    def _views(self) -> dict[str, View[Ontology]]:
        return self._context.views.at(ONTOLOGY)

    def _documents(self) -> DocumentsFolder:
        return DocumentsFolder(self._context, self._ontology, self._ontology.root)

    # ----------------------------------------------------------------------------------------- changing

    def make_file(self, name: str, mode: int, caller: Caller) -> File:
        return self._taker(name).make_file(name, mode, caller)

    def make_link(self, name: str, target: str, caller: Caller) -> Link:
        return self._taker(name).make_link(name, target, caller)

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        if name == DOCUMENTS and self._is_being_removed():
            bring_back(self._context, self._ontology.id)
            return self._documents()
        if self.lookup(name) is not None:
            raise ExistsError(f"'{name}' exists already.")
        made = self._taker(name).make_folder(name, mode, caller)
        assert isinstance(made, DocumentsFolder)
        return beside(made)

    def remove_file(self, name: str) -> None:
        if self._goes_along(name) and not isinstance(self.lookup(name), Folder):
            return
        if isinstance(self._own(name, "removed"), Folder):
            raise IsAFolderError(f"'{name}' is a folder.")
        self._documents().remove_file(name)

    def remove_folder(self, name: str) -> None:
        found = self.lookup(name)
        if found is None:
            raise MissingError(f"'{name}' does not exist.")
        if not isinstance(found, Folder):
            raise NotAFolderError(f"'{name}' is not a folder.")
        if isinstance(found, BesideFolder):
            self._documents().remove_folder(name)
        elif name == DOCUMENTS:
            remove_documents(self._context, self._ontology.id, self._ontology.root)
        elif not self._goes_along(name):
            raise ReadOnlyError(f"{name}/ is derived from the documents and leaves with its ontology.")

    def move(self, name: str, goal: Folder, new_name: str, *, replace: bool) -> None:
        self._own(name, "renamed")
        self._documents().move(name, goal, new_name, replace=replace)

    def sync(self) -> None:
        self._documents().sync()

    def receiving(self, name: str, *, folder: bool) -> Folder:
        return self._taker(name)

    def _is_being_removed(self) -> bool:
        return is_being_removed(self._context, self._ontology.id)

    def _goes_along(self, name: str) -> bool:
        """Return whether the entry was removed together with documents/."""
        view = self._views().get(name)
        return view is not None and view.listed and self._is_being_removed()

    def _taker(self, name: str) -> DocumentsFolder:
        """Return documents/ for a new entry. Raise an error if the name is reserved here."""
        view = self._views().get(name)
        if view is not None and view.listed:
            raise ReadOnlyError(f"'{name}' is kgfs's own here. Choose another name, or put it into documents/.")
        if view is not None or name in RESERVED or name.endswith(SUFFIX):
            raise with_remedy(RefusedError(f"'{name}' is a name of kgfs here."))
        return self._documents()

    def _own(self, name: str, done: str) -> Node:
        """Return the entry, which belongs to documents/ and may be removed or renamed. Raise an error for a derived
        entry.
        """
        found = self.lookup(name)
        if found is None:
            raise MissingError(f"'{name}' does not exist.")
        if name in self._views() or isinstance(found, Shortcut):
            if name == DOCUMENTS:
                raise RefusedError(f"documents/ belongs to its ontology and cannot be {done}.")
            raise ReadOnlyError(f"'{name}' is derived from the documents and cannot be {done}.")
        return found


class CopiedOntology(OntologyFolder):
    """The folder of an ontology without its views: every name is one of ``documents/``."""

    __slots__ = ()

    def lookup(self, name: str) -> Node | None:
        below = self._documents().lookup(name)
        return beside(below) if isinstance(below, DocumentsFolder) else below

    def _views(self) -> dict[str, View[Ontology]]:
        return {}

    def _taker(self, name: str) -> DocumentsFolder:
        return self._documents()


def made(fact: OntologyMade, stale: Invalidations) -> None:
    """Invalidate the root's entry of a new ontology."""
    stale.appeared(ROOT_INODE, name_bytes(fact.name))
    stale.inode(ROOT_INODE)


def renamed(fact: OntologyRenamed, stale: Invalidations) -> None:
    """Invalidate the root's entries of a renamed ontology."""
    place = (ROOT_INODE, name_bytes(fact.name))
    stale.left(inode_of(keys.ontology(fact.ontology)), but=[place])
    stale.appeared(*place)
    stale.inode(ROOT_INODE)


def removed(fact: OntologyRemoved, stale: Invalidations) -> None:
    """Invalidate the root's entry of a removed ontology."""
    stale.key_left(keys.ontology(fact.ontology))
    stale.inode(ROOT_INODE)


RULES: tuple[Rule, ...] = (on(OntologyMade, made), on(OntologyRenamed, renamed), on(OntologyRemoved, removed))


class Root(Folder):
    """Serve the root of the mount."""

    __slots__ = ("_context",)

    def __init__(self, context: TreeContext) -> None:
        self._context = context

    @property
    def inode(self) -> int:
        return ROOT_INODE

    def attr(self) -> Attr:
        made = (ontology.made_at for ontology in self._context.stores.catalog.names.ontologies())
        return derived_attr(self._context, ROOT_INODE, FOLDER_MODE, 0, max([self._context.mounted_at, *made]))

    def token(self) -> Hashable | None:
        return self._context.stores.catalog.seq(), self._context.deposits.copies.generation

    def lookup(self, name: str) -> Node | None:
        own = self._context.views.find(ROOT, name, self._context, None)
        if own is not None:
            return own
        found = self._ontology(name)
        return OntologyFolder(self._context, found) if found else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        ontologies = self._context.stores.catalog.names.ontologies()
        own = self._context.views.entries(ROOT, self._context, None)
        return [*own, *((found.name, OntologyFolder(self._context, found)) for found in ontologies)]

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        if self.lookup(name) is not None:
            raise ExistsError(f"'{name}' exists already.")
        made = self._context.deposits.make_ontology(name, mode, caller.uid, caller.gid)
        return OntologyFolder(self._context, made)

    def make_file(self, name: str, mode: int, caller: Caller) -> File:
        raise RefusedError(f"Files stand in an ontology. Make one first, then copy '{name}' into it: mkdir <Name>")

    def make_link(self, name: str, target: str, caller: Caller) -> Link:
        raise RefusedError(
            f"Links stand in an ontology's documents/. Make one first: mkdir <Name>; then link '{name}'."
        )

    def remove_file(self, name: str) -> None:
        found = self.lookup(name)
        if found is None:
            raise MissingError(f"'{name}' does not exist.")
        raise ReadOnlyError(f"'{name}' is kgfs's own and cannot be removed.")

    def remove_folder(self, name: str) -> None:
        """Remove an ontology. Raise NotEmptyError while the ontology holds documents."""
        ontology = self._renamable(name)
        if is_being_removed(self._context, ontology.id):
            # A whole tree is being removed, and a program cannot remove unlisted entries first.
            saved = self._context.stores.catalog.names.saved_searches(ontology.id)
            asked = self._context.stores.catalog.names.saved_questions(ontology.id)
            removed: list[Fact] = [SearchRemoved(ontology.id, found.words, time.time_ns()) for found in saved]
            removed += [QuestionRemoved(ontology.id, found.question, time.time_ns()) for found in asked]
            if removed:
                self._context.deposits.record(*removed)
        self._context.deposits.remove_ontology(ontology.id)

    def move(self, name: str, goal: Folder, new_name: str, *, replace: bool) -> None:
        ontology = self._renamable(name)
        if not isinstance(goal, Root):
            raise RefusedError(f"'{name}' is an ontology and stays beside the others. Move its documents instead.")
        check_ontology_name(new_name)
        if new_name != name and goal.lookup(new_name) is not None:
            raise ExistsError(f"'{new_name}' exists already.")
        self._context.deposits.rename_ontology(ontology.id, new_name)

    def receiving(self, name: str, *, folder: bool) -> Folder:
        raise RefusedError("Only ontologies stand here. Move things into an ontology's documents/.")

    def _renamable(self, name: str) -> Ontology:
        if self._context.views.find(ROOT, name, self._context, None) is not None:
            raise ReadOnlyError(f"'{name}' is kgfs's own.")
        found = self._ontology(name)
        if found is None:
            raise MissingError(f"'{name}' does not exist.")
        return found

    def _ontology(self, name: str) -> Ontology | None:
        return None if name.startswith(".") else self._context.stores.catalog.names.ontology_named(name)
