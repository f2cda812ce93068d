"""How a process delivers its facts to the ledger, shared or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kgfs.config import Config
from kgfs.stores.ship import ship_from_reserve
from kgfs.stores.stores import Stores


def with_exchange(config: Config, stores: Stores) -> Stores:
    """Return the stores with their exchange, where homes share the ledger; else the stores as they are."""
    if not stores.catalog.sharing:
        return stores
    from kgfs.sharing import timing  # needed by shared homes only
    from kgfs.sharing.exchange import Exchange

    return replace(stores, exchange=Exchange(config, stores, timing.UPLOAD_GRACE))


def shipping(config: Config, stores: Stores) -> Callable[[], object]:
    """Return a function to be called often, which delivers recorded facts to the ledger.

    Where homes share the ledger, the function also follows the facts of the others, and reports this home's progress
    to them.
    """
    exchange = stores.exchange
    if exchange is not None:
        from kgfs.sharing.report_progress import report_progress  # needed by shared homes only

        def follow() -> None:
            exchange()
            report_progress(config, stores)

        return follow
    return lambda: ship_from_reserve(config.home, stores)


def meeting(config: Config) -> Callable[[Stores], object]:
    """Return a function for a caller that must know all facts delivered by now. It delivers like :func:`shipping`,
    and follows at once."""

    def meet(stores: Stores) -> None:
        if stores.exchange is not None:
            stores.exchange.meet()
        else:
            ship_from_reserve(config.home, stores)

    return meet
