"""Find what takes room in a shared garage and is nobody's any more: pending uploads of contents that were written over
while their home was killed, and copies that a home set aside which shares the garage no more."""

from __future__ import annotations

import time

from kgfs.config import Config
from kgfs.sharing import timing
from kgfs.stores.hosts import HOSTS, host_id, is_left_behind
from kgfs.stores.pending_uploads import LEAVING, WAITING
from kgfs.stores.stores import Stores


class LeftUploads:
    """The left-over objects of a shared garage, as one long-lived process sees them. One thread.

    No clock of another machine is asked: an object is left over if it was nobody's at two looks,
    ``timing.LEFT_UPLOADS_POLL`` seconds apart or more, and at all looks in between, and each other home that shares the
    garage has reported since the first: a home reports after it has told of all that it put. One that is asleep or cut
    off may have yet to tell of what it has put, and have no other copy. A home that puts one later and has not told of
    it yet does so sooner, or puts it again (``timing.UPLOAD_SURE``).
    """

    def __init__(self, config: Config, stores: Stores) -> None:
        self._config = config
        self._stores = stores
        self._seen: dict[str, frozenset[str]] = {}
        """By key that is nobody's: the keys of the homes' reports when that was first seen."""
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
        reports = frozenset(key for key, _ in garage.objects.keys(HOSTS))
        seen, nobodys = self._seen, [key for key in keys if is_left_behind(self._stores, key)]
        self._seen = {key: seen.get(key, reports) for key in nobodys}
        return sorted(key for key in nobodys if key in seen and self._all_reported(seen[key], reports))

    def _all_reported(self, before: frozenset[str], now: frozenset[str]) -> bool:
        """Return whether no other home's reports are those of ``before``. Homes that were struck off do not count."""
        silent = {report.split("/")[1] for report in before & now} - {report.split("/")[1] for report in now - before}
        return not silent - {host_id(self._config)}


class RecentKeys:
    """Keys that were added within the last ``seconds``. Any thread may call."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._added: dict[str, float] = {}

    def __contains__(self, key: object) -> bool:
        return _awake_or_not() - self._added.get(str(key), -self._seconds) < self._seconds

    def add(self, key: str) -> None:
        """Add a key, or make it new again."""
        self._added[key] = _awake_or_not()

    def discard(self, *keys: str) -> None:
        """Remove these keys, as far as they are there."""
        for key in keys:
            self._added.pop(key, None)

    def clear(self) -> None:
        """Remove all keys."""
        self._added.clear()


def _awake_or_not() -> float:
    """Return seconds of a clock that goes on while the machine is suspended: other homes go on then, too."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
