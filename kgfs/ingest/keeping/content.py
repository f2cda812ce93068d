"""The bytes of one file: where they stand (inbox, spool, garage), and the two forms that can still be written.

Not for several threads at once; ``spool.WorkingCopy`` serialises the calls.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Protocol

from kgfs.domain.documents import Name, Place
from kgfs.domain.identity import garage_key_of
from kgfs.domain.names import extension_of
from kgfs.errors import FullError, MissingError, RotError, StoreError, from_os_error
from kgfs.stores.garage.contract import BLOCK, Objects, Reader, Sums
from kgfs.stores.garage.durable import sync_folder
from kgfs.stores.garage.sums import Summer, sums_of
from kgfs.stores.locks import is_locked
from kgfs.stores.stores import Stores
from kgfs.stores.waiting import key_on_the_way, waiting_key

SMALL = 64 << 10
"""Up to this size contents stay in memory and become durable as an inbox row."""

EVER = 2**63 - 1

LOOKS = 8
"""How often a row is read again whose bytes are not where it says; each time they must have moved on."""


class Content(Protocol):
    """The bytes of a file as they stand now. A read past their end is short; RotError instead of bytes that are not what
    was kept, StoreError where the store fails or has lost them."""

    @property
    def size(self) -> int: ...

    def read_at(self, offset: int, length: int) -> bytes: ...

    def at_hand(self, offset: int, length: int) -> bytes | None:
        """What ``read_at`` would return, where it is in memory. Quick, and at any time while nothing is written."""
        ...

    def close(self) -> None: ...


class Memory:
    """A small content. Writable."""

    def __init__(self, content: bytes = b"") -> None:
        self._bytes = bytearray(content)

    @property
    def size(self) -> int:
        return len(self._bytes)

    def read_at(self, offset: int, length: int) -> bytes:
        return bytes(self._bytes[offset : offset + length])

    def at_hand(self, offset: int, length: int) -> bytes | None:
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


class SpoolFile:
    """A file in the spool folder, 0600. Its first ``fixed`` bytes are kept (a fact speaks of them) and never change
    again; what follows may be written. SHA-256 and block sums are taken of bytes as they arrive in order. Who made it
    holds its lock until :meth:`let_go`, so that no other process takes it for an object while it is being written."""

    def __init__(self, path: Path, descriptor: int, size: int, fixed: int) -> None:
        self.path = path
        self.fixed = fixed
        self._size = size
        self._descriptor = descriptor
        self._summer = Summer()

    @classmethod
    def make(cls, path: Path) -> SpoolFile:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise from_os_error(error, f"Making the working copy {path}") from error
        return cls(path, descriptor, 0, 0)

    @classmethod
    def kept(cls, path: Path, size: int) -> SpoolFile:
        """One that a fact speaks of. FileNotFoundError if it is not there (any more)."""
        return cls(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC), size, size)

    @property
    def size(self) -> int:
        return self._size

    def read_at(self, offset: int, length: int) -> bytes:
        length = min(length, self._size - offset)
        pieces = []
        while length > 0:
            try:
                piece = os.pread(self._descriptor, length, offset)
            except OSError as error:
                raise from_os_error(error, f"Reading the working copy {self.path}") from error
            if not piece:
                raise RotError(f"The working copy {self.path} is shorter than it was: {offset} of {self._size} bytes.")
            pieces.append(piece)
            offset, length = offset + len(piece), length - len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def at_hand(self, offset: int, length: int) -> bytes | None:
        return None

    def write_at(self, offset: int, data: bytes) -> None:
        """All of it, or FullError and the file is as long as before."""
        self._check_hole(offset)
        if offset < self._summer.size:
            self._summer = Summer()
        left = memoryview(data)
        try:
            while left:
                left = left[os.pwrite(self._descriptor, left, offset + len(data) - len(left)) :]
        except OSError as error:
            os.ftruncate(self._descriptor, self._size)
            raise from_os_error(error, f"Writing the working copy {self.path}") from error
        if offset == self._summer.size:
            self._summer.update(data)
        self._size = max(self._size, offset + len(data))

    def truncate(self, size: int) -> None:
        """FullError where it would get longer than there is space."""
        self._check_hole(size)
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise from_os_error(error, f"Resizing the working copy {self.path}") from error
        if size < self._summer.size:
            self._summer = Summer()
        self._size = size

    def _check_hole(self, end: int) -> None:
        """Holes cost nothing here, but they are hashed as what they read as, and backed up so. One that no disk of this
        machine has room for would keep whoever closes the file waiting for hours."""
        if end <= self._size:
            return
        try:
            found = os.fstatvfs(self._descriptor)
        except OSError as error:
            raise from_os_error(error, f"Looking at the working copy {self.path}") from error
        if end - self._size > found.f_bavail * found.f_frsize:
            raise FullError(f"{self.path}: {end} bytes would not fit; holes count in full.")

    def sums(self) -> Sums:
        """Reads only what did not arrive in order."""
        while self._summer.size < self._size:
            self._summer.update(self.read_at(self._summer.size, BLOCK))
        return self._summer.sums()

    def sync(self) -> None:
        """Bytes and directory entry are on the disk."""
        try:
            os.fsync(self._descriptor)
            if not self.fixed:
                sync_folder(self.path.parent)
        except OSError as error:
            raise from_os_error(error, f"Keeping the working copy {self.path}") from error

    def hold(self) -> int:
        """What it has now is about to be kept; how much was before, should that come to nothing."""
        before, self.fixed = self.fixed, self._size
        return before

    def let_go(self) -> None:
        """It is not written any more."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)


def is_held(path: Path) -> bool:
    """Whether a process, this one or another, may still write to this spool file."""
    try:
        return is_locked(path)
    except OSError as error:
        raise from_os_error(error, f"Looking at the working copy {path}") from error


class Kept:
    """An object of the garage, verified: a small one whole where its SHA-256 is given, else each block. Opened when it
    is first read: whoever finds all in the kernel's pages never reads it. ``find`` gives its key once it is under
    another one."""

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

    def at_hand(self, offset: int, length: int) -> bytes | None:
        if self._whole is None and self._sha256 and self._reader is None and self.size <= SMALL:
            self._whole = self._objects.at_hand(self._key, self._sha256, self.size)
        if self._whole is not None:
            return self._whole[offset : offset + length]
        if self._reader is None or not self._opening.acquire(blocking=False):
            return None  # to open it may be to ask a server
        try:
            return self._reader.at_hand(offset, length)
        finally:
            self._opening.release()

    def _open(self) -> Reader:
        if self._reader is None:
            try:
                self._reader = self._found()
            except MissingError as error:
                raise StoreError(f"The garage has lost {self._key}. Run kgfs restore-garage.") from error
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
    """A live file's row and its bytes, wherever they stand now: they may be on their way from inbox or spool to the
    garage, so the row (``known`` if it was just read) is read again when they are not where it said. MissingError once
    the name is gone."""
    for _ in range(LOOKS):
        name, known = known or stores.journal.names.name(name_id), None
        if name is None:
            raise MissingError("The file was removed.")
        content = open_at(stores, spool, name)
        if content is not None:
            return name, content
    raise StoreError(f"The bytes of the file {name_id} are not where they were kept.")


def open_at(stores: Stores, spool: Path, name: Name) -> Content | None:
    """The bytes where ``name`` says they are, or on their way from there to the garage; None where the row is another by now.
    Inbox rows are verified whole, objects of the garage block by block. No server is asked: who reads may have to, and
    who opens a file may be one for whom all others wait."""
    if name.place is Place.NONE:
        return Memory()
    if name.place is Place.INBOX:
        small = stores.journal.inbox(name.sha256)
        if small is not None and sums_of(small).sha256 != name.sha256:
            raise RotError(f"The kept bytes of '{name.name}' are damaged in the inbox.")
        return _waiting(stores, name) if small is None else Memory(small)
    if name.place is Place.GARAGE:
        return _kept(stores, name.key, name)
    try:
        return SpoolFile.kept(spool / name.key, name.size)
    except FileNotFoundError:
        return _waiting(stores, name) or _settling(stores, name)


def _waiting(stores: Stores, name: Name) -> Kept | None:
    """What another host wrote and has not settled yet; the server is asked only by who reads it."""
    return _kept(stores, waiting_key(name.id, name.sha256), name) if stores.journal.sharing else None


def _settling(stores: Stores, name: Name) -> Kept | None:
    """What left the spool before the fact was recorded that says so, which is not while the garage's server is away. Under the
    key that it is most likely to have there; who reads it looks under others."""
    names = stores.journal.names
    now, ontology = names.name(name.id), names.ontology(name.ontology)
    if ontology is None or now is None or (now.sha256, now.place, now.key) != (name.sha256, name.place, name.key):
        return None
    document = names.document_with(name.ontology, name.sha256)
    likely = document.key if document else garage_key_of(ontology.prefix, name.sha256, extension_of(name.name))
    return _kept(stores, likely, name)


def _kept(stores: Stores, key: str, name: Name) -> Kept:
    return Kept(stores.garage.objects, key, name.size, lambda: key_on_the_way(stores, name), name.sha256)


def only_in_garage(stores: Stores, spool: Path) -> set[str]:
    """The contents (SHA-256) of files that left the spool for the garage, and nothing says so yet: who settled them was killed, or
    met a server that was away, before that could be noted. To be asked while nobody settles."""
    waiting = stores.journal.names.unsettled(quiet_before=EVER)
    return {name.sha256 for name in waiting if name.place is Place.SPOOL and not (spool / name.key).exists()}
