"""Find what takes room in a shared garage and is nobody's any more: pending uploads of contents that were written over
while their home was killed, and copies that a home set aside which shares the garage no more."""

from __future__ import annotations

import time

from kgfs.sharing import timing
from kgfs.stores.hosts import is_left_behind
from kgfs.stores.pending_uploads import LEAVING, WAITING
from kgfs.stores.stores import Stores


class LeftUploads:
    """The left-over objects of a shared garage, as one long-lived process sees them. One thread.

    No clock of another machine is asked: an object is left over if it was nobody's at two looks in a row,
    ``timing.LEFT_UPLOADS_POLL`` seconds apart. A home that has put one and not told of it yet does so sooner, or puts
    it again (``timing.UPLOAD_SURE``).
    """

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._seen: frozenset[str] = frozenset()
        self._next = 0.0

    def found(self) -> list[str]:
        """Return the keys to delete; empty between two looks, and while facts are not delivered or not followed yet.

        Asks the garage. The caller looks at each key again (``is_left_behind``) before it deletes it.
        """
        catalog, garage = self._stores.catalog, self._stores.garage
        first, undelivered = catalog.unshipped(1)
        if time.monotonic() < self._next or undelivered or garage.ledger.beyond(first - 1):
            return []
        self._next = time.monotonic() + timing.LEFT_UPLOADS_POLL
        keys = [key for prefix in (WAITING, LEAVING) for key, _ in garage.objects.keys(prefix)]
        nobodys = frozenset(key for key in keys if is_left_behind(self._stores, key))
        found, self._seen = sorted(nobodys & self._seen), nobodys
        return found


class RecentKeys:
    """Keys that were added within the last ``seconds``. Any thread may call."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._added: dict[str, float] = {}

    def __contains__(self, key: object) -> bool:
        return time.monotonic() - self._added.get(str(key), -self._seconds) < self._seconds

    def add(self, key: str) -> None:
        """Add a key, or make it new again."""
        self._added[key] = time.monotonic()

    def discard(self, *keys: str) -> None:
        """Remove these keys, as far as they are there."""
        for key in keys:
            self._added.pop(key, None)

    def clear(self) -> None:
        """Remove all keys."""
        self._added.clear()
