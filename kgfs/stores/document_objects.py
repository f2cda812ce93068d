"""The objects of a garage that are derived from a document and stand in a folder of its own."""

from __future__ import annotations

from kgfs.stores.garage.contract import Objects

OWN = ("readings", "decisions", "records", "vectors", "texts")
"""Folders of the garage with objects of a document beside its original; each has one subfolder per document."""


def objects_of(objects: Objects, doc_id: str) -> list[str]:
    """Return the keys of what was derived from a document. Makes one listing for each folder."""
    return [key for kind in OWN for key, _ in objects.keys(f"{kind}/{doc_id}/")]
