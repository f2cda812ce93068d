"""The entry of a transcript in which a Source says what was asked for."""

from __future__ import annotations

from bisect import bisect_right

from kgfs.domain.transcripts import MEDIA_TYPES, entries_in
from kgfs.domain.word_forms import WORD, forms_of
from kgfs.render.search import words_of
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import SourceRow

_TYPES = frozenset(MEDIA_TYPES.values())


class Entries:
    """The entries that a question's words stand in."""

    def __init__(self, graph: Graph, words: str) -> None:
        self._graph = graph
        self._wanted = words_of(words)

    def of(self, document_type: str, row: SourceRow) -> int | None:
        """Return the entry in which the first of the question's words stands in a Source, else that in which it begins; None
        for a document that is no transcript."""
        if document_type not in _TYPES:
            return None
        text = row.full_text
        words = WORD.finditer(text)
        at = next((one.start() for one in words if not self._wanted.isdisjoint(forms_of(one[0]))), 0)
        begun = entries_in(text)
        before = bisect_right(begun, at, key=lambda entry: entry[0])
        return begun[before - 1][1] if before else self._at_the_start(row)

    def _at_the_start(self, row: SourceRow) -> int | None:
        """Return the entry that goes on at the start of a Source: the last one that began before."""
        for index in range(row.chunk_index - 1, -1, -1):
            source = self._graph.source(row.doc_id, index)
            begun = entries_in(source.full_text) if source is not None else []
            if begun:
                return begun[-1][1]
        return None
