"""What a garage promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

BLOCK = 1 << 20
"""Rot is noticed by blocks of one MiB: each has its own XXH3 (64 bits, hex)."""


@dataclass(frozen=True, slots=True)
class Sums:
    """What is known about some bytes: enough to notice any later change of them."""

    size: int
    sha256: str
    blocks: tuple[str, ...]
    """XXH3-64 of each MiB block in order, 16 hex digits each; empty for no bytes."""


@dataclass(frozen=True, slots=True)
class Look:
    """What can be told of an object, or of a folder of keys, without opening it."""

    folder: bool
    size: int
    """0 for a folder."""
    kept_at: int
    """When it was kept (nanoseconds; of a folder: when something came directly below it, as far as the store knows). It
    never changes while the object stands."""


class Objects(Protocol):
    """Immutable bytes under keys like ``sources/Philosophy/<32 hex>.txt``.

    A key is one or more ``/``-separated parts of ``[A-Za-z0-9._~%+-]`` (other characters are refused with
    BadInputError, as are empty parts, ``.`` and ``..``). Durable when ``put`` returns: a ``kill -9`` or power loss
    leaves an object whole or absent. Any number of threads and processes may call at once. Any call may raise StoreError
    where the store fails (FullError where its disk is full) and, where it is on a server, AwayError or TimedOutError: then
    it may have been done all the same, and repeating it is harmless.
    """

    def put(
        self, key: str, content: bytes | Path, sums: Sums | None = None, *, move: bool = False, present: str = ""
    ) -> Sums:
        """Keep ``content`` under ``key`` unless the key is there already.

        ``sums`` are trusted when given (the writer hashed inline), else computed. With ``move`` the file at
        ``content`` (on the garage's file system or not, no writer may hold it) is given up by the caller and may be
        renamed into place; without, it is copied. If the key exists with the same SHA-256 this is a no-op that still
        takes the moved file away, and on files puts it in the place of bytes that have rotted; with another one, ExistsError and nothing changes. Memory stays flat. ``present`` is the
        key of an object that may hold the same: a garage may copy that where it stands, instead of taking the bytes. Then
        nobody here sees what is copied: it is as good as ``present``, which was as durable when it was put, is by now.
        """
        ...

    def copy(self, present: str, key: str) -> bool:
        """Whether ``key`` holds what the object ``present`` holds, kept as by :meth:`put` without a byte of it passing through
        this machine. False, with nothing done, where that cannot be, or ``present`` is absent."""
        ...

    def stat(self, key: str) -> Sums:
        """MissingError if absent. Quick."""
        ...

    def exists(self, key: str) -> bool: ...

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """Bytes ``start:start+length`` (shorter at the end), each touched block verified: RotError instead of wrong
        bytes, MissingError if absent. For many reads of one object use :meth:`open`."""
        ...

    def open(self, key: str) -> Reader:
        """A reader that verifies each block once. MissingError if absent. It goes on reading if the key is deleted, on a
        server as far as the content is on this machine; never does it show another content that took the key."""
        ...

    def at_hand(self, key: str, sha256: str, size: int) -> bytes | None:
        """The whole of a small object of which the caller knows SHA-256 and size, if it can be had without waiting and
        is right; else None, and :meth:`open` tells more. *Quick*."""
        ...

    def delete(self, key: str) -> bool:
        """Whether it was there. Deleting is durable."""
        ...

    def has_sums(self, key: str) -> bool:
        """Whether the object's sums are kept; without them the next touch makes them anew, where a hash proves the
        bytes, or fails."""
        ...

    def salvage(self, key: str) -> bytes:
        """The bytes as they are, verified by nothing: for repairing. MissingError if absent."""
        ...

    def sweep(self, begun_before: float | None = None) -> None:
        """Remove what processes that died were about to put: all of it, for one who knows that nobody is putting now, or
        what was begun before a time (seconds, by the store's clock)."""
        ...

    def left_over(self) -> Iterator[tuple[str, float]]:
        """(key, when it was begun) of puts that were not ended and take room on a server that no listing shows. Their
        writer died, or is still at it."""
        ...

    def leave_room(self) -> None:
        """Give up what is on this machine for speed alone, where its disk is nearly full. Quick where it is not."""
        ...

    def keys(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """(key, size) of all objects whose key starts with ``prefix``, in order of key, lazily."""
        ...

    def names(self, folder: str = "") -> list[str]:
        """What stands directly below a folder of keys (``sources/Philosophy``; the top without one), in order of name.
        Names of folders end with ``/``. Opens no object. Empty where nothing stands."""
        ...

    def look(self, path: str) -> Look:
        """An object, or else a folder of keys. MissingError if there is neither. Quick; opens nothing."""
        ...


class Reader(Protocol):
    """One open object. Not for several threads at once."""

    @property
    def sums(self) -> Sums: ...

    def read_at(self, offset: int, length: int) -> bytes:
        """As ``get``; RotError names the key and the block."""
        ...

    def at_hand(self, offset: int, length: int) -> bytes | None:
        """What ``read_at`` would return, if it is in memory. Quick, and from any thread at any time."""
        ...

    def close(self) -> None:
        """Quick."""
        ...


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of the ledger: its lines in order, the newest segment growing at its end."""

    name: str
    size: int
    """Of the whole lines; a torn tail is no part of it."""
    changed_at: int
    """Nanoseconds."""


class SegmentReader(Protocol):
    """An open segment, as it is at each read. Not for several threads at once."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Shorter at its end. Lines are verified before their first byte is given: RotError instead of wrong bytes."""
        ...

    def close(self) -> None: ...


class Ledger(Protocol):
    """Every fact that is not bytes, in the order it became true. Entries are never changed or removed.

    An entry is one line of JSON (bytes without LF). The writer numbers entries itself (``seq``, consecutive from 1);
    the ledger keeps the numbers, so that the front can send again what it is not sure about. Any number of threads and
    processes may read meanwhile. Errors of the store as of :class:`Objects`.
    """

    def append(self, first_seq: int, entries: Sequence[bytes]) -> int:
        """Make entries durable, the first with number ``first_seq``. Those whose number is already kept are skipped,
        so a repeated send is harmless; a gap is a StoreError. Where homes can share a ledger, OvertakenError if other
        entries are kept under these numbers. Returns the last number kept. One writer at a time
        across processes (a lock file); a second one waits."""
        ...

    def last_seq(self) -> int:
        """0 for an empty ledger. A torn tail (a crash in mid-append) is not counted."""
        ...

    def beyond(self, seq: int) -> bool:
        """Whether there are entries behind that one: cheap, for asking twice a second, so that a no may be some seconds
        old."""
        ...

    def mend(self, known: Callable[[int], bytes | None]) -> list[int]:
        """Cut off a torn tail, and put back entries that are not what was kept: ``known`` gives one by its number, if
        it can. Numbers of those that stay lost; where there is one, nothing is changed."""
        ...

    def faults(self) -> list[str]:
        """What :meth:`mend` would find, for people; ``torn`` begins what is only a torn tail. Reads everything."""
        ...

    def replay(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """(seq, entry) in order. RotError where a checksum fails before the tail, naming segment and number."""
        ...

    def segments(self) -> list[Segment]:
        """The files it consists of, in order. Reads at most what was appended since this object last looked."""
        ...

    def open_segment(self, name: str) -> SegmentReader:
        """MissingError if there is none of that name."""
        ...


class Garage(Protocol):
    """Objects and ledger of one home."""

    @property
    def objects(self) -> Objects: ...

    @property
    def ledger(self) -> Ledger: ...

    def close(self) -> None: ...
