"""Serve ``cite/<chunk_id>/``, the Source that a citation refers to, for every ``chunk_id`` that was ever issued.

``cite/`` is a lookup: it lists nothing. An id that the graph shows is found at once. Any other id is looked up in the
index of issued ids, which may first have to read the ledger.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import asdict
from functools import partial

from kgfs.compute.deadline import Deadline
from kgfs.errors import MissingError
from kgfs.ingest.lifecycle.citable import issued
from kgfs.knowledge.cite import Cited, cited, resolve
from kgfs.knowledge.metadata import changed_at
from kgfs.render.words import encode, json_page
from kgfs.stores.chunk_index import ChunkRef
from kgfs.stores.thread_slots import blocks
from kgfs.tree import keys
from kgfs.tree.changes import SearchesChanged
from kgfs.tree.derived import DerivedFile, DerivedFolder, DerivedLink
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.node import Node
from kgfs.tree.timing import CITE
from kgfs.tree.tree_context import TreeContext

NAME = "cite"
GROUP = "cited"
_CHUNK_ID = re.compile(r"[0-9a-f]{12,64}")


def folder(context: TreeContext, _: None) -> Node:
    """Return ``cite/``."""
    return CiteFolder(context, keys.fixed(NAME))


class CiteFolder(DerivedFolder[None]):
    """Serve ``cite/``."""

    __slots__ = ()

    def mtime(self) -> int:
        return self.context.mounted_at

    def token(self) -> Hashable | None:
        # An id that is unknown now may be issued at any moment, so the kernel must not cache its absence.
        return None

    def entries(self) -> Sequence[tuple[str, Node]]:
        return []

    def lookup(self, name: str) -> Node | None:
        if not _CHUNK_ID.fullmatch(name):
            return None
        try:
            ref, _ = resolve(self.context.stores, name, partial(_issued, self.context))
        except MissingError:
            return None
        return CitedFolder(self.context, name, ref.doc_id)


class _Entry:
    """The base of ``cite/<chunk_id>/`` and of what is in it."""

    __slots__ = ()
    context: TreeContext
    chunk_id: str
    doc_id: str

    def group(self) -> tuple[str, Hashable]:
        return GROUP, ""

    def changed_at(self) -> int:
        return changed_at(self.context.stores, self.doc_id)

    def cited(self) -> Cited:
        """Return what is known of the Source. *May block*. Raise MissingError once its document was purged."""

        def ask() -> Cited:
            blocks()
            return cited(self.context.stores, self.chunk_id, partial(_issued, self.context))

        return self.context.cache.recall((GROUP, self.chunk_id), ask)


class CitedFolder(_Entry, DerivedFolder[None]):
    """Serve ``cite/<chunk_id>/``."""

    __slots__ = ("chunk_id", "doc_id")

    def __init__(self, context: TreeContext, chunk_id: str, doc_id: str) -> None:
        super().__init__(context, keys.cited(chunk_id))
        self.chunk_id = chunk_id
        self.doc_id = doc_id

    def mtime(self) -> int:
        return self.changed_at()

    def token(self) -> Hashable | None:
        return None

    def entries(self) -> Sequence[tuple[str, Node]]:
        found = self.cited()
        kinds: list[type[CitationJson | DocumentLink | TextTxt]] = [CitationJson]
        if found.text is not None:
            if self.context.stores.catalog.names.ontology_named(found.ontology):
                kinds.append(DocumentLink)
            kinds.append(TextTxt)
        return [(kind.name, kind(self)) for kind in kinds]


class _CitedFile(_Entry, DerivedFile[None]):
    """The base of files in ``cite/<chunk_id>/``."""

    __slots__ = ("chunk_id", "doc_id")
    name = ""

    def __init__(self, folder: CitedFolder) -> None:
        super().__init__(folder.context, keys.cited(folder.chunk_id, self.name))
        self.chunk_id = folder.chunk_id
        self.doc_id = folder.doc_id

    def measure(self) -> tuple[int, int]:
        return len(self.content()), self.changed_at()


class TextTxt(_CitedFile):
    """Serve the exact text of the Source, as UTF-8."""

    __slots__ = ()
    name = "text.txt"

    def content(self) -> bytes:
        text = self.cited().text
        if text is None:
            raise MissingError("The text is gone.")
        return encode(text)


class CitationJson(_CitedFile):
    """Serve what ``kgfs cite --json`` prints, without the text. ``reason`` says why there is no text."""

    __slots__ = ()
    name = "citation.json"

    def content(self) -> bytes:
        fields = asdict(self.cited())
        del fields["text"]
        return json_page(fields)


class DocumentLink(_Entry, DerivedLink[None]):
    """Serve a link to the document, where its bytes are now."""

    __slots__ = ("chunk_id", "doc_id")
    name = "document"

    def __init__(self, folder: CitedFolder) -> None:
        super().__init__(folder.context, keys.cited(folder.chunk_id, self.name))
        self.chunk_id = folder.chunk_id
        self.doc_id = folder.doc_id

    def measure(self) -> tuple[str, int]:
        found = self.cited()
        return f"../../{found.ontology}/{found.document}", self.changed_at()


def changed(change: SearchesChanged, stale: Invalidations) -> None:
    """Invalidate what was looked up. Names are forgotten where the entry may be gone: those of files and links, and of
    the folder of a purged document.
    """
    for inode, known in stale.group(GROUP, ""):
        stale.inode(inode, data=True)
        node = known.node
        if not isinstance(node, CitedFolder) or stale.context.stores.catalog.names.document(node.doc_id) is None:
            stale.left(inode)


def _issued(context: TreeContext, chunk_id: str) -> list[ChunkRef]:
    blocks()
    return issued(context.stores, context.config.chunk_index_db, chunk_id, Deadline(CITE).check)
