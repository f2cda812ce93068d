"""Which other Documents were read from much the same text: their Records may answer for a Document's Sources."""

from __future__ import annotations

from kgfs.domain.documents import Document
from kgfs.stores.journal.contract_names import Names

VERSIONS = 3
"""How many earlier contents of a path are looked at: what an older one says of an unchanged Source they say, too."""


def kin_of(names: Names, document: Document) -> list[str]:
    """doc_ids of the last contents of its paths, and of the same bytes in other ontologies, from where they may have been
    moved or copied. Each once. Quick."""
    earlier = [
        version.doc_id
        for name in names.names_of(document.doc_id)
        for version in reversed(
            [one for one in names.versions(name.id) if one.doc_id not in (document.doc_id, "")][-VERSIONS:]
        )
    ]
    return list(dict.fromkeys([*earlier, *_elsewhere(names, document)]))


def first_source(names: Names, document: Document) -> str:
    """The source_id under which a person's word on this document's mentions alone is kept: that of the first content
    that its paths had in the ontology, so that renamed and edited it is spoken of as before."""
    firsts = [
        (version.minted_at, first.source_id)
        for lineage in names.lineages(document.doc_id)
        for version in names.history(lineage)
        if (first := names.document(version.doc_id)) and first.ontology == document.ontology
    ]
    return min(firsts)[1] if firsts else document.source_id


def alike(names: Names, doc_id: str) -> set[str]:
    """All whose kin this Document is or was, and those that are or were its own."""
    document = names.document(doc_id)
    same_path = {version.doc_id for lineage in names.lineages(doc_id) for version in names.history(lineage)}
    return (same_path | set(_elsewhere(names, document) if document else ())) - {doc_id, ""}


def _elsewhere(names: Names, document: Document) -> list[str]:
    ontologies = [*names.ontologies(), *names.removed_ontologies()]
    others = [ontology.id for ontology in ontologies if ontology.id != document.ontology]
    return [found.doc_id for other in others if (found := names.document_with(other, document.sha256))]
