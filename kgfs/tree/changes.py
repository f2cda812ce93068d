"""Changes that views follow, made from facts of the ledger and from changes of the graph.

A view may also follow a fact itself (:mod:`kgfs.stores.journal.facts`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from kgfs.domain.documents import NameKind
from kgfs.stores.graph.vocabulary import Change as GraphChange
from kgfs.stores.journal.facts import (
    DocumentFailed,
    DocumentForgotten,
    DocumentRead,
    Fact,
    FileMade,
    FolderMade,
    ForgettingDone,
    ForgettingOwed,
    LinkMade,
    Moved,
    OntologyRenamed,
    ReadingOwed,
    Removed,
    Settled,
    TrashRestored,
    VersionMinted,
)
from kgfs.stores.stores import Stores

MAX_FRESH = 10_000
"""Files without a version that are remembered."""


@dataclass(frozen=True, slots=True)
class NameCame:
    """A name of documents/ stands here now."""

    ontology: str
    parent: int
    name: str


@dataclass(frozen=True, slots=True)
class NameLeft:
    """A name of documents/ stands no more where it stood, but perhaps at ``now``."""

    id: int
    now: NameCame | None = None


@dataclass(frozen=True, slots=True)
class NameShown:
    """Views that mirror documents/ may show this name now, or no more, or call it something else."""

    parent: int
    name: str
    id: int


@dataclass(frozen=True, slots=True)
class NameChanged:
    """What is known of a file of documents/ beside its bytes."""

    id: int


@dataclass(frozen=True, slots=True)
class FolderTimesChanged:
    """Some folder of documents/ lost a name, or the graph moved: the fact does not say which folder it was."""


@dataclass(frozen=True, slots=True)
class PathsChanged:
    """A path or an ontology's name that may be shown anywhere is another."""


@dataclass(frozen=True, slots=True)
class OntologyChanged:
    """A document of it has another state, or its graph moved."""

    ontology: str


@dataclass(frozen=True, slots=True)
class DocumentChanged:
    """The state of a Document, where it stands, or what the graph shows of it."""

    doc_id: str


@dataclass(frozen=True, slots=True)
class DocumentPublished:
    """The graph shows a Document, shows it otherwise, or shows it no more."""

    doc_id: str


@dataclass(frozen=True, slots=True)
class DocumentPurged:
    doc_id: str


@dataclass(frozen=True, slots=True)
class ConceptChanged:
    """``concept_id`` is '' where none has the name any more; ``renamed`` where the name came or left."""

    ontology: str
    name: str
    concept_id: str
    renamed: bool


@dataclass(frozen=True, slots=True)
class EvidenceChanged:
    """A piece of evidence of a concept or relationship; ``renumbered`` where the number came or left."""

    owner: str
    n: int
    renumbered: bool


@dataclass(frozen=True, slots=True)
class RelationshipChanged:
    """An entry ``related/<type>/<name>`` of a concept; ``renamed`` where it came or left."""

    concept_id: str
    type: str
    name: str
    renamed: bool


@dataclass(frozen=True, slots=True)
class SearchesChanged:
    """What searches find, or where it stands, may be other than before."""


class Translator:
    """Makes changes from facts and from changes of the graph. Asks the stores as they are now. The event loop owns it."""

    def __init__(self, stores: Stores) -> None:
        self._names = stores.journal.names
        self._graph = stores.graph
        self._fresh: OrderedDict[int, None] = OrderedDict()
        """Files that never had a version: their removal takes no Document away."""

    def of_fact(self, fact: Fact) -> Iterator[object]:
        yield fact
        match fact:
            case OntologyRenamed():
                yield PathsChanged()
            case FolderMade() | FileMade() | LinkMade():
                yield NameCame(fact.ontology, fact.parent, fact.name)
                yield NameShown(fact.parent, fact.name, fact.id)
                if isinstance(fact, FileMade):
                    self._fresh[fact.id] = None
                    if len(self._fresh) > MAX_FRESH:
                        self._fresh.popitem(last=False)
            case Moved():
                yield from self._moved(fact)
            case Removed():
                yield from self._left(fact.id)
            case TrashRestored():
                here = NameCame(fact.ontology, fact.parent, fact.name)
                yield from self._left(fact.id, here)
                yield here
                yield NameShown(fact.parent, fact.name, fact.id)
            case VersionMinted():
                yield from self._minted(fact)
            case Settled():
                # Where it was renamed to or from a name in passing, its Document lost or gained a path by that.
                yield from self._documents_of(fact.id)
            case DocumentRead():
                for doc_id in (fact.doc_id, *fact.superseded):
                    yield from self._state_of(doc_id)
            case DocumentFailed() | DocumentForgotten() | ReadingOwed():
                yield from self._state_of(fact.doc_id)
            case ForgettingOwed():
                for name_id in fact.names:
                    yield from self._left(name_id)
                for doc_id in fact.doc_ids:
                    yield from self._state_of(doc_id)
            case ForgettingDone():
                for doc_id in fact.doc_ids:
                    yield from self._state_of(doc_id)
                    if fact.purge:
                        yield DocumentPurged(doc_id)

    def _moved(self, fact: Moved) -> Iterator[object]:
        here = NameCame(fact.ontology, fact.parent, fact.name)
        yield from self._left(fact.id, here)
        yield here
        yield NameChanged(fact.id)
        if fact.replaces:
            yield from self._left(fact.replaces)
        yield NameShown(fact.parent, fact.name, fact.id)
        name = self._names.name(fact.id)
        folder = name is not None and name.kind is NameKind.FOLDER
        # A file with versions gives up its own history for that of the path it replaces; which Documents lose a name
        # by that cannot be asked any more. What editors save by renaming never had a version.
        if folder or (fact.replaces and fact.id not in self._fresh):
            yield PathsChanged()

    def _left(self, name_id: int, now: NameCame | None = None) -> Iterator[object]:
        yield NameLeft(name_id, now)
        yield FolderTimesChanged()
        yield from self._documents_of(name_id)

    def _minted(self, fact: VersionMinted) -> Iterator[object]:
        self._fresh.pop(fact.id, None)
        name = self._names.name(fact.id)
        if name is not None:
            yield NameShown(name.parent, name.name, name.id)
        yield NameChanged(fact.id)
        yield from self._documents_of(fact.id)
        yield from self._document(fact.doc_id)

    def _documents_of(self, name_id: int) -> Iterator[object]:
        for version in self._names.versions(name_id):
            yield from self._document(version.doc_id)

    def _state_of(self, doc_id: str) -> Iterator[object]:
        yield from self._document(doc_id)
        for name in self._names.names_of(doc_id):
            yield NameChanged(name.id)

    def _document(self, doc_id: str) -> Iterator[object]:
        yield DocumentChanged(doc_id)
        found = self._names.document(doc_id)
        if found is not None:
            yield OntologyChanged(found.ontology)

    def of_graph(self, change: GraphChange) -> Iterator[object]:
        yield OntologyChanged(change.ontology)
        entry = change.what != "changed"
        if change.kind == "document":
            yield DocumentPublished(change.name)
            yield from self._document(change.name)
        elif change.kind == "concept":
            concept_id = self._graph.names_taken(change.ontology, [change.name]).get(change.name, "")
            yield ConceptChanged(change.ontology, change.name, concept_id, entry)
        elif change.kind == "evidence":
            yield EvidenceChanged(change.owner, int(change.name), entry)
        elif change.kind == "related":
            type_, _, name = change.name.partition("/")
            yield RelationshipChanged(change.owner, type_, name, entry)
