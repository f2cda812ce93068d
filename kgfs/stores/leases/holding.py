"""Leases that this process holds, kept by a thread of its own: who holds one may be busy for longer than it lasts."""

from __future__ import annotations

import logging
import os
import platform
import threading
import time

from kgfs.errors import KgfsError, LostLeaseError
from kgfs.stores.leases.contract import Lease, Leases

RENEWALS = 3
"""How often a lease is renewed in the time it lasts: two may be lost."""

log = logging.getLogger("kgfs.leases")


class Holding:
    """Any thread may call. A process that is stopped renews nothing: what it held goes to others meanwhile, and it learns
    of that as soon as it goes on."""

    def __init__(self, leases: Leases, seconds: float) -> None:
        self._leases = leases
        self._seconds = seconds
        self._holder = f"{platform.node()} {os.getpid()}"
        self._held: dict[Lease, bool] = {}
        """Whether somebody else asked for it urgently."""
        self._left: dict[Lease, float] = {}
        """Not held any more, and not released yet, as far as is known; and when they have run out, by the clock here. Until then
        nobody else may have them; afterwards another may, and be writing under it: to tell of it again would wait for that."""
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="kgfs-leases", daemon=True)
        self._thread.start()

    def take(self, what: str, *, urgent: bool = False) -> Lease | None:
        """Held until it is released, or lost. None where another has it. ``urgent`` and errors as of ``Leases``."""
        self._give_back_left(what)  # where that fails, another may have it by now: who gives leases knows
        lease = self._leases.take(what, self._holder, self._seconds, urgent=urgent)
        if lease is not None:
            with self._lock:
                self._held[lease] = False
        return lease

    def holds(self, lease: Lease) -> bool:
        """As far as is known here: what must not be done by two is fenced."""
        return lease in self._held

    def surely_holds(self, lease: Lease) -> bool:
        """As who gives it says now. Blocks."""
        try:
            self._leases.renew(lease, self._seconds)
        except KgfsError:
            return False
        return True

    def wanted(self, lease: Lease) -> bool:
        """Whether another asked urgently for it since it was taken. Known when it is renewed."""
        return self._held.get(lease, False)

    def release(self, lease: Lease) -> None:
        """Where that cannot be told it is told later, before it is taken again from here at the latest; else it runs out."""
        with self._lock:
            held = self._held.pop(lease, None)
        if held is not None:
            try:
                self._give_back(lease)
            except KgfsError as error:
                log.info("%s: not released, it is tried again or will run out: %s", lease.what, error)

    def close(self) -> None:
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
        """All, or that of ``what``. The first that cannot be says that the others cannot. Those that ran out are forgotten."""
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
        while not self._closing.wait(self._seconds / RENEWALS):
            for lease in list(self._held):
                self._renew(lease)
            self._give_back_left()  # may wait for long

    def _renew(self, lease: Lease) -> None:
        try:
            wanted = self._leases.renew(lease, self._seconds)
        except LostLeaseError as error:
            with self._lock:
                if self._held.pop(lease, None) is not None:
                    log.info("%s", error)
        except Exception as error:  # noqa: BLE001 - without this thread all would be lost, and none known to be
            # Tried again; it is lost only where who gives leases says so.
            log.info("%s: not renewed: %s", lease.what, error)
        else:
            with self._lock:
                if lease in self._held:
                    self._held[lease] = wanted
