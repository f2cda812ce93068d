"""How a process gets what was done to the ledger, be it shared or not."""

from __future__ import annotations

from collections.abc import Callable

from kgfs.config import Config
from kgfs.ingest.keeping.ship import ship_once
from kgfs.ingest.sharing.acknowledge import acknowledge
from kgfs.ingest.sharing.exchange import Exchange
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.stores import Stores


def shipping(config: Config, stores: Stores, exchange: Exchange | None = None) -> Callable[[], object]:
    """To be called often: how what is recorded gets to the ledger and, where homes share it, what others recorded comes
    from it; they are told how far this one is. ``exchange`` is that of this process, if it has one."""
    if stores.journal.sharing:
        exchange = exchange or Exchange(config, stores)

        def follow() -> None:
            exchange()
            acknowledge(config, stores)

        return follow
    return lambda: _ship(config, stores)


def meeting(config: Config) -> Callable[[Stores], object]:
    """The same for one who must know what others have done by now."""

    def meet(stores: Stores) -> None:
        if stores.journal.sharing:
            Exchange(config, stores).meet()
        else:
            _ship(config, stores)

    return meet


def _ship(config: Config, stores: Stores) -> int:
    """May use the disk reserve: what removes must get to the ledger too, and nothing of a fact is larger than a name."""
    return DiskReserve(config.home).run(lambda: ship_once(stores.journal, stores.garage.ledger))
