"""The right to write one prefix of a bucket. One home has it at a time.

``owner/<generation>`` in the bucket names the home that took the right, its machine, and when. Each generation is put
once, on condition that its name is free, so of two homes that claim the same generation one wins. The highest
generation counts. The owner looks for a higher one before it ships, deletes or projects anything
(:meth:`Owner.confirm`), and stops writing when it finds one.

``owner.json`` in the home says which generation the home holds. The note names the machine and the inode of the
home's folder too, so a copied or restored folder does not pass for the home that it was copied from.
"""

from __future__ import annotations

import json
import secrets
import socket
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from kgfs.errors import MissingError, NotOwnerError, StoreError
from kgfs.failpoints import border
from kgfs.render.words import time_of
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.run_files import write_note

OWNERS = "owner/"
NOTE = "owner.json"
_MACHINE = Path("/etc/machine-id")


@dataclass(frozen=True, slots=True)
class Ownership:
    """One generation of the right to write."""

    generation: int
    home: str
    """A random id of the home."""
    host: str
    """Host name and folder of the home, for people."""
    since: int
    """Unix time in seconds, by the clock of the home that took the right."""

    def __str__(self) -> str:
        return f"the home {self.host}, since {time_of(self.since * 10**9)}"


@dataclass(frozen=True, slots=True)
class _Note:
    """What a home knows of its right."""

    home: str
    machine: str
    inode: int
    generation: int = 0
    """The generation that the home holds or is about to take; 0 for none."""
    fenced: bool = True
    """Whether the ledger has the entry that keeps the former owner from appending."""
    lost_to: Ownership | None = None


class Owner:
    """The right of one home to write one prefix. Any thread may call; several processes of the home may, too."""

    def __init__(self, bucket: Bucket, home: Path) -> None:
        self._bucket = bucket
        self._home = home

    # ---------------------------------------------------------------------------------------- the home's side

    def lost_to(self) -> Ownership | None:
        """Return the owner that has taken the right from this home, as far as the home knows. Quick, asks no
        server."""
        note = self._noted()
        return note.lost_to if note is not None else None

    def is_held(self) -> bool:
        """Return whether this home has the right, as far as it knows. Quick, asks no server."""
        note = self._noted()
        return note is not None and note.generation > 0 and note.fenced and note.lost_to is None

    # --------------------------------------------------------------------------------------- the bucket's side

    def current(self) -> Ownership | None:
        """Return the highest generation; None if no home has claimed the prefix yet. One listing and one request."""
        for _ in range(2):
            names = [found.name for found in self._bucket.listed(OWNERS)]
            if not names:
                return None
            try:
                return self._read(max(names))
            except MissingError:
                continue  # the whole prefix is being removed
        return None

    def claim(self) -> None:
        """Take the right if nobody has it, or confirm that this home has it. Idempotent.

        Raise NotOwnerError if another home has the right.
        """
        note, found = self._noted() or self._fresh(), self.current()
        if found is None:
            self._note(replace(note, generation=1, fenced=True, lost_to=None))
            if self._put(1, note.home):
                return
            found = self.current()
        if found is None or found.home != note.home:
            if note.generation:
                self._note(replace(note, lost_to=found))
            raise self._refusal(found)
        if note.generation != found.generation or note.lost_to is not None:
            self._note(replace(note, generation=found.generation, lost_to=None))

    def take_over(self) -> Ownership:
        """Take the next generation, whoever has the right, and return it. Then the ledger is to be fenced
        (:meth:`fenced`).

        Raise NotOwnerError if another home takes the right over at the same time.
        """
        note, found = self._fresh(), self.current()
        generation = found.generation + 1 if found is not None else 1
        self._note(replace(note, generation=generation, fenced=False))
        border("taking-over")
        if not self._put(generation, note.home):
            found = self.current()
            self._note(replace(note, lost_to=found))
            raise self._refusal(found)
        return self._read(_name(generation))

    def owes_fence(self) -> bool:
        """Return whether this home took the right over and was killed before the ledger was fenced."""
        note = self._noted()
        return note is not None and note.generation > 0 and not note.fenced and note.lost_to is None

    def fenced(self) -> None:
        """Note that the ledger has the entry of the take-over."""
        note = self._noted()
        if note is not None:
            self._note(replace(note, fenced=True))

    def confirm(self) -> None:
        """Return if no later generation exists than this home's. One request. A home without a right claims it.

        Raise NotOwnerError if there is a later one, and note it: from then on the home writes nothing. Between this
        answer and the caller's next request another home may take over; a caller that sleeps in between may still
        send that one request.
        """
        border("owner-asked")
        note = self._noted()
        if note is None or not note.generation:
            self.claim()
            return
        if note.lost_to is None and not self._bucket.has(_name(note.generation + 1)):
            border("owner-confirmed")
            return
        found = self.current()
        self._note(replace(note, lost_to=found))
        raise self._refusal(found)

    # ------------------------------------------------------------------------------------------------------

    def _put(self, generation: int, home: str) -> bool:
        """Put a generation unless it is taken; return whether it is this home's. A lost answer to an earlier attempt
        counts as won."""
        mine = Ownership(generation, home, f"{socket.gethostname()}:{self._home}", int(time.time()))
        body = json.dumps({key: value for key, value in asdict(mine).items() if key != "generation"}).encode()
        return self._bucket.put(_name(generation), body, {}) or self._read(_name(generation)).home == home

    def _read(self, name: str) -> Ownership:
        raw = self._bucket.get(name)[1]
        try:
            return Ownership(int(name.removeprefix(OWNERS)), **json.loads(raw))
        except (ValueError, TypeError) as error:
            raise StoreError(f"{self._bucket.place.shown}: {name} names no owner ({error}).") from error

    def refusal(self) -> NotOwnerError:
        """Return the error of a home that knows that it lost its right. Asks no server."""
        return self._refusal(self.lost_to())

    def _refusal(self, found: Ownership | None) -> NotOwnerError:
        place = self._bucket.place
        where = f"{place.shown}/{place.prefix}" if place.prefix else place.shown
        return NotOwnerError(
            f"{where} belongs to {found or 'another home'}. Once that machine is off, kgfs mount MNT --take-over makes this"
            " home the owner."
        )

    def _fresh(self) -> _Note:
        """Return a note without a right, under the home's id or a new one."""
        noted = self._noted()
        return _Note(noted.home if noted else secrets.token_hex(8), machine(), self._inode())

    def _inode(self) -> int:
        return self._home.stat().st_ino

    def _noted(self) -> _Note | None:
        """Return the note of this home; None if there is none, or if its folder is a copy of another home's."""
        try:
            body = json.loads((self._home / NOTE).read_bytes())
            lost_to = Ownership(**body["lost_to"]) if body["lost_to"] else None
            note = _Note(**{**body, "lost_to": lost_to})
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError) as error:
            raise StoreError(
                f"{self._home / NOTE}: cannot be read ({error}). Remove it, then kgfs mount MNT."
            ) from error
        return note if (note.machine, note.inode) == (machine(), self._inode()) else None

    def _note(self, note: _Note) -> None:
        write_note(self._home / NOTE, asdict(note), durable=True)


def _name(generation: int) -> str:
    return f"{OWNERS}{generation:010d}"


def machine() -> str:
    """Return what tells this machine from others."""
    try:
        return _MACHINE.read_text().strip() or socket.gethostname()
    except OSError:
        return socket.gethostname()
