"""Report progress: a home tells the other homes of its garage up to which fact it has followed the ledger and obeyed
purges."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kgfs.config import Config
from kgfs.errors import BusyError
from kgfs.sharing import timing
from kgfs.sharing.apply_purges import is_obeyed
from kgfs.sharing.snapshots import delete_purged
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.hosts import Host, host_id, read_roll, say
from kgfs.stores.settle_lock import settle_lock_nowait
from kgfs.stores.stores import Stores
from kgfs.stores.two_phase_delete import TwoPhaseDelete


def report_progress(config: Config, stores: Stores) -> None:
    """Report how far this home has followed. Call it often, with everything that is known delivered and followed.

    A purge counts as obeyed when nothing of SHARE-7 is left to be erased, no backup copy of an object that this home
    has purged is left, no snapshot from before the purge is in the bucket, and the home's graph is without the purged
    knowledge and scrubbed. So the graph's cursor limits what is reported. Until a purge is obeyed the former report
    is repeated. A home without a former report says that it exists and has obeyed nothing. A call within
    ``timing.REPORT_EVERY`` seconds of the last one that asked the garage does nothing. Raises what the garage raises.
    """
    marker = config.run / "acknowledged"  # not the roll's time, which frequent readers of the roll keep fresh
    with os_errors(f"Noting in {marker} when others were asked"):
        if marker.exists() and 0 <= time.time() - marker.stat().st_mtime < timing.REPORT_EVERY:
            return
        marker.touch(mode=0o600)
    followed = stores.catalog.confirmed()
    roll = read_roll(config, stores)
    own = next((host for host in roll.hosts if host.id == host_id(config)), None)
    reported = own.followed if own is not None else 0
    followed = max(_derived(stores, followed), reported)
    if own is not None and _is_reported(own, followed):
        return
    purges = [purge.fact for purge in roll.purges if reported < purge.fact <= followed]
    if not (
        _has_obeyed(config, stores, waits=bool(purges), is_new=own is None) and _no_snapshot_has(config, stores, purges)
    ):
        followed = reported
        if own is not None and _is_reported(own, followed):
            return
    say(config, stores.garage.objects, followed)
    read_roll(config, stores)


def _no_snapshot_has(config: Config, stores: Stores, purges: Sequence[int]) -> bool:
    """Delete the snapshots from before these purges. Return False, with nothing deleted, while this home is making a
    snapshot."""
    return not purges or delete_purged(config, stores.garage.objects, max(purges))


def _is_reported(own: Host, followed: int) -> bool:
    """Return whether the home's last report says ``followed`` and is younger than ``timing.REPORT_AT_LEAST``."""
    return own.followed == followed and time.time() - own.reported_at < timing.REPORT_AT_LEAST


def _has_obeyed(config: Config, stores: Stores, *, waits: bool, is_new: bool) -> bool:
    """Return whether nothing that was purged is left here, as far as that is certain.

    ``waits``: there is a purge that this home has not reported as obeyed yet. ``is_new``: the home has never
    reported.
    """
    if not is_obeyed(config):
        return False
    return not (waits or is_new) or _is_concluded(config, stores)


def _is_concluded(config: Config, stores: Stores) -> bool:
    """Return whether no backup copy of an object that this home has purged is left.

    A process that was killed after a purge, or met an unavailable bucket, has left such copies. They are concluded
    here if no process holds the settle lock; else return False.
    """
    giving = TwoPhaseDelete(stores, config)
    if not giving.has_left_some():
        return True
    try:
        return giving.conclude(lambda: settle_lock_nowait(config.run))
    except BusyError:
        return False


def _derived(stores: Stores, known: int) -> int:
    """Return up to which of the facts until ``known`` the home's graph has the changes of other homes.

    Nothing else takes the knowledge out of this graph that other homes have purged.
    """
    followed = stores.graph.followed() or 0
    behind = stores.graph.epoch() and followed < stores.catalog.changed_elsewhere()
    return min(known, followed) if behind else known
