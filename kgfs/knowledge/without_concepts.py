"""Why a document gave no concept, in words for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from kgfs.domain.languages import ENGLISH, NAMES, UNKNOWN
from kgfs.domain.parts import PartKind
from kgfs.domain.text import LONGEST_PROSE
from kgfs.stores.graph.vocabulary import TEXT_ONLY, DocumentRow, SourceRow
from kgfs.stores.stores import Stores

LOOKED_AT = 50
"""The Sources at the beginning of a document that tell why it gave nothing."""
LISTED = 0.8
"""Share of the lines of a document that is only a list: items, rows and headings."""
_ROW = re.compile(r"\s*(?:[-*+•–]\s|\(?\d{1,3}[.)]\s|\||#{1,6}\s)")


def why_none(stores: Stores, row: DocumentRow) -> str:
    """Return why a document that the graph shows gave no concept; '' where it has one, or its concepts follow. Quick."""
    if row.status == TEXT_ONLY or stores.graph.found_in(row.doc_id)[0]:
        return ""
    if any(part.kind != PartKind.ATTACHMENT for part in stores.catalog.names.parts(row.doc_id, limit=1)):
        return "its parts are documents of their own, which have the concepts"
    if row.content_length > LONGEST_PROSE:
        return f"longer than {LONGEST_PROSE // 1_000_000} million characters: it is found by its words alone"
    sources = stores.graph.sources(row.doc_id, limit=LOOKED_AT)
    if not any(source.full_text.strip() for source in sources):
        return "it has no text"
    if row.status == "gated":
        return f"gated: {Counter(source.gated for source in sources).most_common(1)[0][0]}"
    if _is_list(sources):
        return "it is only a list or a table"
    if row.language not in ("", ENGLISH):
        named = "not known" if row.language == UNKNOWN else NAMES.get(row.language, row.language)
        return f"its language is {named}: kgfs counts words there and reads no grammar, and no name stood out"
    candidates, places = stores.graph.terms.of_document(row.doc_id)
    if not candidates:
        return "it names nothing that could be looked up"
    said = "it names nothing twice" if places == 1 else "it says too little of what it names"
    return f"{said}; terms.tsv lists that"


def _is_list(sources: Sequence[SourceRow]) -> bool:
    lines = [line for source in sources for line in source.full_text.splitlines() if line.strip()]
    rows = sum(1 for line in lines if _ROW.match(line))
    return len(lines) > 1 and rows >= LISTED * len(lines)
