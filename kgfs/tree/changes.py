"""Translate facts of the ledger and changes of the graph into changes that views follow.

A view may also follow a fact itself (:mod:`kgfs.stores.catalog.facts`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from kgfs.domain.documents import NameKind
from kgfs.stores.catalog.facts import (
    DocumentFailed,
    DocumentForgotten,
    DocumentRead,
    DocumentText,
    Fact,
    FileMade,
    FolderMade,
    ForgettingDone,
    ForgettingOwed,
    LinkMade,
    Moved,
    OntologyRenamed,
    PartsFound,
    ReadingOwed,
    Removed,
    Settled,
    TrashRestored,
    VersionMinted,
)
from kgfs.stores.graph.vocabulary import Change as GraphChange
from kgfs.stores.stores import Stores

MAX_FRESH = 10_000
"""Maximum number of remembered files that have no version yet."""


@dataclass(frozen=True, slots=True)
class NameCame:
    """A name of documents/ now exists at this place."""

    ontology: str
    parent: int
    name: str


@dataclass(frozen=True, slots=True)
class NameLeft:
    """A name of documents/ left its place; ``now`` is its new place, if it has one."""

    id: int
    now: NameCame | None = None


@dataclass(frozen=True, slots=True)
class NameShown:
    """Views that mirror documents/ may have gained, lost or renamed this entry."""

    parent: int
    name: str
    id: int


@dataclass(frozen=True, slots=True)
class NameChanged:
    """Metadata of a file of documents/ changed, other than its bytes."""

    id: int


@dataclass(frozen=True, slots=True)
class FolderTimesChanged:
    """A folder of documents/ lost a name, or the graph changed. The fact does not say which folder it was."""


@dataclass(frozen=True, slots=True)
class PathsChanged:
    """A path or an ontology's name changed that may be shown anywhere."""


@dataclass(frozen=True, slots=True)
class OntologyChanged:
    """The state of a document in the ontology, or the ontology's graph, changed."""

    ontology: str


@dataclass(frozen=True, slots=True)
class DocumentChanged:
    """The state of a Document, its paths, or what the graph shows of it changed."""

    doc_id: str


@dataclass(frozen=True, slots=True)
class DocumentPublished:
    """The graph began to show a Document, shows it differently, or stopped showing it."""

    doc_id: str


@dataclass(frozen=True, slots=True)
class DocumentPurged:
    """A Document was purged."""

    doc_id: str


@dataclass(frozen=True, slots=True)
class ConceptChanged:
    """A concept changed. ``concept_id`` is '' if no concept has the name any more; ``renamed`` tells whether the name
    was added or removed.
    """

    ontology: str
    name: str
    concept_id: str
    renamed: bool


@dataclass(frozen=True, slots=True)
class EvidenceChanged:
    """A piece of evidence of a concept or relationship changed; ``renumbered`` tells whether its number was added or
    removed.
    """

    owner: str
    n: int
    renumbered: bool


@dataclass(frozen=True, slots=True)
class RelationshipChanged:
    """An entry ``related/<type>/<name>`` of a concept changed; ``renamed`` tells whether it was added or removed."""

    concept_id: str
    type: str
    name: str
    renamed: bool


@dataclass(frozen=True, slots=True)
class MentionsChanged:
    """The places that name a concept changed."""

    concept_id: str


@dataclass(frozen=True, slots=True)
class ClaimChanged:
    """A claim has other evidence than before, perhaps none; with the id '', rejected claims came or went."""

    ontology: str
    claim_id: str


@dataclass(frozen=True, slots=True)
class SearchesChanged:
    """The results of searches, or the paths of the results, may have changed."""


class Translator:
    """Translate facts and changes of the graph into changes of the tree. Reads the present state of the stores. Used
    on the event loop only.
    """

    def __init__(self, stores: Stores) -> None:
        self._names = stores.catalog.names
        self._graph = stores.graph
        self._fresh: OrderedDict[int, None] = OrderedDict()
        """Files that never had a version: removing them removes no Document's path."""

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
                # If the file was renamed to or from a passing name, its Document gained or lost a path by that.
                yield from self._documents_of(fact.id)
            case DocumentRead():
                for doc_id in (fact.doc_id, *fact.superseded):
                    yield from self._state_of(doc_id)
            case PartsFound():
                yield from self._state_of(fact.doc_id)
            case DocumentText():
                for doc_id in (fact.doc_id, *fact.hides):
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
        # A file with versions gives up its own history for the history of the path that it replaces. The Documents
        # that lose a name by that can no longer be queried. Files that editors save by renaming never had a version.
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
        for part in self._names.parts(doc_id):  # they come and go with it
            if part.child:
                yield from self._document(part.child)

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
        elif change.kind == "named":
            yield MentionsChanged(change.owner)
        elif change.kind == "claim":
            yield ClaimChanged(change.ontology, change.owner)
        elif change.kind == "related":
            type_, _, name = change.name.partition("/")
            yield RelationshipChanged(change.owner, type_, name, entry)
