"""Serve ``mentions.tsv`` of a concept: every place where it is named, in order of publication."""

from __future__ import annotations

from kgfs.errors import MissingError
from kgfs.render.tsv import MENTIONS_HEADER
from kgfs.stores.graph.vocabulary import Concept
from kgfs.stores.thread_slots import blocks
from kgfs.tree import keys
from kgfs.tree.changes import MentionsChanged
from kgfs.tree.derived import DerivedFile
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.node import Handle, Rendered
from kgfs.tree.streamed import AT_ONCE, Streamed
from kgfs.tree.tree_context import TreeContext

NAME = "mentions.tsv"


class MentionsTsv(DerivedFile[None]):
    """Serve ``mentions.tsv``. Its size is a sum that each commit adds to; it is rendered document by document."""

    __slots__ = ("_concept_id",)

    def __init__(self, context: TreeContext, concept: Concept) -> None:
        super().__init__(context, keys.of_concept(concept.concept_id, NAME))
        self._concept_id = concept.concept_id

    def measure(self) -> tuple[int, int]:
        found = self.context.stores.graph.named.file(self._concept_id)
        if found is None:
            raise MissingError("The concept is gone.")
        return len(MENTIONS_HEADER) + found.size, found.mtime

    def handle(self) -> Handle:
        blocks()
        graph, concept_id = self.context.stores.graph, self._concept_id
        size, mtime = self.measure()
        parts = [("", len(MENTIONS_HEADER)), *graph.named.documents(concept_id)]

        def lines(doc_id: str) -> bytes:
            return graph.named.lines(concept_id, doc_id) if doc_id else MENTIONS_HEADER

        if size <= AT_ONCE:
            return Rendered(b"".join(lines(doc_id) for doc_id, _ in parts))
        return Streamed((concept_id, size, mtime), parts, lines)


def changed(change: MentionsChanged, stale: Invalidations) -> None:
    """Invalidate the file of a concept whose places changed."""
    stale.key(keys.of_concept(change.concept_id, NAME), data=True)
