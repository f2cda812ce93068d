"""The interfaces of a garage: objects, their readers, the ledger and its segments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

BLOCK = 1 << 20
"""The size in bytes of a checksum block, one MiB. Each block has its own XXH3 checksum (64 bits, hex), so corruption
is found block by block."""


@dataclass(frozen=True, slots=True)
class Sums:
    """The size and checksums of a byte string. They suffice to detect any later change of the bytes."""

    size: int
    """The length in bytes."""
    sha256: str
    """The SHA-256 of all bytes, 64 hex digits."""
    blocks: tuple[str, ...]
    """The XXH3-64 of each MiB block in order, 16 hex digits each. Empty for an empty byte string."""


@dataclass(frozen=True, slots=True)
class GarageEntry:
    """The metadata of an object, or of a folder of keys, that a store knows without opening the object."""

    folder: bool
    """Whether the path names a folder of keys rather than an object."""
    size: int
    """The size in bytes; 0 for a folder."""
    kept_at: int
    """The time at which the object was stored, in nanoseconds. It never changes while the object exists. For a
    folder: the time at which something was last added directly below the folder, as far as the store knows."""


class Objects(Protocol):
    """A store of immutable byte strings under keys like ``sources/Philosophy/<32 hex>.txt``.

    A key is one or more ``/``-separated parts of ``[A-Za-z0-9._~%+-]``. Other characters, empty parts, ``.`` and
    ``..`` are refused with BadInputError. An object is durable when ``put`` returns: after a ``kill -9`` or power
    loss an object is either whole or absent. Any number of threads and processes may call at the same time. Any call
    may raise StoreError if the store fails (NoSpaceError if its disk is full). If the store is on a server, any call may
    also raise UnavailableError or TimedOutError: the operation may then have been done all the same, and repeating it is
    harmless.
    """

    def put(self, key: str, content: bytes | Path, sums: Sums | None = None, *, move: bool = False) -> Sums:
        """Store ``content`` under ``key`` unless the key exists already, and return the checksums of the content.

        ``sums`` are trusted if given (the writer hashed inline), else they are computed. With ``move`` the caller
        gives up the file at ``content``: the garage may rename the file into place, and removes it otherwise. The
        file may be on another filesystem than the garage, but no writer may hold it open. Without ``move`` the file
        is copied. Memory use is constant.

        If the key exists with the same SHA-256, nothing is stored again. The file is removed all the same if ``move``
        is set. A garage on files then also replaces a stored object that is corrupt. If the key exists with another
        SHA-256, raise ExistsError and change nothing.
        """
        ...

    def stat(self, key: str) -> Sums:
        """Return the checksums of an object, or raise MissingError if it is absent. Quick."""
        ...

    def exists(self, key: str) -> bool:
        """Return whether an object has this key."""
        ...

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """Return the bytes ``start:start+length`` of an object, fewer at its end.

        Every block that is touched is verified. Raise CorruptError instead of returning wrong bytes, and MissingError if
        the object is absent. Use :meth:`open` for many reads of one object.
        """
        ...

    def open(self, key: str) -> Reader:
        """Return a reader of an object. The reader verifies each block once.

        Raise MissingError if the object is absent. The reader still works after the key is deleted; on a server
        only for bytes that are in memory already. The reader never shows another content that was stored under the key
        later.
        """
        ...

    def cached(self, key: str, sha256: str, size: int) -> bytes | None:
        """Return the whole of a small object if its content is cached and correct, else None.

        The caller gives the expected SHA-256 and size in bytes. The call does not wait for a disk or a server. After
        None, :meth:`open` reads the object or tells why it cannot be read. *Quick*.
        """
        ...

    def delete(self, key: str) -> bool:
        """Delete an object, and return whether it existed. The deletion is durable when this returns."""
        ...

    def has_sums(self, key: str) -> bool:
        """Return whether the checksums of the object are stored.

        If they are lost, the next access recomputes them if a hash proves the bytes, and fails otherwise.
        """
        ...

    def salvage(self, key: str) -> bytes:
        """Return the bytes of an object without verifying them, for repair. Raise MissingError if the object is
        absent."""
        ...

    def sweep(self, begun_before: float | None = None) -> None:
        """Remove the remains of unfinished puts.

        With ``begun_before`` (seconds, by the store's clock) remove only those that were begun before that time.
        Without it remove all of them; the caller must know that no process is putting an object.
        """
        ...

    def left_over(self) -> Iterator[tuple[str, float]]:
        """Yield (key, time of begin) of unfinished puts that take space on a server and appear in no listing.

        The writer of such a put has died or is still at work. The time is in seconds.
        """
        ...

    def forget(self, key: str) -> None:
        """Remove an object from the local cache, for a caller that knows that the object is not needed any more. Sends
        no request. Raise StoreError if the cache's disk fails."""
        ...

    def leave_room(self) -> None:
        """Shrink the local cache if its disk is nearly full. Quick if it is not."""
        ...

    def keys(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield (key, size in bytes) of all objects whose key starts with ``prefix``, lazily, in order of key."""
        ...

    def names(self, folder: str = "") -> list[str]:
        """Return the names directly below a folder of keys (``sources/Philosophy``; the top level by default),
        sorted.

        Names of folders end with ``/``. Return an empty list if there is nothing below the folder. No object is
        opened.
        """
        ...

    def entry(self, path: str) -> GarageEntry:
        """Return the metadata of an object or, if there is no such object, of a folder of keys.

        Raise MissingError if there is neither. Quick: no object is opened.
        """
        ...


class GarageObjects(Objects, Protocol):
    """The objects of a garage, of which some need no bytes of their own."""

    @property
    def stored(self) -> Objects:
        """Return the objects as they are stored, for copies of the whole garage. Those that need no bytes of their own
        (:meth:`keep_as_prefix`) are not among them, and the records that tell of those are."""
        ...

    def keep_as_prefix(self, earlier: str, later: str) -> bool:
        """Give up the bytes of the object ``earlier`` if they are the beginning of the object ``later``, and return
        whether that was done.

        Nothing changes for a caller: all methods answer for ``earlier`` as before. What is deleted later is written
        out first where others rest on it. A garage may always return False. The caller holds the settle lock, and so
        does every caller of :meth:`delete` of an original.
        """
        ...

    def resting_on(self, key: str) -> list[str]:
        """Return the keys of the objects whose bytes stand in the object ``key`` (:meth:`keep_as_prefix`)."""
        ...


class Reader(Protocol):
    """An open object. One reader is not for several threads at the same time."""

    @property
    def sums(self) -> Sums:
        """Return the checksums of the object."""
        ...

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes as :meth:`Objects.get` does. CorruptError names the key and the block."""
        ...

    def cached(self, offset: int, length: int) -> bytes | None:
        """Return what ``read_at`` would return if it is in memory, else None. Quick. Any thread may call at any
        time."""
        ...

    def close(self) -> None:
        """Close the object. Quick."""
        ...


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of the ledger, with its lines in order. Only the newest segment grows, at its end."""

    name: str
    """The file name of the segment."""
    size: int
    """The size of the whole lines in bytes. A torn tail does not count."""
    changed_at: int
    """The time of the last change, in nanoseconds."""


class SegmentReader(Protocol):
    """An open segment. Each read shows the segment as it is at that time. Not for several threads at the same
    time."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Return ``length`` bytes from ``offset`` on, fewer at the end of the segment.

        Lines are verified before their first byte is returned. Raise CorruptError instead of returning wrong bytes.
        """
        ...

    def close(self) -> None:
        """Close the segment."""
        ...


class Ledger(Protocol):
    """The append-only log of every fact that is not bytes, in the order in which the facts became true.

    Entries are never changed or removed. An entry is one line of JSON (bytes without LF). The writer numbers the
    entries itself (``seq``, consecutive from 1), and the ledger stores the numbers, so a writer can repeat an append
    whose outcome it does not know. Any number of threads and processes may read while one appends. The errors of a
    failing store are those of :class:`Objects`.
    """

    def append(self, first_seq: int, entries: Sequence[bytes]) -> int:
        """Append entries durably, and return the last number that is stored.

        ``first_seq`` is the number of the first entry. Entries whose number is stored already are skipped, so a
        repeated append is harmless. Raise StoreError for a gap in the numbers, and BadInputError for an entry that is
        not one line. A ledger in a bucket raises OvertakenError if other entries are stored under these numbers. A ledger on files admits one writer at a time across all processes, by a file lock, and a second
        writer waits. A ledger in a bucket takes no lock across processes: of two writers of the same number one wins,
        and the other finds the number taken.
        """
        ...

    def last_seq(self) -> int:
        """Return the number of the last entry, 0 for an empty ledger. A torn tail (a crash during an append) does not
        count."""
        ...

    def beyond(self, seq: int) -> bool:
        """Return whether there are entries after number ``seq``.

        The call is cheap enough to be made twice a second, so a False may be some seconds out of date.
        """
        ...

    def mend(self, known: Callable[[int], bytes | None]) -> list[int]:
        """Cut off a torn tail, and restore corrupt or missing entries.

        ``known`` returns an entry by its number, or None if it does not have the entry. Return the numbers of the
        entries that remain lost; if there are any, nothing is changed.
        """
        ...

    def faults(self) -> list[str]:
        """Return descriptions, for people, of what :meth:`mend` would repair. Read the whole ledger.

        A description that begins with ``torn`` is only a torn tail.
        """
        ...

    def replay(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (seq, entry) of all entries after number ``after``, in order.

        Raise CorruptError if a checksum fails before the torn tail. The message names the segment and the number.
        """
        ...

    def segments(self) -> list[Segment]:
        """Return the files of the ledger, in order.

        A ledger on files reads at most what was appended since this object last read the end of the ledger. A ledger
        in a bucket may return a listing that is a second old.
        """
        ...

    def open_segment(self, name: str) -> SegmentReader:
        """Return a reader of the segment with this name, or raise MissingError if there is none."""
        ...


class Garage(Protocol):
    """The objects and the ledger of one home."""

    @property
    def objects(self) -> GarageObjects:
        """Return the object store."""
        ...

    @property
    def ledger(self) -> Ledger:
        """Return the ledger."""
        ...

    def taken_over_by(self) -> str:
        """Return which home has taken over the right to write here, for people; '' if none has, as far as is known here.
        Quick, asks no server."""
        ...

    def confirm_owner(self) -> None:
        """Raise NotOwnerError if another home has taken over the right to write here. Asks the server of a garage that
        is on one.

        Appends and deletions call it themselves. Call it before each batch of writes to another server of the home.
        """
        ...

    def close(self) -> None:
        """Release what the garage holds open."""
        ...
