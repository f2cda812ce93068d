"""Sessions: the transcripts that the graph shows, their segments and entries."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from kgfs.domain.parts import PartKind
from kgfs.domain.sessions import SegmentRow, SessionRow
from kgfs.domain.transcripts import entries_of, entry_of, lines_of
from kgfs.errors import MissingError
from kgfs.knowledge.document_location import standing_of
from kgfs.render import session as render
from kgfs.stores.stores import Stores

LONGEST = 120
CACHED = 4
"""Segments whose lines stay in memory."""


def named(stores: Stores, ontology_id: str) -> dict[str, SessionRow]:
    """Return the transcripts of an ontology by the names of their folders: the session's id. Quick.

    Of several files with one session's id, the file that came first has that name, and each other one a number behind
    it that it keeps, whatever is appended to any of them.
    """
    rows = list(stores.graph.sessions(ontology_id))
    several = {session_id for session_id, count in Counter(row.session_id for row in rows).items() if count > 1}
    came = {row.doc_id: _history(stores, row.doc_id) for row in rows if row.session_id in several}
    found: dict[str, SessionRow] = {}
    for row in sorted(rows, key=lambda row: came.get(row.doc_id, (0, 0))):
        name = re.sub(r"[^\w.+-]+", "-", row.session_id)[:LONGEST].lstrip(".") or row.doc_id
        _, number = came.get(row.doc_id, (0, 0))
        further = f"{name}~{number:x}" if number else f"{name}~{row.doc_id}"
        found[name if name not in found else f"{name}~{row.doc_id}" if further in found else further] = row
    return dict(sorted(found.items()))


def _history(stores: Stores, doc_id: str) -> tuple[int, int]:
    """Return when a file's first version was made, and the number of its history; zeros if it has none."""
    lineage = next(iter(stores.catalog.names.lineages(doc_id)), 0)
    return stores.catalog.names.history(lineage)[0].minted_at if lineage else 0, lineage


def segments_of(stores: Stores, row: SessionRow) -> list[SegmentRow]:
    """Return the segments of a transcript that are read, in order; the transcript itself if it has none. Quick."""
    parts = stores.catalog.names.parts(row.doc_id)
    children = [part.child for part in parts if part.kind == PartKind.SEGMENT] or [row.doc_id]
    found = stores.graph.segments(children)
    return [found[child] for child in children if child in found]


def changed_at(stores: Stores, row: SessionRow, segments: Sequence[SegmentRow]) -> int:
    """Return when what is shown of a session last changed, in nanoseconds. Quick."""
    shown = stores.graph.documents_among([row.doc_id, *(segment.doc_id for segment in segments)])
    return max((one.ingested_at for one in shown.values()), default=0)


def about(stores: Stores, row: SessionRow, segments: Sequence[SegmentRow]) -> render.Session:
    """Return what is known of a session. Quick."""
    document, shown = stores.catalog.names.document(row.doc_id), stores.graph.document(row.doc_id)
    if document is None or shown is None:
        raise MissingError(f"The transcript {row.doc_id} does not stand in the graph.")
    return render.Session(
        session_id=row.session_id,
        interface=row.interface,
        doc_id=row.doc_id,
        document=standing_of(stores.catalog.names, row.doc_id).origin.path,
        title=shown.source_title,
        entry_count=row.entry_count,
        total_bytes=document.size,
        first_at=row.first_at,
        last_at=row.last_at,
        segments=len(segments) if [one.doc_id for one in segments] != [row.doc_id] else 0,
        read_entries=sum(len(segment.entry_sizes) for segment in segments),
    )


def segment_with(segments: Sequence[SegmentRow], n: int) -> SegmentRow | None:
    """Return the segment that has the entry ``n``; None where none has it."""
    at = bisect_right(segments, n, key=lambda segment: segment.first_entry) - 1
    found = segments[at] if at >= 0 else None
    return found if found is not None and n - found.first_entry < len(found.entry_sizes) else None


def entry_page(stores: Stores, segment: SegmentRow, n: int) -> bytes:
    """Return the page of an entry. Blocks: reads the segment's original."""
    objects: Any = stores.garage.objects
    lines = _lines(objects, _key(stores, segment))
    return render.entry_page(entry_of(n, lines[n - segment.first_entry]))


def conversation(stores: Stores, segment: SegmentRow) -> bytes:
    """Return what session.md shows of a segment. Blocks: reads the segment's original."""
    content = stores.garage.objects.get(_key(stores, segment))
    return render.conversation(list(entries_of(content, segment.first_entry)))


def forget_cached() -> None:
    """Drop the lines that are in memory, since a document was purged."""
    _lines.cache_clear()


def _key(stores: Stores, segment: SegmentRow) -> str:
    document = stores.catalog.names.document(segment.doc_id)
    if document is None:
        raise MissingError(f"No document has the id {segment.doc_id}.")
    return document.key


@lru_cache(maxsize=CACHED)
def _lines(objects: Any, key: str) -> tuple[bytes, ...]:
    return tuple(lines_of(objects.get(key)))
