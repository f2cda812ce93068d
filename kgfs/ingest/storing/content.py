"""The bytes of one file: locate them (inbox, spool or garage) and read them; two implementations can be written.

The objects are not thread-safe, unless a method says otherwise. ``spool.WorkingCopy`` serialises the calls.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Protocol

from kgfs.domain.documents import Name, StorageTier
from kgfs.domain.identity import garage_key_of
from kgfs.domain.names import extension_of
from kgfs.errors import CorruptError, MissingError, NoSpaceError, StoreError, from_os_error
from kgfs.stores.garage.contract import BLOCK, Objects, Reader, Sums
from kgfs.stores.garage.durable import sync_folder
from kgfs.stores.garage.sums import Summer, sums_of
from kgfs.stores.locks import is_locked
from kgfs.stores.pending_uploads import key_on_the_way, waiting_key
from kgfs.stores.stores import Stores

SMALL = 64 << 10
"""Bytes. Contents up to this size stay in memory and become durable as an inbox row."""

EVER = 2**63 - 1
"""A time in nanoseconds later than any other: a bound that excludes nothing."""

LOOKS = 8
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

    def at_hand(self, offset: int, length: int) -> bytes | None:
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
    """A file of the spool folder, with mode 0600.

    The first ``fixed`` bytes are kept: a fact refers to them, and they never change again. The bytes after them may
    be written. SHA-256 and block sums are computed while bytes arrive in order. The process that made the file holds
    its lock until :meth:`let_go`, so that no other process turns the file into an object of the garage while it is
    being written.
    """

    def __init__(self, path: Path, descriptor: int, size: int, fixed: int) -> None:
        self.path = path
        self.fixed = fixed
        self._size = size
        self._descriptor = descriptor
        self._summer = Summer()

    @classmethod
    def make(cls, path: Path) -> SpoolFile:
        """Create an empty spool file at ``path``, and lock it. Raise StoreError (NoSpaceError on a full disk) where that
        fails."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise from_os_error(error, f"Making the working copy {path}") from error
        return cls(path, descriptor, 0, 0)

    @classmethod
    def kept(cls, path: Path, size: int) -> SpoolFile:
        """Open a spool file that a fact refers to, read-only; ``size`` is its kept length in bytes.

        Raise FileNotFoundError if it is not there, or not any more.
        """
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
                raise CorruptError(
                    f"The working copy {self.path} is shorter than it was: {offset} of {self._size} bytes."
                )
            pieces.append(piece)
            offset, length = offset + len(piece), length - len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def at_hand(self, offset: int, length: int) -> bytes | None:
        return None

    def write_at(self, offset: int, data: bytes) -> None:
        """Write all of ``data`` at ``offset``, or raise NoSpaceError or StoreError and leave the file as long as before.

        The bytes are not durable before :meth:`sync`.
        """
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
        """Set the length to ``size`` bytes. Raise NoSpaceError where the file would grow by more than the free space of
        the disk."""
        self._check_hole(size)
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise from_os_error(error, f"Resizing the working copy {self.path}") from error
        if size < self._summer.size:
            self._summer = Summer()
        self._size = size

    def _check_hole(self, end: int) -> None:
        """Raise NoSpaceError if a hole up to ``end`` is larger than the free space of the disk.

        A hole takes no space in the file, but it is hashed and backed up as the zeros that it reads as. A hole larger
        than any disk of this machine would keep the process that closes the file waiting for hours.
        """
        if end <= self._size:
            return
        try:
            found = os.fstatvfs(self._descriptor)
        except OSError as error:
            raise from_os_error(error, f"Looking at the working copy {self.path}") from error
        if end - self._size > found.f_bavail * found.f_frsize:
            raise NoSpaceError(f"{self.path}: {end} bytes would not fit; holes count in full.")

    def sums(self) -> Sums:
        """Return SHA-256 and block sums of the whole file. Read only those bytes that did not arrive in order."""
        while self._summer.size < self._size:
            self._summer.update(self.read_at(self._summer.size, BLOCK))
        return self._summer.sums()

    def sync(self) -> None:
        """Make the bytes durable, and the directory entry too while nothing of the file is kept yet."""
        try:
            os.fsync(self._descriptor)
            if not self.fixed:
                sync_folder(self.path.parent)
        except OSError as error:
            raise from_os_error(error, f"Keeping the working copy {self.path}") from error

    def hold(self) -> int:
        """Declare all present bytes kept, just before a fact that refers to them is recorded.

        Return the former value of ``fixed``, to be restored if recording the fact fails.
        """
        before, self.fixed = self.fixed, self._size
        return before

    def let_go(self) -> None:
        """Release the file's lock: it is not written any more."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)


def is_held(path: Path) -> bool:
    """Return whether a process, this one or another, may still write to this spool file."""
    try:
        return is_locked(path)
    except OSError as error:
        raise from_os_error(error, f"Looking at the working copy {path}") from error


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

    def at_hand(self, offset: int, length: int) -> bytes | None:
        if self._whole is None and self._sha256 and self._reader is None and self.size <= SMALL:
            self._whole = self._objects.at_hand(self._key, self._sha256, self.size)
        if self._whole is not None:
            return self._whole[offset : offset + length]
        if self._reader is None or not self._opening.acquire(blocking=False):
            return None  # the thread that opens the object may be asking a server
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
    """Return a live file's row and its content, wherever the bytes are now.

    The bytes may be moved from inbox or spool to the garage meanwhile. So the row (``known`` if the caller has just
    read it) is read again, up to :data:`LOOKS` times, while the bytes are not where the row says. Raise MissingError
    if the name is gone, and StoreError if the bytes are not found.
    """
    for _ in range(LOOKS):
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
        return _waiting(stores, name) if small is None else Memory(small)
    if name.place is StorageTier.GARAGE:
        return _kept(stores, name.key, name)
    try:
        return SpoolFile.kept(spool / name.key, name.size)
    except FileNotFoundError:
        return _waiting(stores, name) or _settling(stores, name)


def _waiting(stores: Stores, name: Name) -> Kept | None:
    """Return the pending upload of a name whose bytes are not on this machine; None where no garage is shared.

    Another home wrote it and has not settled it yet. The server is asked when the content is read.
    """
    return _kept(stores, waiting_key(name.id, name.sha256), name) if stores.catalog.sharing else None


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
    waiting = stores.catalog.names.unsettled(quiet_before=EVER)
    return {name.sha256 for name in waiting if name.place is StorageTier.SPOOL and not (spool / name.key).exists()}
