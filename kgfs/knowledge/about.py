"""The content of an ontology's ``about.md``."""

from __future__ import annotations

from kgfs.domain.documents import Ontology, State
from kgfs.knowledge.backlog import unread_count, unread_in
from kgfs.knowledge.document_location import root_of, standing_of
from kgfs.knowledge.without_concepts import why_none
from kgfs.render.about import About, HeavyTerm, MainConcept, NewDocument, UnreadDocument
from kgfs.stores.stores import Stores

MAIN = 20
NEWEST = 10
LOOKED_AT = 50
"""The newest documents among which parts (mails, attachments, segments) are counted as what they are parts of."""
UNREAD = 20
TERMS = 10


def about(stores: Stores, ontology: Ontology) -> tuple[About, int]:
    """Return the page and the time when it last changed (nanoseconds). Quick."""
    counts = stores.graph.counts(ontology.id)
    changed = max(ontology.made_at, stores.graph.changed_at(ontology.id))
    names = stores.catalog.names
    newest: dict[str, NewDocument] = {}
    for document in names.newest(ontology.id, LOOKED_AT):
        changed = max(changed, document.deposited_at, document.removed_at)
        whole = root_of(names, document.doc_id)
        standing = standing_of(names, whole)
        if standing.origin.note or len(newest) == NEWEST:
            continue
        changed = max(changed, standing.changed_at)
        row, path = stores.graph.document(whole), standing.origin.path.removeprefix("documents/")
        language, without = (row.language, why_none(stores, row)) if row is not None else ("", "")
        newest.setdefault(path, NewDocument(path, document.deposited_at, language, without))
    unread = unread_in(names, ontology.id, UNREAD)
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
        newest=tuple(newest.values()),
        unread=tuple(UnreadDocument(one.path, one.reason or one.state) for one in unread),
        unread_count=unread_count(names, ontology.id),
        gated=names.counts(ontology.id).get(State.GATED, 0),
        claims=sum(stores.graph.claims.counts(ontology.id).values()),
        terms=tuple(HeavyTerm(one.term, one.count) for one in stores.graph.terms.heaviest(ontology.id, TERMS)),
    )
    return page, changed
