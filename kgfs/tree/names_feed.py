"""From facts of the ledger to what the kernel must forget."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import singledispatchmethod

from kgfs.domain.documents import NameKind
from kgfs.stores.journal.facts import (
    AttributesSet,
    ConflictKept,
    ContentKept,
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
    OntologyMade,
    OntologyRemoved,
    OntologyRenamed,
    ReadingOwed,
    Removed,
    SearchRemoved,
    SearchSaved,
    Settled,
    TrashEmptied,
    TrashRestored,
    VersionMinted,
)
from kgfs.tree import keys
from kgfs.tree.aftermath import Aftermath
from kgfs.tree.inodes import Inodes, Place
from kgfs.tree.listing import name_bytes
from kgfs.tree.node import ROOT_INODE, inode_of
from kgfs.tree.tree_context import TreeContext

FRESH = 10_000
"""How many files that never had a version are kept in mind."""

OWN_WRITES = 10.0
"""Seconds for which a kept content is taken for one that was written through this mount, if one was."""


class NamesFeed:
    """What this mount did itself the kernel knows already: it was told so where it found it (see ``Inodes``)."""

    def __init__(
        self, context: TreeContext, inodes: Inodes, aftermath: Aftermath, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._names = context.stores.journal.names
        self._inodes = inodes
        self._after = aftermath
        self._stale = aftermath.stale
        self._clock = clock
        self._fresh: OrderedDict[int, None] = OrderedDict()

    def hear(self, fact: Fact) -> None:
        self._hear(fact)

    @singledispatchmethod
    def _hear(self, fact: object) -> None:
        """SettingChanged: nothing that can be seen changed."""

    @_hear.register
    def _(self, fact: OntologyMade) -> None:
        self._stale.appeared(ROOT_INODE, name_bytes(fact.name))
        self._stale.inode(ROOT_INODE)

    @_hear.register
    def _(self, fact: OntologyRenamed) -> None:
        place = (ROOT_INODE, name_bytes(fact.name))
        self._stale.left(inode_of(keys.ontology(fact.ontology)), but=[place])
        self._stale.appeared(*place)
        self._stale.inode(ROOT_INODE)
        self._after.derived()

    @_hear.register
    def _(self, fact: OntologyRemoved) -> None:
        self._stale.key_left(keys.ontology(fact.ontology))
        self._stale.inode(ROOT_INODE)

    @_hear.register
    def _(self, fact: SearchSaved | SearchRemoved) -> None:
        self._stale.key(keys.part(fact.ontology, "search"))

    @_hear.register
    def _(self, fact: FolderMade | FileMade | LinkMade) -> None:
        for place in self._places(fact.ontology, fact.parent, fact.name):
            self._stale.appeared(*place)
            self._stale.inode(place[0])
        self._after.mirrored(fact.parent, fact.name, fact.id)
        if isinstance(fact, FileMade):
            self._fresh[fact.id] = None
            if len(self._fresh) > FRESH:
                self._fresh.popitem(last=False)

    @_hear.register
    def _(self, fact: ContentKept) -> None:
        known = self._inodes.get(fact.id)
        if known is not None:
            ours = known.writers > 0 or self._clock() - known.written < OWN_WRITES
            self._stale.inode(fact.id, data=not ours)

    @_hear.register
    def _(self, fact: ConflictKept) -> None:
        self._stale.key(keys.history(fact.id))
        self._stale.key_left(keys.history(fact.id))

    @_hear.register
    def _(self, fact: AttributesSet) -> None:
        self._stale.inode(fact.id)
        name = self._names.name(fact.id)
        if name is not None and not name.parent:
            self._stale.key(keys.ontology(name.ontology))

    @_hear.register
    def _(self, fact: Moved) -> None:
        places = self._places(fact.ontology, fact.parent, fact.name)
        self._stale.left(fact.id, but=places)
        self._after.mirrors()
        for place in places:
            self._stale.appeared(*place)
            self._stale.inode(place[0])
        self._stale.inode(fact.id)
        if fact.replaces:
            self._stale.left(fact.replaces)
            self._reflections_left(fact.replaces)
        self._reflections_left(fact.id)
        self._after.mirrored(fact.parent, fact.name, fact.id)
        name = self._names.name(fact.id)
        folder = name is not None and name.kind is NameKind.FOLDER
        # A file with versions gives up its own history for that of the path it replaces; which Documents lose a name
        # by that cannot be asked any more. What editors save by renaming never had a version.
        if folder or (fact.replaces and fact.id not in self._fresh):
            self._after.derived()

    @_hear.register
    def _(self, fact: Removed) -> None:
        self._stale.left(fact.id)
        self._after.mirrors()
        self._reflections_left(fact.id)

    @_hear.register
    def _(self, fact: VersionMinted) -> None:
        self._fresh.pop(fact.id, None)
        name = self._names.name(fact.id)
        if name is not None:
            self._after.mirrored(name.parent, name.name, name.id)
        self._stale.inode(fact.id)
        self._stale.key(keys.text_file(fact.id), data=True)
        self._stale.key(keys.history(fact.id))
        # Whatever numbers were asked for and not there: the folder is made anew.
        self._stale.key_left(keys.history(fact.id))
        self._stale.key_entry(keys.part(fact.ontology, "archive"), fact.doc_id.encode())
        self._documents_of(fact.id)
        self._after.document(fact.doc_id)

    @_hear.register
    def _(self, fact: Settled) -> None:
        # Where it was renamed to or from a name in passing, its Document lost or gained a path by that.
        self._documents_of(fact.id)

    @_hear.register
    def _(self, fact: DocumentRead) -> None:
        for doc_id in (fact.doc_id, *fact.superseded):
            self._document(doc_id)

    @_hear.register
    def _(self, fact: DocumentFailed | DocumentForgotten | ReadingOwed) -> None:
        self._document(fact.doc_id)

    @_hear.register
    def _(self, fact: TrashRestored) -> None:
        for place in self._places(fact.ontology, fact.parent, fact.name):
            self._stale.appeared(*place)
            self._stale.inode(place[0])
        self._after.mirrored(fact.parent, fact.name, fact.id)
        self._reflections_left(fact.id)

    @_hear.register
    def _(self, fact: ForgettingOwed) -> None:
        for name_id in fact.names:
            self._stale.left(name_id)
            self._reflections_left(name_id)
        self._after.mirrors()
        for doc_id in fact.doc_ids:
            self._document(doc_id)

    @_hear.register
    def _(self, fact: ForgettingDone) -> None:
        for doc_id in fact.doc_ids:
            self._document(doc_id)
            if fact.purge:
                self._stale.key_left(keys.archived(doc_id))
                for name in ("original", "text.txt", "metadata.json"):
                    self._stale.key(keys.archived(doc_id, name), data=True)

    @_hear.register
    def _(self, fact: TrashEmptied) -> None:
        """Originals that go are asked for by their folder in archive/, which looks for them each time."""

    # ----------------------------------------------------------------------------------------- inside

    def _places(self, ontology: str, parent: int, name: str) -> list[Place]:
        """Where a name of documents/ is found: a file just below it at the ontology's root too."""
        raw = name_bytes(name)
        row = self._names.name(parent)
        unlisted = [(inode_of(keys.ontology(ontology)), raw)] if row is not None and not row.parent else []
        return [(parent, raw), *unlisted]

    def _reflections_left(self, name_id: int) -> None:
        """Text and versions of a name are called differently now, or gone; so is the path its evidence shows."""
        self._after.rivals(name_id)
        for key in (
            keys.text_file(name_id),
            keys.text_folder(name_id),
            keys.history(name_id),
            keys.versions_folder(name_id),
        ):
            self._stale.key_left(key)
            self._stale.key(key, data=True)
        self._documents_of(name_id)

    def _documents_of(self, name_id: int) -> None:
        for version in self._names.versions(name_id):
            self._after.document(version.doc_id)
            self._stale.key(keys.version(name_id, version.n), data=True)

    def _document(self, doc_id: str) -> None:
        self._after.document(doc_id)
        for name in self._names.names_of(doc_id):
            self._stale.inode(name.id)
            self._stale.key(keys.text_file(name.id), data=True)
