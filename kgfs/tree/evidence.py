"""Serve ``evidence/<n>/``: a quote in its Source, the quote alone, its citation, and a link to the document."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kgfs.errors import MissingError
from kgfs.knowledge import evidence as knowledge
from kgfs.knowledge.evidence import Evidence
from kgfs.render.source import Marks
from kgfs.render.words import encode
from kgfs.stores.graph.vocabulary import Concept, InstanceRow
from kgfs.tree import keys
from kgfs.tree.changes import ConceptChanged, DocumentChanged, EvidenceChanged
from kgfs.tree.derived import PAGE, Derived, DerivedFolder, DerivedLink, StayingFile
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.node import Node
from kgfs.tree.tree_context import TreeContext

T = TypeVar("T")

BEST = "best"
GROUP = "evidence"


@dataclass(frozen=True, slots=True)
class Owner:
    """The concept or relationship that owns the evidence, and the folder in which the evidence is shown."""

    id: str
    """Id of a concept or a relationship."""
    concept_id: str
    concept: str
    """The directory name, without ``.concept``, of the concept that contains the folder."""
    up: str
    """The relative path from an ``evidence/<n>/`` to the ontology's folder."""


class EvidenceFolder(DerivedFolder[None]):
    """Serve ``evidence/``. Its time is that of its parent folder, because commits that change its numbers touch both."""

    __slots__ = ("_mtime", "owner")

    def __init__(self, context: TreeContext, owner: Owner, mtime: Callable[[], int]) -> None:
        super().__init__(context, keys.evidence(owner.id, owner.concept_id))
        self.owner = owner
        self._mtime = mtime

    def group(self) -> tuple[str, Hashable]:
        return GROUP, self.owner.id

    def mtime(self) -> int:
        return self._mtime()

    def lookup(self, name: str) -> Node | None:
        if name != BEST and (not name.isascii() or not name.isdigit() or name.startswith("0") or len(name) > 18):
            return None
        found = instance_at(self.context, self.owner.id, name)
        return Piece(self.context, self.owner, name, found) if found else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        graph, owner = self.context.stores.graph, self.owner
        listed: list[tuple[str, Node]] = []
        page = graph.instances(owner.id, limit=PAGE)
        while page:
            for row in page:
                self.context.cache.learn(knowledge.key_of(owner.id, row.n), row)
            listed += [(str(row.n), Piece(self.context, owner, str(row.n), row)) for row in page]
            page = graph.instances(owner.id, after=page[-1].n, limit=PAGE) if len(page) == PAGE else []
        return listed


def instance_at(context: TreeContext, owner: str, name: str) -> InstanceRow | None:
    """Return the instance in the folder ``evidence/<name>`` of a concept or relationship; None if there is none."""
    graph, recall = context.stores.graph, context.cache.recall
    if name == BEST:
        return recall((BEST, owner), lambda: graph.strongest(owner))
    return recall(knowledge.key_of(owner, int(name)), lambda: graph.instance(owner, int(name)))


class _InEvidence(Derived[T]):
    """The base of a folder ``evidence/<n>`` or ``evidence/best``, and of the entries in it."""

    __slots__ = ("_at", "_owner")
    name = ""

    def __init__(self, context: TreeContext, owner: Owner, at: str, row: T | None = None) -> None:
        n = at if at == BEST else int(at)
        super().__init__(context, keys.piece(owner.id, owner.concept_id, n, self.name), row)
        self._owner = owner
        self._at = at

    def _instance(self) -> InstanceRow:
        found = instance_at(self.context, self._owner.id, self._at)
        if found is None:
            raise MissingError(f"Evidence {self._at} is gone.")
        return found

    def _look_up_evidence(self) -> Evidence:
        n = self._instance().n if self._at == BEST else int(self._at)
        return knowledge.evidence(self.context.stores, self._owner.id, n, self.context.cache.recall)


class Piece(_InEvidence[InstanceRow], DerivedFolder[InstanceRow]):
    """Serve ``evidence/<n>/``, or the unlisted ``evidence/best/``, which is the strongest piece."""

    __slots__ = ()

    def mtime(self) -> int:
        return (self.take_row() or self._instance()).mtime

    def lookup(self, name: str) -> Node | None:
        kind = _ENTRIES.get(name)
        if kind is None or instance_at(self.context, self._owner.id, self._at) is None:
            return None
        return kind(self.context, self._owner, self._at)

    def entries(self) -> Sequence[tuple[str, Node]]:
        seen = self._look_up_evidence()
        return [(name, kind(self.context, self._owner, self._at, seen)) for name, kind in _ENTRIES.items()]


class _Entry(_InEvidence[Evidence]):
    """The base of the four entries."""

    __slots__ = ()

    def _evidence(self) -> Evidence:
        return self.take_row() or self._look_up_evidence()

    def _marks(self) -> Marks:
        return Marks(self.context.config.tree.mark_start, self.context.config.tree.mark_end)


class _EntryFile(_Entry, StayingFile[Evidence]):
    """The base of the files in a folder ``evidence/<n>/``."""

    __slots__ = ()
    quick = True


class SourceTxt(_EntryFile):
    """Serve ``source.txt``, the Source with the quote marked."""

    __slots__ = ()
    name = "source.txt"

    def measure(self) -> tuple[int, int]:
        shown = self._evidence()
        return shown.source_size(self._marks()), shown.changed_at

    def content(self) -> bytes:
        return knowledge.source_txt(self.context.stores, self._evidence(), self._marks(), self.context.cache.recall)


class QuoteTxt(_EntryFile):
    """Serve the exact quote as UTF-8, without an added newline."""

    __slots__ = ()
    name = "quote.txt"

    def measure(self) -> tuple[int, int]:
        instance = self._evidence().instance
        return instance.byte_end - instance.byte_start, instance.mtime

    def content(self) -> bytes:
        return encode(self._evidence().instance.quote)


class CitationJson(_EntryFile):
    """Serve ``citation.json``."""

    __slots__ = ()
    name = "citation.json"

    def measure(self) -> tuple[int, int]:
        shown = self._evidence()
        return len(self._render(shown)), shown.changed_at

    def content(self) -> bytes:
        return self._render(self._evidence())

    def _render(self, shown: Evidence) -> bytes:
        recall = self.context.cache.recall
        return knowledge.citation_json(self.context.stores, shown, self._marks(), self._owner.concept, recall)


class DocumentLink(_Entry, DerivedLink[Evidence]):
    """Serve a link to the file in documents/, in versions/ if it is stale, or in archive/ if no file has the content
    any more.
    """

    __slots__ = ()
    name = "document"

    def measure(self) -> tuple[str, int]:
        shown = self._evidence()
        return self._owner.up + shown.standing.origin.path, shown.changed_at


_ENTRIES: dict[str, type[SourceTxt] | type[QuoteTxt] | type[CitationJson] | type[DocumentLink]] = {
    kind.name: kind for kind in (CitationJson, DocumentLink, QuoteTxt, SourceTxt)
}


def living(context: TreeContext, concept_id: str) -> Concept:
    """Return the concept. Raise MissingError once the concept is gone."""
    found = context.cache.recall(("concept", concept_id), lambda: context.stores.graph.concept(concept_id))
    if found is None:
        raise MissingError("The concept is gone.")
    return found


def evidence_changed(change: EvidenceChanged, stale: Invalidations) -> None:
    """Invalidate a piece of evidence and ``best/`` in every folder that shows the owner's evidence."""
    for _, known in stale.group(GROUP, change.owner):
        assert isinstance(known.node, EvidenceFolder)
        concept_id = known.node.owner.concept_id
        if change.renumbered:
            stale.key_entry(known.node.key, str(change.n).encode())
            stale.key_entry(known.node.key, BEST.encode())
            stale.key(known.node.key)
        for n in (change.n, BEST):
            for entry in ("", *_ENTRIES):
                stale.key(keys.piece(change.owner, concept_id, n, entry), data=True)


def document_changed(change: DocumentChanged, stale: Invalidations) -> None:
    """Invalidate the evidence of a document, which shows the document's path and state."""
    if stale.has_group(GROUP):
        for row in stale.context.stores.graph.instances_of(change.doc_id):
            evidence_changed(EvidenceChanged(row.owner, row.n, renumbered=False), stale)


def concept_changed(change: ConceptChanged, stale: Invalidations) -> None:
    """Invalidate a concept's folder ``evidence/``."""
    stale.key(keys.evidence(change.concept_id, change.concept_id))
