"""Sessions: the transcripts that the graph shows, their segments and entries."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from kgfs.domain.parts import PartKind
from kgfs.domain.sessions import Fold, SegmentRow, SessionRow
from kgfs.domain.transcripts import NOT_TOLD, EntryKind, as_before, entries_of, entry_of, heading_of, kinds_of, lines_of
from kgfs.errors import MissingError
from kgfs.knowledge.document_location import standing_of
from kgfs.knowledge.wholes import wholes_of
from kgfs.render import session as render
from kgfs.stores.graph.vocabulary import DocumentRow, SourceRow
from kgfs.stores.readings import Reading
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


def copied_from(stores: Stores, ontology_id: str, row: SessionRow) -> str:
    """Return the name of the folder of the session that a transcript is a resumed copy of: the one with the same id, or
    which begins with the same entry, that came first. '' for the first itself. Quick."""
    same = {
        name: other
        for name, other in named(stores, ontology_id).items()
        if other.session_id == row.session_id or (row.first_uuid and other.first_uuid == row.first_uuid)
    }
    first = min(same, key=lambda name: (*_history(stores, same[name].doc_id), name), default="")
    return "" if not first or same[first].doc_id == row.doc_id else first


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
        copies=copied_from(stores, document.ontology, row),
    )


def segment_with(segments: Sequence[SegmentRow], n: int) -> SegmentRow | None:
    """Return the segment that has the entry ``n``; None where none has it."""
    at = bisect_right(segments, n, key=lambda segment: segment.first_entry) - 1
    found = segments[at] if at >= 0 else None
    return found if found is not None and n - found.first_entry < len(found.entry_sizes) else None


def folds_in(row: SessionRow, segment: SegmentRow) -> list[Fold]:
    """Return the folds of a session that are in a segment."""
    end = segment.first_entry + len(segment.entry_sizes)
    return [each for each in row.folds if segment.first_entry <= each.first and each.last < end]


def untold(
    stores: Stores, document: DocumentRow, reading: Reading, sources: Iterable[SourceRow]
) -> list[tuple[int, int]]:
    """Return the spans of the Text of a transcript, or of a segment, whose entries are no part of its conversation, as it was when
    the segment was read or as it is now. Of the spans those are known that begin in ``sources``. Quick."""
    whole = wholes_of(stores, {document.doc_id}).get(document.doc_id, document.doc_id)
    folds, rows = stores.graph.folds(whole), list(sources)
    starts = [position for position, _ in reading.places]
    found: list[tuple[int, int]] = []
    for (start, place), end in zip(reading.places, [*starts[1:], reading.text_length], strict=True):
        n = int(place.get("entry", 0))
        behind = bisect_right(rows, start, key=lambda row: row.char_start)
        row = rows[behind - 1] if behind else None
        heads = tuple(f"{heading_of(n, kind)}\n" for kind in NOT_TOLD)
        if any(each.first <= n <= each.last for each in folds) or (
            row is not None and row.full_text.startswith(heads, start - row.char_start)
        ):
            found.append((start, end))
    return found


def page_sizes(row: SessionRow, segment: SegmentRow) -> list[int]:
    """Return the bytes of the page of each entry of a segment."""
    sizes = list(segment.entry_sizes)
    for each in folds_in(row, segment):
        for n in range(each.first, each.last + 1):
            sizes[n - segment.first_entry] += render.kind_size(each.kind)
    return sizes


def entry_page(stores: Stores, row: SessionRow, segment: SegmentRow, n: int) -> bytes:
    """Return the page of an entry. Blocks: reads the segment's original."""
    objects: Any = stores.garage.objects
    lines, kinds = _entries(objects, _key(stores, segment), segment.first_entry)
    of_fold = [each.kind for each in folds_in(row, segment) if each.first <= n <= each.last]
    at = n - segment.first_entry
    if segment.is_first_form:
        return render.entry_page(as_before(entry_of(n, lines[at])), of_fold)
    return render.entry_page(entry_of(n, lines[at]), [*([kinds[n]] if n in kinds else []), *of_fold])


def conversation_size(row: SessionRow, segment: SegmentRow) -> int:
    """Return the bytes that a segment takes in session.md."""
    return segment.conversation_size + sum(map(render.fold_size, folds_in(row, segment)))


def conversation(stores: Stores, row: SessionRow, segment: SegmentRow) -> bytes:
    """Return what session.md shows of a segment. Blocks: reads the segment's original."""
    content = stores.garage.objects.get(_key(stores, segment))
    entries = list(entries_of(content, segment.first_entry))
    return render.conversation(entries, folds_in(row, segment), first_form=segment.is_first_form)


def forget_cached() -> None:
    """Drop the lines that are in memory, since a document was purged."""
    _entries.cache_clear()


def _key(stores: Stores, segment: SegmentRow) -> str:
    document = stores.catalog.names.document(segment.doc_id)
    if document is None:
        raise MissingError(f"No document has the id {segment.doc_id}.")
    return document.key


@lru_cache(maxsize=CACHED)
def _entries(objects: Any, key: str, first: int) -> tuple[tuple[bytes, ...], dict[int, EntryKind]]:
    """Return the lines of a segment, and the kinds of its entries."""
    content = objects.get(key)
    return tuple(lines_of(content)), kinds_of(entries_of(content, first))
