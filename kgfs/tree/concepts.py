"""Serve ``concepts/<name>.concept/``: a concept's page, its evidence and its relationships."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from kgfs.domain.documents import Ontology
from kgfs.errors import MissingError
from kgfs.render.concept import ontology_size, render
from kgfs.stores.graph.vocabulary import Concept
from kgfs.tree import keys
from kgfs.tree.changes import ConceptChanged
from kgfs.tree.derived import PAGE, DerivedFolder, DerivedLink, StayingFile, is_being_removed, token_of
from kgfs.tree.evidence import EvidenceFolder, Owner, living
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.listing import MadeOnAccess, name_bytes
from kgfs.tree.node import FOLDER_MODE, Attr, Folder, Node, inode_of_concept
from kgfs.tree.places import CONCEPT
from kgfs.tree.tree_context import TreeContext

SUFFIX = ".concept"


class ConceptsFolder(DerivedFolder[None]):
    """Serve ``concepts/``, which lists every living concept in the order of inode numbers."""

    __slots__ = ("_ontology",)

    def __init__(self, context: TreeContext, ontology: Ontology) -> None:
        super().__init__(context, keys.part(ontology.id, "concepts"))
        self._ontology = ontology

    def mtime(self) -> int:
        return max(self._ontology.made_at, self.context.stores.graph.changed_at(self._ontology.id))

    def token(self) -> Hashable | None:
        return super().token(), is_being_removed(self.context, self._ontology.id)

    def lookup(self, name: str) -> Node | None:
        stem = name.removesuffix(SUFFIX)
        found = self.context.stores.graph.concept_listed(self._ontology.id, stem) if stem != name else None
        if found:
            return ConceptFolder(self.context, *found)
        graph = self.context.stores.graph
        joined = graph.joined.leads_to(self._ontology.id, stem) if stem != name else ""
        return FormerName(self.context, self._ontology, stem) if joined else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        graph, ontology_id = self.context.stores.graph, self._ontology.id
        rows: list[tuple[str, str, int]] = []
        if is_being_removed(self.context, ontology_id):
            return ()
        page = graph.concept_names(ontology_id, limit=PAGE)
        while page:
            rows += page
            page = graph.concept_names(ontology_id, after=page[-1][1], limit=PAGE) if len(page) == PAGE else []
        return MadeOnAccess(rows, self._entry)

    def _entry(self, row: tuple[str, str, int]) -> tuple[str, Node]:
        name, concept_id, mtime = row
        return name + SUFFIX, ConceptFolder(self.context, concept_id, mtime)


class ConceptFolder(Folder):
    """Serve ``<name>.concept/``. There may be a million of these, so a node holds little state.

    ``mtime`` is the value that a listing or lookup has just read; it is used for the first request only.
    """

    __slots__ = ("_concept_id", "_context", "_first")

    def __init__(self, context: TreeContext, concept_id: str, mtime: int | None = None) -> None:
        self._context = context
        self._concept_id = concept_id
        self._first = mtime

    @property
    def inode(self) -> int:
        return inode_of_concept(self._concept_id)

    def attr(self) -> Attr:
        context, mtime = self._context, self.mtime()
        return Attr(
            inode_of_concept(self._concept_id), FOLDER_MODE, 1, context.uid, context.gid, 0, mtime, mtime, mtime
        )

    def mtime(self) -> int:
        first, self._first = self._first, None
        return living(self._context, self._concept_id).mtime if first is None else first

    def lookup(self, name: str) -> Node | None:
        return self._context.views.find(CONCEPT, name, self._context, living(self._context, self._concept_id))

    def entries(self) -> Sequence[tuple[str, Node]]:
        return self._context.views.entries(CONCEPT, self._context, living(self._context, self._concept_id))

    def token(self) -> Hashable | None:
        return token_of(self._context)


class ConceptMd(StayingFile[Concept]):
    """Serve ``concept.md``. Its size and time are stored at commit, so a listing renders nothing. The page names the
    ontology; the size is stored with the ontology's id."""

    __slots__ = ("_concept_id",)

    def __init__(self, context: TreeContext, concept: Concept) -> None:
        super().__init__(context, keys.of_concept(concept.concept_id, "concept.md"), concept)
        self._concept_id = concept.concept_id

    def measure(self) -> tuple[int, int]:
        concept = self.take_row() or living(self.context, self._concept_id)
        named = ontology_size(self._name_of(concept.ontology)) - ontology_size(concept.ontology)
        return concept.size + named, concept.mtime

    def content(self) -> bytes:
        page = self.context.stores.graph.page(self._concept_id)
        if page is None:
            raise MissingError("The concept is gone.")
        return render(replace(page, ontology=self._name_of(page.ontology)))

    def _name_of(self, ontology_id: str) -> str:
        names = self.context.stores.catalog.names
        ontology = self.context.cache.recall(("ontology", ontology_id), lambda: names.ontology(ontology_id))
        return ontology.name if ontology is not None else ontology_id


class FormerName(DerivedLink[None]):
    """Serve the unlisted link ``<name>.concept`` in ``concepts/`` of a concept that was joined to another one."""

    __slots__ = ("_name", "_ontology")

    def __init__(self, context: TreeContext, ontology: Ontology, name: str) -> None:
        super().__init__(context, keys.former(ontology.id, name))
        self._ontology = ontology.id
        self._name = name

    def measure(self) -> tuple[str, int]:
        graph = self.context.stores.graph
        name = graph.joined.leads_to(self._ontology, self._name)
        concept = graph.concept_named(self._ontology, name) if name else None
        if concept is None:
            raise MissingError("The concept is gone.")
        return f"{concept.name}{SUFFIX}", concept.mtime


class Shortcut(DerivedLink[Concept]):
    """Serve the unlisted link ``<name>.concept`` in an ontology's folder."""

    __slots__ = ("_concept_id",)

    def __init__(self, context: TreeContext, concept: Concept) -> None:
        super().__init__(context, keys.shortcut(concept.concept_id), concept)
        self._concept_id = concept.concept_id

    def measure(self) -> tuple[str, int]:
        concept = self.take_row() or living(self.context, self._concept_id)
        return f"concepts/{concept.name}{SUFFIX}", concept.mtime


def shortcut(context: TreeContext, ontology: Ontology, name: str) -> Shortcut | None:
    """Return the link to the living concept whose directory is called ``name``, which includes ``.concept``, or to
    which the concept of that name was joined; None if there is none.
    """
    stem = name.removesuffix(SUFFIX)
    graph = context.stores.graph
    concept = graph.concept_named(ontology.id, stem) if stem != name else None
    if concept is None and stem != name and (joined := graph.joined.leads_to(ontology.id, stem)):
        concept = graph.concept_named(ontology.id, joined)
    return Shortcut(context, concept) if concept is not None else None


def evidence(context: TreeContext, concept: Concept) -> EvidenceFolder:
    """Return the folder ``evidence/`` of a concept."""
    owner = Owner(concept.concept_id, concept.concept_id, concept.name, up="../../../../")
    return EvidenceFolder(context, owner, ConceptFolder(context, concept.concept_id, concept.mtime).mtime)


def concept_changed(change: ConceptChanged, stale: Invalidations) -> None:
    """Invalidate a concept's folder and its shortcut and, if its name was added or removed, the entries of that name."""
    if change.renamed:
        shown = name_bytes(f"{change.name}{SUFFIX}")
        stale.key_entry(keys.part(change.ontology, "concepts"), shown)
        stale.key_entry(keys.ontology(change.ontology), shown)
    if change.concept_id:
        stale.key(keys.concept(change.concept_id))
        stale.key(keys.shortcut(change.concept_id))
