"""The entries of transcripts, as the projection writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kgfs.domain.parts import PartKind
from kgfs.domain.transcripts import entries_of
from kgfs.errors import MissingError
from kgfs.stores.stores import Stores


def session_entries(stores: Stores, doc_id: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a transcript that is read as a whole, or of a segment of one. Blocks: reads the garage.

    A segment belongs to the session of the transcript that it is a part of. Nothing is yielded for what left meanwhile.
    """
    segment = stores.graph.segments([doc_id]).get(doc_id)
    document = stores.catalog.names.document(doc_id)
    if segment is None or document is None:
        return
    parents = [row.parent for row in stores.catalog.names.part_of(doc_id) if row.kind == PartKind.SEGMENT]
    sessions = {row.doc_id: row for row in stores.graph.sessions(document.ontology)}
    found = next((sessions[one] for one in (doc_id, *parents) if one in sessions), None)
    if found is None:
        return
    try:
        content = stores.garage.objects.get(document.key)
    except MissingError:
        return
    for entry in entries_of(content, segment.first_entry):
        yield {
            "session_id": found.session_id,
            "interface": found.interface,
            "n": entry.n,
            "content": entry.content,
            "content_length": len(entry.content),
            "entry_type": entry.type,
            "role": entry.role or None,
            "timestamp": entry.timestamp or None,
            "raw_entry": entry.raw,
            "source_type": "session_transcript",
        }
