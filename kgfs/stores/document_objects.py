"""The objects of a garage that are derived from a document and stand in a folder of its own."""

from __future__ import annotations

from kgfs.stores.garage.contract import Objects
from kgfs.stores.stores import Stores

OWN = ("readings", "decisions", "records", "vectors", "texts")
"""Folders of the garage with objects of a document beside its original; each has one subfolder per document."""


def objects_of(objects: Objects, doc_id: str) -> list[str]:
    """Return the keys of what was derived from a document. Makes one listing for each folder."""
    return [key for kind in OWN for key, _ in objects.keys(f"{kind}/{doc_id}/")]


def erase_if_purged(stores: Stores, doc_id: str) -> int:
    """Delete what was derived from a document that this home read while another one purged it, and return how many
    objects there were. Does nothing where the document is known. Parts of it go with their notes
    (:mod:`.part_notes`)."""
    if stores.catalog.names.document(doc_id) is not None:
        return 0
    return sum(stores.garage.objects.delete(key) for key in objects_of(stores.garage.objects, doc_id))
