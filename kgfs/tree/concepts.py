"""``concepts/<name>.concept/``: a concept's page, its evidence, what it is related to."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import overload

from kgfs.domain.documents import Ontology
from kgfs.errors import MissingError
from kgfs.render.concept import render
from kgfs.stores.graph.vocabulary import Concept
from kgfs.tree import keys
from kgfs.tree.derived import PAGE, DerivedFolder, DerivedLink, FirstLook, StayingFile
from kgfs.tree.evidence import EvidenceFolder, Owner
from kgfs.tree.keys import Key
from kgfs.tree.node import FOLDER_MODE, Attr, Node, inode_of_concept
from kgfs.tree.related import RelatedFolder
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.tree_removal import is_being_removed

SUFFIX = ".concept"


class ConceptsFolder(DerivedFolder):
    """``concepts/``: every living concept, in the order of inode numbers."""

    __slots__ = ("_ontology",)

    def __init__(self, context: TreeContext, ontology: Ontology) -> None:
        super().__init__(context)
        self._ontology = ontology

    @property
    def key(self) -> Key:
        return keys.part(self._ontology.id, "concepts")

    def mtime(self) -> int:
        return max(self._ontology.made_at, self.context.stores.graph.changed_at(self._ontology.id))

    def token(self) -> Hashable | None:
        return super().token(), is_being_removed(self.context, self._ontology.id)

    def lookup(self, name: str) -> Node | None:
        stem = name.removesuffix(SUFFIX)
        found = self.context.stores.graph.concept_listed(self._ontology.id, stem) if stem != name else None
        return ConceptFolder(self.context, *found) if found else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        graph, ontology_id = self.context.stores.graph, self._ontology.id
        rows: list[tuple[str, str, int]] = []
        if is_being_removed(self.context, ontology_id):
            return ()
        page = graph.concept_names(ontology_id, limit=PAGE)
        while page:
            rows += page
            page = graph.concept_names(ontology_id, after=page[-1][1], limit=PAGE) if len(page) == PAGE else []
        return _Listed(self.context, rows)


class _Listed(Sequence[tuple[str, Node]]):
    """Concepts as ``entries`` gives them, each made when it is looked at: there may be a million."""

    def __init__(self, context: TreeContext, rows: list[tuple[str, str, int]]) -> None:
        self._context = context
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> tuple[str, Node]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[tuple[str, Node]]: ...
    def __getitem__(self, at: int | slice) -> tuple[str, Node] | Sequence[tuple[str, Node]]:
        if isinstance(at, slice):
            return _Listed(self._context, self._rows[at])
        name, concept_id, mtime = self._rows[at]
        return name + SUFFIX, ConceptFolder(self._context, concept_id, mtime)


class ConceptFolder(DerivedFolder):
    """``<name>.concept/``. ``mtime`` where it was just seen."""

    __slots__ = ("_concept_id", "_first")

    def __init__(self, context: TreeContext, concept_id: str, mtime: int | None = None) -> None:
        self.context = context
        self._concept_id = concept_id
        self._first = mtime
        """For the first look, as a :class:`FirstLook`; there may be a million of these."""

    @property
    def key(self) -> Key:
        return keys.concept(self._concept_id)

    @property
    def inode(self) -> int:
        return inode_of_concept(self._concept_id)

    def attr(self) -> Attr:
        context, mtime = self.context, self._first
        if mtime is None:
            mtime = self.mtime()
        self._first = None
        return Attr(
            inode_of_concept(self._concept_id), FOLDER_MODE, 1, context.uid, context.gid, 0, mtime, mtime, mtime
        )

    def mtime(self) -> int:
        first, self._first = self._first, None
        return _living(self.context, self._concept_id, None).mtime if first is None else first

    def lookup(self, name: str) -> Node | None:
        return dict(self.entries()).get(name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        concept = _living(self.context, self._concept_id, None)
        owner = Owner(concept.concept_id, concept.concept_id, concept.name, up="../../../../")
        return [
            ("concept.md", ConceptMd(self.context, concept.concept_id, concept)),
            (
                "evidence",
                EvidenceFolder(self.context, owner, ConceptFolder(self.context, concept.concept_id, concept.mtime)),
            ),
            ("related", RelatedFolder(self.context, concept)),
        ]


class ConceptMd(StayingFile[Concept]):
    """Size and time are stored at commit, so a listing renders nothing."""

    __slots__ = ("_concept_id",)

    def __init__(self, context: TreeContext, concept_id: str, row: Concept | None = None) -> None:
        super().__init__(context, row)
        self._concept_id = concept_id

    @property
    def key(self) -> Key:
        return keys.concept_md(self._concept_id)

    def look(self) -> tuple[int, int]:
        concept = _living(self.context, self._concept_id, self._first.take())
        return concept.size, concept.mtime

    def content(self) -> bytes:
        page = self.context.stores.graph.page(self._concept_id)
        if page is None:
            raise MissingError("The concept is gone.")
        return render(page)


class Shortcut(DerivedLink):
    """The unlisted ``<name>.concept`` of an ontology's folder."""

    __slots__ = ("_concept_id", "_first")

    def __init__(self, context: TreeContext, concept_id: str, row: Concept | None = None) -> None:
        super().__init__(context)
        self._concept_id = concept_id
        self._first = FirstLook(row)

    @property
    def key(self) -> Key:
        return keys.shortcut(self._concept_id)

    def look(self) -> tuple[str, int]:
        concept = _living(self.context, self._concept_id, self._first.take())
        return f"concepts/{concept.name}{SUFFIX}", concept.mtime


def concept_called(context: TreeContext, ontology_id: str, name: str) -> Concept | None:
    """The living concept whose directory is called ``name``, with ``.concept``."""
    stem = name.removesuffix(SUFFIX)
    return context.stores.graph.concept_named(ontology_id, stem) if stem != name else None


def _living(context: TreeContext, concept_id: str, row: Concept | None) -> Concept:
    found = row or context.cache.recall(("concept", concept_id), lambda: context.stores.graph.concept(concept_id))
    if found is None:
        raise MissingError("The concept is gone.")
    return found
