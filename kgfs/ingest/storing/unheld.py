"""Delete originals that nothing promises, and what readings that ended early left of the parts of documents."""

from __future__ import annotations

import time
from collections.abc import Container, Sequence
from pathlib import Path

from kgfs.errors import CorruptError, KgfsError, MissingError, NoSpaceError
from kgfs.ingest import timing
from kgfs.ingest.storing.content import only_in_garage
from kgfs.stores.garage.prefixes import by_length
from kgfs.stores.part_notes import PartNote, is_being_read, note_parts, part_notes, parts_under_way, unwanted
from kgfs.stores.ship import ship_once
from kgfs.stores.stores import Stores


def delete_unheld(stores: Stores, spool: Path, keys: Sequence[str], under_way: Container[str]) -> KgfsError | None:
    """Delete those of the originals that nothing promises, and take them out of the list of unheld ones.

    The facts that gave them up are shipped first: a home that takes over must not count on an original that is gone. What
    is ``under_way`` stays, and so does the only copy of a file that is being settled. Return the error (NoSpaceError or CorruptError) of an original that had to stay because earlier versions rest
    on it. The caller holds the settle lock.
    """
    failed: KgfsError | None = None
    if keys:
        ship_once(stores.catalog, stores.garage.ledger)
    coming = {sha256[:32] for sha256 in only_in_garage(stores, spool)}
    gone = []
    for key in by_length(stores.garage.objects, stores.catalog.unheld(keys)):
        if key in under_way or key.rpartition("/")[2].partition(".")[0] in coming:
            continue
        try:
            stores.garage.objects.delete(key)
            gone.append(key)
        except (NoSpaceError, CorruptError) as error:
            failed = error
    stores.catalog.drop_unheld(gone)
    return failed


def conclude_parts(stores: Stores, spool: Path, doc_id: str) -> None:
    """Drop the notes of a document whose parts have been recorded, and delete what was put and is none of them.

    The caller holds the settle lock. Idempotent.
    """
    notes = list(part_notes(stores.garage.objects, doc_id))
    left = unwanted(stores, [key for note in notes for key in note.keys])
    if left:
        delete_unheld(stores, spool, left, parts_under_way(stores, {doc_id}))
    drop_notes(stores, notes)


def left_parts(stores: Stores) -> list[PartNote]:
    """Return the notes of readings that ended without a record of their parts, and note as unheld what they put.

    A reading may end so: it failed, its file was removed meanwhile, or the document was purged. The caller deletes unheld
    originals, then the notes (:func:`drop_notes`).
    """
    notes = list(part_notes(stores.garage.objects))
    ended = [note for note in notes if not is_being_read(stores, note.doc_id) and _is_old(stores, note)]
    if ended:
        under_way = parts_under_way(stores)
        unwanted(stores, [key for note in ended for key in note.keys if key not in under_way])
    return ended


def _is_old(stores: Stores, note: PartNote) -> bool:
    """Return whether the reading that made a note has put what it noted, or never will."""
    try:
        return stores.garage.objects.entry(note.at).kept_at < time.time_ns() - timing.PARTS_PUT_NS
    except MissingError:
        return False


def drop_notes(stores: Stores, notes: Sequence[PartNote]) -> None:
    """Delete the notes of which every part is promised or gone. A later call deletes the others."""
    objects = stores.garage.objects
    for note in notes:
        if _has_left_some(stores, note):
            continue
        objects.delete(note.at)
        if _has_left_some(stores, note):  # a reading that nobody waits for put it meanwhile
            note_parts(objects, note.doc_id, note.keys)


def _has_left_some(stores: Stores, note: PartNote) -> bool:
    return any(not stores.catalog.promises(key) and stores.garage.objects.exists(key) for key in note.keys)
