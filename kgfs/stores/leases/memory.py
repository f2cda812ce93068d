"""Leases in memory, by a clock that is given: the plainest reading of the contract."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

from kgfs.errors import LostLeaseError
from kgfs.stores.leases.contract import Lease


class MemoryLeases:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._tokens: dict[str, int] = {}
        self._until: dict[str, float] = {}
        self._wanted: set[str] = set()

    def take(self, what: str, holder: str, seconds: float, *, urgent: bool = False) -> Lease | None:
        with self._lock:
            if self._until.get(what, 0.0) > self._clock():
                self._wanted |= {what} if urgent else set()
                return None
            self._wanted.discard(what)
            self._tokens[what] = self._tokens.get(what, 0) + 1
            self._until[what] = self._clock() + seconds
            return Lease(what, self._tokens[what])

    def renew(self, lease: Lease, seconds: float) -> bool:
        with self._lock:
            if not self._held(lease):
                raise LostLeaseError(f"The lease of '{lease.what}' ran out.")
            self._until[lease.what] = self._clock() + seconds
            return lease.what in self._wanted

    def release(self, lease: Lease) -> None:
        with self._lock:
            if self._held(lease):
                self._until[lease.what] = 0.0

    def close(self) -> None:
        pass

    def _held(self, lease: Lease) -> bool:
        return self._tokens.get(lease.what) == lease.token and self._until[lease.what] > self._clock()
