"""``<Ontology>/``: the way into everything about one body of knowledge.

For files its root stands for ``documents/``: what is created, read, written, renamed or removed here is the file of that
name there, unlisted. Its owner, mode and times are those of ``documents/``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from kgfs.domain.documents import Ontology
from kgfs.errors import DerivedError, ExistsError, IsAFolderError, MissingError, NotAFolderError, RefusedError
from kgfs.render.readme import IGNORE
from kgfs.tree import keys, search
from kgfs.tree.about import AboutMd
from kgfs.tree.archive import ArchiveFolder
from kgfs.tree.concepts import SUFFIX, ConceptsFolder, Shortcut, concept_called
from kgfs.tree.derived import FixedFile
from kgfs.tree.documents import DocumentsFolder
from kgfs.tree.node import Attr, AttrChange, Caller, File, Folder, Link, Node, inode_of
from kgfs.tree.search import SearchFolder
from kgfs.tree.text import TextFolder
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.tree_removal import bring_back, is_being_removed, remove_documents
from kgfs.tree.versions import VersionsFolder

PARTS = ("documents", ".ignore", "about.md", "archive", "concepts", "text", "versions")
"""As listed. documents/ is first for programs that remove a tree in the order of the listing: see ``bare``."""
TAKEN = frozenset(PARTS) | {"map.html", "map.svg", "claims", "insights", "sessions", "search", "ask"}
"""Names that are no file of documents/ here, listed or not (yet)."""


class OntologyFolder(Folder):
    __slots__ = ("_context", "_ontology", "_united")

    def __init__(self, context: TreeContext, ontology: Ontology) -> None:
        self._context = context
        self._ontology = ontology
        """As it was when looked up: only id, root and made_at are used, which never change; or what it became one with."""
        self._united = False
        """Whether the kernel knows it under the number that it had before: news tell of the other."""

    @property
    def inode(self) -> int:
        return inode_of(keys.ontology(self._ontology.id))

    @property
    def ontology_id(self) -> str:
        return self._ontology.id

    def attr(self) -> Attr:
        return replace(self._documents().attr(), inode=self.inode)

    def change(self, wanted: AttrChange) -> Attr:
        return replace(self._documents().change(wanted), inode=self.inode)

    def token(self) -> Hashable | None:
        graph = self._context.stores.graph
        return None if self._united else (graph.clears(), graph.epoch(), self._documents().token())

    # ------------------------------------------------------------------------------------------ reading

    def lookup(self, name: str) -> Node | None:
        self._follow()
        if name in PARTS:
            if name == "documents" and self._is_being_removed():
                raise MissingError("documents/ was removed. Bring it back: mkdir documents")  # not to be remembered
            return self._part(name)
        if name == search.NAME:
            return SearchFolder(self._context, self._ontology.id, self._ontology.made_at)
        if name in TAKEN:
            return None
        if concept := concept_called(self._context, self._ontology.id, name):
            return Shortcut(self._context, concept.concept_id, concept)
        found = self._documents().lookup(name)
        if found is None:
            self._follow()  # it may have become one meanwhile: see token
        return None if isinstance(found, Folder) else found

    def entries(self) -> Sequence[tuple[str, Node]]:
        self._follow()
        return [] if self._is_being_removed() else [(name, self._part(name)) for name in PARTS]

    def _follow(self) -> None:
        """Who holds an ontology that has become one with another home's goes on in that."""
        names = self._context.stores.journal.names
        into = names.united(self._ontology.root)
        if into is None or names.ontology(self._ontology.id) is not None:
            return
        if found := names.ontology(into.ontology):
            self._united = True
            self._ontology = found

    def _part(self, name: str) -> Node:
        context, ontology = self._context, self._ontology
        if name == "documents":
            return self._documents()
        if name == "concepts":
            return ConceptsFolder(context, ontology)
        if name == "archive":
            return ArchiveFolder(context, ontology.id, ontology.made_at)
        if name == "text":
            return TextFolder(context, ontology.id, ontology.root)
        if name == "versions":
            return VersionsFolder(context, ontology.root)
        if name == "about.md":
            return AboutMd(context, ontology.id)
        return FixedFile(context, keys.part(ontology.id, name), IGNORE, ontology.made_at)

    def _documents(self) -> DocumentsFolder:
        return DocumentsFolder(self._context, self._ontology, self._ontology.root)

    # ----------------------------------------------------------------------------------------- changing

    def make_file(self, name: str, mode: int, caller: Caller) -> File:
        return self._taker(name).make_file(name, mode, caller)

    def make_file_at_once(self, name: str, mode: int, caller: Caller) -> File | None:
        return self._taker(name).make_file_at_once(name, mode, caller)

    def make_link(self, name: str, target: str, caller: Caller) -> Link:
        return self._taker(name).make_link(name, target, caller)

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        if name == "documents" and self._is_being_removed():
            bring_back(self._context, self._ontology.id)
            return self._documents()
        if self.lookup(name) is not None:
            raise ExistsError(f"'{name}' exists already.")
        raise RefusedError(f"Folders cannot be made beside documents/. Make it inside: documents/{name}")

    def remove_file(self, name: str) -> None:
        if name in PARTS and self._is_being_removed() and not isinstance(self._part(name), Folder):
            return
        self._own(name, "removed")
        self._documents().remove_file(name)

    def remove_folder(self, name: str) -> None:
        found = self.lookup(name)
        if found is None:
            raise MissingError(f"'{name}' does not exist.")
        if not isinstance(found, Folder):
            raise NotAFolderError(f"'{name}' is not a folder.")
        if name == "documents":
            remove_documents(self._context, self._ontology.id, self._ontology.root)
        elif name not in PARTS or not self._is_being_removed():
            raise DerivedError(f"{name}/ is derived from the documents and leaves with its ontology.")

    def move(self, name: str, goal: Folder, new_name: str, *, replace: bool) -> None:
        self._own(name, "renamed")
        self._documents().move(name, goal, new_name, replace=replace)

    def sync(self) -> None:
        self._documents().sync()

    def receiving(self, name: str, *, folder: bool) -> Folder:
        if folder:
            raise RefusedError(f"Folders cannot stand beside documents/. Move it inside: documents/{name}")
        return self._taker(name)

    def _is_being_removed(self) -> bool:
        return is_being_removed(self._context, self._ontology.id)

    def _taker(self, name: str) -> DocumentsFolder:
        """documents/, for a file that may be called so here."""
        if name in PARTS:
            raise DerivedError(f"'{name}' is kgfs's own here. Choose another name, or put it into documents/.")
        if name in TAKEN or name.endswith(SUFFIX):
            raise RefusedError(f"'{name}' is a name of kgfs here. Choose another name, or put it into documents/.")
        if isinstance(self._documents().lookup(name), Folder):
            raise RefusedError(f"documents/{name} is a folder. Choose another name, or put the file into it.")
        return self._documents()

    def _own(self, name: str, done: str) -> None:
        """The entry is a file of documents/, and may be removed or renamed."""
        found = self.lookup(name)
        if found is None:
            raise MissingError(f"'{name}' does not exist.")
        if name in (*PARTS, search.NAME) or isinstance(found, Shortcut):
            if name == "documents":
                raise RefusedError(f"documents/ belongs to its ontology and cannot be {done}.")
            raise DerivedError(f"'{name}' is derived from the documents and cannot be {done}.")
        if isinstance(found, Folder):
            raise IsAFolderError(f"'{name}' is a folder.")
