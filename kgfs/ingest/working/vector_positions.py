"""Up to which fact of the ledger vectors hold what was published: vectors in a file of this home, or on a server that homes share."""

from __future__ import annotations

import hashlib
from typing import Protocol

from kgfs.config import Config
from kgfs.ingest.keeping.followed import read_note, vectors_note
from kgfs.stores.garage.contract import Objects
from kgfs.stores.notes import write_note
from kgfs.stores.positions import POSITIONS
from kgfs.stores.stores import Stores

WRITTEN_EVERY = 100
"""Facts after which the position on a server is written anew. Facts behind it are carried out again by the next home that writes
there, which is harmless."""


class Position(Protocol):
    def read(self) -> int | None:
        """Return the number of the last fact that the vectors hold; None where that is not known."""
        ...

    def write(self, fact: int) -> None:
        """Note it. May be late: see :meth:`conclude`."""
        ...

    def conclude(self) -> None:
        """See to it that others read what was written last."""
        ...

    def forget(self) -> None:
        """Let nobody know any more, before the vectors are made anew."""
        ...


def position_of(config: Config, stores: Stores) -> Position:
    """Return that of the vectors of these stores, which must have some."""
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
    """An object of the bucket, ``positions/vectors-<place and model>/<fact>``, for vectors on a server. The highest fact counts, since
    the home that has its turn writes there; each one removes those before."""

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
