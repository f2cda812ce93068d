"""Periodic background work of every long-running process: settle quiet paths, ship facts, empty the trash, watch the
disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from kgfs.errors import KgfsError
from kgfs.ingest import timing
from kgfs.ingest.storing.settle import Settler
from kgfs.ingest.writing import trash
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.garage.prefix_tidying import tidy_prefixes
from kgfs.stores.stores import Stores


class Chores:
    """Run the background work that is due. Call the object often; a call with nothing due is quick. One thread.

    An error of a store is logged, and the work is tried again later. It ends nothing: the bytes are durable already,
    and a full disk must not end the process by which people delete files.
    """

    def __init__(
        self,
        stores: Stores,
        settler: Settler,
        errors: ErrorLog,
        request: Path,
        *,
        trash_days: int,
        ship: Callable[[], object],
        is_current: Callable[[], bool] = lambda: True,
        reserve: DiskReserve | None = None,
    ) -> None:
        """``request`` is a file: touching it requests settling at once. ``ship`` delivers facts to the ledger.
        Nothing that is kept is removed before ``is_current`` returns True, which says that no fact is missing here.
        ``reserve`` is filled where it lacks bytes. ``trash_days`` is in days."""
        self._stores = stores
        self._ship_now = ship
        self._is_current = is_current
        self._settler = settler
        self._trouble = Trouble(errors, "chores")
        self._request = request
        self._answered = 0
        self._next_ship = 0.0
        self._ship_failed = False
        """Whether the last attempt to ship failed."""
        self._settling_failed = False
        """Whether settling failed while the trash was emptied, in the present call."""
        self._trash_days = trash_days
        self._next_trash = 0.0
        self._next_prefixes = 0.0
        self._next_room = 0.0
        self._reserve = reserve
        self._next_fill = 0.0
        self._resting_until = 0.0

    def __call__(self) -> None:
        if time.monotonic() < self._resting_until:
            return
        self._settling_failed = False
        try:
            self._leave_room()
            self._fill_reserve()
            self._settle()
            self._ship()
            self._empty_trash()
            self._tidy_prefixes()
            if not (self._ship_failed or self._settling_failed):
                self._trouble.over()
        except KgfsError as error:
            self._trouble.met(error)
            self._resting_until = time.monotonic() + timing.CHORE_RETRY

    def _settle(self) -> None:
        asked = self._request.stat().st_mtime_ns if self._request.exists() else 0
        if asked > self._answered:
            self._answered = asked
            self._settler.settle_now(self._ship_meanwhile)
        else:
            self._settler.run_once(time.time_ns(), self._ship_meanwhile, sweep=self._is_current())

    def _leave_room(self) -> None:
        if time.monotonic() >= self._next_room:
            self._next_room = time.monotonic() + timing.DISK_SPACE_POLL
            self._stores.garage.objects.leave_room()

    def _fill_reserve(self) -> None:
        if self._reserve is not None and time.monotonic() >= self._next_fill:
            self._next_fill = time.monotonic() + timing.RESERVE_POLL
            self._reserve.fill()

    def _ship(self) -> None:
        if time.monotonic() >= self._next_ship:
            self._ship_failed = True
            self._ship_now()
            self._ship_failed = False
            self._next_ship = time.monotonic() + timing.SHIP_EVERY

    def _empty_trash(self) -> None:
        if time.monotonic() >= self._next_trash and self._is_current():
            self._next_trash = time.monotonic() + timing.TRASH_EVERY
            removed_before = time.time_ns() - self._trash_days * trash.DAY
            trash.empty(self._stores, self._settler, removed_before, self._meanwhile)

    def _tidy_prefixes(self) -> None:
        if time.monotonic() >= self._next_prefixes and self._is_current():
            self._next_prefixes = time.monotonic() + timing.PREFIXES_EVERY
            before = time.time_ns() - timing.PREFIXES_MADE_NS
            tidy_prefixes(self._stores.garage.objects, self._settler.alone, before)

    def _meanwhile(self) -> None:
        """Settle and ship between two batches of originals that are given up, so that neither waits for thousands of
        them."""
        try:
            self._settle()
        except KgfsError as error:
            self._settling_failed = True
            self._trouble.met(error)
        self._ship_meanwhile()

    def _ship_meanwhile(self) -> None:
        try:
            self._ship()
        except KgfsError as error:
            self._trouble.met(error)
            self._next_ship = time.monotonic() + timing.CHORE_RETRY
