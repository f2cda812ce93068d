"""``about.md`` of an ontology."""

from __future__ import annotations

from kgfs.domain.documents import Ontology
from kgfs.errors import MissingError
from kgfs.knowledge.about import about
from kgfs.render.about import render
from kgfs.tree import keys
from kgfs.tree.derived import DerivedFile
from kgfs.tree.keys import Key
from kgfs.tree.world import World


class AboutMd(DerivedFile):
    """Rendered when looked at: it costs some thirty indexed reads."""

    __slots__ = ("_ontology_id",)

    def __init__(self, world: World, ontology_id: str) -> None:
        super().__init__(world)
        self._ontology_id = ontology_id

    @property
    def key(self) -> Key:
        return keys.part(self._ontology_id, "about.md")

    def look(self) -> tuple[int, int]:
        page, changed = about(self.world.stores, self._ontology())
        return len(render(page)), changed

    def content(self) -> bytes:
        return render(about(self.world.stores, self._ontology())[0])

    def _ontology(self) -> Ontology:
        found = self.world.stores.journal.names.ontology(self._ontology_id)
        if found is None:
            raise MissingError("The ontology was removed.")
        return found
