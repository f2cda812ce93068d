"""What ``archive/<doc_id>/`` has of a document, judged from catalog and graph alone: no server is asked."""

from __future__ import annotations

from kgfs.domain.documents import Document
from kgfs.domain.parts import companion
from kgfs.knowledge.metadata import own_name
from kgfs.stores.stores import Stores


def has_original(stores: Stores, document: Document) -> bool:
    """Return whether the garage has the original, judged from the catalog alone.

    An original that no file has any more, and that nothing promises to keep, has left the garage with the trash or is
    about to. The garage is not asked, because a listing would wait for its server and block the whole mount.
    """
    return not document.removed_at or stores.catalog.promises(document.key)


def has_text(stores: Stores, doc_id: str) -> bool:
    """Return whether there is a ``text.txt``: the document was read, and the graph shows it or its original is kept."""
    if stores.graph.document(doc_id) is not None:
        return True
    document = stores.catalog.names.document(doc_id)
    return document is not None and has_original(stores, document) and stores.graph.earlier_text(doc_id) is not None


def readable_name(stores: Stores, doc_id: str) -> str:
    """Return the name of the file in the folder that a person reads: Markdown where there is some, else ``text.txt``; '' where
    there is none.
    """
    document = stores.catalog.names.document(doc_id)
    if document is not None and stores.graph.document(doc_id) is not None:
        own = own_name(stores, document)
        if companion(own) or has_original(stores, document):
            return companion(own) or own
    return "text.txt" if has_text(stores, doc_id) else ""


def download_name(stores: Stores, document: Document) -> str:
    """Return the name of the original in the folder; '' where it is gone."""
    return own_name(stores, document) if has_original(stores, document) else ""
