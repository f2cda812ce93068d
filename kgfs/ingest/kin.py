"""Which other Documents were read from much the same text: their Records may answer for a Document's Sources."""

from __future__ import annotations

from kgfs.domain import Document
from kgfs.stores.journal.contract import Names

VERSIONS = 3
"""How many earlier contents of a path are looked at: what an older one says of an unchanged Source they say, too."""


def kin_of(names: Names, document: Document) -> list[str]:
    """doc_ids of the last contents of its paths, and of the same bytes in other ontologies, from where they may have been
    moved or copied. Each once. Quick."""
    earlier = [
        version.doc_id
        for name in names.names_of(document.doc_id)
        for version in reversed([one for one in names.versions(name.id) if one.doc_id != document.doc_id][-VERSIONS:])
    ]
    elsewhere = [
        found.doc_id
        for ontology in names.ontologies()
        if ontology.id != document.ontology and (found := names.document_with(ontology.id, document.sha256))
    ]
    return list(dict.fromkeys([*earlier, *elsewhere]))
