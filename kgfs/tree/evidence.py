"""``evidence/<n>/``: a quote in its Source, the quote alone, its citation, and a link to the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgfs.errors import MissingError
from kgfs.knowledge import evidence as knowledge
from kgfs.knowledge.evidence import Evidence
from kgfs.render.source import Marks
from kgfs.render.words import encode
from kgfs.stores.graph.vocabulary import InstanceRow
from kgfs.tree import keys
from kgfs.tree.derived import PAGE, DerivedFolder, DerivedLink, FirstLook, StayingFile
from kgfs.tree.keys import Key
from kgfs.tree.node import Handle, Node
from kgfs.tree.tree_context import TreeContext


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose evidence it is, and from where it is looked at."""

    id: str
    """A concept or a relationship."""
    concept_id: str
    concept: str
    """The directory name, without ``.concept``, of the concept in whose folder it stands."""
    up: str
    """The way from an ``evidence/<n>/`` to the ontology's folder."""


class EvidenceFolder(DerivedFolder):
    """``evidence/``. Its time is that of the folder it stands in: numbers come and go with commits that touch both."""

    __slots__ = ("_owner", "_parent")

    def __init__(self, context: TreeContext, owner: Owner, parent: DerivedFolder) -> None:
        super().__init__(context)
        self._owner = owner
        self._parent = parent

    @property
    def key(self) -> Key:
        return keys.evidence(self._owner.id, self._owner.concept_id)

    def mtime(self) -> int:
        return self._parent.mtime()

    def lookup(self, name: str) -> Node | None:
        if not name.isascii() or not name.isdigit() or name.startswith("0") or len(name) > 18:
            return None
        found = instance_of(self.context, self._owner.id, int(name))
        return Piece(self.context, self._owner, found.n, found) if found else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        graph, owner = self.context.stores.graph, self._owner
        listed: list[tuple[str, Node]] = []
        page = graph.instances(owner.id, limit=PAGE)
        while page:
            for row in page:
                self.context.cache.learn(knowledge.key_of(owner.id, row.n), row)
            listed += [(str(row.n), Piece(self.context, owner, row.n, row)) for row in page]
            page = graph.instances(owner.id, after=page[-1].n, limit=PAGE) if len(page) == PAGE else []
        return listed


def instance_of(context: TreeContext, owner: str, n: int) -> InstanceRow | None:
    return context.cache.recall(knowledge.key_of(owner, n), lambda: context.stores.graph.instance(owner, n))


class Piece(DerivedFolder):
    """``evidence/<n>/``."""

    __slots__ = ("_first", "_n", "_owner")

    def __init__(self, context: TreeContext, owner: Owner, n: int, row: InstanceRow | None = None) -> None:
        super().__init__(context)
        self._owner = owner
        self._n = n
        self._first = FirstLook(row)

    @property
    def key(self) -> Key:
        return keys.piece(self._owner.id, self._owner.concept_id, self._n)

    def _instance(self) -> InstanceRow:
        found = self._first.take() or self._known()
        if found is None:
            raise MissingError(f"Evidence {self._n} is gone.")
        return found

    def _known(self) -> InstanceRow | None:
        return instance_of(self.context, self._owner.id, self._n)

    def mtime(self) -> int:
        return self._instance().mtime

    def lookup(self, name: str) -> Node | None:
        kind = _ENTRIES.get(name)
        if kind is None or self._known() is None:
            return None
        return kind(self.context, self._owner, self._n)

    def entries(self) -> Sequence[tuple[str, Node]]:
        seen = knowledge.evidence(self.context.stores, self._owner.id, self._n, self.context.cache.recall)
        return [(name, kind(self.context, self._owner, self._n, seen)) for name, kind in _ENTRIES.items()]


class _Entry:
    """What the four entries share."""

    __slots__ = ()

    name = ""
    context: TreeContext
    _owner: Owner
    _n: int
    _first: FirstLook[Evidence]

    @property
    def key(self) -> Key:
        return keys.piece(self._owner.id, self._owner.concept_id, self._n, self.name)

    def _evidence(self) -> Evidence:
        recall = self.context.cache.recall
        return self._first.take() or knowledge.evidence(self.context.stores, self._owner.id, self._n, recall)

    def _marks(self) -> Marks:
        return Marks(self.context.config.tree.mark_start, self.context.config.tree.mark_end)


class _EntryFile(_Entry, StayingFile[Evidence]):
    __slots__ = ("_n", "_owner")

    def __init__(self, context: TreeContext, owner: Owner, n: int, seen: Evidence | None = None) -> None:
        StayingFile.__init__(self, context, seen)
        self._owner = owner
        self._n = n

    def open_at_once(self) -> Handle | None:
        return self.handle()


class SourceTxt(_EntryFile):
    __slots__ = ()
    name = "source.txt"

    def look(self) -> tuple[int, int]:
        shown = self._evidence()
        return shown.source_size(self._marks()), shown.changed_at

    def content(self) -> bytes:
        return knowledge.source_txt(self.context.stores, self._evidence(), self._marks(), self.context.cache.recall)


class QuoteTxt(_EntryFile):
    """The quote, exactly, as UTF-8 and without a newline of its own."""

    __slots__ = ()
    name = "quote.txt"

    def look(self) -> tuple[int, int]:
        instance = self._evidence().instance
        return instance.byte_end - instance.byte_start, instance.mtime

    def content(self) -> bytes:
        return encode(self._evidence().instance.quote)


class CitationJson(_EntryFile):
    __slots__ = ()
    name = "citation.json"

    def look(self) -> tuple[int, int]:
        shown = self._evidence()
        return len(self._render(shown)), shown.changed_at

    def content(self) -> bytes:
        return self._render(self._evidence())

    def _render(self, shown: Evidence) -> bytes:
        recall = self.context.cache.recall
        return knowledge.citation_json(self.context.stores, shown, self._marks(), self._owner.concept, recall)


class DocumentLink(_Entry, DerivedLink):
    """To the file in documents/, in versions/ when stale, in archive/ when no file has the content any more."""

    __slots__ = ("_first", "_n", "_owner")
    name = "document"

    def __init__(self, context: TreeContext, owner: Owner, n: int, seen: Evidence | None = None) -> None:
        DerivedLink.__init__(self, context)
        self._owner = owner
        self._n = n
        self._first = FirstLook(seen)

    def look(self) -> tuple[str, int]:
        shown = self._evidence()
        return self._owner.up + shown.standing.origin.path, shown.changed_at


_ENTRIES: dict[str, type[SourceTxt] | type[QuoteTxt] | type[CitationJson] | type[DocumentLink]] = {
    kind.name: kind for kind in (CitationJson, DocumentLink, QuoteTxt, SourceTxt)
}
