"""Make ``about.md`` of an ontology."""

from __future__ import annotations

from kgfs.domain.documents import Ontology
from kgfs.errors import MissingError
from kgfs.knowledge.about import about
from kgfs.render.about import render
from kgfs.tree import keys
from kgfs.tree.derived import Page
from kgfs.tree.tree_context import TreeContext


def about_md(context: TreeContext, ontology: Ontology) -> Page:
    """Return the page, which is rendered when its attributes are read. Rendering costs some thirty indexed reads."""

    def page() -> tuple[bytes, int]:
        found = context.stores.catalog.names.ontology(ontology.id)
        if found is None:
            raise MissingError("The ontology was removed.")
        shown, changed = about(context.stores, found)
        return render(shown), changed

    return Page(context, keys.part(ontology.id, "about.md"), page)
