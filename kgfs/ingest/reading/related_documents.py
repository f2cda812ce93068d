"""Find related Documents with similar text: their Records and vectors may be reused for a Document's Sources."""

from __future__ import annotations

from kgfs.domain.documents import Document
from kgfs.stores.catalog.names import Names

VERSIONS = 3
"""Number of earlier contents of a path that are used. The Records of unchanged Sources in older ones were taken over
by these."""


def related_documents(names: Names, document: Document) -> list[str]:
    """Return the ``doc_id``s of Documents with similar text, each once. Quick.

    They are the last contents of its paths, the parts of the same name of the last contents of its parents, and the same bytes in other ontologies, from where the document may have
    been moved or copied.
    """
    earlier = [
        version.doc_id
        for name in names.names_of(document.doc_id)
        for version in reversed([one for one in names.versions(name.id) if one.doc_id != document.doc_id][-VERSIONS:])
    ]
    of_parents = [
        part.child
        for row in names.part_of(document.doc_id)
        if (parent := names.document(row.parent)) is not None
        for above in related_documents(names, parent)
        if (part := names.part(above, row.name)) is not None and part.child not in (document.doc_id, "")
    ]
    return list(dict.fromkeys([*earlier, *of_parents, *_elsewhere(names, document)]))


def first_source(names: Names, document: Document) -> str:
    """Return the ``source_id`` under which marks on this document's mentions alone are stored.

    It is that of the first content that the document's paths had in the ontology, so that marks hold after a rename
    or an edit.
    """
    firsts = [
        (version.minted_at, first.source_id)
        for lineage in names.lineages(document.doc_id)
        for version in names.history(lineage)
        if (first := names.document(version.doc_id)) and first.ontology == document.ontology
    ]
    return min(firsts)[1] if firsts else document.source_id


def alike(names: Names, doc_id: str) -> set[str]:
    """Return all Documents that this Document is or was related to by :func:`related_documents`, in either direction."""
    document = names.document(doc_id)
    same_path = {version.doc_id for lineage in names.lineages(doc_id) for version in names.history(lineage)}
    same_part = {
        part.child
        for row in names.part_of(doc_id, held=False)
        for above in alike(names, row.parent)
        if (part := names.part(above, row.name)) is not None
    }
    return (same_path | same_part | set(_elsewhere(names, document) if document else ())) - {doc_id, ""}


def _elsewhere(names: Names, document: Document) -> list[str]:
    ontologies = [*names.ontologies(), *names.removed_ontologies()]
    others = [ontology.id for ontology in ontologies if ontology.id != document.ontology]
    return [found.doc_id for other in others if (found := names.document_with(other, document.sha256))]
