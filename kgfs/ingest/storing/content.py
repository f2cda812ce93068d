"""The bytes of one file: locate them (inbox, spool or garage) and read them; two implementations can be written.

The objects are not thread-safe, unless a method says otherwise. ``spool.WorkingCopy`` serialises the calls.

Originals that nothing promises are deleted here, and what readings that ended early left of the parts of documents.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from threading import Lock
from typing import Protocol

from kgfs.domain.documents import Name, StorageTier
from kgfs.domain.identity import garage_key_of
from kgfs.domain.names import extension_of
from kgfs.errors import CorruptError, KgfsError, MissingError, NoSpaceError, StoreError
from kgfs.ingest import timing
from kgfs.stores.garage.contract import Objects, Reader
from kgfs.stores.garage.prefixes import by_length
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.object_copies import key_on_the_way
from kgfs.stores.part_notes import PartNote, is_being_read, note_parts, part_notes, parts_under_way, unwanted
from kgfs.stores.ship import ship_from_reserve
from kgfs.stores.spool_file import SpoolFile
from kgfs.stores.stores import Stores

SMALL = 64 << 10
"""Bytes. Contents up to this size stay in memory and become durable as an inbox row."""

ATTEMPTS = 8
"""How often :func:`open_content` reads a row again when the bytes are not where the row says. Each time the bytes
must have been moved since the row was read."""


class Content(Protocol):
    """The bytes of a file as they are now.

    A read past their end returns fewer bytes. Reading raises CorruptError instead of returning bytes that differ from
    those that were kept, and StoreError where the store fails or has lost the bytes.
    """

    @property
    def size(self) -> int:
        """Return the length in bytes."""
        ...

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset`` on; fewer at the end of the content."""
        ...

    def cached(self, offset: int, length: int) -> bytes | None:
        """Return what ``read_at`` would return if it is in memory, else None.

        Quick. Any thread may call it at any time while nothing is written.
        """
        ...

    def close(self) -> None:
        """Release file handles."""
        ...


class Memory:
    """A writable content in memory, for up to :data:`SMALL` bytes."""

    def __init__(self, content: bytes = b"") -> None:
        self._bytes = bytearray(content)

    @property
    def size(self) -> int:
        return len(self._bytes)

    def read_at(self, offset: int, length: int) -> bytes:
        return bytes(self._bytes[offset : offset + length])

    def cached(self, offset: int, length: int) -> bytes | None:
        return self.read_at(offset, length)

    def write_at(self, offset: int, data: bytes) -> None:
        if offset > len(self._bytes):
            self._bytes.extend(bytes(offset - len(self._bytes)))
        self._bytes[offset : offset + len(data)] = data

    def truncate(self, size: int) -> None:
        del self._bytes[size:]
        self._bytes.extend(bytes(size - len(self._bytes)))

    def close(self) -> None:
        return


class Kept:
    """An object of the garage, verified as it is read.

    An object up to :data:`SMALL` bytes is verified as a whole where its ``sha256`` is given and it can be had from
    memory; otherwise each block is verified. The object is opened by its first read: a reader that finds all bytes in
    the kernel's page cache opens nothing. ``find`` returns the key to try next where the object is not under ``key``
    any more.
    """

    def __init__(
        self, objects: Objects, key: str, size: int, find: Callable[[], str] | None = None, sha256: str = ""
    ) -> None:
        self._objects = objects
        self._key = key
        self._find = find
        self._sha256 = sha256
        self._reader: Reader | None = None
        self._whole: bytes | None = None
        self._opening = Lock()
        self.size = size

    def read_at(self, offset: int, length: int) -> bytes:
        if self._whole is not None:
            return self._whole[offset : offset + length]
        with self._opening:
            reader = self._open()
        return reader.read_at(offset, length)

    def cached(self, offset: int, length: int) -> bytes | None:
        if self._whole is None and self._sha256 and self._reader is None and self.size <= SMALL:
            self._whole = self._objects.cached(self._key, self._sha256, self.size)
        if self._whole is not None:
            return self._whole[offset : offset + length]
        if self._reader is None or not self._opening.acquire(blocking=False):
            return None  # the thread that opens the object may be asking a server
        try:
            return self._reader.cached(offset, length)
        finally:
            self._opening.release()

    def _open(self) -> Reader:
        if self._reader is None:
            try:
                self._reader = self._found()
            except MissingError as error:
                raise StoreError(
                    f"The garage has lost {self._key}. Deposit the same file again, or take it from a backup."
                ) from error
        return self._reader

    def _found(self) -> Reader:
        try:
            return self._objects.open(self._key)
        except MissingError:
            if self._find is None:
                raise
            return self._objects.open(self._find())

    def close(self) -> None:
        with self._opening:
            if self._reader is not None:
                self._reader.close()


def open_content(stores: Stores, spool: Path, name_id: int, known: Name | None = None) -> tuple[Name, Content]:
    """Return a live file's row and its content, wherever the bytes are now.

    The bytes may be moved from inbox or spool to the garage meanwhile. So the row (``known`` if the caller has just
    read it) is read again, up to :data:`ATTEMPTS` times, while the bytes are not where the row says. Raise MissingError
    if the name is gone, and StoreError if the bytes are not found.
    """
    for _ in range(ATTEMPTS):
        name, known = known or stores.catalog.names.name(name_id), None
        if name is None:
            raise MissingError("The file was removed.")
        content = open_at(stores, spool, name)
        if content is not None:
            return name, content
    raise StoreError(f"The bytes of the file {name_id} are not where they were kept.")


def open_at(stores: Stores, spool: Path, name: Name) -> Content | None:
    """Return the content at the place that ``name`` says, or on its way from there to the garage; None if the row has
    changed meanwhile.

    Inbox rows are verified as a whole, objects of the garage block by block. Raise CorruptError for a damaged inbox row.
    This function asks no server: all other requests may be waiting for the thread that opens a file. Reading the
    content may ask a server.
    """
    if name.place is StorageTier.NONE:
        return Memory()
    if name.place is StorageTier.INBOX:
        small = stores.catalog.inbox(name.sha256)
        if small is not None and sums_of(small).sha256 != name.sha256:
            raise CorruptError(f"The kept bytes of '{name.name}' are damaged in the inbox.")
        return None if small is None else Memory(small)
    if name.place is StorageTier.GARAGE:
        return _kept(stores, name.key, name)
    try:
        return SpoolFile.kept(spool / name.key, name.size)
    except FileNotFoundError:
        return _settling(stores, name)


def _settling(stores: Stores, name: Name) -> Kept | None:
    """Return a content that has left the spool while no fact says so yet; None if the row of the name has changed.

    Such a state lasts as long as the garage's server is unavailable. The content is opened under the key that it most
    likely has in the garage; reading it tries the other possible keys.
    """
    names = stores.catalog.names
    now, ontology = names.name(name.id), names.ontology(name.ontology)
    if ontology is None or now is None or (now.sha256, now.place, now.key) != (name.sha256, name.place, name.key):
        return None
    document = names.document_with(name.ontology, name.sha256)
    likely = document.key if document else garage_key_of(ontology.prefix, name.sha256, extension_of(name.name))
    return _kept(stores, likely, name)


def _kept(stores: Stores, key: str, name: Name) -> Kept:
    return Kept(stores.garage.objects, key, name.size, lambda: key_on_the_way(stores, name), name.sha256)


def only_in_garage(stores: Stores, spool: Path) -> set[str]:
    """Return the contents (SHA-256) of unsettled files that have left the spool for the garage while no fact says so
    yet.

    The process that settled them was killed, or the server became unavailable, before the fact was recorded. Call it
    only while the settle lock is held.
    """
    waiting = stores.catalog.names.unsettled()
    return {name.sha256 for name in waiting if name.place is StorageTier.SPOOL and not (spool / name.key).exists()}


def delete_unheld(stores: Stores, spool: Path, keys: Sequence[str], under_way: Container[str]) -> KgfsError | None:
    """Delete those of the originals that nothing promises, and take them out of the list of unheld ones.

    The facts that gave them up are shipped first: a home that takes over must not count on an original that is gone. What
    is ``under_way`` stays, and so does the only copy of a file that is being settled. Return the error (NoSpaceError or CorruptError) of an original that had to stay because earlier versions rest
    on it. The caller holds the settle lock.
    """
    failed: KgfsError | None = None
    if keys:
        ship_from_reserve(spool.parent, stores)
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
