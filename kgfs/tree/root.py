"""Serve the root of the mount: a folder for each ontology, made with mkdir, and the files that explain the rest."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence

from kgfs.domain.documents import Ontology
from kgfs.errors import ExistsError, MissingError, ReadOnlyError, RefusedError
from kgfs.ingest.writing.rules import check_ontology_name
from kgfs.stores.catalog.facts import Fact, QuestionRemoved, SearchRemoved
from kgfs.tree.derived import derived_attr
from kgfs.tree.node import FOLDER_MODE, ROOT_INODE, Attr, Caller, File, Folder, Link, Node
from kgfs.tree.ontology import OntologyFolder
from kgfs.tree.places import ROOT
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.tree_removal import is_being_removed


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
