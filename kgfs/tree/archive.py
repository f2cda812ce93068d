"""``archive/<doc_id>/``: the stable home of one content, whatever becomes of its names.

Every doc_id ever issued is found here. ``text.txt`` (the exact Text) and ``concepts/`` are there while the graph shows
the document.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kgfs.domain.documents import Document
from kgfs.errors import MissingError, StoreError
from kgfs.knowledge.metadata import metadata
from kgfs.render.metadata import render
from kgfs.render.words import encode
from kgfs.stores.graph.vocabulary import Concept, DocumentRow
from kgfs.stores.readings import load_reading, text_of
from kgfs.stores.stores import Stores
from kgfs.tree import keys
from kgfs.tree.derived import PAGE, DerivedFile, DerivedFolder, DerivedLink, FirstLook, open_original
from kgfs.tree.keys import Key
from kgfs.tree.node import Handle, Node
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.tree_removal import is_being_removed


class ArchiveFolder(DerivedFolder):
    """``archive/``: every Document of an ontology."""

    __slots__ = ("_made_at", "_ontology_id")

    def __init__(self, context: TreeContext, ontology_id: str, made_at: int) -> None:
        super().__init__(context)
        self._ontology_id = ontology_id
        self._made_at = made_at

    @property
    def key(self) -> Key:
        return keys.part(self._ontology_id, "archive")

    def mtime(self) -> int:
        newest = self.context.stores.journal.names.newest(self._ontology_id, 1)
        return max([self._made_at, *(document.deposited_at for document in newest)])

    def token(self) -> Hashable | None:
        return super().token(), is_being_removed(self.context, self._ontology_id)

    def lookup(self, name: str) -> Node | None:
        found = self.context.stores.journal.names.document(name)
        return Archived(self.context, name, found) if found and found.ontology == self._ontology_id else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        names = self.context.stores.journal.names
        listed: list[tuple[str, Node]] = []
        if is_being_removed(self.context, self._ontology_id):
            return listed
        page = names.documents(self._ontology_id, limit=PAGE)
        while page:
            listed += [(row.doc_id, Archived(self.context, row.doc_id, row)) for row in page]
            page = names.documents(self._ontology_id, after=page[-1].doc_id, limit=PAGE) if len(page) == PAGE else []
        return listed


class Archived(DerivedFolder):
    """``archive/<doc_id>/``."""

    __slots__ = ("_doc_id", "_first")

    def __init__(self, context: TreeContext, doc_id: str, row: Document | None = None) -> None:
        super().__init__(context)
        self._doc_id = doc_id
        self._first = FirstLook(row)

    @property
    def key(self) -> Key:
        return keys.archived(self._doc_id)

    def mtime(self) -> int:
        document = self._first.take() or known(self.context.stores, self._doc_id)
        row = self.context.stores.graph.document(self._doc_id)
        return max(document.deposited_at, row.ingested_at if row else 0)

    def lookup(self, name: str) -> Node | None:
        return dict(self.entries()).get(name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        always: list[tuple[str, Node]] = [("metadata.json", MetadataJson(self.context, self._doc_id))]
        if has_original(self.context.stores, known(self.context.stores, self._doc_id)):
            always.append(("original", OriginalFile(self.context, self._doc_id)))
        if self.context.stores.graph.document(self._doc_id) is None:
            return always
        return [
            ("concepts", FoundFolder(self.context, self._doc_id)),
            *always,
            ("text.txt", TextTxt(self.context, self._doc_id)),
        ]


class _ArchivedFile(DerivedFile):
    __slots__ = ("_doc_id",)
    name = ""

    def __init__(self, context: TreeContext, doc_id: str) -> None:
        super().__init__(context)
        self._doc_id = doc_id

    @property
    def key(self) -> Key:
        return keys.archived(self._doc_id, self.name)


class OriginalFile(_ArchivedFile):
    """The bytes as they were deposited. They never change."""

    __slots__ = ()
    name = "original"

    def look(self) -> tuple[int, int]:
        document = known(self.context.stores, self._doc_id)
        return document.size, document.deposited_at

    def handle(self) -> Handle:
        document = known(self.context.stores, self._doc_id)
        return open_original(self.context.stores, document.key, document.sha256)


class MetadataJson(_ArchivedFile):
    __slots__ = ()
    name = "metadata.json"

    def look(self) -> tuple[int, int]:
        page, changed = metadata(self.context.stores, self._doc_id)
        return len(render(page)), changed

    def content(self) -> bytes:
        return render(metadata(self.context.stores, self._doc_id)[0])


class TextTxt(_ArchivedFile):
    """The Text, exactly, as UTF-8: what characters and bytes of a citation count."""

    __slots__ = ()
    name = "text.txt"

    def look(self) -> tuple[int, int]:
        row = shown(self.context.stores, self._doc_id)
        if is_original(row):
            return row.size_bytes, row.ingested_at
        last = self.context.stores.graph.source(self._doc_id, row.chunk_count - 1) if row.chunk_count else None
        return last.byte_end if last else 0, row.ingested_at

    def handle(self) -> Handle:
        row = shown(self.context.stores, self._doc_id)
        if is_original(row) and has_original(self.context.stores, known(self.context.stores, self._doc_id)):
            return open_original(self.context.stores, row.garage_key, row.content_hash)
        return super().handle()

    def content(self) -> bytes:
        return encode(read_text(self.context.stores, shown(self.context.stores, self._doc_id)))


class FoundFolder(DerivedFolder):
    """``concepts/``: a link to the page of each concept the document is evidence for."""

    __slots__ = ("_doc_id",)

    def __init__(self, context: TreeContext, doc_id: str) -> None:
        super().__init__(context)
        self._doc_id = doc_id

    @property
    def key(self) -> Key:
        return keys.archived(self._doc_id, "concepts")

    def mtime(self) -> int:
        return shown(self.context.stores, self._doc_id).ingested_at

    def lookup(self, name: str) -> Node | None:
        return dict(self.entries()).get(name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        row = shown(self.context.stores, self._doc_id)
        concepts = self.context.stores.graph.concepts_of(self._doc_id)
        return [(f"{found.name}.md", FoundConcept(self.context, row, found)) for found in concepts]


class FoundConcept(DerivedLink):
    """``concepts/<name>.md``."""

    __slots__ = ("_concept_id", "_doc_id", "_name")

    def __init__(self, context: TreeContext, row: DocumentRow, concept: Concept) -> None:
        super().__init__(context)
        self._doc_id = row.doc_id
        self._concept_id = concept.concept_id
        self._name = concept.name

    @property
    def key(self) -> Key:
        return keys.found_in(self._doc_id, self._concept_id)

    def look(self) -> tuple[str, int]:
        ingested_at = shown(self.context.stores, self._doc_id).ingested_at
        return f"../../../concepts/{self._name}.concept/concept.md", ingested_at


def known(stores: Stores, doc_id: str) -> Document:
    """MissingError for a doc_id that was never issued, or was purged."""
    found = stores.journal.names.document(doc_id)
    if found is None:
        raise MissingError(f"No document has the id {doc_id}.")
    return found


def shown(stores: Stores, doc_id: str) -> DocumentRow:
    """MissingError while the graph does not show the document."""
    found = stores.graph.document(doc_id)
    if found is None:
        raise MissingError(f"Document {doc_id} does not stand in the graph.")
    return found


def has_original(stores: Stores, document: Document) -> bool:
    """What no file has any more, and nothing promises, has left the garage with the trash, or is about to. The garage is not
    asked: whoever looks at a folder would wait for its server, and with them the whole mount."""
    return not document.removed_at or stores.journal.promises(document.key)


def is_original(row: DocumentRow) -> bool:
    """Whether the original's bytes are the Text as UTF-8."""
    return row.text_sha256 == row.content_hash


def read_text(stores: Stores, row: DocumentRow) -> str:
    """The Text that the graph shows of a document, from original and Reading. StoreError where one is lost. Blocks."""
    try:
        reading = load_reading(stores.garage.objects, row.doc_id, row.reading)
        return text_of(stores.garage.objects, known(stores, row.doc_id), reading)
    except MissingError as error:
        raise StoreError(f"The garage has lost what document {row.doc_id} was read from: {error}") from error
