"""Serve ``archive/<doc_id>/attachments/``, the parts that came with a document, each with its readable form."""

from __future__ import annotations

from collections.abc import Sequence

from kgfs.domain.parts import PartKind, companion
from kgfs.knowledge.archived import has_original
from kgfs.stores.catalog.facts import PartsFound
from kgfs.stores.catalog.rows import PartRow
from kgfs.tree import keys
from kgfs.tree.archive import CompanionFile, OwnFile, joined_changed, known
from kgfs.tree.changes import DocumentPublished
from kgfs.tree.derived import DerivedFile, DerivedFolder
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.node import Node, inode_of
from kgfs.tree.tree_context import TreeContext

NAME = "attachments"


class AttachmentsFolder(DerivedFolder[None]):
    """Serve the folder. An attachment has the bytes of its Document, which may be an attachment of others too. Mails of a
    mailbox and segments of a transcript are found by name, and not listed."""

    __slots__ = ("_doc_id",)

    def __init__(self, context: TreeContext, doc_id: str) -> None:
        super().__init__(context, keys.archived(doc_id, NAME))
        self._doc_id = doc_id

    def mtime(self) -> int:
        names = self.context.stores.catalog.names
        at = known(self.context.stores, self._doc_id).deposited_at
        children = [names.document(row.child) for row in self._rows() if row.child]
        return max([at, *(child.deposited_at for child in children if child is not None)])

    def lookup(self, name: str) -> Node | None:
        names = self.context.stores.catalog.names
        row = names.part(self._doc_id, name)
        if row is not None:
            return self._file(row)
        row = names.part(self._doc_id, name.removesuffix(".md")) if name.endswith(".md") else None
        return self._readable(row) if row is not None else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        listed: list[tuple[str, Node]] = []
        for row in self._rows():
            file, readable = self._file(row), self._readable(row)
            listed += [(row.name, file)] if file is not None else []
            listed += [(companion(row.name), readable)] if readable is not None else []
        return sorted(listed, key=lambda entry: entry[0])

    def _rows(self) -> list[PartRow]:
        rows = self.context.stores.catalog.names.parts(self._doc_id)
        return [row for row in rows if row.kind == PartKind.ATTACHMENT]

    def _file(self, row: PartRow) -> Node | None:
        key = keys.attached(self._doc_id, row.name)
        if not row.child:
            return EmptyFile(self.context, key, known(self.context.stores, self._doc_id).deposited_at)
        child = self.context.stores.catalog.names.document(row.child)
        if child is None or not has_original(self.context.stores, child):
            return None
        return OwnFile(self.context, row.child, key)

    def _readable(self, row: PartRow) -> Node | None:
        shown = self.context.stores.graph.document(row.child) if row.child else None
        if shown is None or not companion(row.name):
            return None
        return CompanionFile(self.context, row.child, keys.attached(self._doc_id, companion(row.name)), row.name)


class EmptyFile(DerivedFile[None]):
    """Serve an attachment without bytes, which is no Document."""

    __slots__ = ("_at",)

    def __init__(self, context: TreeContext, key: keys.Key, at: int) -> None:
        super().__init__(context, key)
        self._at = at

    def measure(self) -> tuple[int, int]:
        return 0, self._at

    def content(self) -> bytes:
        return b""


def folder(context: TreeContext, doc_id: str) -> Node | None:
    """Return the folder; None for a document without parts. It is not listed where the parts are no attachments."""
    return AttachmentsFolder(context, doc_id) if context.stores.catalog.names.parts(doc_id, limit=1) else None


def found(fact: PartsFound, stale: Invalidations) -> None:
    """Invalidate the folders of a document whose parts were found, and the list of all Documents."""
    names = stale.context.stores.catalog.names
    stale.key(keys.archived(fact.doc_id))
    stale.key_entry(keys.archived(fact.doc_id), NAME.encode())
    stale.key(keys.archived(fact.doc_id, NAME))
    document = names.document(fact.doc_id)
    for row in names.parts(fact.doc_id):
        if document is not None and row.child:
            stale.key_entry(keys.part(document.ontology, "archive"), row.child.encode())
        _entry(row, stale)


def published(change: DocumentPublished, stale: Invalidations) -> None:
    """Invalidate the readable form of a part that the graph shows, or shows no more, with each of its parents."""
    for row in stale.context.stores.catalog.names.part_of(change.doc_id):
        if row.kind == PartKind.ATTACHMENT:
            _entry(row, stale)
        else:
            joined_changed(row.parent, stale)


def _entry(row: PartRow, stale: Invalidations) -> None:
    folder = inode_of(keys.archived(row.parent, NAME))
    for name in filter(None, (row.name, companion(row.name))):
        stale.entry(folder, name.encode())
        stale.appeared(folder, name.encode())
        stale.key(keys.attached(row.parent, name), data=True)
