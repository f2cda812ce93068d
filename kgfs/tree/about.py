"""``about.md`` of an ontology."""

from __future__ import annotations

from kgfs.domain.documents import Ontology
from kgfs.errors import MissingError
from kgfs.knowledge.about import about
from kgfs.render.about import render
from kgfs.tree import keys
from kgfs.tree.derived import DerivedFile
from kgfs.tree.keys import Key
from kgfs.tree.tree_context import TreeContext


class AboutMd(DerivedFile):
    """Rendered when looked at: it costs some thirty indexed reads."""

    __slots__ = ("_ontology_id",)

    def __init__(self, context: TreeContext, ontology_id: str) -> None:
        super().__init__(context)
        self._ontology_id = ontology_id

    @property
    def key(self) -> Key:
        return keys.part(self._ontology_id, "about.md")

    def look(self) -> tuple[int, int]:
        page, changed = about(self.context.stores, self._ontology())
        return len(render(page)), changed

    def content(self) -> bytes:
        return render(about(self.context.stores, self._ontology())[0])

    def _ontology(self) -> Ontology:
        found = self.context.stores.journal.names.ontology(self._ontology_id)
        if found is None:
            raise MissingError("The ontology was removed.")
        return found
