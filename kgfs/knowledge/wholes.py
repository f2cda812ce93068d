"""Documents as a search shows them: the segments of a transcript are one, its Sources numbered through."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kgfs.domain.parts import PartKind
from kgfs.knowledge.ranking import ChunkRef
from kgfs.stores.graph.vocabulary import DocumentRow
from kgfs.stores.stores import Stores


@dataclass(frozen=True, slots=True)
class Whole:
    document: DocumentRow
    """The document, or the transcript."""
    members: tuple[DocumentRow, ...]
    """The segments of the transcript that are read, in order; else the document alone."""

    @property
    def count(self) -> int:
        """Return the number of Sources."""
        return sum(one.chunk_count for one in self.members)

    @property
    def content_length(self) -> int:
        """Return the number of characters of the Text; those of segments are joined by line ends."""
        return sum(one.content_length for one in self.members) + len(self.members) - 1

    def number(self, place: ChunkRef) -> int:
        """Return the number of a Source of one of the members among all, from 0."""
        before = 0
        for one in self.members:
            if one.doc_id == place[0]:
                return before + place[1]
            before += one.chunk_count
        raise KeyError(place)

    def place(self, number: int) -> ChunkRef | None:
        """Return the Source with this number; None where there is none."""
        for one in self.members:
            if 0 <= number < one.chunk_count:
                return one.doc_id, number
            number -= one.chunk_count
        return None


def wholes_of(stores: Stores, doc_ids: Collection[str]) -> dict[str, str]:
    """Return the doc_ids of the transcripts that segments among these documents belong to, those that are shown."""
    graph, names = stores.graph, stores.catalog.names
    parents = {
        doc_id: [part.parent for part in names.part_of(doc_id) if part.kind == PartKind.SEGMENT]
        for doc_id in graph.segment_ids(doc_ids)
    }
    shown = graph.documents_among(sorted({one for several in parents.values() for one in several}))
    return {doc_id: first for doc_id, several in parents.items() if (first := next(filter(shown.get, several), ""))}


def whole_of(stores: Stores, doc_id: str) -> Whole | None:
    """Return a document with its segments; None if the graph does not show it."""
    document = stores.graph.document(doc_id)
    if document is None or document.chunk_count:
        return Whole(document, (document,)) if document else None
    children = [part.child for part in stores.catalog.names.parts(doc_id) if part.kind == PartKind.SEGMENT]
    shown = stores.graph.documents_among(children)
    return Whole(document, tuple(shown[child] for child in children if child in shown) or (document,))
