"""Serve ``terms.tsv`` of an ontology: what could be looked up and is no concept."""

from __future__ import annotations

from kgfs.domain.documents import Ontology
from kgfs.errors import MissingError
from kgfs.render.tsv import TERMS_HEADER
from kgfs.stores.thread_slots import blocks
from kgfs.tree import keys
from kgfs.tree.derived import DerivedFile
from kgfs.tree.node import Handle, Rendered
from kgfs.tree.streamed import AT_ONCE, Streamed
from kgfs.tree.tree_context import TreeContext

NAME = "terms.tsv"


class TermsTsv(DerivedFile[None]):
    """Serve ``terms.tsv``, in the order of the terms' keys. Its size is a sum that each commit adds to."""

    __slots__ = ("_ontology",)

    def __init__(self, context: TreeContext, ontology: Ontology) -> None:
        super().__init__(context, keys.part(ontology.id, NAME))
        self._ontology = ontology

    def measure(self) -> tuple[int, int]:
        stores, ontology_id = self.context.stores, self._ontology.id
        if stores.catalog.names.ontology(ontology_id) is None:
            raise MissingError("The ontology was removed.")
        changed = max(self._ontology.made_at, stores.graph.changed_at(ontology_id))
        return len(TERMS_HEADER) + stores.graph.terms.size(ontology_id), changed

    def handle(self) -> Handle:
        blocks()
        graph, ontology_id = self.context.stores.graph, self._ontology.id
        size, mtime = self.measure()
        parts = [(("", ""), len(TERMS_HEADER)), *graph.terms.parts(ontology_id, AT_ONCE)]

        def lines(part: tuple[str, str]) -> bytes:
            return graph.terms.lines(ontology_id, *part) if part[1] else TERMS_HEADER

        if size <= AT_ONCE:
            return Rendered(b"".join(lines(part) for part, _ in parts))
        return Streamed((ontology_id, size, mtime), parts, lines)
