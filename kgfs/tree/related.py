"""Serve ``related/<type>/<name>/``: another concept, as a link to its page, and the evidence for the relationship.

Incoming relationships are listed under the inverse type. If two relationships of one type lead to the same concept (a
type that is its own inverse, stated in both directions), the name of the second has a part of its id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kgfs.domain.knowledge import RELATIONSHIP_TYPES
from kgfs.errors import MissingError
from kgfs.stores.graph.vocabulary import Concept, Related
from kgfs.tree import keys
from kgfs.tree.changes import ConceptChanged, RelationshipChanged
from kgfs.tree.derived import PAGE, Derived, DerivedFolder, DerivedLink
from kgfs.tree.evidence import EvidenceFolder, Owner, living
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.node import Node
from kgfs.tree.tree_context import TreeContext

if TYPE_CHECKING:
    from kgfs.stores.graph.sqlite import Graph

ID_DIGITS = 8


class RelatedFolder(DerivedFolder[None]):
    """Serve ``related/``, which lists the types."""

    __slots__ = ("_concept",)

    def __init__(self, context: TreeContext, concept: Concept) -> None:
        super().__init__(context, keys.related(concept.concept_id))
        self._concept = concept

    def mtime(self) -> int:
        return living(self.context, self._concept.concept_id).mtime

    def lookup(self, name: str) -> Node | None:
        known = name in RELATIONSHIP_TYPES or name in RELATIONSHIP_TYPES.values()
        if not known or name not in self.context.stores.graph.related_types(self._concept.concept_id):
            return None
        return TypeFolder(self.context, self._concept, name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        concept_id = self._concept.concept_id
        if not living(self.context, concept_id).related:
            return []
        types = self.context.stores.graph.related_types(concept_id)
        return [(type_, TypeFolder(self.context, self._concept, type_)) for type_ in types]


class TypeFolder(DerivedFolder[None]):
    """Serve ``related/<type>/``, which lists the concepts. The concept's page shows the same relationships, so both
    change together.
    """

    __slots__ = ("_concept", "_type")

    def __init__(self, context: TreeContext, concept: Concept, type_: str) -> None:
        super().__init__(context, keys.related(concept.concept_id, type_))
        self._concept = concept
        self._type = type_

    def mtime(self) -> int:
        return living(self.context, self._concept.concept_id).mtime

    def lookup(self, name: str) -> Node | None:
        for shown, row in _named(self.context.stores.graph, self._concept.concept_id, self._type, name):
            if shown == name:
                return RelatedConcept(self.context, self._concept, shown, row)
        return None

    def entries(self) -> Sequence[tuple[str, Node]]:
        rows = _rows(self.context.stores.graph, self._concept.concept_id, self._type)
        return [(shown, RelatedConcept(self.context, self._concept, shown, row)) for shown, row in _shown(rows)]


class _Relationship(Derived[Related]):
    """The base of an entry of ``related/<type>/`` and of its link."""

    __slots__ = ("_concept", "_shown", "_type")
    name = ""

    def __init__(self, context: TreeContext, concept: Concept, shown: str, row: Related) -> None:
        super().__init__(context, keys.related(concept.concept_id, row.type, shown, self.name), row)
        self._concept = concept
        self._type = row.type
        self._shown = shown

    def _related(self) -> Related:
        concept_id = self._concept.concept_id
        return self.take_row() or _living(self.context.stores.graph, concept_id, self._type, self._shown)


class RelatedConcept(_Relationship, DerivedFolder[Related]):
    """Serve ``related/<type>/<name>/``."""

    __slots__ = ()

    def mtime(self) -> int:
        return self._related().mtime

    def entries(self) -> Sequence[tuple[str, Node]]:
        row = self._related()
        link = ("concept.md", RelatedLink(self.context, self._concept, self._shown, row))
        if row.by_name:
            return [link]
        owner = Owner(row.relationship_id, self._concept.concept_id, self._concept.name, up="../" * 7)
        folder = RelatedConcept(self.context, self._concept, self._shown, row)
        return [link, ("evidence", EvidenceFolder(self.context, owner, folder.mtime))]


class RelatedLink(_Relationship, DerivedLink[Related]):
    """Serve ``related/<type>/<name>/concept.md``, a link to the other concept's page. The target is a file, so that
    recursion ends.
    """

    __slots__ = ()
    name = "concept.md"

    def measure(self) -> tuple[str, int]:
        row = self._related()
        return f"../../../../{row.name}.concept/concept.md", row.mtime


def concept_changed(change: ConceptChanged, stale: Invalidations) -> None:
    """Invalidate the folders of types of a concept, if the kernel knows its ``related/``."""
    if change.concept_id and stale.knows(keys.related(change.concept_id)):
        for type_ in ("", *RELATIONSHIP_TYPES, *RELATIONSHIP_TYPES.values()):
            stale.key(keys.related(change.concept_id, type_))


def relationship_changed(change: RelationshipChanged, stale: Invalidations) -> None:
    """Invalidate an entry of a concept's ``related/`` and the folders above it."""
    concept_id, type_, name = change.concept_id, change.type, change.name
    for key in (
        keys.related(concept_id),
        keys.related(concept_id, type_),
        keys.related(concept_id, type_, name),
    ):
        stale.key(key)
    stale.key(keys.related(concept_id, type_, name, "concept.md"), data=True)
    if change.renamed:
        # The second of two relationships to one concept has a longer name, so all names below the type may change.
        stale.key_entry(keys.related(concept_id), type_.encode())


def _rows(graph: Graph, concept_id: str, type_: str) -> Iterator[Related]:
    page = graph.related(concept_id, type_, limit=PAGE)
    while page:
        yield from page
        page = graph.related(concept_id, type_, after=page[-1].name, limit=PAGE) if len(page) == PAGE else []


def _shown(rows: Iterator[Related]) -> Iterator[tuple[str, Related]]:
    """Yield each relationship with the name of its folder."""
    before = ""
    for row in rows:
        yield (row.name if row.name != before else f"{row.name}~{row.relationship_id[:ID_DIGITS]}"), row
        before = row.name


def _named(graph: Graph, concept_id: str, type_: str, name: str) -> Iterator[tuple[str, Related]]:
    """Yield the relationships whose folder may be called ``name``.

    They are those with the concept of that name and, if the name ends in a part of an id, those with the concept
    whose name precedes it.
    """
    stems = {name, name.rpartition("~")[0]} - {""}
    for stem in sorted(stems):
        rows = graph.related(concept_id, type_, after=_just_below(stem), limit=4)
        yield from _shown(row for row in rows if row.name == stem)


def _just_below(name: str) -> str:
    """Return a string that sorts just before ``name``, with almost nothing in between. Pages of the graph begin after
    a name, and this page must begin with ``name``.
    """
    last = ord(name[-1]) - 1
    last = 0xD7FF if 0xD800 <= last <= 0xDFFF else max(last, 0)
    return name[:-1] + chr(last) + "\U0010ffff"


def _living(graph: Graph, concept_id: str, type_: str, shown: str) -> Related:
    for name, row in _named(graph, concept_id, type_, shown):
        if name == shown:
            return row
    raise MissingError("The relationship is gone.")
