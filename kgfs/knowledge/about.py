"""The content of an ontology's ``about.md``."""

from __future__ import annotations

from kgfs.domain.documents import Ontology
from kgfs.knowledge.document_location import standing_of
from kgfs.knowledge.unread import unread_count, unread_in
from kgfs.render.about import About, MainConcept, NewDocument, UnreadDocument
from kgfs.stores.stores import Stores

MAIN = 20
NEWEST = 10
UNREAD = 20


def about(stores: Stores, ontology: Ontology) -> tuple[About, int]:
    """Return the page and the time when it last changed (nanoseconds). Quick."""
    counts = stores.graph.counts(ontology.id)
    changed = max(ontology.made_at, stores.graph.changed_at(ontology.id))
    newest: list[NewDocument] = []
    for document in stores.catalog.names.newest(ontology.id, NEWEST):
        changed = max(changed, document.deposited_at, document.removed_at)
        standing = standing_of(stores.catalog.names, document.doc_id)
        if not standing.origin.note:
            changed = max(changed, standing.changed_at)
            row, path = stores.graph.document(document.doc_id), standing.origin.path.removeprefix("documents/")
            newest.append(NewDocument(path, document.deposited_at, row.language if row is not None else ""))
    unread = unread_in(stores.catalog.names, ontology.id, UNREAD)
    changed = max((changed, *(one.failed_at for one in unread)))
    main = tuple(
        MainConcept(concept.name, concept.label, concept.evidence, concept.related)
        for concept in stores.graph.popular(ontology.id, MAIN)
    )
    page = About(
        name=ontology.name,
        documents=counts["documents"],
        concepts=counts["concepts"],
        relationships=counts["relationships"],
        instances=counts["instances"],
        main=main,
        newest=tuple(newest),
        unread=tuple(UnreadDocument(one.path, one.reason or one.state) for one in unread),
        unread_count=unread_count(stores.catalog.names, ontology.id),
    )
    return page, changed
