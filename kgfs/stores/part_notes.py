"""Note in the garage which parts of a document are about to be put there, before the catalog knows them as Documents.

The object ``parts/<doc_id>.<digest>`` lists the keys of such parts, one a line. It is durable before the first of them is
put, and stays until a fact names the parts, or until their objects are gone. So no kill leaves bytes of a part that nothing
knows of. A reading that is interrupted and begun again makes the same notes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kgfs.errors import MissingError
from kgfs.stores.garage.contract import Objects
from kgfs.stores.stores import Stores

NOTES = "parts/"
"""The folder of the garage with the notes."""


@dataclass(frozen=True, slots=True)
class PartNote:
    """One note."""

    at: str
    """Its own key in the garage."""
    doc_id: str
    """The document that has the parts."""
    keys: tuple[str, ...]
    """The keys of the parts."""


def note_parts(objects: Objects, doc_id: str, keys: Sequence[str]) -> None:
    """Note that parts of a document are about to be put under these keys. Durable when this returns. Idempotent."""
    content = "\n".join(sorted(set(keys))).encode()
    objects.put(f"{NOTES}{doc_id}.{hashlib.sha256(content).hexdigest()[:32]}", content)


def part_notes(objects: Objects, doc_id: str = "") -> Iterator[PartNote]:
    """Yield the notes of a document, or of all documents. Makes one listing, and reads each note."""
    for at, _ in list(objects.keys(f"{NOTES}{doc_id}." if doc_id else NOTES)):
        try:
            raw = objects.get(at)
        except MissingError:
            continue  # deleted since it was listed
        yield PartNote(at, at.removeprefix(NOTES).partition(".")[0], tuple(raw.decode().splitlines()))


def is_being_read(stores: Stores, doc_id: str) -> bool:
    """Return whether a document is to be read, or is being read. Quick."""
    return any(job.kind == "read" for job in stores.catalog.jobs.of(doc_id))


def parts_under_way(stores: Stores, leaving: Container[str] = ()) -> set[str]:
    """Return the keys of parts that readings under way have put or are about to put, without those of the documents
    ``leaving``. Nothing else may promise them yet. Asks the garage."""
    notes = part_notes(stores.garage.objects)
    return {
        key for note in notes if note.doc_id not in leaving and is_being_read(stores, note.doc_id) for key in note.keys
    }


def unwanted(stores: Stores, keys: Iterable[str]) -> list[str]:
    """Return those of the keys that nothing promises here, and note them as unheld, so that their objects are deleted
    even if this process is killed. Durable when this returns."""
    left = [key for key in dict.fromkeys(keys) if not stores.catalog.promises(key)]
    if left:
        stores.catalog.note_unheld(left)
        stores.catalog.sync()
    return stores.catalog.unheld(left) if left else []
