"""``citation.json``: a quote with its position in the Text and in the shown ``source.txt``.

The positions in ``source.txt`` depend on the path that it shows, and so does the number of their digits. Therefore
the size of the file is not stored: it is found by rendering the file, which is cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgfs.render.source import Span
from kgfs.render.words import json_lines


@dataclass(slots=True, unsafe_hash=True)  # frozen takes many times as long to make
class Citation:
    document: str
    """The path that ``source.txt`` shows."""
    paths: tuple[str, ...]
    """All files in documents/ that have these bytes, in order of deposit; none while the document is stale or
    removed."""
    ontology: str
    """The name of the ontology."""
    concept: str
    """The concept's directory name without ``.concept``."""
    content_hash: str
    key: str
    doc_id: str
    chunk_id: str
    text_sha256: str
    quote: str
    char_start: int
    char_end: int
    byte_start: int
    byte_end: int
    """Byte offset in the Text as UTF-8."""
    line_start: int
    line_end: int
    page: int | None
    locator: Mapping[str, str | int]
    """The page, slide, sheet with row and column, message, entry or cell of the original; empty where it has none."""
    section_path: tuple[str, ...]
    stale: bool
    removed: bool
    """Whether the document was forgotten and its knowledge kept: no file has the content any more, and none will get
    it."""
    spans: tuple[Span, ...]
    """Spans of the quote in ``source.txt``."""


def render(citation: Citation) -> bytes:
    fields: dict[str, Any] = {
        "document": citation.document,
        "paths": list(citation.paths),
        "ontology": citation.ontology,
        "concept": citation.concept,
        "content_hash": citation.content_hash,
        "key": citation.key,
        "doc_id": citation.doc_id,
        "chunk_id": citation.chunk_id,
        "text_sha256": citation.text_sha256,
        "quote": citation.quote,
        "char_start": citation.char_start,
        "char_end": citation.char_end,
        "byte_start": citation.byte_start,
        "byte_end": citation.byte_end,
        "line_start": citation.line_start,
        "line_end": citation.line_end,
        "page": citation.page,
        "locator": dict(citation.locator) or None,
        "section_path": list(citation.section_path),
        "stale": citation.stale,
        "removed": citation.removed,
    }
    if len(citation.spans) == 1:
        fields["source_start"], fields["source_end"] = citation.spans[0]
    else:
        fields["source_spans"] = [list(span) for span in citation.spans]
    return json_lines(fields)
