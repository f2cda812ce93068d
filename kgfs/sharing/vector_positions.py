"""Store up to which fact of the ledger vectors hold the publications.

The vectors are in a file of this home, or on a server that homes share.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

from kgfs.config import Config
from kgfs.stores.garage.contract import Objects
from kgfs.stores.positions import POSITIONS
from kgfs.stores.run_files import write_note
from kgfs.stores.stores import Stores
from kgfs.stores.sync_cursors import read_note, vectors_note

WRITTEN_EVERY = 100
"""Facts after which the position on a server is written again. The next publisher repeats later facts, which is
harmless."""


class Position(Protocol):
    """Where the number of the last fact that vectors contain is stored."""

    def read(self) -> int | None:
        """Return the number of the last fact that the vectors contain; None where that is not known."""
        ...

    def write(self, fact: int) -> None:
        """Store the position. It may be visible to others only after :meth:`conclude`."""
        ...

    def conclude(self) -> None:
        """Make the last position that was written visible to others."""
        ...

    def forget(self) -> None:
        """Remove the position, before the vectors are made anew."""
        ...


def position_of(config: Config, stores: Stores) -> Position:
    """Return the position of the vectors of these stores, which must have vectors."""
    assert stores.vectors is not None
    if config.vectors.store == "sqlite":
        return NotedPosition(config, stores.vectors.model)
    return SharedPosition(config, stores.garage.objects, stores.vectors.model)


class NotedPosition:
    """A note in the run folder, for vectors in a file of the home."""

    def __init__(self, config: Config, model: str) -> None:
        self._note = vectors_note(config, model)

    def read(self) -> int | None:
        noted = read_note(self._note)
        return noted[0] if noted else None

    def write(self, fact: int) -> None:
        write_note(self._note, [fact])

    def conclude(self) -> None:
        return

    def forget(self) -> None:
        self._note.unlink(missing_ok=True)


class SharedPosition:
    """An object of the bucket that names the position of vectors on a server.

    Its key is ``positions/vectors-<hash of server, prefix and model>/<fact>``. The highest fact counts, since only
    the home that has the publishing turn writes there. Each write removes the earlier objects.
    """

    def __init__(self, config: Config, objects: Objects, model: str) -> None:
        place = f"{config.vectors.url.rstrip('/')} {config.vectors.prefix} {model}"
        self._folder = f"{POSITIONS}vectors-{hashlib.sha256(place.encode()).hexdigest()[:16]}/"
        self._objects = objects
        self._known: int | None = None
        self._written: int | None = None

    def read(self) -> int | None:
        if self._known is None:
            facts = [int(fact) for key, _ in self._objects.keys(self._folder) if (fact := self._fact(key)).isdigit()]
            self._known = self._written = max(facts, default=None)
        return self._known

    def write(self, fact: int) -> None:
        self._known = fact
        if self._written is None or fact - self._written >= WRITTEN_EVERY:
            self.conclude()

    def conclude(self) -> None:
        if self._known is None or self._known == self._written:
            return
        before = [key for key, _ in list(self._objects.keys(self._folder))]
        fresh = f"{self._folder}{self._known:012d}"
        if fresh not in before:
            self._objects.put(fresh, b"")
        for key in before:
            if key < fresh:
                self._objects.delete(key)
        self._written = self._known

    def forget(self) -> None:
        for key, _ in list(self._objects.keys(self._folder)):
            self._objects.delete(key)
        self._known = self._written = None

    def _fact(self, key: str) -> str:
        return key.removeprefix(self._folder)
