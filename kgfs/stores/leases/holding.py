"""Leases that this process holds. A thread of its own renews them, since a holder may be busy for longer than a lease
lasts."""

from __future__ import annotations

import logging
import os
import platform
import threading
import time

from kgfs.errors import KgfsError, LostLeaseError
from kgfs.stores.leases.contract import Lease, Leases

RENEWALS = 3
"""The number of renewals in the time that a lease lasts: two of them may fail."""

log = logging.getLogger("kgfs.leases")


class Holding:
    """The leases of one process. Any thread may call.

    A process that is suspended renews nothing. Other processes may take its leases meanwhile, and it learns of that
    as soon as it continues.
    """

    def __init__(self, leases: Leases, seconds: float) -> None:
        self._leases = leases
        self._seconds = seconds
        self._holder = f"{platform.node()} {os.getpid()}"
        self._held: dict[Lease, bool] = {}
        """The held leases, each with whether another process asked for it urgently."""
        self._left: dict[Lease, float] = {}
        """The leases that were given up here and whose release is not confirmed, each with the time when it runs out
        (monotonic clock). Until then no other process can have the lease, and the release is repeated. Afterwards
        another process may have it, and the release is no longer repeated."""
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="kgfs-leases", daemon=True)
        self._thread.start()

    def take(self, what: str, *, urgent: bool = False) -> Lease | None:
        """Take a lease, and hold it until it is released or lost. Return None if another process has it.

        ``urgent`` and the errors are those of :meth:`Leases.take`.
        """
        self._give_back_left(what)  # after a failure another process may have the lease by now: the service knows
        lease = self._leases.take(what, self._holder, self._seconds, urgent=urgent)
        if lease is not None:
            with self._lock:
                self._held[lease] = False
        return lease

    def holds(self, lease: Lease) -> bool:
        """Return whether this process holds the lease, as far as it knows. Quick: the service is not asked.

        Work that must not be done twice needs a fence of its own.
        """
        return lease in self._held

    def surely_holds(self, lease: Lease) -> bool:
        """Return whether this process holds the lease, by renewing it. Blocks. False if the service cannot
        be asked."""
        try:
            self._leases.renew(lease, self._seconds)
        except KgfsError:
            return False
        return True

    def wanted(self, lease: Lease) -> bool:
        """Return whether another process has asked for the lease urgently since it was taken, as of the last
        renewal."""
        return self._held.get(lease, False)

    def release(self, lease: Lease) -> None:
        """Give a lease back. If the service cannot be told, the release is repeated later, at the latest before this
        process takes the lease again; else the lease runs out."""
        with self._lock:
            held = self._held.pop(lease, None)
        if held is not None:
            try:
                self._give_back(lease)
            except KgfsError as error:
                log.info("%s: not released, it is tried again or will run out: %s", lease.what, error)

    def close(self) -> None:
        """Stop the renewals and release all leases."""
        self._closing.set()
        self._thread.join()
        self._give_back_left()
        for lease in list(self._held):
            self.release(lease)
        self._leases.close()

    def _give_back(self, lease: Lease) -> None:
        with self._lock:
            self._left.setdefault(lease, time.monotonic() + self._seconds)
        self._leases.release(lease)
        with self._lock:
            self._left.pop(lease, None)

    def _give_back_left(self, what: str | None = None) -> None:
        """Repeat the unconfirmed releases, or only that of ``what``. Forget those whose lease has run out.

        Stop at the first failure, for the others would fail, too.
        """
        with self._lock:
            now = time.monotonic()
            self._left = {lease: until for lease, until in self._left.items() if now < until}
            left = [lease for lease in self._left if what is None or lease.what == what]
        for lease in left:
            try:
                self._give_back(lease)
            except Exception as error:  # noqa: BLE001 - as in _renew
                log.info("%s: still not released: %s", lease.what, error)
                return

    def _keep(self) -> None:
        """Renew all held leases again and again until closing."""
        while not self._closing.wait(self._seconds / RENEWALS):
            for lease in list(self._held):
                self._renew(lease)
            self._give_back_left()  # this may block for long

    def _renew(self, lease: Lease) -> None:
        try:
            wanted = self._leases.renew(lease, self._seconds)
        except LostLeaseError as error:
            with self._lock:
                if self._held.pop(lease, None) is not None:
                    log.info("%s", error)
        except Exception as error:  # noqa: BLE001 - if this thread ended, all leases would run out unnoticed
            # The renewal is repeated. The lease is lost only if the service says so.
            log.info("%s: not renewed: %s", lease.what, error)
        else:
            with self._lock:
                if lease in self._held:
                    self._held[lease] = wanted
