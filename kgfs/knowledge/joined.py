"""The Text of a document that consists of parts: that of its parts in order, put together when it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kgfs.domain.parts import PartKind
from kgfs.render import text as text_md
from kgfs.stores.graph.vocabulary import DocumentRow
from kgfs.stores.stores import Stores

BETWEEN = b"\n"
"""Stands between the Texts of two parts."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span of a file, of which the bytes are made when they are read."""

    size: int
    content: Callable[[], bytes]


def consists_of_parts(row: DocumentRow) -> bool:
    """Return whether a document may have its text in parts alone: it has no Sources."""
    return row.chunk_count == 0


def shown_parts(stores: Stores, doc_id: str) -> list[DocumentRow]:
    """Return the parts of a document that the graph shows, in order, attachments left out. Quick."""
    rows = stores.catalog.names.parts(doc_id)
    children = [row.child for row in rows if row.child and row.kind != PartKind.ATTACHMENT]
    shown = stores.graph.documents_among(children)
    return [shown[child] for child in children if child in shown]


def spans_of_text(stores: Stores, parts: Sequence[DocumentRow], read: Callable[[DocumentRow], bytes]) -> list[Span]:
    """Return the spans of ``text.txt``. ``read`` returns the Text of a part as UTF-8. Quick."""
    sizes = stores.graph.text_sizes([part.doc_id for part in parts])
    return _between([Span(sizes[part.doc_id], lambda part=part: read(part)) for part in parts])  # type: ignore[misc]


def spans_of_page(parts: Sequence[DocumentRow], read: Callable[[DocumentRow], str]) -> list[Span]:
    """Return the spans of the Text as readable pages show it. ``read`` returns the Text of a part. Quick."""

    def span(part: DocumentRow) -> Span:
        about = part.source_title, part.document_type, part.size_bytes, part.guessed_encoding
        header = text_md.header_size(*about)
        return Span(part.text_md_size - header, lambda: text_md.body(part.document_type, read(part)))

    return _between([span(part) for part in parts])


def size_of(spans: Sequence[Span]) -> int:
    """Return the bytes of all spans."""
    return sum(span.size for span in spans)


def _between(spans: Sequence[Span]) -> list[Span]:
    gap = Span(len(BETWEEN), lambda: BETWEEN)
    return [one for span in spans for one in (gap, span)][1:]
