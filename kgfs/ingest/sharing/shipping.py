"""How a process delivers its facts to the ledger, shared or not."""

from __future__ import annotations

from collections.abc import Callable

from kgfs.config import Config
from kgfs.ingest.sharing.exchange import Exchange
from kgfs.ingest.sharing.report_progress import report_progress
from kgfs.ingest.storing.ship import ship_once
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.stores import Stores


def shipping(config: Config, stores: Stores, exchange: Exchange | None = None) -> Callable[[], object]:
    """Return a function to be called often, which delivers recorded facts to the ledger.

    Where homes share the ledger, the function also follows the facts of the others, and reports this home's progress
    to them. ``exchange`` is that of this process, if there is one.
    """
    if stores.catalog.sharing:
        exchange = exchange or Exchange(config, stores)

        def follow() -> None:
            exchange()
            report_progress(config, stores)

        return follow
    return lambda: _ship(config, stores)


def meeting(config: Config) -> Callable[[Stores], object]:
    """Return a function for a caller that must know all facts delivered by now. It delivers like :func:`shipping`,
    and follows at once."""

    def meet(stores: Stores) -> None:
        if stores.catalog.sharing:
            Exchange(config, stores).meet()
        else:
            _ship(config, stores)

    return meet


def _ship(config: Config, stores: Stores) -> int:
    """Ship facts, if need be from the disk reserve: removals must reach the ledger too, and a fact's parts are no
    larger than a name."""
    return DiskReserve(config.home).run(lambda: ship_once(stores.catalog, stores.garage.ledger))
