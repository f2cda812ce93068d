"""Serve ``archive/<doc_id>/``, the permanent place of one content, independent of its paths.

Every doc_id ever issued is found here. ``concepts/`` exists while the graph shows the document, and ``text.txt`` (the
exact Text) also afterwards, as long as the original is kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

from kgfs.domain.documents import Document, Ontology
from kgfs.domain.parts import PartKind, companion
from kgfs.errors import MissingError, StoreError
from kgfs.knowledge.archived import has_original, has_text
from kgfs.knowledge.conversation import conversation_of
from kgfs.knowledge.joined import Span, consists_of_parts, shown_parts, size_of, spans_of_page, spans_of_text
from kgfs.knowledge.metadata import changed_at, metadata, own_name
from kgfs.render import companion as companion_md
from kgfs.render import conversation as conversation_md
from kgfs.render import page_marks
from kgfs.render import text as text_md
from kgfs.render.conversation import NAME as MAIL
from kgfs.render.metadata import render
from kgfs.render.words import encode, rendered
from kgfs.stores.catalog.facts import VersionMinted
from kgfs.stores.graph.vocabulary import Concept, DocumentRow, EarlierText
from kgfs.stores.readings import load_reading, text_of
from kgfs.stores.stores import Stores
from kgfs.tree import keys
from kgfs.tree.changes import DocumentChanged, DocumentPublished, DocumentPurged
from kgfs.tree.derived import (
    PAGE,
    DerivedFile,
    DerivedFolder,
    DerivedLink,
    Page,
    is_being_removed,
    open_original,
    token_of,
)
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.node import Handle, Node
from kgfs.tree.places import DOCUMENT
from kgfs.tree.spans import Spans
from kgfs.tree.tree_context import TreeContext


class ArchiveFolder(DerivedFolder[None]):
    """Serve ``archive/``, which lists every Document of an ontology."""

    __slots__ = ("_ontology",)

    def __init__(self, context: TreeContext, ontology: Ontology) -> None:
        super().__init__(context, keys.part(ontology.id, "archive"))
        self._ontology = ontology

    def mtime(self) -> int:
        newest = self.context.stores.catalog.names.newest(self._ontology.id, 1)
        return max([self._ontology.made_at, *(document.deposited_at for document in newest)])

    def token(self) -> Hashable | None:
        return super().token(), is_being_removed(self.context, self._ontology.id)

    def lookup(self, name: str) -> Node | None:
        found = self.context.stores.catalog.names.document(name)
        return Archived(self.context, name, found) if found and found.ontology == self._ontology.id else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        names, ontology_id = self.context.stores.catalog.names, self._ontology.id
        listed: list[tuple[str, Node]] = []
        if is_being_removed(self.context, ontology_id):
            return listed
        page = names.documents(ontology_id, limit=PAGE)
        while page:
            listed += [(row.doc_id, Archived(self.context, row.doc_id, row)) for row in page]
            page = names.documents(ontology_id, after=page[-1].doc_id, limit=PAGE) if len(page) == PAGE else []
        return listed


class Archived(DerivedFolder[Document]):
    """Serve ``archive/<doc_id>/``."""

    __slots__ = ("_doc_id",)

    def __init__(self, context: TreeContext, doc_id: str, row: Document | None = None) -> None:
        super().__init__(context, keys.archived(doc_id), row)
        self._doc_id = doc_id

    def mtime(self) -> int:
        document = self.take_row() or known(self.context.stores, self._doc_id)
        row = self.context.stores.graph.document(self._doc_id)
        return max(document.deposited_at, row.ingested_at if row else 0)

    def lookup(self, name: str) -> Node | None:
        document = known(self.context.stores, self._doc_id)
        found = self.context.views.find(DOCUMENT, name, self.context, self._doc_id)
        return found if found is not None else own_files(self.context, document).get(name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        document = known(self.context.stores, self._doc_id)
        listed = self.context.views.entries(DOCUMENT, self.context, self._doc_id)
        parts = self.context.stores.catalog.names.parts(self._doc_id, limit=1)
        if not parts or parts[0].kind != PartKind.ATTACHMENT:
            listed = [entry for entry in listed if entry[0] != "attachments"]
        return [*listed, *own_files(self.context, document).items()]


class _DocumentFile(DerivedFile[None]):
    """The base of files that show a Document."""

    __slots__ = ("_doc_id",)

    def __init__(self, context: TreeContext, doc_id: str, key: keys.Key) -> None:
        super().__init__(context, key)
        self._doc_id = doc_id


MAILS = "mails"
"""The group of the pages that show a conversation."""


class OwnFile(_DocumentFile):
    """Serve the bytes of a Document as they were deposited, under some name. They never change."""

    __slots__ = ()

    def measure(self) -> tuple[int, int]:
        document = known(self.context.stores, self._doc_id)
        return document.size, document.deposited_at

    def handle(self) -> Handle:
        document = known(self.context.stores, self._doc_id)
        return open_original(self.context.stores, document.key, document.sha256)


class CompanionFile(_DocumentFile):
    """Serve ``<name>.md``, the readable form of the Document whose bytes stand at ``name``."""

    __slots__ = ("_name",)

    def __init__(self, context: TreeContext, doc_id: str, key: keys.Key, name: str) -> None:
        super().__init__(context, doc_id, key)
        self._name = name

    def measure(self) -> tuple[int, int]:
        stores = self.context.stores
        row = shown(stores, self._doc_id)
        size = companion_md.size(self._companion(row), row.text_md_size) + page_marks.size(row.document_type, row.pages)
        if consists_of_parts(row) and (parts := shown_parts(stores, self._doc_id)):
            at = max(row.ingested_at, *(part.ingested_at for part in parts))
            return size + size_of(spans_of_page(parts, partial(readable_text, stores))), at
        return size, row.ingested_at

    def handle(self) -> Handle:
        stores = self.context.stores
        row = shown(stores, self._doc_id)
        if consists_of_parts(row) and (parts := shown_parts(stores, self._doc_id)):
            header = companion_md.render(self._companion(row), "")
            spans = [Span(len(header), lambda: header), *spans_of_page(parts, partial(readable_text, stores))]
            return Spans(spans, token_of(self.context))
        return super().handle()

    def content(self) -> bytes:
        row = shown(self.context.stores, self._doc_id)
        return companion_md.render(self._companion(row), marked_text(self.context.stores, row))

    def _companion(self, row: DocumentRow) -> companion_md.Companion:
        about = row.source_title, row.document_type, row.size_bytes
        read = row.pages, row.dimensions, row.ingested_at
        return companion_md.Companion(self._name, *about, *read, guessed_encoding=row.guessed_encoding)


def own_files(context: TreeContext, document: Document) -> dict[str, Node]:
    """Return the original under the name with which it was deposited first, and its readable form."""
    found: dict[str, Node] = {}
    name = own_name(context.stores, document)
    if has_original(context.stores, document):
        found[name] = OwnFile(context, document.doc_id, keys.archived(document.doc_id, name))
    readable = companion(name)
    if readable and context.stores.graph.document(document.doc_id) is not None:
        key = keys.archived(document.doc_id, readable)
        is_read = context.stores.graph.mail(document.doc_id) is not None
        found[readable] = (
            ConversationFile(context, document.doc_id, key)
            if is_read
            else CompanionFile(context, document.doc_id, key, name)
        )
    return found


class ConversationFile(_DocumentFile):
    """Serve ``email.eml.md``, the conversation that a mail holds."""

    __slots__ = ()

    def group(self) -> tuple[str, Hashable]:
        return MAILS, None

    def measure(self) -> tuple[int, int]:
        about, changed, row = self._about()
        header = text_md.header_size(row.source_title, row.document_type, row.size_bytes, row.guessed_encoding)
        note = len(rendered(gate_note(self.context.stores, row)))
        return conversation_md.size(about, row.text_md_size - header - note), changed

    def content(self) -> bytes:
        about, _, row = self._about()
        stores = self.context.stores
        reading = load_reading(stores.garage.objects, self._doc_id, row.reading)
        starts = conversation_md.starts_of(reading.places, about.messages)
        return conversation_md.render(about, read_text(stores, row), starts)

    def _about(self) -> tuple[conversation_md.Conversation, int, DocumentRow]:
        row = shown(self.context.stores, self._doc_id)
        found = conversation_of(self.context.stores, self._doc_id)
        if found is None:
            raise MissingError(f"Document {self._doc_id} is no mail.")
        return (*found, row)


class TextTxt(_DocumentFile):
    """Serve the exact Text as UTF-8. The character and byte offsets of citations refer to it."""

    __slots__ = ()

    def measure(self) -> tuple[int, int]:
        stores = self.context.stores
        row = stores.graph.document(self._doc_id)
        if row is None:
            return self._earlier_text().size, changed_at(stores, self._doc_id)
        if is_original(row):
            return row.size_bytes, row.ingested_at
        if consists_of_parts(row) and (parts := shown_parts(stores, self._doc_id)):
            at = max(row.ingested_at, *(part.ingested_at for part in parts))
            return size_of(spans_of_text(stores, parts, partial(_text_bytes, stores))), at
        last = stores.graph.source(self._doc_id, row.chunk_count - 1) if row.chunk_count else None
        return last.byte_end if last else 0, row.ingested_at

    def handle(self) -> Handle:
        stores, document = self.context.stores, known(self.context.stores, self._doc_id)
        row = stores.graph.document(self._doc_id)
        if row is not None and consists_of_parts(row) and (parts := shown_parts(stores, self._doc_id)):
            return Spans(spans_of_text(stores, parts, partial(_text_bytes, stores)), token_of(self.context))
        exact = is_original(row) if row else self._earlier_text().is_original
        if exact and has_original(stores, document):
            return open_original(stores, document.key, document.sha256)
        return super().handle()

    def content(self) -> bytes:
        stores = self.context.stores
        row = stores.graph.document(self._doc_id)
        return encode(text_read_by(stores, self._doc_id, row.reading if row else self._earlier_text().reading))

    def _earlier_text(self) -> EarlierText:
        """Return what is known of the Text that the graph showed last. Raise MissingError if it showed none."""
        found = self.context.stores.graph.earlier_text(self._doc_id)
        if found is None:
            raise MissingError(f"Document {self._doc_id} was not read.")
        return found


class FoundFolder(DerivedFolder[None]):
    """Serve ``concepts/``, with a link to the page of each concept for which the document is evidence."""

    __slots__ = ("_doc_id",)

    def __init__(self, context: TreeContext, doc_id: str) -> None:
        super().__init__(context, keys.archived(doc_id, "concepts"))
        self._doc_id = doc_id

    def mtime(self) -> int:
        return shown(self.context.stores, self._doc_id).ingested_at

    def entries(self) -> Sequence[tuple[str, Node]]:
        shown(self.context.stores, self._doc_id)
        concepts = self.context.stores.graph.concepts_of(self._doc_id)
        return [(f"{found.name}.md", FoundConcept(self.context, self._doc_id, found)) for found in concepts]


class FoundConcept(DerivedLink[None]):
    """Serve ``concepts/<name>.md``."""

    __slots__ = ("_doc_id", "_name")

    def __init__(self, context: TreeContext, doc_id: str, concept: Concept) -> None:
        super().__init__(context, keys.found_in(doc_id, concept.concept_id))
        self._doc_id = doc_id
        self._name = concept.name

    def measure(self) -> tuple[str, int]:
        ingested_at = shown(self.context.stores, self._doc_id).ingested_at
        return f"../../../concepts/{self._name}.concept/concept.md", ingested_at


# The views of DOCUMENT. Each function takes a doc_id, and returns None while the entry does not exist.


def original(context: TreeContext, doc_id: str) -> Node | None:
    """Return the original; None if the garage no longer has it."""
    document = context.stores.catalog.names.document(doc_id)
    if document is None or not has_original(context.stores, document):
        return None
    return OwnFile(context, doc_id, keys.archived(doc_id, "original"))


def text_txt(context: TreeContext, doc_id: str) -> Node | None:
    """Return the Text; None if the document was never read, or left the graph and its original is not kept."""
    return TextTxt(context, doc_id, keys.archived(doc_id, "text.txt")) if has_text(context.stores, doc_id) else None


def found_concepts(context: TreeContext, doc_id: str) -> Node | None:
    """Return ``concepts/``; None while the graph does not show the document."""
    return FoundFolder(context, doc_id) if context.stores.graph.document(doc_id) else None


def metadata_json(context: TreeContext, doc_id: str) -> Node:
    """Return ``metadata.json``."""

    def page() -> tuple[bytes, int]:
        shown, changed = metadata(context.stores, doc_id)
        return render(shown, context.config.tree.archive_base_url), changed

    return Page(context, keys.archived(doc_id, "metadata.json"), page)


def folder_changed(change: DocumentChanged, stale: Invalidations) -> None:
    """Invalidate the folder of a document."""
    stale.key(keys.archived(change.doc_id), data=True)


def entries_changed(change: DocumentPublished, stale: Invalidations) -> None:
    """Invalidate the folder's entries. They depend on whether the graph shows the document, and links to concepts on
    its Reading.
    """
    stores = stale.context.stores
    document = stores.catalog.names.document(change.doc_id)
    names = [MAIL, companion(MAIL), *stale.context.views.at(DOCUMENT)]
    if document is not None:
        own = document.source_id.rpartition("/")[2]
        names += [own, companion(own), own_name(stores, document), companion(own_name(stores, document))]
    for name in filter(None, names):
        stale.key_entry(keys.archived(change.doc_id), name.encode())
        stale.key(keys.archived(change.doc_id, name), data=True)
    if stale.has_group(MAILS):
        for inode, _ in stale.group(MAILS):  # a mail that came or left may be one of their conversations
            stale.inode(inode, data=True)


def joined_changed(doc_id: str, stale: Invalidations) -> None:
    """Invalidate what is put together from the parts of a document."""
    document = stale.context.stores.catalog.names.document(doc_id)
    own = document.source_id.rpartition("/")[2] if document is not None else ""
    for name in ("text.txt", "metadata.json", companion(own)):
        stale.key(keys.archived(doc_id, name), data=True)


def purged(change: DocumentPurged, stale: Invalidations) -> None:
    """Invalidate the folder and the original of a purged document."""
    stale.key_left(keys.archived(change.doc_id))
    stale.key(keys.archived(change.doc_id, "original"), data=True)
    stale.key(keys.archived(change.doc_id))


def minted(fact: VersionMinted, stale: Invalidations) -> None:
    """Invalidate the entry of a document that got a version."""
    stale.key_entry(keys.part(fact.ontology, "archive"), fact.doc_id.encode())


def known(stores: Stores, doc_id: str) -> Document:
    """Return the Document. Raise MissingError for a doc_id that was never issued or was purged."""
    found = stores.catalog.names.document(doc_id)
    if found is None:
        raise MissingError(f"No document has the id {doc_id}.")
    return found


def shown(stores: Stores, doc_id: str) -> DocumentRow:
    """Return the document's row in the graph. Raise MissingError while the graph does not show the document."""
    found = stores.graph.document(doc_id)
    if found is None:
        raise MissingError(f"Document {doc_id} does not stand in the graph.")
    return found


def is_original(row: DocumentRow) -> bool:
    """Return whether the original's bytes are the Text as UTF-8."""
    return row.text_sha256 == row.content_hash


def read_text(stores: Stores, row: DocumentRow) -> str:
    """Return the Text that the graph shows of a document, as :func:`text_read_by` does."""
    return text_read_by(stores, row.doc_id, row.reading)


def gate_note(stores: Stores, row: DocumentRow) -> str:
    """Return what the readable Text of a document says below it of its gated Sources."""
    return text_md.gate_note(stores.graph.gated_of(row.doc_id), row.ingest_version)


def readable_text(stores: Stores, row: DocumentRow) -> str:
    """Return the Text that the graph shows of a document, with the note on its gated Sources."""
    return read_text(stores, row) + gate_note(stores, row)


def marked_text(stores: Stores, row: DocumentRow) -> str:
    """Return the Text that the graph shows of a document, as :func:`text_read_by` does, with marks at its pages where its
    readable form has some, and the note on its gated Sources."""
    text = readable_text(stores, row)
    if not page_marks.has_marks(row.document_type, row.pages):
        return text
    reading = load_reading(stores.garage.objects, row.doc_id, row.reading)
    return page_marks.with_marks(text, row.document_type, row.pages, reading.places)


def _text_bytes(stores: Stores, row: DocumentRow) -> bytes:
    return encode(read_text(stores, row))


def text_read_by(stores: Stores, doc_id: str, reading_id: str) -> str:
    """Return the Text of a document by one of its Readings, from the original and the Reading. Raise StoreError if
    either is lost. Blocks.
    """
    try:
        reading = load_reading(stores.garage.objects, doc_id, reading_id)
        return text_of(stores.garage.objects, known(stores, doc_id), reading)
    except MissingError as error:
        raise StoreError(f"The garage has lost what document {doc_id} was read from: {error}") from error
