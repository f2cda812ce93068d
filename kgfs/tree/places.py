"""Define the folders that contain views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgfs.domain.documents import Ontology
from kgfs.stores.graph.vocabulary import Concept
from kgfs.tree import keys
from kgfs.tree.view import Place

if TYPE_CHECKING:
    from kgfs.tree.garage import GarageView

ROOT: Place[None] = Place("root", "", lambda _, name: keys.fixed(name))
ONTOLOGY: Place[Ontology] = Place("ontology", "ontology", keys.part)
CONCEPT: Place[Concept] = Place("concept", "concept_id", keys.of_concept)
DOCUMENT: Place[str] = Place("document", "doc_id", keys.archived)
"""A view here is made from the doc_id."""
GARAGE: Place[GarageView] = Place("garage", "", lambda _, name: keys.kept(name))
"""The root of the garage view."""
