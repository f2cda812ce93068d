"""Serve ``text/<path>.md``, each document that was read, as Markdown. The folders mirror those of documents/.

A Markdown document keeps its name. Any other document has ``.md`` added, and its name id in hexadecimal if that name
is taken in its folder or too long. While a new version is being read, the Text of the previous version is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from kgfs.domain.documents import Name, NameKind
from kgfs.domain.parts import PartKind
from kgfs.errors import MissingError
from kgfs.knowledge.document_location import place_of
from kgfs.knowledge.joined import Span, consists_of_parts, shown_parts, size_of, spans_of_page
from kgfs.render import page_marks
from kgfs.render import text as render
from kgfs.render.names import id_in, with_id, with_suffix
from kgfs.stores.catalog.facts import VersionMinted
from kgfs.stores.graph.vocabulary import DocumentRow
from kgfs.stores.stores import Stores
from kgfs.tree import keys
from kgfs.tree.archive import is_original, marked_text, readable_text
from kgfs.tree.changes import DocumentPublished, NameChanged, NameShown
from kgfs.tree.derived import DerivedFile, open_original, token_of
from kgfs.tree.documents import children, live
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.node import Handle, Node
from kgfs.tree.spans import Spans
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.versions import Mirror, MirrorFolder

SUFFIX = ".md"


@dataclass(frozen=True, slots=True)
class Shown:
    """A file of documents/ with the Document whose Text is shown for it."""

    row: DocumentRow
    path: str
    since: int
    """Time at which the file came to that path or got that content, in nanoseconds."""

    @property
    def size(self) -> int:
        row = self.row
        marks = page_marks.size(row.document_type, row.pages)
        return render.size(row.text_md_size, row.document_type, self.path) + marks

    @property
    def mtime(self) -> int:
        return max(self.row.ingested_at, self.since)


class TextFolder(MirrorFolder):
    """Serve ``text/`` or the mirror of a folder of documents/ in it."""

    __slots__ = ("_ontology_id",)

    def __init__(self, context: TreeContext, ontology_id: str, name_id: int) -> None:
        super().__init__(context, keys.text_folder(name_id), name_id)
        self._ontology_id = ontology_id

    def mtime(self) -> int:
        """Return the newest time of the folder's names and of publications, both of which add and remove Texts."""
        stores = self.context.stores
        published = stores.graph.changed_at(self._ontology_id)
        return max(live(stores.catalog.names, self.name_id).mtime, published)

    def lookup(self, name: str) -> Node | None:
        names = self.context.stores.catalog.names
        child = names.child(self.name_id, name)
        if child is not None and child.kind is NameKind.FOLDER:
            return self._folder(child)
        stem = names.child(self.name_id, name.removesuffix(SUFFIX)) if name.endswith(SUFFIX) else None
        name_id = id_in(name, SUFFIX)
        numbered = names.name(name_id) if name_id and name_id < 1 << 63 else None
        for found in (child, stem, numbered):
            if found is None or found.parent != self.name_id or found.kind is not NameKind.FILE:
                continue
            row = published(self.context.stores, found)
            if row is not None and self._called(found, row, taken=None) == name:
                return TextFile(self.context, found.id, None)
        return None

    def entries(self) -> Sequence[tuple[str, Node]]:
        stores = self.context.stores
        here = place_of(stores.catalog.names, live(stores.catalog.names, self.name_id))
        if here is None:
            raise MissingError("The folder was removed.")
        rows = list(children(stores.catalog.names, self.name_id))
        taken = {row.name for row in rows}
        listed: list[tuple[str, Node]] = []
        for name in rows:
            if name.kind is NameKind.FOLDER:
                node = self._folder(name)
                listed += [(name.name, node)] if node else []
            elif name.kind is NameKind.FILE and (row := published(stores, name)):
                path = f"{here[0]}/{name.name}" if here[0] else name.name
                since = max(here[1], name.arrived_at or name.ctime, _settled_at(stores, name))
                listed.append(
                    (self._called(name, row, taken), TextFile(self.context, name.id, Shown(row, path, since)))
                )
        return sorted(listed, key=lambda entry: entry[0])

    def _folder(self, name: Name) -> TextFolder | None:
        """Return the mirror of a folder; None for a dot-folder, since nothing below it is a Document."""
        return None if name.name.startswith(".") else TextFolder(self.context, self._ontology_id, name.id)

    def _called(self, name: Name, row: DocumentRow, taken: set[str] | None) -> str:
        """Return the name of a file's Text. ``taken`` are the names in the folder, if the caller has them."""
        if render.is_markdown(row.document_type):
            return name.name
        plain = with_suffix(name.name, SUFFIX)
        if plain is None:
            return with_id(name.name, name.id, SUFFIX)
        rival = plain in taken if taken is not None else self.context.stores.catalog.names.child(self.name_id, plain)
        return with_id(name.name, name.id, SUFFIX) if rival else plain


class TextFile(DerivedFile[Shown]):
    """Serve ``text/<path>.md``."""

    __slots__ = ("_name_id",)

    def __init__(self, context: TreeContext, name_id: int, shown: Shown | None) -> None:
        super().__init__(context, keys.text_file(name_id), shown)
        self._name_id = name_id

    def measure(self) -> tuple[int, int]:
        shown = self.take_row() or self._shown()
        if consists_of_parts(shown.row) and (parts := shown_parts(self.context.stores, shown.row.doc_id)):
            at = max(shown.mtime, *(part.ingested_at for part in parts))
            return shown.size + size_of(spans_of_page(parts, partial(readable_text, self.context.stores))), at
        return shown.size, shown.mtime

    def handle(self) -> Handle:
        shown = self._shown()
        row = shown.row
        if consists_of_parts(row) and (parts := shown_parts(self.context.stores, row.doc_id)):
            header = self.content()
            spans = spans_of_page(parts, partial(readable_text, self.context.stores))
            return Spans([Span(len(header), lambda: header), *spans], token_of(self.context))
        if render.is_markdown(row.document_type) and is_original(row) and row.text_md_size == row.size_bytes:
            # The next version has the same inode, so the kernel must not cache pages.
            return open_original(self.context.stores, row.garage_key, row.content_hash)
        return super().handle()

    def content(self) -> bytes:
        shown = self._shown()
        row = shown.row
        text = marked_text(self.context.stores, row)
        return render.render(
            row.source_title, row.document_type, row.size_bytes, text, shown.path, row.guessed_encoding
        )

    def _shown(self) -> Shown:
        stores = self.context.stores
        name = live(stores.catalog.names, self._name_id)
        row, here = published(stores, name), place_of(stores.catalog.names, name)
        if row is None or here is None:
            raise MissingError("The document has no text any more.")
        return Shown(row, here[0], max(here[1], _settled_at(stores, name)))


def published(stores: Stores, name: Name) -> DocumentRow | None:
    """Return the newest of a file's versions that the graph shows; None if there is none."""
    if not name.version:
        return None
    found = stores.graph.document(name.doc_id) if name.doc_id else None
    if found is not None:
        return found
    for version in reversed(stores.catalog.names.versions(name.id)):
        if version.doc_id != name.doc_id and (found := stores.graph.document(version.doc_id)):
            return found
    return None


def _settled_at(stores: Stores, name: Name) -> int:
    versions = stores.catalog.names.versions(name.id) if name.version > 1 else []
    return versions[-1].minted_at if versions else 0


def _called(name: str, name_id: int) -> tuple[str | None, ...]:
    return name, with_suffix(name, SUFFIX), with_id(name, name_id, SUFFIX)


MIRROR = Mirror(SUFFIX, keys.text_folder, keys.text_file, keys.text_file, _called)


def name_changed(change: NameChanged | VersionMinted, stale: Invalidations) -> None:
    """Invalidate the Text of a name."""
    stale.key(keys.text_file(change.id), data=True)


def document_published(change: DocumentPublished, stale: Invalidations) -> None:
    """Invalidate the Texts of all names of a document, and the entries that may be their names."""
    names = stale.context.stores.catalog.names
    above = {row.parent for row in names.part_of(change.doc_id) if row.kind != PartKind.ATTACHMENT}
    for name in [name for doc_id in sorted({change.doc_id, *above}) for name in names.names_of(doc_id)]:
        MIRROR.shown(NameShown(name.parent, name.name, name.id), stale)
        stale.key_left(keys.text_file(name.id))
        stale.key(keys.text_file(name.id), data=True)
